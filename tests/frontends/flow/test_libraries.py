"""Functions of installed packages that are reached are converted like the user's own; what is left
alone says so.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from weft.frontends.flow import source

TEXT = '''
import functools
import numpy as np

calls = []

def steps_of(x, limit=100.0):
    """Doubles until it is large, in whole numbers of steps."""
    steps = 0
    while x < limit:
        x = 2.0 * x
        steps += 1
    return steps

def applied(function, x):
    return function(x) if x > 0.0 else x

@functools.lru_cache(maxsize=None)
def remembered(x):
    calls.append(x)
    return 2.0 * x if x > 0.0 else x

class Filter:
    def __init__(self, gain):
        self.gain = gain if gain > 0.0 else -gain
        self.y = np.zeros(3)

    @property
    def half(self):
        return 0.5 * self.gain if self.gain > 1.0 else self.gain

    def update(self, x):
        for i in range(3):
            self.y[i] = self.half * x if x > 0.0 else self.y[i - 1]
        return self.y

def each(xs):
    for x in xs:
        yield x if x > 0.0 else -x

def sum_of_each(xs):
    return sum(each(xs))
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes modules of the text, installed under names."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    made: list[str] = []

    def installed(name: str) -> ModuleType:
        (folder / f"{name}.py").write_text(TEXT)
        importlib.invalidate_caches()
        made.append(name)
        return importlib.import_module(name)

    yield installed
    for name in made:
        del sys.modules[name]


# Names that begin as those of what is left alone do.
@pytest.mark.parametrize("name", ["kalman_filters", "numpy_financial", "numpyro_like", "weftlike"])
def test_functions_of_packages_are_converted(package: Any, name: str) -> None:
    library = package(name)
    assert wf.jit(lambda x: library.steps_of(x))(3.0) == 6
    assert wf.jit(library.steps_of)(200.0) == 0
    assert wf.grad(lambda x: library.applied(lambda y: y * y, x))(3.0) == 6.0


def test_their_classes_are_converted(package: Any) -> None:
    library = package("filters")

    def run(gain: Any, x: Any) -> Any:
        made = library.Filter(gain)
        return made.update(x), made.half

    for gain, x in ((-4.0, 1.0), (0.5, -1.0), (3.0, 2.0)):
        ours, plain = wf.jit(run)(gain, x), run(gain, x)
        np.testing.assert_allclose(ours[0], plain[0])
        assert ours[1] == plain[1]


def test_callbacks_that_they_call_are_converted(package: Any) -> None:
    library = package("calling")

    def sign(x: Any) -> Any:
        return 1.0 if x > 2.0 else -1.0

    assert wf.jit(lambda x: library.applied(sign, x))(3.0) == 1.0
    assert wf.jit(lambda x: library.applied(functools.partial(sign), x))(1.0) == -1.0


def test_nothing_traced_is_remembered(package: Any) -> None:
    library = package("remembering")
    assert wf.jit(lambda x: library.remembered(x) + library.remembered(3.0))(2.0) == 10.0
    assert library.calls[-1] == 3.0 and len(library.calls) == 2
    assert library.remembered.cache_info().currsize == 1


def test_each_function_is_read_once(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library = package("reading")
    read: list[str] = []
    plain = source.function_node

    def noted(code: Any, names: Any) -> Any:
        read.append(code.co_name)
        return plain(code, names)

    monkeypatch.setattr("weft.frontends.flow.convert.function_node", noted)
    for factor in (2.0, 3.0):
        wf.jit(lambda x, factor=factor: factor * library.steps_of(x) + library.steps_of(x + 1.0))(
            3.0
        )
    assert read.count("steps_of") == 1


def test_what_sees_nothing_traced_is_not_converted(
    package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = package("known")
    read: list[str] = []
    plain = source.function_node

    def noted(code: Any, names: Any) -> Any:
        read.append(code.co_name)
        return plain(code, names)

    monkeypatch.setattr("weft.frontends.flow.convert.function_node", noted)
    assert wf.jit(lambda x: library.steps_of(3.0) + x)(1.0) == 7.0
    assert "steps_of" not in read


def test_generators_of_libraries_say_that_they_are_left_alone(package: Any) -> None:
    library = package("generating")
    with pytest.raises(
        wf.TraceError, match="the control flow of each was not converted, as it is a generator"
    ):
        wf.jit(library.sum_of_each)(np.array([1.0, -2.0]))


def test_functions_called_by_what_is_left_alone_say_so() -> None:
    class Table(dict[int, Any]):
        x: Any

        def __missing__(self, key: int) -> Any:
            return 1.0 if self.x > 0.0 else 2.0

    def look_up(x: Any) -> Any:
        table = Table()
        table.x = x
        return table[3]

    with pytest.raises(
        wf.TraceError, match="__missing__ was not converted, as it was called by code that is left"
    ):
        wf.jit(look_up)(1.0)


def test_the_standard_library_and_text_that_is_not_there_say_so() -> None:
    names: dict[str, Any] = {}
    exec("def sign(x):\n    return 1.0 if x > 0.0 else -1.0", names)
    with pytest.raises(wf.TraceError, match="sign was not converted, as the text of <string> is"):
        wf.jit(names["sign"])(1.0)
    with pytest.raises(wf.TraceError, match="standard library are left alone"):
        wf.jit(lambda x: statistics.median([x, x + 1.0, x - 1.0]))(1.0)
    exec("def plain(x):\n    return 2.0 * x", names)
    assert wf.jit(names["plain"])(1.0) == 2.0


def sign(x: Any) -> Any:
    return 1.0 if x > 0.0 else -1.0


mapped: Any = optree.tree_map
XS = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: list(map(sign, x)),
        lambda x: list(itertools.starmap(lambda a, b: a if b > 0.0 else b, [(x[0], x[1])])),
        lambda x: list(itertools.accumulate(x, lambda a, b: a + b if b > 0.0 else a)),
        lambda x: functools.reduce(lambda a, b: a if a > b else b, x),
        lambda x: sorted([3, 1, 2], key=lambda n: -n)[0] * x,
        lambda x: mapped(sign, {"a": x[0], "b": x[1]}),
        lambda x: np.apply_along_axis(lambda row: row if row[0] > 0.0 else -row, 0, x),
        lambda x: np.vectorize(sign)(x),
        lambda x: np.array([sign(value) for value in x]),
    ],
)
def test_callbacks_of_what_is_left_alone_are_converted(function: Any) -> None:
    ours, plain = wf.jit(function)(XS), function(XS)
    assert optree.tree_structure(ours) == optree.tree_structure(plain)
    for one, other in zip(optree.tree_leaves(ours), optree.tree_leaves(plain), strict=True):
        np.testing.assert_allclose(one, other)


def test_wrappers_that_took_on_numpys_names_are_converted() -> None:
    @functools.wraps(np.sum)
    def total(x: Any) -> Any:
        return np.sum(x) if x[0] > 0.0 else -np.sum(x)

    assert total.__module__ == "numpy"
    assert wf.jit(lambda x: total(x))(-XS) == 2.0
