"""Elementwise changes of representation: dtypes, complex parts, identities that carry a mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from weft.compiler.ir.attributes import BOOL, DTYPE, TEXT
from weft.compiler.ir.dtypes import DType, c64, c128, f32, f64
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.graph import Op
from weft.compiler.ir.lowering import Memory
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import helpers, index_maps
from weft.compiler.ops.common import ANY, FLOAT, REAL, elementwise_shape, same_dtype
from weft.compiler.ops.elementwise import flat, unary
from weft.compiler.ops.precision import Array
from weft.compiler.ops.primitives import ops


def _infer_cast(x: ArrayType, *, dtype: DType) -> ArrayType:
    return x.with_dtype(dtype)


def _cast(x: Array, *, dtype: DType) -> Array:
    # As NumPy and ml_dtypes round: f64 and integers reach bf16 through f32, integers f16 so too.
    if np.iscomplexobj(x) and not (dtype.is_complex or dtype.is_bool):
        x = x.real
    return x.astype(dtype.numpy)


def _cast_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    # Also between reals and complex numbers: dropping the imaginary part and adding a zero one are
    # each other's transposes.
    return [cast(helpers.only(cotangents), dtype=op.operands[0].type.dtype)]


cast = OpDef(
    "cast",
    "x in another dtype: to integers floats are truncated (out of range: to any integer), to reals "
    "complex numbers lose their imaginary part, to bool is x != 0.",
    infer=_infer_cast,
    reference=_cast,
    attributes={"dtype": DTYPE},
    operands=("x",),
    traits=Trait.ELEMENTWISE,
    linear=(),
    transpose=_cast_transpose,
)


def _infer_bitcast(x: ArrayType, *, dtype: DType) -> ArrayType:
    for end in (x.dtype, dtype):
        if end.kind not in REAL:
            raise DTypeError(f"{end} has no bit pattern of one number; use cast, or real and imag")
    if x.dtype.bits != dtype.bits:
        raise DTypeError(
            f"widths differ: {x.dtype} has {x.dtype.bits} bits and {dtype} has {dtype.bits}"
        )
    return x.with_dtype(dtype)


def _bitcast(x: Array, *, dtype: DType) -> Array:
    return x.view(dtype.numpy)


bitcast = OpDef(
    "bitcast",
    "The bits of integers or floats read as another dtype of the same width.",
    infer=_infer_bitcast,
    reference=_bitcast,
    attributes={"dtype": DTYPE},
    operands=("x",),
    traits=Trait.ELEMENTWISE,
)


# Transposes of parts keep the pairing Re(cotangent * z) of complex numbers.
def _real_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent = helpers.only(cotangents)
    return [complex_(cotangent, helpers.number(0, cotangent))]


def _imag_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent = helpers.only(cotangents)
    return [complex_(helpers.number(0, cotangent), ops.neg(cotangent))]


real = unary(
    "real",
    "The real part of complex x.",
    kinds=("complex",),
    reference=np.real,
    result=lambda dtype: dtype.real,
    transpose=_real_transpose,
)

imag = unary(
    "imag",
    "The imaginary part of complex x.",
    kinds=("complex",),
    reference=np.imag,
    result=lambda dtype: dtype.real,
    transpose=_imag_transpose,
)

conj: OpDef = unary(
    "conj",
    "The complex conjugate of complex x.",
    kinds=("complex",),
    reference=np.conj,
    transpose=lambda op, cotangents, linear: [conj(helpers.only(cotangents))],
)


def _infer_complex(real: ArrayType, imag: ArrayType) -> ArrayType:
    part = same_dtype((real, imag))
    if part not in (f32, f64):
        raise DTypeError(f"parts of dtype {part} make no complex number; cast them to f32 or f64")
    return ArrayType(c64 if part is f32 else c128, elementwise_shape((real, imag)))


def _complex(real: Array, imag: Array) -> Array:
    # Part by part: real + 1j * imag would make the real part NaN beside an infinite imaginary one.
    result = np.empty(
        np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, np.complex64)
    )
    result.real = real
    result.imag = imag
    return result


def _complex_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    zero = helpers.number(0, op.operands[0])
    result = complex_(*[tangent or zero for tangent in tangents])
    return helpers.stretch(result, op.results[0].type.shape)


def _complex_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    cotangent = helpers.only(cotangents)
    return helpers.operand_cotangents(
        op, linear, lambda: real(cotangent), lambda: ops.neg(imag(cotangent))
    )


complex_ = OpDef(
    "complex",
    "The complex number with these real and imaginary parts, c64 of f32 and c128 of f64.",
    infer=_infer_complex,
    reference=_complex,
    operands=("real", "imag"),
    traits=Trait.ELEMENTWISE,
    jvp=_complex_jvp,
    transpose=_complex_transpose,
)


def _identity(x: Array) -> Array:
    return x


def _pass_on(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The tangent as it is: a mark on a value is none on what is derived from it."""
    return tangents[0]


stop_gradient = unary(
    "stop_gradient",
    "x itself, as a constant to differentiation.",
    kinds=ANY,
    reference=_identity,
    jvp=flat,
    index_map=index_maps.itself,
    cost=0,
)


def _infer_probe(x: ArrayType, *, name: str) -> ArrayType:
    return x


def _probe(x: Array, *, name: str) -> Array:
    return x


probe = OpDef(
    "probe",
    "x itself, under a name by which users ask for this intermediate value.",
    infer=_infer_probe,
    reference=_probe,
    attributes={"name": TEXT},
    operands=("x",),
    traits=Trait.ELEMENTWISE | Trait.MARKER,
    jvp=_pass_on,
    transpose=lambda op, cotangents, linear: cotangents,
    index_map=index_maps.itself,
    cost=0,
)


def _infer_fence(x: ArrayType, *, fuse: bool) -> ArrayType:
    return x


fence = OpDef(
    "fence",
    "x itself: as an array in memory, so that no kernel reaches across; or, with `fuse`, computed "
    "wherever it is read.",
    infer=_infer_fence,
    reference=lambda x, *, fuse: x,
    attributes={"fuse": BOOL},
    defaults={"fuse": False},
    operands=("x",),
    traits=Trait.ELEMENTWISE | Trait.MARKER,
    jvp=_pass_on,
    transpose=lambda op, cotangents, linear: cotangents,
    index_map=index_maps.itself,
    cost=0,
    memory=Memory(stored=lambda op: not op.attributes["fuse"]),
)

rounded = unary(
    "rounded",
    "x itself, rounded to its dtype: it is no product any more that could join a sum.",
    kinds=FLOAT,
    reference=_identity,
    jvp=_pass_on,
    transpose=lambda op, cotangents, linear: cotangents,
)

OPS: Final = (
    cast,
    bitcast,
    real,
    imag,
    conj,
    complex_,
    stop_gradient,
    probe,
    fence,
    rounded,
)
