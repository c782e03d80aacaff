"""Samples of casts, complex parts and marked identities; oracles are Python and struct."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from tests.compiler.ops.sample import BadSample, Sample
from tests.compiler.ops.scalar_oracle import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    array,
    greatest,
    least,
    numbers,
    random,
    wrap,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import (
    DType,
    bf16,
    bool_,
    c64,
    c128,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from weft.compiler.ir.errors import DTypeError, ShapeError, VerifyError
from weft.compiler.ops import conversion as ops

INF, NAN = math.inf, math.nan


def convert(number: Any, dtype: DType) -> Any:
    """A Python number as the dtype's kind of number."""
    if dtype.is_bool:
        return number != 0
    if dtype.is_complex:
        return complex(number)
    real = number.real if isinstance(number, complex) else number
    return wrap(math.trunc(real), dtype) if dtype.is_integer else float(real)


def cast_rows() -> list[Sample]:
    """From every dtype to every dtype, with values that all hold; integers with their ends."""
    rows = []
    for source in dtypes.ALL:
        for target in dtypes.ALL:
            values = {
                "bool": [False, True],
                "int": [0, 1, 100, -3],
                "uint": [0, 1, 100, 3],
                "float": [0.0, 1.0, 100.75, 2.5],
                "complex": [0, 1 + 2j, 100.75 - 1j, 2.5],
            }[source.kind]
            x = array(values, source)
            expected = [convert(number, target) for number in numbers(x)]
            wide = target.numpy if target.is_integer else None
            result, attributes = array(np.array(expected, wide), target), {"dtype": target}
            rows.append(Sample(ops.cast, (x,), result, attributes, name=f"to-{target}"))
    for source in INTEGERS:
        x = np.array([least(source), greatest(source)], source.numpy)
        for target in INTEGERS:
            result = np.array([wrap(number, target) for number in numbers(x)], target.numpy)
            rows.append(Sample(ops.cast, (x,), result, {"dtype": target}, name=f"ends-to-{target}"))
    return rows


def cast_edge_rows() -> list[Sample]:
    """What casts lose: fractions towards zero, range to infinity, digits to the even neighbour."""
    fractions = array([1.9, -1.9, 0.5, -0.5, -0.0], f64)
    special = array([0.0, -0.0, NAN, INF, 1e-40], f64)
    wide = array([1e39, -1e39, NAN, 1e-50, 1 + 2.0**-24, 1 + 2.0**-23 + 2.0**-24], f64)
    narrow = array([INF, -INF, NAN, 0, 1, 1 + 2.0**-22], f32)
    return [
        *[
            Sample(
                ops.cast,
                (fractions,),
                array([1, -1, 0, 0, 0], d),
                {"dtype": d},
                name=f"truncates-{d}",
            )
            for d in (i8, i16, i32, i64)
        ],
        Sample(
            ops.cast, (special,), np.array([0, 0, 1, 1, 1], bool), {"dtype": bool_}, name="edge"
        ),
        Sample(ops.cast, (array([0, 1j, NAN], c64),), np.array([0, 1, 1], bool), {"dtype": bool_}),
        Sample(ops.cast, (wide,), narrow, {"dtype": f32}, name="rounds"),
        Sample(
            ops.cast,
            (array([65520, 65519, 1e-8], f32),),
            array([INF, 65504, 0], f16),
            {"dtype": f16},
        ),
        Sample(
            ops.cast,
            (array([1.00390625, 1.01171875], f32),),
            array([1, 1.015625], bf16),
            {"dtype": bf16},
        ),
        Sample(ops.cast, (array([2**53 + 1, -1], i64),), array([2.0**53, -1], f64), {"dtype": f64}),
        Sample(ops.cast, (array(2.5, f32),), array(2, i32), {"dtype": i32}, name="scalar"),
        Sample(
            ops.cast, (np.zeros((0, 3), "f4"),), np.zeros((0, 3), "i1"), {"dtype": i8}, name="empty"
        ),
        Sample(
            ops.cast,
            (array([[1, 2], [3, 4]], f64).T[::-1],),
            array([[2, 4], [1, 3]], i8),
            {"dtype": i8},
        ),
    ]


def bitcast_rows() -> list[Sample]:
    """Against struct, which has codes for all but bf16: that is the upper half of an f32."""
    codes = {
        "i8": "b",
        "i16": "h",
        "i32": "i",
        "i64": "q",
        "u8": "B",
        "u16": "H",
        "u32": "I",
        "u64": "Q",
    }
    codes |= {"f16": "e", "f32": "f", "f64": "d"}
    rows = []
    for source in (i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64):
        values = [0, 1, 2, 100] if source.is_integer else [0.0, -0.0, 1.5, INF]
        packed = struct.pack(f"=4{codes[source.name]}", *values)
        for target in (i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64):
            if source.bits != target.bits:
                continue
            expected = np.array(struct.unpack(f"=4{codes[target.name]}", packed), target.numpy)
            attributes, name = {"dtype": target}, f"to-{target}"
            rows.append(
                Sample(ops.bitcast, (array(values, source),), expected, attributes, name=name)
            )
    patterns = array([0x3F80, 0x8000, 0x7F80, 0x4049], u16)
    meanings = array([1.0, -0.0, INF, 3.140625], bf16)
    rows += [
        Sample(ops.bitcast, (patterns,), meanings, {"dtype": bf16}),
        Sample(ops.bitcast, (meanings[::-1],), patterns[::-1], {"dtype": u16}, name="strided"),
        Sample(
            ops.bitcast, (array(1, f32),), array(0x3F800000, i32), {"dtype": i32}, name="scalar"
        ),
        Sample(
            ops.bitcast,
            (np.zeros((2, 0), "f8"),),
            np.zeros((2, 0), "u8"),
            {"dtype": u64},
            name="empty",
        ),
    ]
    return rows


