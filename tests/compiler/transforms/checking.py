"""Checks derivative and batching rules against numbers; the rule tests of all families use it.

Each check takes a function on graph values (an `OpDef`, or any function that calls ops), the arrays
to apply it to, and the op's attributes, and raises AssertionError where a rule is wrong:

    check_jvp(op, operands, attributes)           forward mode against numerical differences
    check_vjp(op, operands, attributes)           reverse mode: <w, J v> = <J^T w, v>
    check_second_order(op, operands, attributes)  both of these again on the derived graphs
    check_batch(op, operands, attributes)         batching against a Python loop
    check_symbolic(op, operands, attributes)      the derived graphs on symbolic sizes
    check_types(op, operands, attributes)         the derived graphs type-check, nothing is computed
    check_rules(op, operands, attributes)         all of these

Floats are widened to f64 or c128 first, since differences need the digits, and infinities, NaNs
and numbers of extreme size are replaced by moderate ones (`tame`). Every operand is marked alone
and all together, so that rules meet the None that stands for a zero (co)tangent. An element whose
differences do not converge (a kink, a pole, a value beside the domain, a result that is rounded to
less than double) is not compared: expect those values explicitly with `jvp` and `gradient`.
`check_jvp` and `check_second_order` return how many elements they did compare, for a test to see
that it was not none.

>>> from weft.compiler.ops import special
>>> check_rules(special.sin, [np.linspace(-2.0, 2.0, 5)])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.evaluate import evaluate, run_region
from weft.compiler.ir.graph import Graph, Region, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops.precision import widen
from weft.compiler.transforms import derive

Array: TypeAlias = np.ndarray[Any, Any]
Function: TypeAlias = OpDef | Callable[..., Value | Sequence[Value]]
Attributes: TypeAlias = Mapping[str, Any] | None

# Steps relative to the operand; the first one at which an element's differences converge counts.
STEPS: Final = (2e-2, 2e-4, 2e-6)
# How far values may be off by rounding, relative to them: references are a few ulps off.
ROUNDING: Final = 200 * 2.0**-52
CONVERGED: Final = 1e-7
BATCH: Final = 3


# --- the checks ---------------------------------------------------------------------------------


def check_rules(
    function: Function,
    operands: Sequence[Any],
    attributes: Attributes = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    vary: Callable[[Array, int], Array] | None = None,
) -> None:
    """All checks below; `vary` as in `check_batch`."""
    check_types(function, operands, attributes)
    check_jvp(function, operands, attributes, rtol=rtol, atol=atol)
    check_vjp(function, operands, attributes)
    check_second_order(function, operands, attributes, rtol=rtol, atol=atol)
    check_batch(function, operands, attributes, vary=vary)
    check_symbolic(function, operands, attributes)


def check_jvp(
    function: Function,
    operands: Sequence[Any],
    attributes: Attributes = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
) -> int:
    """Tangents of the results against differences; returns how many elements were compared."""
    arrays = tame(operands)
    region = trace(function, map(type_of, arrays), attributes)
    return _compare_jvp(region, arrays, rtol, atol)


def check_vjp(
    function: Function,
    operands: Sequence[Any],
    attributes: Attributes = None,
    *,
    rtol: float = 1e-10,
) -> None:
    """Reverse mode is the transpose of forward mode; skipped where a tangent is not finite."""
    arrays = tame(operands)
    _compare_vjp(trace(function, map(type_of, arrays), attributes), arrays, rtol)


def check_second_order(
    function: Function,
    operands: Sequence[Any],
    attributes: Attributes = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
) -> int:
    """Forward over forward, forward over reverse and reverse over reverse; returns as check_jvp."""
    arrays = tame(operands)
    region = trace(function, map(type_of, arrays), attributes)
    marked = inexact(region.parameter_types)
    if not any(marked) or not any(inexact(region.result_types)):
        return 0
    forward = jvp_region(region, marked)
    backward = vjp_region(region, marked, inexact(region.result_types))
    compared = 0
    for derived in (forward, backward):
        extra = [direction(t, seed) for seed, t in enumerate(derived.parameter_types)]
        inputs = [*arrays, *extra[len(arrays) :]]
        compared += _compare_jvp(derived, inputs, rtol, atol, each=False)
        _compare_vjp(derived, inputs, rtol=1e-10, each=False)
    return compared


def check_batch(
    function: Function,
    operands: Sequence[Any],
    attributes: Attributes = None,
    *,
    vary: Callable[[Array, int], Array] | None = None,
    derivatives: bool = True,
    rtol: float = 1e-12,
    atol: float = 1e-12,
) -> None:
    """The batched function, and with `derivatives` its batched vjp, against a loop over the axis.

    `vary(operand, i)` makes the operand of batch element i; left out, it rolls the elements, which
    keeps indices in range. Give `scaled` where the structure of a matrix must survive.
    """
    arrays = tame(operands)
    region = trace(function, map(type_of, arrays), attributes)
    _compare_batch(region, arrays, vary or rolled, rtol, atol)
    marked, outputs = inexact(region.parameter_types), inexact(region.result_types)
    if derivatives and any(marked) and any(outputs):
        derived = vjp_region(region, marked, outputs)
        extra = [direction(t, seed) for seed, t in enumerate(derived.parameter_types)]
        _compare_batch(derived, [*arrays, *extra[len(arrays) :]], vary or rolled, rtol, atol)


def check_symbolic(
    function: Function, operands: Sequence[Any], attributes: Attributes = None
) -> None:
    """The derived graphs on symbolic sizes compute what those on numbers do.

    Every size n above 1 becomes `symbol(n)`, so equal sizes stay equal; where attributes hold sizes
    of the operands, write them as `symbol(n)` too (they are replaced by n for the graph on
    numbers).
    """
    arrays = tame(operands)
    types = [type_of(array) for array in arrays]
    open_types = [type.with_shape(map(symbol, type.shape)) for type in types]
    fixed = trace(function, types, {k: _fixed(v) for k, v in (attributes or {}).items()})
    open_region = trace(function, open_types, attributes)
    sizes = {f"n{n}": n for type in types for n in type.shape if isinstance(n, int)}
    for on_numbers, on_symbols in zip(_derived(fixed), _derived(open_region), strict=True):
        extra = [direction(t, seed) for seed, t in enumerate(on_numbers.parameter_types)]
        inputs = [*_leading(arrays, on_numbers), *extra[len(arrays) :]]
        Graph("symbolic", on_symbols).verify()
        with np.errstate(all="ignore"):
            actual = run_region(on_symbols, inputs, sizes)
        for got, expected in zip(actual, run(on_numbers, inputs), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def check_types(function: Function, operands: Sequence[Any], attributes: Attributes = None) -> None:
    """The derived graphs in the dtypes of the operands verify, and tangents have their types."""
    region = trace(function, [type_of(np.asarray(x)) for x in operands], attributes)
    for derived in _derived(region):
        Graph("derived", derived).verify()


# --- pieces for explicit expectations -----------------------------------------------------------


def trace(
    function: Function, types: Iterator[ArrayType] | Sequence[ArrayType], attributes: Attributes
) -> Region:
    """The region that applies the function to parameters of these types."""
    builder = Builder()
    parameters = [builder.parameter(type) for type in types]
    with builder.active():
        call = function.emit if isinstance(function, OpDef) else function
        made = call(*parameters, **(attributes or {}))
    return builder.region((made,) if isinstance(made, Value) else made)


def run(region: Region, arrays: Sequence[Array]) -> list[Array]:
    """The results of a region that was verified first."""
    return evaluate(Graph("checked", region).verify(), arrays)


def jvp(
    function: Function,
    operands: Sequence[Any],
    tangents: Sequence[Any],
    attributes: Attributes = None,
) -> list[Array]:
    """The tangents of the inexact results; None among `tangents` stands for a zero one."""
    arrays = [np.asarray(x) for x in operands]
    region = trace(function, map(type_of, arrays), attributes)
    given = [np.asarray(t) for t in tangents if t is not None]
    derived = jvp_region(region, [t is not None for t in tangents])
    return run(derived, [*arrays, *given])[len(region.results) :]


def gradient(
    function: Function,
    operands: Sequence[Any],
    attributes: Attributes = None,
    cotangents: Sequence[Any] | None = None,
) -> list[Array]:
    """The cotangents of the inexact operands, of cotangents 1 of the inexact results if none are
    given.
    """
    arrays = [np.asarray(x) for x in operands]
    region = trace(function, map(type_of, arrays), attributes)
    outputs = inexact(region.result_types)
    derived = vjp_region(region, inexact(region.parameter_types), outputs)
    if cotangents is None:
        results = run(region, arrays)
        cotangents = [np.ones_like(r) for r, mark in zip(results, outputs, strict=True) if mark]
    given = [np.asarray(cotangent) for cotangent in cotangents]
    return run(derived, [*arrays, *given])[len(region.results) :]


def nth_derivative(function: Function, order: int, x: float, *others: float) -> float:
    """The derivative of this order by x of a function of numbers, by reverse mode over itself."""
    region = trace(function, [type_of(np.float64(value)) for value in (x, *others)], None)
    for _ in range(order):
        marked = [i == 0 for i in range(len(region.parameters))]
        derived = vjp_region(region, marked, [True])
        region = Region(derived.parameters, derived.ops, derived.results[1:])
    (result,) = run(region, [np.asarray(value) for value in (x, *others, *[1.0] * order)])
    return float(result)


def jvp_region(region: Region, marked: Sequence[bool]) -> Region:
    """`derive.jvp`, with the types of the tangents checked."""
    made = derive.jvp(region, marked)
    expected = [t for t in region.result_types if t.dtype.is_inexact]
    assert list(made.result_types[len(region.results) :]) == expected
    return made


def vjp_region(region: Region, marked: Sequence[bool], outputs: Sequence[bool]) -> Region:
    """`derive.vjp`, with the types of the cotangents checked."""
    made = derive.vjp(region, marked, outputs)
    expected = [t for t, mark in zip(region.parameter_types, marked, strict=True) if mark]
    assert list(made.result_types[len(region.results) :]) == expected
    return made


def tame(operands: Sequence[Any]) -> list[Array]:
    """The operands in double, with 0.7 in place of infinities, NaNs and numbers so large or small
    that a derivative or its product with a step could leave the range.
    """
    return [_tame(np.asarray(x)) for x in operands]


def _tame(array: Array) -> Array:
    wide = widen(array)
    if wide.dtype.kind not in "fc":
        return wide
    size = np.abs(wide)
    return np.where((size == 0) | ((size > 1e-100) & (size < 1e100)), wide, 0.7)


def inexact(types: Sequence[ArrayType]) -> list[bool]:
    """Which types have tangents."""
    return [type.dtype.is_inexact for type in types]


def direction(type: ArrayType, seed: int) -> Array:
    """Numbers of size 0.5 to 1 and either sign, complex for complex types."""
    generator = np.random.default_rng(seed)

    def part() -> Array:
        size = generator.uniform(0.5, 1.0, type.shape)
        return np.asarray(size * generator.choice([-1.0, 1.0], type.shape))

    made = part() + 1j * part() if type.dtype.is_complex else part()
    return np.asarray(made).astype(type.dtype.numpy)


def rolled(operand: Array, i: int) -> Array:
    """The same elements, each moved on by i places."""
    return np.roll(operand.reshape(-1), i).reshape(operand.shape)


def scaled(operand: Array, i: int) -> Array:
    """The floats a little smaller with every i; the same integers and bools."""
    return operand * (1 - i / 8) if operand.dtype.kind in "fc" else operand


def symbol(size: Size) -> Size:
    """The symbolic size that stands for this number in `check_symbolic`."""
    return dims.symbol(f"n{size}") if isinstance(size, int) and size > 1 else size


# --- comparisons of regions ---------------------------------------------------------------------


def _marks(flags: Sequence[bool], each: bool = True) -> Iterator[list[bool]]:
    """All marks together, then each alone."""
    if any(flags):
        yield list(flags)
    if each and sum(flags) > 1:
        for chosen, flag in enumerate(flags):
            if flag:
                yield [i == chosen for i in range(len(flags))]


def _compare_jvp(
    region: Region, arrays: Sequence[Array], rtol: float, atol: float, each: bool = True
) -> int:
    count, outputs = 0, inexact(region.result_types)
    for marks in _marks(inexact(region.parameter_types), each):
        moves = [
            _move(a, i) if mark else None
            for i, (a, mark) in enumerate(zip(arrays, marks, strict=True))
        ]
        derived = jvp_region(region, marks)
        tangents = run(derived, [*arrays, *[m for m in moves if m is not None]])
        expected = numerical_jvp(region, arrays, moves)
        chosen = [e for e, mark in zip(expected, outputs, strict=True) if mark]
        for actual, estimate in zip(tangents[len(region.results) :], chosen, strict=True):
            with np.errstate(all="ignore"):
                allowed = rtol * np.abs(estimate.value) + 4 * estimate.noise + atol
                wrong = ~(np.abs(actual - estimate.value) <= allowed) & estimate.trusted
            if np.any(wrong):
                raise AssertionError(_report(arrays, marks, wrong, actual, estimate.value))
            count += int(np.sum(estimate.trusted))
    return count


def _report(
    arrays: Sequence[Array], marks: Sequence[bool], wrong: Array, actual: Array, expected: Array
) -> str:
    operands = [a[wrong] if a.shape == wrong.shape else a for a in arrays]
    return (
        f"{np.sum(wrong)} of {wrong.size} tangents are wrong with operands {marks} moved\n"
        f"operands there: {operands}\nrule: {actual[wrong]}\ndifferences: {expected[wrong]}"
    )


def _compare_vjp(region: Region, arrays: Sequence[Array], rtol: float, each: bool = True) -> None:
    outputs = inexact(region.result_types)
    for marks, chosen in product(
        _marks(inexact(region.parameter_types), each), _marks(outputs, each)
    ):
        moves = [_move(a, i) for i, (a, m) in enumerate(zip(arrays, marks, strict=True)) if m]
        derived = jvp_region(region, marks)
        tangents = run(derived, [*arrays, *moves])[len(region.results) :]
        if not all(np.all(np.isfinite(tangent)) for tangent in tangents):
            continue
        weights = [
            direction(t, 100 + i)
            for i, (t, mark) in enumerate(zip(region.result_types, chosen, strict=True))
            if mark
        ]
        backward = vjp_region(region, marks, chosen)
        gradients = run(backward, [*arrays, *weights])[len(region.results) :]
        kept = [mark for mark, output in zip(chosen, outputs, strict=True) if output]
        wanted = [t for t, mark in zip(tangents, kept, strict=True) if mark]
        forward_sum, forward_size = _pairing(weights, wanted)
        backward_sum, backward_size = _pairing(gradients, moves)
        allowed = rtol * (forward_size + backward_size)
        assert abs(forward_sum - backward_sum) <= allowed, (
            f"with operands {marks} and results {chosen}: <w, J v> is {forward_sum}, "
            f"<J^T w, v> is {backward_sum}"
        )


def _pairing(left: Sequence[Array], right: Sequence[Array]) -> tuple[float, float]:
    """The real part of the sum of products, and the sum of their sizes."""
    terms = [np.ravel(x * y) for x, y in zip(left, right, strict=True)]
    every = np.concatenate([np.zeros(1), *terms])
    return float(np.sum(np.real(every))), float(np.sum(np.abs(every)))


def _compare_batch(
    region: Region,
    arrays: Sequence[Array],
    vary: Callable[[Array, int], Array],
    rtol: float,
    atol: float,
) -> None:
    stacks = [np.stack([vary(a, i) for i in range(BATCH)]) for a in arrays]
    keep = [True] * len(region.results)
    for marks in _marks([True] * len(arrays)):
        made = derive.TRANSFORMS.batch(region, marks, BATCH, keep)
        inputs = [s if m else a for s, a, m in zip(stacks, arrays, marks, strict=True)]
        actual = run(made.region, inputs)
        rows = [
            run(region, [s[i] if m else a for s, a, m in zip(stacks, arrays, marks, strict=True)])
            for i in range(BATCH)
        ]
        for got, expected in zip(actual, zip(*rows, strict=True), strict=True):
            np.testing.assert_allclose(
                got, np.stack(expected), rtol, atol, err_msg=f"operands {marks} batched"
            )


def _derived(region: Region) -> Iterator[Region]:
    """The region's jvp, its vjp, the jvp of its vjp, and itself on a batch."""
    marked, outputs = inexact(region.parameter_types), inexact(region.result_types)
    if any(marked) and any(outputs):
        yield jvp_region(region, marked)
        backward = vjp_region(region, marked, outputs)
        yield backward
        yield jvp_region(backward, inexact(backward.parameter_types))
    count = len(region.parameters)
    yield derive.TRANSFORMS.batch(
        region, [True] * count, BATCH, [True] * len(region.results)
    ).region


