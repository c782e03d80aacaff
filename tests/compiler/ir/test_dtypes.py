"""Element types: names, NumPy's names for them, and promotion."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import combinations_with_replacement, product

import ml_dtypes
import numpy as np
import pytest

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType, dtype, is_supported, promote
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.reader import parse_type

KNOWN = "known are bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128"
WITHOUT_BF16 = [d for d in dtypes.ALL if d is not dtypes.bf16]

NUMPY_NAMES = {
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}


def test_every_name_has_its_numpy_type() -> None:
    assert {d.name: d.numpy for d in dtypes.ALL} == {
        name: np.dtype(of) for name, of in NUMPY_NAMES.items()
    }


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_numpy_types_and_names_are_understood(name: str) -> None:
    expected, of = dtypes.BY_NAME[name], NUMPY_NAMES[name]
    assert dtype(of) is expected
    assert dtype(np.dtype(of)) is expected
    assert dtype(np.dtype(of).name) is expected
    assert dtype(expected) is expected
    assert parse_type(name).dtype is expected
    assert repr(expected) == name


@pytest.mark.parametrize("name", [n for n in NUMPY_NAMES if n not in ("i8", "u8")])
def test_names_of_the_text_form_are_understood(name: str) -> None:
    assert dtype(name) is dtypes.BY_NAME[name]


def test_a_name_that_numpy_has_too_means_what_it_means_there() -> None:
    """In a type's text `i8` has 8 bits; alone, where NumPy code passes it, it has 8 bytes."""
    assert dtype("i8") is dtypes.i64
    assert dtype("u8") is dtypes.u64
    assert parse_type("i8").dtype is dtypes.i8
    assert parse_type("u8[2]").dtype is dtypes.u8


def test_python_types_are_numpy_s_defaults() -> None:
    assert [dtype(of) for of in (bool, int, float, complex)] == [
        dtypes.bool_,
        dtypes.i64,
        dtypes.f64,
        dtypes.c128,
    ]


@pytest.mark.parametrize("code", np.typecodes["AllInteger"] + "?efdFD")
def test_every_c_type_of_numpy_is_one_of_ours(code: str) -> None:
    assert dtype(code).numpy == np.dtype(code)
    assert is_supported(np.dtype(code))


@pytest.mark.parametrize("d", dtypes.ALL, ids=repr)
@pytest.mark.parametrize("order", "<>=")
def test_byte_order_does_not_matter(d: DType, order: str) -> None:
    other = d.numpy.newbyteorder(order)  # type: ignore[arg-type]
    assert dtype(other) is d
    assert is_supported(other)
    assert d.numpy.isnative


@pytest.mark.parametrize(
    "of",
    [
        "f128",
        "O",
        "S3",
        "U2",
        "f4,f4",
        "1,,2",
        "no such type",
        object,
        3,
        np.dtype([("a", "f4")]),
        [("a", int), ("a", int)],
        {"names": ["a"], "formats": []},
        np.longdouble,
        "datetime64[s]",
        ml_dtypes.float8_e5m2,
    ],
    ids=repr,
)
def test_other_types_are_refused_with_the_list_of_known_ones(of: object) -> None:
    with pytest.raises(DTypeError) as caught:
        dtype(of)
    assert str(caught.value).endswith(KNOWN)
    assert repr(of) in str(caught.value)


@pytest.mark.parametrize("of", [np.longdouble, object, "S1", "datetime64[s]"])
def test_arrays_of_other_types_cannot_enter_a_graph(of: object) -> None:
    assert not is_supported(np.dtype(of))  # type: ignore[call-overload]


# --- promotion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("left", WITHOUT_BF16, ids=repr)
def test_promotion_is_numpy_s(left: DType) -> None:
    for right in WITHOUT_BF16:
        assert promote(left, right).numpy == np.result_type(left.numpy, right.numpy)


def test_promotion_of_three_is_numpy_s() -> None:
    for three in combinations_with_replacement(WITHOUT_BF16, 3):
        assert promote(*three).numpy == np.result_type(*[d.numpy for d in three])


@pytest.mark.parametrize(
    ("other", "expected"),
    {
        "bool": "bf16",
        "i8": "bf16",
        "i16": "f32",
        "i32": "f64",
        "i64": "f64",
        "u8": "bf16",
        "u16": "f32",
        "u32": "f64",
        "u64": "f64",
        "f16": "f32",
        "bf16": "bf16",
        "f32": "f32",
        "f64": "f64",
        "c64": "c64",
        "c128": "c128",
    }.items(),
)
def test_bfloat16_promotes_as_float16_does(other: str, expected: str) -> None:
    right = dtypes.BY_NAME[other]
    assert promote(dtypes.bf16, right) is dtypes.BY_NAME[expected]
    assert promote(right, dtypes.bf16) is dtypes.BY_NAME[expected]


def test_promotion_is_commutative_and_idempotent() -> None:
    for left, right in product(dtypes.ALL, repeat=2):
        joined = promote(left, right)
        assert promote(right, left) is joined
        assert promote(joined, left) is joined
        assert promote(joined, right) is joined
        assert promote(left) is left


def test_two_sixteen_bit_floats_meet_in_f32_among_others() -> None:
    assert promote(dtypes.bf16, dtypes.i8, dtypes.f16) is dtypes.f32
    assert promote(dtypes.bf16, dtypes.bool_, dtypes.u8) is dtypes.bf16


# --- the record ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", dtypes.ALL, ids=repr)
def test_one_object_stays_one_object(d: DType) -> None:
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.copy(d) is d
    assert copy.deepcopy(d) is d


@pytest.mark.parametrize("d", dtypes.ALL, ids=repr)
def test_properties_agree_with_numpy(d: DType) -> None:
    sample = np.zeros((), d.numpy)
    is_float = d is dtypes.bf16 or np.issubdtype(d.numpy, np.floating)
    assert d.itemsize * 8 == d.bits == sample.itemsize * 8
    assert d.is_bool == np.issubdtype(d.numpy, np.bool_)
    assert d.is_integer == np.issubdtype(d.numpy, np.integer)
    assert d.is_float == is_float
    assert d.is_complex == np.issubdtype(d.numpy, np.complexfloating)
    assert d.is_inexact == (d.is_float or d.is_complex)
    assert d.is_signed == (not d.is_bool and not np.issubdtype(d.numpy, np.unsignedinteger))
    assert d.real.numpy == sample.real.dtype


@pytest.mark.parametrize("replacement", ["lambda x: x", "np.sin"])
def test_a_replaced_ufunc_of_numpy_is_refused(replacement: str) -> None:
    """What reads ufuncs as C structs, and tables with ufuncs as keys, need NumPy's own."""
    code = f"import numpy as np; np.tanh = {replacement}; import weft; weft.jit"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: np.tanh has been replaced" in shown.stderr
