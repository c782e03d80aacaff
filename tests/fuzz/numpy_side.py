"""What programs see as `np` and `wf` when NumPy runs them: loops and branches are Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

MOST_STEPS = 1000


def namespace() -> dict[str, Any]:
    """The globals of a program that runs without Weft."""
    return {"np": np, "wf": PYTHON, "special": scipy.special}


def compiled_namespace(name: str) -> dict[str, Any]:
    """The globals of a program that Weft runs."""
    import weft as wf

    return {"np": np, "wf": wf, "special": scipy.special, "__name__": name}


def _new(result: Any) -> Any:
    """Results of these functions share no memory with what went in."""
    if isinstance(result, tuple | list):
        return type(result)(map(_new, result))
    return result.copy() if isinstance(result, np.ndarray) else result


def cond(
    condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *args: Any
) -> Any:
    return _new(then(*args) if condition else otherwise(*args))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *args: Any) -> Any:
    return _new(branches[min(max(int(index), 0), len(branches) - 1)](*args))


def fori_loop(start: int, stop: int, body: Callable[..., Any], state: Any) -> Any:
    for i in range(start, stop):
        state = body(i, state)
    return _new(state)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], state: Any) -> Any:
    for _ in range(MOST_STEPS):
        if not condition(state):
            return _new(state)
        state = body(state)
    raise RuntimeError("the loop does not end")


def scan(body: Callable[..., Any], state: Any, xs: Any, length: int | None = None) -> Any:
    results = []
    for i in range(len(xs) if length is None else length):
        state, result = body(state, None if xs is None else xs[i])
        results.append(result)
    return _new(state), None if results[0] is None else np.stack(results)


def map_(function: Callable[..., Any], xs: Any) -> Any:
    return np.stack([function(x) for x in xs])


def _random(name: str) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        import weft as wf

        return np.asarray(getattr(wf.random, name)(*args, **kwargs))

    return draw


DRAWS = (
    "key",
    "split",
    "fold_in",
    "normal",
    "uniform",
    "randint",
    "bernoulli",
    "bits",
    "permutation",
)
PYTHON = SimpleNamespace(
    cond=cond,
    switch=switch,
    fori_loop=fori_loop,
    while_loop=while_loop,
    scan=scan,
    map=map_,
    checkpoint=lambda f: lambda *args: _new(f(*args)),
    stop_gradient=_new,
    random=SimpleNamespace(**{name: _random(name) for name in DRAWS}),
)
