"""Elementwise ops in native code against their NumPy references, in vectors and one by one."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.compiler.lower.harness import link, map_lanes
from tests.compiler.lower.llvm.scalar.runner import Case, apply, emit_loop, run
from tests.compiler.lower.llvm.scalar.values import (
    FLOATS,
    INTEGERS,
    NDArray,
    edges,
    from_parts,
    operands,
    random,
    same,
)
from tests.compiler.ops import rows_special
from tests.compiler.ops.scalar_oracle import EPSILON
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType, bf16, bool_, f16, f32, f64, i64, u32, u64
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import PTR, VOID
from weft.compiler.lower.llvm.machine import Target, assembly, host
from weft.compiler.lower.llvm.scalar import halves
from weft.compiler.ops import TABLE, special
from weft.compiler.ops.arithmetic import hypot, maximum, minimum, mul, pow_
from weft.compiler.ops.conversion import bitcast, cast

LANES = 8

# What rounds once or not at all: native results are the reference's to the last bit.
EXACT = """
    neg abs sign add sub mul div floor_divide remainder fmod maximum minimum clamp copysign
    nextafter floor ceil trunc round is_nan is_finite eq ne lt le gt ge and or xor not shift_left
    shift_right population_count real imag conj complex stop_gradient sqrt pow
