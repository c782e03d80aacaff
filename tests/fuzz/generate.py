"""Random programs: each statement is run by NumPy as it is written, so that shapes and dtypes are
known, and what NumPy refuses or what overflows is never part of a program.
"""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.arguments import COMPLEX, DTYPES, FLOATS, drawn
from tests.fuzz.case import Case, write
from tests.fuzz.flow import flow_statement, may_be_a_view
from tests.fuzz.numpy_side import namespace
from tests.fuzz.slots import Filling, NoOperand
from tests.fuzz.templates import SMOOTH, SYMBOLIC, TEMPLATES, WEIGHTS

Array = np.ndarray[Any, Any]
SIZES = (1, 2, 3, 3, 4, 5, 8)
LARGE = (1, 7, 16, 33, 64, 130)
TRIES = 12
# Magnitudes beyond which later operations would overflow or lose all digits.
LARGEST = {"f2": 200.0, "f4": 1e4, "f8": 1e5, "c8": 1e4, "c16": 1e5}

SPARSE = (
    "{S} @ {x}",
    "{S}.T @ ({S} @ {x})",
    "({S} * 2).toarray()",
    "{x}.T @ {S}.T",
    "{S}.sum(axis=0)",
    "{S}.sum(axis=1)",
    "({S} @ {x}[:, 0])",
    "np.sin({S}.toarray())",
    "({S} + {S}).toarray()",
    "{S}.todense() * 1.5",
    "abs({S}).sum()",
    "({S} ** 2).sum(axis=1)",
    "{S}.diagonal()",
    "{S}.astype('f4') @ {x}",
)


