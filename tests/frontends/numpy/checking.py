"""Compares a function on traced arrays with the same function on NumPy's.

`check_against_numpy` is what every test of this folder goes through: NumPy says what is right,
errors included; each graph that is traced on the way is verified and read back from its text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import weft as wf
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.identity import structurally_equal
from weft.frontends.tracing.trace import Tracer

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

# What NumPy raises for bad arguments, and what Weft's errors derive from.
REFUSALS = (TypeError, ValueError, IndexError, OverflowError, wf.WeftError)


@dataclass(frozen=True)
class Known:
    """An array that the traced function holds, instead of taking it as an argument."""

    array: Any


@dataclass(frozen=True)
class Weak:
    """A Python number that is an argument of the traced function, where it promotes as one."""

    number: bool | int | float | complex


@dataclass(frozen=True)
class Call:
    """The arguments of one call; arrays in them are traced, unless marked as `Known`."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        named = [f"{name}={_text(value)}" for name, value in self.kwargs.items()]
        return f"({', '.join([*map(_text, self.args), *named])})"


def _text(argument: Any) -> str:
    is_array = isinstance(argument, np.ndarray)
    return f"{argument!r} (strides {argument.strides})" if is_array else repr(argument)


def call(*args: Any, **kwargs: Any) -> Call:
    """A call with these arguments."""
    return Call(args, kwargs)


def check_against_numpy(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    ours: Function | None = None,
    oracle: Function | None = None,
    tolerance: float = 16.0,
    exact_zeros: bool = False,
    same_graph: bool = True,
) -> None:
    """Require that a function gives the same on traced arrays as on NumPy's.

    `function` is called with both, unless an `oracle` says what is right. `ours` is its
    counterpart in weft.numpy, which must give the same inside a trace and outside of one,
    and, if `same_graph`, by the same ops. `tolerance` is in units of the last place of the largest
    number around, or of the result itself with `exact_zeros`, which includes the sign of zeros.
    """
    given = Call(args, kwargs or {})
    originals = [np.array(array, copy=True) for array in _arrays(given)]
    expected, refusal, warned = _call_numpy(oracle or function, given)
    if isinstance(refusal, OverflowError) and any(type(x) is Weak for x in _leaves(given)):
        return  # that a number does not fit is only known when the program runs
    compare = _Comparison(given, tolerance, exact_zeros)
    graphs: list[Graph] = []
    forms: dict[str, Function] = {"traced": lambda: _run_traced(function, given, graphs)}
    if ours is not None and ours is not function:
        forms["traced, of weft.numpy"] = lambda: _run_traced(ours, given, graphs)
    if ours is not None:
        forms["of weft.numpy, outside of a trace"] = lambda: _map(ours, given, _plain)
    for form, run in forms.items():
        try:
            with warnings.catch_warnings():
                for category in warned:
                    warnings.simplefilter("ignore", category)
                if refusal is not None:
                    _require_refusal(run, refusal)
                else:
                    compare.results(run(), expected)
        except (AssertionError, *REFUSALS) as error:
            raise AssertionError(f"{form}, {given}: {type(error).__name__}: {error}") from error
    if same_graph and len(graphs) == 2 and graphs[0].parameters:
        assert structurally_equal(*graphs), f"{given}: {graphs[0]}, with weft.numpy {graphs[1]}"
    for array, original in zip(_arrays(given), originals, strict=True):
        assert array.tobytes() == original.tobytes(), "an argument was written to"


def check_compiled(function: Function, given: Call, oracle: Function, tolerance: float) -> None:
    """Require that a function gives the same in native code, alone and batched; calls that the
    oracle refuses count for nothing.
    """
    expected, refusal, _ = _call_numpy(oracle, given)
    if refusal is not None:
        return
    compare = _Comparison(given, tolerance, exact_zeros=False)
    forms = {"compiled": _run_compiled}
    if not any(type(leaf) is Weak for leaf in _leaves(given)):
        forms["compiled, batched"] = _run_batched
    for form, run in forms.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compare.results(run(function, given), expected)
        except (AssertionError, *REFUSALS) as error:
            raise AssertionError(f"{form}, {given}: {type(error).__name__}: {error}") from error


def check_graph(graph: Graph) -> Graph:
    """The graph, once it is verified and its text reads back as the same graph."""
    graph.verify()
    assert structurally_equal(wf.parse(graph.text(), graph.constant_table()), graph)
    return graph


# --- calling --------------------------------------------------------------------------------------


def _call_numpy(
    function: Function, given: Call
) -> tuple[Any, Exception | None, set[type[Warning]]]:
    """What NumPy returns, what it raises, and the kinds of warnings it gives."""
    result, refusal = None, None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            result = _map(function, given, _plain)
        except REFUSALS as error:
            refusal = error
    return result, refusal, {warning.category for warning in caught}


def _require_refusal(run: Function, refusal: Exception) -> None:
    try:
        result = run()
    except REFUSALS:
        return
    raise AssertionError(f"NumPy raises {type(refusal).__name__}: {refusal}; here it is {result}")


def _run_traced(function: Function, given: Call, graphs: list[Graph]) -> Any:
    """Trace with the arrays as arguments, check the graph, evaluate it, put the results back."""
    arguments = [_plain(leaf) for leaf in _leaves(given) if _is_argument(leaf)]
    traced, structure = _flat_function(function, given)
    graph = check_graph(wf.trace(traced)(*arguments))
    graphs.append(graph)
    arrays = wf.evaluate(graph, [np.asarray(argument) for argument in arguments])
    return _replace(structure[0], lambda leaf: arrays[leaf.at] if type(leaf) is _Slot else leaf)