def _leading(arrays: Sequence[Array], region: Region) -> list[Array]:
    """The arrays, stacked where the region is a batched one."""
    return [
        a if a.ndim == t.rank else np.stack([rolled(a, i) for i in range(BATCH)])
        for a, t in zip(arrays, region.parameter_types, strict=False)
    ]


def _fixed(attribute: Any) -> Any:
    """An attribute with the sizes that `symbol` made turned back into numbers."""
    if isinstance(attribute, tuple | list):
        return tuple([_fixed(item) for item in attribute])
    if not isinstance(attribute, dims.Dim):
        return attribute
    return dims.evaluate(attribute, {name: int(name[1:]) for name in _names(attribute)})


def _names(size: dims.Dim) -> list[str]:
    return [str(symbol) for symbol in dims.symbols(size)]


# --- differences --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A numerical derivative, how far rounding may have put it off, and where to believe it."""

    value: Array
    noise: Array
    trusted: Array


def _move(array: Array, seed: int) -> Array:
    """A direction in proportion to the array, so that relative steps suit each element."""
    size = np.abs(array)
    return direction(type_of(array), seed) * np.where(size == 0, 1.0, size)


def numerical_jvp(
    region: Region, arrays: Sequence[Array], moves: Sequence[Array | None]
) -> list[Estimate]:
    """The directional derivatives of a region's results, by extrapolated central differences."""
    best: list[Estimate] | None = None
    for step in STEPS:
        made = _differences(region, arrays, moves, step)
        best = made if best is None else list(map(_better, best, made))
        if all(np.all(estimate.trusted) for estimate in best):
            break
    assert best is not None
    return best