def complex_rows() -> list[Sample]:
    rows = []
    for dtype in COMPLEXES:
        z = random(dtype, 2, 3)
        edge = array([complex(NAN, 1), complex(INF, -0.0), complex(-0.0, -INF)], dtype)
        for name, x in {
            "random": z,
            "edge": edge,
            "strided": z.T[::-1],
            "scalar": z[0, 0],
            "empty": z[:0],
        }.items():
            x = np.asarray(x)
            # The memory of complex numbers is pairs of reals.
            parts = np.ascontiguousarray(x).reshape(-1).view(dtype.real.numpy).reshape(-1, 2)
            real, imag = parts[:, 0].reshape(x.shape), parts[:, 1].reshape(x.shape)
            mirrored = np.stack([parts[:, 0], -parts[:, 1]], axis=1).view(dtype.numpy)
            rows.append(Sample(ops.real, (x,), real, name=name))
            rows.append(Sample(ops.imag, (x,), imag, name=name))
            rows.append(Sample(ops.conj, (x,), mirrored.reshape(x.shape), name=name))
            rows.append(Sample(ops.complex_, (real, imag), x, name=name))
        one, both = array(1, dtype.real), array([2, INF], dtype.real)
        expected = array([complex(1, 2), complex(1, INF)], dtype)
        rows.append(Sample(ops.complex_, (one, both), expected, name="scalar-real"))
    return rows


def identity_rows() -> list[Sample]:
    rows = []
    for dtype in (bool_, *INTEGERS, *FLOATS, *COMPLEXES):
        x = array([[0, 1], [1, 2]], dtype)
        rows.append(Sample(ops.stop_gradient, (x,), x.copy()))
        rows.append(Sample(ops.probe, (x,), x.copy(), {"name": "hidden"}))
        rows.append(Sample(ops.fence, (x,), x.copy()))
        rows.append(Sample(ops.fence, (x,), x.copy(), {"fuse": True}))
        if dtype in FLOATS:
            rows.append(Sample(ops.rounded, (x,), x.copy()))
    edge = array([NAN, INF, -0.0], f32)
    scalar, empty = array(3, f64), array([], f64)
    awkward = 'a "quoted"\nname \\ with é'
    rows += [
        Sample(ops.stop_gradient, (edge,), edge.copy(), name="edge"),
        Sample(ops.stop_gradient, (scalar,), scalar.copy(), name="scalar"),
        Sample(ops.stop_gradient, (empty,), empty.copy(), name="empty"),
        Sample(ops.probe, (edge[::-1],), edge[::-1].copy(), {"name": awkward}, name="awkward-name"),
        Sample(ops.probe, (scalar,), scalar.copy(), {"name": ""}, name="scalar"),
        Sample(ops.probe, (empty,), empty.copy(), {"name": "e"}, name="empty"),
    ]
    return rows


ROWS: list[Sample] = [
    *cast_rows(),
    *cast_edge_rows(),
    *bitcast_rows(),
    *complex_rows(),
    *identity_rows(),
]

BAD: list[BadSample] = [
    BadSample(ops.cast, ("f32[2]",), DTypeError, "'f7' is no dtype", {"dtype": "f7"}),
    BadSample(ops.cast, ("f32[2]",), VerifyError, "cast needs the attribute dtype"),
    BadSample(ops.probe, ("f32[2]",), VerifyError, "expected a string", {"name": 3}),
    BadSample(ops.stop_gradient, ("f32[2]",), VerifyError, "no attribute name", {"name": "x"}),
    BadSample(
        ops.bitcast, ("f32[2]",), DTypeError, "f32 has 32 bits and i64 has 64", {"dtype": i64}
    ),
    BadSample(ops.bitcast, ("bool[2]",), DTypeError, "bool has no bit pattern", {"dtype": i8}),
    BadSample(ops.bitcast, ("u8[2]",), DTypeError, "bool has no bit pattern", {"dtype": bool_}),
    BadSample(ops.bitcast, ("c64[2]",), DTypeError, "c64 has no bit pattern", {"dtype": f64}),
    BadSample(ops.bitcast, ("f64[]",), DTypeError, "c64 has no bit pattern", {"dtype": c64}),
    *[
        BadSample(op, (f"{d}[2]",), DTypeError, f"x has dtype {d}, expected complex")
        for op in (ops.real, ops.imag, ops.conj)
        for d in (bool_, i32, f32)
    ],
    *[
        BadSample(ops.complex_, (f"{d}[2]", f"{d}[2]"), DTypeError, f"parts of dtype {d} make no")
        for d in (bool_, i32, f16, bf16, c128)
    ],
    BadSample(ops.complex_, ("f32[2]", "f64[2]"), DTypeError, "operands have different dtypes"),
    BadSample(ops.complex_, ("f32[2]", "f32[3]"), ShapeError, "operands have different shapes"),
]