def _run_compiled(function: Function, given: Call) -> Any:
    """Compile with the arrays as arguments, call, put the results back."""
    arguments = [_plain(leaf) for leaf in _leaves(given) if _is_argument(leaf)]
    traced, structure = _flat_function(function, given)
    arrays = wf.jit(traced)(*arguments)
    return _replace(structure[0], lambda leaf: arrays[leaf.at] if type(leaf) is _Slot else leaf)


def _run_batched(function: Function, given: Call) -> Any:
    """As `_run_compiled`, for two calls at once of the same arguments; the second one counts."""
    arguments = [_plain(leaf) for leaf in _leaves(given) if _is_argument(leaf)]
    if not arguments:
        return _run_compiled(function, given)
    traced, structure = _flat_function(function, given)
    arrays = wf.jit(wf.vmap(traced))(*[np.stack([a, a]) for a in arguments])
    return _replace(structure[0], lambda leaf: arrays[leaf.at][1] if type(leaf) is _Slot else leaf)


def _flat_function(function: Function, given: Call) -> tuple[Function, list[Any]]:
    """The function of the arrays alone, and where its results go once it is traced."""
    structure: list[Any] = []

    def traced(*tracers: Any) -> list[Tracer]:
        remaining = iter(tracers)
        result = _map(function, given, lambda x: next(remaining) if _is_argument(x) else _plain(x))
        found: list[Tracer] = []
        structure.append(_replace(result, lambda leaf: _number_tracer(leaf, found)))
        return found

    return traced, structure


@dataclass(frozen=True)
class _Slot:
    """The place of a traced result among the results of the graph."""

    at: int


def _number_tracer(leaf: Any, found: list[Tracer]) -> Any:
    if not isinstance(leaf, Tracer):
        return leaf
    found.append(leaf)
    return _Slot(len(found) - 1)


def _is_argument(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic | Weak)


def _plain(leaf: Any) -> Any:
    if isinstance(leaf, Known):
        return leaf.array
    return leaf.number if isinstance(leaf, Weak) else leaf


def _map(function: Function, given: Call, change: Callable[[Any], Any]) -> Any:
    args = _replace(given.args, change)
    return function(*args, **{n: _replace(v, change) for n, v in given.kwargs.items()})


def _replace(structure: Any, change: Callable[[Any], Any]) -> Any:
    """Nested lists and tuples with each leaf changed."""
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_replace(part, change) for part in structure])
    if isinstance(structure, list | tuple):
        return type(structure)(_replace(part, change) for part in structure)
    return change(structure)


def _leaves(given: Call) -> list[Any]:
    found: list[Any] = []
    _replace((given.args, list(given.kwargs.values())), found.append)
    return found


def _arrays(given: Call) -> list[Array]:
    plain = [_plain(leaf) for leaf in _leaves(given)]
    return [leaf for leaf in plain if isinstance(leaf, np.ndarray)]


# --- comparing ------------------------------------------------------------------------------------


class _Comparison:
    """How close results must be: the scale of rounding errors comes from the arguments too."""

    def __init__(self, given: Call, tolerance: float, exact_zeros: bool) -> None:
        numbers = [_plain(leaf) for leaf in _leaves(given)]
        self.scale = max((_largest(n) for n in numbers if _is_number(n)), default=0.0)
        self.tolerance = tolerance
        self.exact_zeros = exact_zeros

    def results(self, actual: Any, expected: Any) -> None:
        if isinstance(expected, list | tuple):
            assert isinstance(actual, list if isinstance(expected, list) else tuple), actual
            assert getattr(actual, "_fields", None) == getattr(expected, "_fields", None)
            assert len(actual) == len(expected)
            for one, other in zip(actual, expected, strict=True):
                self.results(one, other)
        elif isinstance(actual, np.ndarray | np.generic | wf.Array):
            self.arrays(np.asarray(actual), np.asarray(expected))
        else:
            assert type(actual) is type(expected), f"{actual!r}, expected {expected!r}"
            assert actual == expected

    def arrays(self, actual: Array, expected: Array) -> None:
        assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
        assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
        if actual.dtype.kind in "biu":
            np.testing.assert_array_equal(actual, expected)
            return
        if np.iscomplexobj(actual):
            size = np.abs(expected)
            self.floats(actual.real, expected.real, size)
            self.floats(actual.imag, expected.imag, size)
            return
        self.floats(actual, expected, np.abs(expected))
        if self.exact_zeros:
            zeros = expected == 0
            np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))

    def floats(self, actual: Array, expected: Array, size: Array) -> None:
        unit = float(ml_dtypes.finfo(actual.dtype).eps)  # type: ignore[no-untyped-call]
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(actual[~finite], expected[~finite])
        size = size.astype(np.float64)
        scale = np.where(np.isfinite(size), size, 0.0)
        if not self.exact_zeros:
            scale = np.maximum(scale, max(self.scale, _largest(expected)))
        allowed = self.tolerance * unit * scale[finite]
        wrong = ~(np.abs(actual[finite] - expected[finite]) <= allowed)
        assert not wrong.any(), f"{actual[finite][wrong]}, expected {expected[finite][wrong]}"


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex)


def _largest(numbers: Any) -> float:
    """The largest finite magnitude."""
    array = np.asarray(numbers)
    wide = array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)
    size = np.abs(wide)
    return float(np.max(size, initial=0.0, where=np.isfinite(size)))