""".split()


def is_accepted(op: OpDef, dtype: DType) -> bool:
    try:
        return bool(Case(op, (np.zeros(1, dtype.numpy),) * len(op.operands)).result)
    except DTypeError:
        return False


def accepted(op: OpDef) -> list[DType]:
    return [dtype for dtype in dtypes.ALL if is_accepted(op, dtype)]


def check(
    cases: list[Case],
    expected: Callable[[Case], NDArray] = Case.expected,
    where: Callable[[Case], Any] = lambda case: True,
    signed_zeros: bool = True,
    lanes: int = LANES,
) -> None:
    """Native results are the expected ones, bit for bit but for NaNs."""
    for case, found in zip(cases, run(cases, lanes), strict=True):
        for how, made in zip(("vectors", "scalars"), found, strict=True):
            with np.errstate(all="ignore"):
                wanted = expected(case)
                wrong = ~same(made, wanted, signed_zeros=signed_zeros) & where(case)
            report(case, how, wrong, made, wanted)


def report(case: Case, how: str, wrong: NDArray, made: NDArray, wanted: NDArray) -> None:
    """Fail with the first of the wrong elements, if there is one."""
    if wrong.any():
        at = int(np.argmax(wrong))
        given = [array[at] for array in case.arrays]
        message = f"{case} in {how}: {given} gives {made[at]}, expected {wanted[at]}"
        pytest.fail(f"{message} ({wrong.sum()} of {wrong.size})")


def test_every_elementwise_primitive_has_a_rule() -> None:
    elementwise = {name for name, op in TABLE.items() if Trait.ELEMENTWISE in op.traits}
    forms = {name for name in elementwise if TABLE[name].scalar is not None}
    assert set(scalar.RULES) == elementwise - forms


# --- exact ops ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXACT)
def test_exact_ops(name: str) -> None:
    op = TABLE[name]
    kinds = [d for d in accepted(op) if not (d.is_complex and name in INEXACT_COMPLEX)]
    if op is pow_:
        kinds = list(INTEGERS)
    cases = [Case(op, operands(d, len(op.operands))) for d in kinds]
    # Of two zeros either one is the larger.
    check(cases, signed_zeros=op not in (maximum, minimum, TABLE["clamp"]))


# Checked in test_scalar_complex; NumPy's own products fuse where the machine can.
INEXACT_COMPLEX = ("abs", "sign", "mul", "sqrt")


def test_remainders_of_long_quotients() -> None:
    """Random bits: quotients of hundreds of digits."""
    pairs = [tuple([random(d, 30001, seed)[1::2] for seed in (1, 2)]) for d in (f32, f64)]
    check([Case(TABLE[name], pair) for pair in pairs for name in ("fmod", "remainder")])


def test_select() -> None:
    cases = []
    for d in dtypes.ALL:
        pair = operands(d, 2)
        cases.append(Case(TABLE["select"], (random(bool_, len(pair[0])), *pair)))
    check(cases)


def test_identities_and_cipher() -> None:
    keys, counters = (random(u32, 333, seed) for seed in (1, 2)), random(u64, 333)
    check(
        [
            Case(TABLE["threefry2x32"], (*keys, counters)),
            *[Case(TABLE["probe"], operands(d, 1), {"name": "x"}) for d in dtypes.ALL],
            *[Case(TABLE["fence"], operands(d, 1), {"fuse": True}) for d in dtypes.ALL],
        ]
    )


@pytest.mark.parametrize("lanes", [2, 4, 16, 64])
def test_other_numbers_of_lanes(lanes: int) -> None:
    check(
        [
            *[Case(mul, operands(d, 2)) for d in (*INTEGERS, *FLOATS)],
            *[Case(TABLE["remainder"], operands(d, 2)) for d in (dtypes.i8, dtypes.i32, bf16, f64)],
            Case(TABLE["is_nan"], operands(f16, 1)),
            Case(cast, operands(f64, 1), {"dtype": f16}),
        ],
        lanes=lanes,
    )


# --- conversions --------------------------------------------------------------------------------


def rounded_once(case: Case) -> NDArray:
    """A cast with one rounding; NumPy and ml_dtypes go to halves through f32 in some cases."""
    (x,), target = case.arrays, case.result
    if target not in (f16, bf16) or not (x.dtype.kind in "iu" or x.dtype == np.float64):
        return case.expected()
    return to_half(x, target)


def to_half(x: NDArray, target: DType) -> NDArray:
    """f64 or integers rounded to odd in f32, from where a second rounding gives what one would:
    the value if f32 holds it, else of its two neighbours the one with an odd last bit.
    """
    near = x.astype(np.float32)
    # Python compares integers and floats exactly.
    numbers, rounded = x.astype(object), near.astype(object)
    towards = np.where((numbers > rounded).astype(bool), np.float32(np.inf), np.float32(-np.inf))
    is_even = near.view(np.uint32) % 2 == 0
    is_moved = (numbers != rounded).astype(bool) & is_even & ~np.isnan(near)
    return np.where(is_moved, np.nextafter(near, towards), near).astype(target.numpy)


def in_range(case: Case) -> Any:
    """Where a cast to integers means something."""
    (x,), target = case.arrays, case.result
    if not target.is_integer or x.dtype.kind in "biu":
        return True
    whole = np.trunc(x.real.astype(np.float64))
    ends = np.iinfo(target.numpy)
    return (whole >= ends.min) & (whole < float(ends.max) + 1)


def test_casts_between_all_dtypes() -> None:
    pairs = [(source, target) for source in dtypes.ALL for target in dtypes.ALL]
    cases = [Case(cast, operands(source, 1), {"dtype": target}) for source, target in pairs]
    check(cases, expected=rounded_once, where=in_range)


def test_bitcasts_between_all_dtypes() -> None:
    real = [d for d in dtypes.ALL if d in (*INTEGERS, *FLOATS)]
    cases = [
        Case(bitcast, operands(source, 1), {"dtype": target})
        for source in real
        for target in real
        if source.bits == target.bits
    ]
    check(cases)


def around_ties(target: DType) -> NDArray:
    """Points half way between neighbours of a half dtype, and f64 a little off them."""
    bits = np.arange(0, 0x7C00 if target is f16 else 0x7F80, 7, dtype=np.uint16)
    low = bits.view(target.numpy).astype(np.float64)
    high = (bits + 1).view(target.numpy).astype(np.float64)
    middle = (low + np.where(np.isinf(high), 2 * low - (bits - 1).view(target.numpy), high)) / 2
    near = [middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf), middle * (1 + 2.0**-30)]
    positive = np.concatenate([*near, low])
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize("target", [f16, bf16])
def test_doubles_round_once_to_halves(target: DType) -> None:
    check([Case(cast, (around_ties(target),), {"dtype": target})], expected=rounded_once)


@pytest.mark.parametrize("target", [f16, bf16])
def test_integers_round_once_to_halves(target: DType) -> None:
    powers = [(1 << n) + (1 << m) + d for n in range(9, 63) for m in range(n) for d in (-1, 0, 1)]
    signed = np.array([*powers, *[-p for p in powers]], np.int64)
    unsigned = np.array([*powers, *[(1 << 63) | p for p in powers]], np.uint64)
    small = signed[np.abs(signed) < 2**31].astype(np.int32)
    cases = [Case(cast, (x,), {"dtype": target}) for x in (signed, unsigned, small)]
    check(cases, expected=rounded_once)


@pytest.mark.parametrize("d", [f16, bf16], ids=str)
def test_halves_round_after_each_op(d: DType) -> None:
    """x * y + z in one function is what it is in two."""
    x, y, z = (random(d, 4001, seed) for seed in range(3))
    product, total = Case(mul, (x, y)), Case(TABLE["add"], (x, z))

    def emit(f: Function, a: V, b: V, c: V) -> Any:
        return apply(f, total, [apply(f, product, [a, b]), c])

    made = map_lanes(emit, [x, y, z], d.numpy, lanes=LANES)
    with np.errstate(all="ignore"):
        assert same(made, x * y + z).all()


# --- halves without instructions ----------------------------------------------------------------


def test_half_conversions_by_bits() -> None:
    every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    widened = map_lanes(halves.widen_bits, [every], np.dtype(np.float32), lanes=LANES)
    with np.errstate(all="ignore"):
        assert same(widened, every.astype(np.float32)).all()
        ties = around_ties(f16).astype(np.float32)
        singles = np.concatenate([random(f32, 20001), ties, widened])
        narrowed = map_lanes(halves.narrow_bits, [singles], np.dtype(np.float16), lanes=LANES)
        assert same(narrowed, singles.astype(np.float16)).all()


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="names an x86 target")
def test_halves_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "converts_halves", False)
    names = ("add", "neg", "maximum", "lt", "copysign", "nextafter", "select")
    module = Module()
    for d in (f16, bf16):
        for name in names:
            arrays = tuple([np.zeros(1, d.numpy)] * len(TABLE[name].operands))
            arrays = (np.zeros(1, np.bool_), *arrays[1:]) if name == "select" else arrays
            emit_loop(module, f"{name}_{d}", Case(TABLE[name], arrays), LANES)
        for other in (f64, i64, dtypes.u8, f16, bf16):
            there = Case(cast, (np.zeros(1, other.numpy),), {"dtype": d})
            back = Case(cast, (np.zeros(1, d.numpy),), {"dtype": other})
            emit_loop(module, f"to_{d}_{other}", there, LANES)
            emit_loop(module, f"from_{d}_{other}", back, LANES)
    plain = Target(host().triple, "x86-64", "", 16)
    called = re.findall(r"call\w*\s+(\S+)", assembly(module.text(), plain))
    assert not called


# --- functions of analysis ----------------------------------------------------------------------

# How many units in the last place native results may be off where it is not 4: most of it is the
# error of SciPy's functions, which are the references in f64.
ULPS = {special.erfc: 16, special.i1e: 8}


def function_operands(function: rows_special.Function, d: DType) -> tuple[NDArray, NDArray]:
    """Numbers from the range in which the op's samples are, and the edges of the dtype."""
    generator = np.random.default_rng(3)
    inside = generator.uniform(function.low, function.high, 203).astype(d.numpy)
    return inside, np.concatenate([inside, edges(d)])