class Draft:
    """A program that grows statement by statement."""

    def __init__(self, random: Random, kind: str) -> None:
        self.random = random
        self.kind = kind
        self.special = kind == "special"
        self.most = 30_000 if kind == "large" else 240
        self.names = namespace()
        self.values: dict[str, Any] = {}
        self.parameters: dict[str, str] = {}
        self.body: list[str] = []
        self.features: Counter[str] = Counter()
        self.rejected = 0
        self.fresh: set[str] = set()  # made by the function: may be written to
        templates = {"smooth": SMOOTH, "symbolic": SYMBOLIC}.get(kind, TEMPLATES)
        unfit = (
            ("linalg", "fft", "cumulative") if self.special else ()
        )  # errors become NaN, by rule
        self.templates = {n: rows for n, rows in templates.items() if rows and n not in unfit}
        self.weights = [WEIGHTS.get(name, 1.0) for name in self.templates]

    # --- arguments ---

    def add_argument(self, text: str, value: Any) -> str:
        name = "abcdefgh"[len(self.parameters)]
        self.parameters[name] = text
        self.names[name] = value
        if not hasattr(value, "toarray"):
            self.values[name] = np.asarray(value)
        return name

    def draw_arguments(self) -> None:
        sizes = LARGE if self.kind == "large" else SIZES
        common = [self.random.choice(sizes) for _ in range(3)]
        for _ in range(self.random.randint(1, 3)):
            rank = self.random.choice((0, 1, 1, 2, 2, 2, 3))
            shape = [self.random.choice(common) for _ in range(rank)]
            if self.kind not in ("smooth", "symbolic") and self.random.random() < 0.04 and shape:
                shape[self.random.randrange(rank)] = 0
            dtype = self.random.choice(DTYPES)
            if self.kind == "smooth":
                dtype = self.random.choice(("f8", "f8", "f4"))
            if self.kind == "special":
                dtype = self.random.choice(FLOATS)
            text = drawn(self.random, dtype, shape, self.special, generic=self.kind == "smooth")
            self.add_argument(text, Case("", (text,)).values()[0])
        if self.kind == "sparse":
            self.draw_sparse()
        if self.kind == "plain" and self.random.random() < 0.1:
            number = self.random.choice(("0.5", "3", "-2", "True", "1.25"))
            self.add_argument(number, eval(number))

    def draw_sparse(self) -> None:
        """A sparse argument and what it makes of the dense ones."""
        format, seed = self.random.choice(("csr", "csc", "coo")), self.random.randrange(10**6)
        rows, columns = [self.random.choice((2, 3, 5, 8)) for _ in range(2)]
        text = f"sparse({format!r}, {rows}, {columns}, {seed})"
        name = self.add_argument(text, Case("", (text,)).values()[0])
        dense = drawn(self.random, "f8", [columns, 2])
        operand = self.add_argument(dense, Case("", (dense,)).values()[0])
        for template in self.random.sample(SPARSE, 2):
            line = template.format(S=name, x=operand)
            target = f"v{len(self.body)}"
            try:
                value = self.evaluate(line)
            except Exception:
                self.rejected += 1
                continue
            self.body.append(f"{target} = {line}")
            self.remember(target, value)
            self.fresh.discard(target)
            self.features["sparse"] += 1

    # --- statements ---

    def accepts(self, value: Any, like: tuple[str, Any] | None = None) -> bool:
        """Whether a result can be part of the program."""
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fiucb":
            return False
        if value.size > self.most or value.ndim > 4 or value.dtype.itemsize > 16:
            return False
        if value.dtype.kind in "iu":
            return bool(np.all(np.abs(value.astype("f8")) < 2.0**31))
        if value.dtype.kind in "fc" and not self.special and value.size:
            largest = LARGEST.get(value.dtype.str[1:], 0.0)
            return bool(np.all(np.abs(value) < largest))
        return True

    def evaluate(self, text: str) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore" if self.special else "raise"):
            warnings.simplefilter("error")
            np.seterr(under="ignore")
            return eval(text, self.names)

    def expression(self) -> tuple[str, str, Any] | None:
        """(feature, text, value) of a random expression over the values so far."""
        for _ in range(TRIES):
            feature = self.random.choices(list(self.templates), self.weights)[0]
            filling = Filling(self.random, self.values)
            template = self.random.choice(self.templates[feature])
            try:
                text = filling.fill(template)
                value = self.evaluate(text)
            except NoOperand:
                continue
            except Exception:
                self.rejected += 1
                continue
            if self.accepts(value) and not _undefined_cast(template, filling, value):
                return feature, text, value
            self.rejected += 1
        return None

    def assign(self) -> None:
        drawn_expression = self.expression()
        if drawn_expression is None:
            return
        feature, text, value = drawn_expression
        name = f"v{len(self.body)}"
        self.body.append(f"{name} = {text}")
        self.remember(name, value)
        if feature in ("creation", "random") or may_be_a_view(text):
            self.fresh.discard(name)  # NumPy's own array, as it depends on no argument, or a view
        self.features[feature] += 1

    def remember(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.values[name] = value
        if isinstance(value, np.ndarray) and value.ndim and self._is_fresh(value):
            self.fresh.add(name)

    def _is_fresh(self, value: Array) -> bool:
        if value.base is not None or not value.flags.writeable or not value.size:
            return False
        arguments = [self.names[name] for name in self.parameters]
        return not any(
            value is a or np.may_share_memory(value, a)
            for a in arguments
            if isinstance(a, np.ndarray)
        )

    def run(self, lines: list[str]) -> bool:
        """Runs statements; where they fail, nothing has changed."""
        own = {name: value for name, value in self.values.items() if name not in self.parameters}
        names = dict(self.names)
        names.update(copy.deepcopy(own))
        try:
            with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
                warnings.simplefilter("error")
                exec("\n".join(lines), names)
        except Exception:
            self.rejected += 1
            return False
        changed = {
            name: value for name, value in names.items() if name[0] in "vw" and name[1:].isdigit()
        }
        if not all(self.accepts(value) for value in changed.values()):
            self.rejected += 1
            return False
        with np.errstate(all="ignore"):
            exec("\n".join(lines), self.names)  # again, on arrays that share memory as they should
        self.body.extend(lines)
        return True

    def finish(self) -> tuple[list[str], str]:
        """The results' names, and the source."""
        made = [name for name in self.values if name not in self.parameters]
        names = made or list(self.values)
        count = self.random.choice((1, 1, 2, 3))
        results = sorted(set(names[-1:] + self.random.sample(names, min(count - 1, len(names)))))
        return results, write("f", list(self.parameters), self.body, results)


def _undefined_cast(template: str, filling: Filling, value: Any) -> bool:
    """Whether a float went into an integer that cannot hold it, which C leaves undefined."""
    if "dtype" not in template or value.dtype.kind not in "iu":
        return False
    source = filling.array
    if source.dtype.kind not in "fc" or not source.size:
        return False
    low, high = float(np.min(source.real)), float(np.max(source.real))
    limits = np.iinfo(value.dtype)
    return not (low >= max(limits.min, -1e6) and high <= min(limits.max, 1e6))


def random_case(random: Random, kind: str) -> Case | None:
    """A program of a kind (see `KINDS`), or None where NumPy itself refuses what was drawn."""
    draft = Draft(random, kind)
    draft.draw_arguments()
    for _ in range(random.choice((1, 2, 3, 4, 5, 6, 8))):
        if kind in ("flow", "plain", "large") and random.random() < (
            0.45 if kind == "flow" else 0.15
        ):
            lines = flow_statement(draft)
            if lines is not None:
                continue
        draft.assign()
    if not draft.body:
        return None
    if kind == "smooth":
        return _scalar(draft)
    results, source = draft.finish()
    options = {"control_flow": True} if draft.features["converted"] else {}
    return Case(source, tuple(draft.parameters.values()), "value", options, tuple(draft.features))


def _scalar(draft: Draft) -> Case | None:
    """The sum of all that was made, weighted so that nothing cancels by symmetry."""
    terms = [
        f"np.sum({name} * {0.5 + 0.25 * k})"
        for k, (name, value) in enumerate(draft.values.items())
        if value.dtype.kind == "f" and name not in draft.parameters
    ]
    if not terms:
        return None
    source = write("f", list(draft.parameters), draft.body, [" + ".join(terms[-3:])])
    return Case(source, tuple(draft.parameters.values()), "value", {}, tuple(draft.features))


__all__ = ["COMPLEX", "Draft", "random_case"]
