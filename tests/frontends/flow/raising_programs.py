"""Programs that raise under traced conditions. They stand in a file of their own, as pytest changes
the assertions of test files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


class NotConverged(Exception):
    """With arguments of its own, which are not what it tells."""

    def __init__(self, residual: Any, steps: Any) -> None:
        super().__init__(f"no convergence after {steps} steps")
        self.residual = residual
        self.steps = steps


def checked(x: Any) -> Any:
    if x[0] > 3:
        raise ValueError(f"x is {x[0]:.2f} and {x[1]!r:>12}, %s and %5.1f%%" % (x[2], x[1]))
    assert np.all(x < 10), "too large"
    assert x[1] > -5
    if x.sum() > 20:
        raise NotConverged(x.sum(), 3)
    return x * 2


def root(a: Any) -> Any:
    x, steps = a, 0
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
        steps += 1
        if steps > 50:
            raise NotConverged(steps / 2, steps)
    return x


def require_positive(x: Any, name: str) -> None:
    if x <= 0:
        raise ValueError(f"{name} = {x:g} is not positive", x, [x, (name, 1.5)])


def in_functions(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        require_positive(x[i], "x")
        total += np.log(x[i])
    return total


def branches(x: Any) -> Any:
    y = x
    if x > 0:
        if x > 5:
            y = x + 1
            require_positive(3 - x, "3 - x")
        elif x < 1:
            y = y * 2
        else:
            raise RuntimeError from None
    else:
        assert x > -10, f"{x}"
        y = x if x > -5 else fails(x)
    return y


def fails(x: Any) -> Any:
    raise KeyError("key", x)


def search(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 2:
            break
    else:
        raise LookupError(f"nothing in {len(x)}")
    return x[i] * 2


def guards_an_index(x: Any) -> Any:
    i = np.round(x[0]).astype(int)
    if i >= len(x):
        raise IndexError("of the user's own")
    return x[i]


def does_not_end_without(x: Any) -> Any:
    if x[0] < 1:
        raise ValueError(f"{x[0]}")
    n = x[0]
    while n != 1:
        n = n - 1
    return n


def caught_inside(x: Any) -> Any:
    if x[0] > 2:
        try:
            raise ValueError("no")
        except ValueError:
            x = x + 1
    return x


def after_a_write(x: Any) -> Any:
    x = x.copy()
    x[0] = 7.0
    if x[1] > 2:
        x[1] = -1.0
        raise ValueError(x[0], x[1], x)
    return x


PROGRAMS: dict[str, tuple[Function, list[Any]]] = {
    "checked": (
        checked,
        [np.arange(4.0), np.arange(4.0) + 4, [0, 1, 2, 11.0], [0, -6.0, 0, 0], [0, 9.0, 9, 9]],
    ),
    "root": (root, [2.0, -2.0, 0.5]),
    "in_functions": (in_functions, [np.arange(40.0) + 1, 2 - np.arange(40.0), [1.0, 2], [1, -1.0]]),
    "branches": (branches, [0.5, 3.0, 4.0, 6.0, -1.0, -7.0, -11.0]),
    "search": (search, [np.arange(30.0), -np.arange(30.0), [1.0, 3.0], [1.0, 1.0]]),
    "guards_an_index": (guards_an_index, [[1.0, 5], [2.0, 5], [7.0, 1]]),
    "does_not_end_without": (does_not_end_without, [[3.0], [-3.0]]),
    "caught_inside": (caught_inside, [[1.0], [3.0]]),
    "after_a_write": (after_a_write, [[1.0, 1, 1], [1.0, 3, 1]]),
}


def ordered(checks: Any) -> Function:
    """A program of many checks: of an element, in a loop over known steps, in a `while`."""

    def f(x: Any) -> Any:
        y = x * 1.0
        for number, (place, limit, kind) in enumerate(checks):
            if kind == "r":
                if y[place] > limit:
                    raise ValueError(number, y[place])
            elif kind == "l":
                for k in range(40):
                    if y[k % 4] > limit + 2:
                        raise KeyError(number, k, y[k % 4])
                    y[k % 4] = y[k % 4] * 0.5
            else:
                steps = 0
                while y[place] < limit:
                    y[place] = y[place] + 1
                    steps += 1
                    assert steps < 3, (number, steps)
        return y

    return f
