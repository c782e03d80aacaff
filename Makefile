# Every target sets up what it needs: a fresh machine with Python 3.11 and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test quick test-guarded slow-list check format clean wheel test-minimum bench fuzz

demo: $(READY)
	$(BIN)/python -m weft demo

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

quick: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

# The native tests with inaccessible pages after, then before, every buffer. Takes hours.
GUARDED ?= tests/compiler/lower tests/frontends/numpy tests/frontends/scipy tests/frontends/regions
test-guarded: $(READY)
	WEFT_GUARD=end $(BIN)/python -m pytest -n auto --dist worksteal $(GUARDED)
	WEFT_GUARD=begin $(BIN)/python -m pytest -n auto --dist worksteal $(GUARDED)

# Renews the list of tests that are too long for `quick`.
slow-list: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --junitxml=$(VENV)/report.xml
	$(BIN)/python -m tests.slow_tests $(VENV)/report.xml

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Random programs against NumPy; FUZZ="--minutes 60 --seed 1" or FUZZ="--mode faults".
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz $(FUZZ)

# Compares with the peers that are installed, and says how to install the others; BENCH=--quick for minutes.
bench: $(READY)
	$(BIN)/python -m benchmarks $(BENCH)

# The lower bounds of pyproject.toml, each pinned exactly, must still pass.
test-minimum:
	$(PYTHON) -m venv $(VENV)-minimum
	$(VENV)-minimum/bin/pip install --quiet --disable-pip-version-check -c requirements-minimum.txt -e ".[dev]"
	$(VENV)-minimum/bin/python -m pytest -n auto --dist worksteal

wheel: $(READY)
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-minimum dist .pytest_cache .mypy_cache .ruff_cache