def _better(old: Estimate, new: Estimate) -> Estimate:
    value = np.where(old.trusted, old.value, new.value)
    noise = np.where(old.trusted, old.noise, new.noise)
    return Estimate(value, noise, old.trusted | new.trusted)


def _differences(
    region: Region, arrays: Sequence[Array], moves: Sequence[Array | None], step: float
) -> list[Estimate]:
    """Three central differences per result, extrapolated to step 0 (Richardson)."""

    def at(t: float) -> list[Array]:
        moved = [a if m is None else a + t * m for a, m in zip(arrays, moves, strict=True)]
        return evaluate(Graph("moved", region), moved)

    with np.errstate(all="ignore"):
        steps = (step, step / 2, step / 4)
        ahead, behind, here = [at(h) for h in steps], [at(-h) for h in steps], at(0.0)
        return [
            _extrapolate(steps, [a[i] for a in ahead], [b[i] for b in behind], here[i])
            for i in range(len(here))
        ]


def _extrapolate(
    steps: Sequence[float], ahead: Sequence[Array], behind: Sequence[Array], here: Array
) -> Estimate:
    if here.dtype not in (np.float64, np.complex128):
        return Estimate(here, here, np.zeros(here.shape, np.bool_))
    coarse, middle, fine = [(a - b) / (2 * h) for a, b, h in zip(ahead, behind, steps, strict=True)]
    once, again = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    value = np.asarray((16 * again - once) / 15)
    noise = np.asarray(ROUNDING * (np.abs(ahead[2]) + np.abs(behind[2])) / steps[2])
    trusted = np.abs(value - again) <= CONVERGED * np.abs(value) + noise
    # The two one-sided slopes of a smooth function come together with the step, at a kink not.
    wide, narrow = [
        np.abs(a - 2 * here + b) / h
        for a, b, h in zip(ahead[1:], behind[1:], steps[1:], strict=True)
    ]
    kink = (narrow > 0.75 * wide) & (narrow > CONVERGED * np.abs(value) + noise)
    defined = np.isfinite(value) & np.isfinite(here)
    return Estimate(value, noise, np.asarray(trusted & ~kink & defined))