@pytest.mark.parametrize("function", rows_special.FUNCTIONS, ids=lambda f: f.op.name)
def test_real_functions(function: rows_special.Function) -> None:
    cases = [Case(function.op, (function_operands(function, d)[1],)) for d in FLOATS]
    check_near(cases, ULPS.get(function.op, 4), absolute=function.absolute)


def test_binary_functions() -> None:
    for op in (pow_, hypot, special.atan2):
        check_near([Case(op, operands(d, 2)) for d in FLOATS], 4)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_polygamma(order: int) -> None:
    generator = np.random.default_rng(4)
    x = [generator.uniform(0.5, 20, 203).astype(d.numpy) for d in FLOATS]
    check_near([Case(special.polygamma, (a,), {"order": order}) for a in x], 8)


def check_near(cases: list[Case], ulps: float, absolute: bool = False) -> None:
    """Native results are a few units off the reference in double; halves are rounded once."""
    for case, found in zip(cases, run(cases, LANES), strict=True):
        d = case.result
        with np.errstate(all="ignore"):
            exact = np.asarray(case.op.reference(*case.arrays, **case.attributes), np.float64)
            wanted = exact.astype(d.numpy)
            bound = (ulps if d in (f32, f64) else 0.6) * EPSILON[d]
            size = np.maximum(np.abs(exact), smallest_normal(d))
            allowed = bound * (np.maximum(size, 1) if absolute else size)
        for how, made in zip(("vectors", "scalars"), found, strict=True):
            with np.errstate(all="ignore"):
                is_close = np.abs(made.astype(np.float64) - exact) <= allowed
            report(case, how, ~(is_close | same(made, wanted)), made, wanted)


def smallest_normal(d: DType) -> float:
    return float(ml_dtypes.finfo(d.numpy).tiny)  # type: ignore[no-untyped-call]


# --- reductions and constants -------------------------------------------------------------------

REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def reduced_kinds(d: DType) -> list[str]:
    if d.is_bool:
        return ["max", "min", "any", "all"]
    return ["sum", "prod"] if d.is_complex else ["sum", "prod", "max", "min"]


@pytest.mark.parametrize("d", [d for d in dtypes.ALL if not d.is_complex], ids=str)
def test_combiners(d: DType) -> None:
    held = f32 if d in (f16, bf16) else d
    x, y = operands(held, 2)
    for kind in reduced_kinds(d):

        def emit(f: Function, a: V, b: V, kind: str = kind) -> V:
            made = scalar.combine(f, kind, a, b, d)
            assert isinstance(made, V)
            return made

        made = map_lanes(emit, [x, y], held.numpy)
        with np.errstate(all="ignore"):
            wanted = REDUCTIONS[kind](x, y)
            assert same(made, wanted, signed_zeros=kind in ("sum", "prod")).all()


@pytest.mark.parametrize("d", dtypes.ALL, ids=str)
def test_identities_change_nothing(d: DType) -> None:
    held = f32 if d in (f16, bf16) else d
    x = edges(held)
    for kind in reduced_kinds(d):
        start = scalar.identity(kind, d)
        assert start.dtype == held.numpy
        with np.errstate(all="ignore"):
            assert same(REDUCTIONS[kind](x, start), x, signed_zeros=False).all() or d.is_complex


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize("d", dtypes.ALL, ids=str)
def test_constants(d: DType, lanes: int) -> None:
    """Each edge of a dtype, written by native code to its place (and the places after it)."""
    values = edges(d)[-40:]
    parts = [np.zeros(len(values) + lanes, d.real.numpy) for _ in range(1 + d.is_complex)]
    module = Module()
    f = module.function("fill", VOID, [(f"p{i}", PTR) for i in range(len(parts))])
    for place, value in enumerate(values):
        made = scalar.constant(f, value, d, lanes)
        each = made if isinstance(made, tuple) else (made,)
        for part, pointer in zip(each, f.arguments, strict=True):
            f.store(part, f.element(pointer, part.type, place))
    f.ret()
    library, address = link(module, "fill")
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(parts))(address)
    call(*[part.ctypes.data for part in parts])
    library.close()
    filled = [part[: len(values)] for part in parts]
    assert same(from_parts(*filled) if d.is_complex else filled[0], values).all()
