"""The call stub: which arguments it takes, what the program then sees; all else is a miss."""

from __future__ import annotations

import pickle
import random
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.support import NDArray, address, caller, entry, no_leak_of, view, words
from weft.runtime.signatures import (
    Argument,
    ArrayOf,
    DictOf,
    ListOf,
    NumberOf,
    Result,
    Same,
    Signature,
    Symbol,
    TupleOf,
    Unsupported,
    evaluate,
)
from weft.runtime.stub import MISS

F32, F64, I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
Pair = namedtuple("Pair", "left right")


class Seen:
    """A stub whose program notes the addresses and numbers that it gets."""

    def __init__(
        self, arguments: tuple[Argument, ...], symbols: tuple[Symbol, ...] = (), **options: Any
    ) -> None:
        self.addresses: list[int] = []
        self.numbers: list[int] = []
        self.leaves, self.count = options.pop("leaves", 1), options.pop("numbers", len(symbols))
        signature = Signature(
            arguments, options.pop("results", ()), symbols, names=options.pop("names", ())
        )
        self._entry = entry(self._run)
        self.call = caller().make(address(self._entry), signature, **options)

    def _run(self, run: int, data: int, numbers: int, results: int, arena: int) -> None:
        self.addresses, self.numbers = words(data, self.leaves), words(numbers, self.count)


def takes(arguments: tuple[Argument, ...], given: tuple[Any, ...], *symbols: Symbol) -> bool:
    return Seen(arguments, symbols).call(*given) is not MISS


def test_arrays_arrive_where_they_are() -> None:
    x, y = np.ones((2, 3), np.float32), np.ones(4)
    seen = Seen((ArrayOf(F32, (2, 3)), ArrayOf(F64, (4,))), leaves=2)
    assert seen.call(x, y) == ()
    assert seen.addresses == [x.ctypes.data, y.ctypes.data]


def with_offset(array: NDArray, bytes: int) -> NDArray:
    """The same values at an address that is not a multiple of the item size."""
    memory = np.zeros(array.nbytes + bytes, np.uint8)[bytes:]
    moved: NDArray = memory.view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


class Subclass(np.ndarray[Any, Any]):
    """Arrays with behaviour of their own."""


X = np.arange(12, dtype=np.float32).reshape(3, 4)
WRONG_ARRAYS: dict[str, Any] = {
    "none": None,
    "list": X.tolist(),
    "float": 1.0,
    "text": "x",
    "type": np.ndarray,
    "numpy scalar": np.float32(1),
    "dtype": X.astype(np.float64),
    "integers": X.astype(np.int32),
    "byte order": X.astype(">f4"),
    "rank": X[0],
    "more axes": X[None],
    "no axes": np.float32(3).reshape(()),
    "size": X[:2],
    "transposed": np.ones((4, 3), np.float32).T,
    "columns": np.ones((3, 8), np.float32)[:, ::2],
    "reversed": X[::-1],
    "broadcast": np.broadcast_to(X[0], (3, 4)),
    "unaligned": with_offset(X, 2),
    "subclass": X.view(Subclass),
    "masked": np.ma.masked_array(X),
    "objects": X.astype(object),
    "record": np.zeros((3, 4), [("a", "f4")]),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_other_argument_than_the_array_is_a_miss(name: str) -> None:
    seen = Seen((ArrayOf(F32, (3, 4)),))
    value = WRONG_ARRAYS[name]
    with no_leak_of(value, MISS, seen.call):
        for _ in range(200):
            assert seen.call(value) is MISS
    assert seen.addresses == []
    assert seen.call(X) == ()


@pytest.mark.parametrize("given", [(), (X,), (X, X, X)])
def test_other_number_of_arguments_is_a_miss(given: tuple[Any, ...]) -> None:
    assert Seen((ArrayOf(F32, (3, 4)),) * 2).call(*given) is MISS


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (5,), (1, 7, 1)])
def test_any_contiguous_shape(shape: tuple[int, ...]) -> None:
    assert takes((ArrayOf(F64, shape),), (np.zeros(shape),))
    assert takes((ArrayOf(F64, shape, "F"),), (np.zeros(shape, order="F"),))


@pytest.mark.parametrize(
    "dtype",
    ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "F", "D", "bfloat16"],
)
def test_every_dtype(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    assert takes((ArrayOf(kind, (3,)),), (np.zeros(3, kind),))
    other = np.dtype(np.int8) if kind != np.int8 else F32
    assert not takes((ArrayOf(kind, (3,)),), (np.zeros(3, other),))


def test_equal_dtypes_that_are_other_objects() -> None:
    unpickled = pickle.loads(pickle.dumps(X))
    assert takes((ArrayOf(F32, (3, 4)),), (unpickled,))
    assert takes((ArrayOf(I64, (2,)),), (np.zeros(2, np.longlong),))
    assert takes((ArrayOf(np.dtype("longlong"), (2,)),), (np.zeros(2, np.int64),))


def test_symbols_are_bound_and_matched() -> None:
    arguments = (ArrayOf(F32, ("n", "m")), ArrayOf(F32, ("m", "n")))
    seen = Seen(arguments, (Symbol("n"), Symbol("m")))
    assert seen.call(np.zeros((3, 5), np.float32), np.zeros((5, 3), np.float32)) == ()
    assert seen.numbers == [3, 5]
    assert seen.call(np.zeros((3, 5), np.float32), np.zeros((5, 4), np.float32)) is MISS
    assert seen.call(np.zeros((3, 5), np.float32), np.zeros((3, 5), np.float32)) is MISS


def test_bounds_of_symbols() -> None:
    argument = (ArrayOf(F32, ("n",)),)
    lengths = [
        n for n in range(6) if takes(argument, (np.zeros(n, np.float32),), Symbol("n", 2, 4))
    ]
    assert lengths == [2, 3, 4]


SIZES: dict[str, Any] = {
    "2*n + 1": ("+", ("*", 2, "n"), 1),
    "n*m - n": ("+", ("*", "n", "m"), ("*", -1, "n")),
    "(n - m)//3 + 5": ("+", ("//", ("+", "n", ("*", -1, "m")), 3), 5),
    "max(n, m + 1)": ("max", "n", ("+", "m", 1)),
    "n*n*n": ("*", "n", ("*", "n", "n")),
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes_that_are_expressions(text: str) -> None:
    symbols = (Symbol("n"), Symbol("m"))
    size = SIZES[text]
    arguments = (ArrayOf(F32, (size,)), ArrayOf(F32, ("n", "m")))
    for n, m in ((1, 1), (3, 2), (4, 7)):
        expected = evaluate(size, {"n": n, "m": m})
        other = np.zeros((n, m), np.float32)
        assert takes(arguments, (np.zeros(expected, np.float32), other), *symbols)
        assert not takes(arguments, (np.zeros(expected + 1, np.float32), other), *symbols)


def test_strides_are_passed_in_elements() -> None:
    arguments = (ArrayOf(F32, (3, 4), (None, None)), ArrayOf(F32, ("n",), (None,)))
    seen = Seen(arguments, (Symbol("n"),), numbers=4, leaves=2)
    backwards = np.zeros(10, np.float32)[::-2]
    assert seen.call(np.zeros((4, 6), np.float32).T[::2], backwards) == ()
    assert seen.numbers == [5, 2, 6, -2]
    assert seen.addresses[1] == backwards.ctypes.data
    assert seen.call(np.broadcast_to(np.float32(1), (3, 4)), backwards) == ()
    assert seen.numbers == [5, 0, 0, -2]
    record = np.zeros((3, 4), [("a", "f4"), ("b", "i2")])["a"]
    assert seen.call(record, backwards) is MISS


def test_given_strides() -> None:
    argument = (ArrayOf(F32, (3, 4), (8, 2)),)
    assert takes(argument, (np.zeros((3, 8), np.float32)[:, ::2],))
    assert not takes(argument, (X,))
    assert takes((ArrayOf(F32, (1, 4), (77, 1)),), (X[:1],))


def test_some_strides_given_and_some_passed() -> None:
    seen = Seen((ArrayOf(F32, (3, 4), (None, 1)), ArrayOf(F32, (3, 4), (0, None))), numbers=2)
    row = np.broadcast_to(np.zeros(8, np.float32)[::2], (3, 4))
    assert seen.call(np.zeros((3, 7), np.float32)[:, :4], row) == ()
    assert seen.numbers == [7, 2]
    assert seen.call(np.zeros((3, 8), np.float32)[:, ::2], row) is MISS
    assert seen.call(X, X) is MISS


def test_constants_follow_the_arguments() -> None:
    constants = (np.ones(3), np.zeros((2, 2), np.float32))
    found: list[list[int]] = []
    program = entry(lambda run, data, *rest: found.append(words(data, 4)))
    arguments = (ArrayOf(F32, (3, 4)), NumberOf(float, F64))
    call = caller().make(address(program), Signature(arguments, (), constants=constants))
    assert call(X, 0.5) == ()
    assert found[0][0] == X.ctypes.data
    assert found[0][2:] == [constant.ctypes.data for constant in constants]


@pytest.mark.parametrize(
    ("kind", "dtype", "value"),
    [
        (float, "f8", 0.1),
        (float, "f4", 0.1),
        (float, "f8", float("nan")),
        (float, "f4", -0.0),
        (float, "f4", 1e300),
        (int, "i8", -(2**63)),
        (int, "i8", 2**63 - 1),
        (int, "i1", -128),
        (int, "i1", 127),
        (int, "u1", 255),
        (int, "u4", 2**32 - 1),
        (int, "u8", 2**63 - 1),
        (int, "f8", 2**53 + 1),
        (int, "f4", 2**24 + 1),
        (bool, "?", True),
        (bool, "?", False),
        (bool, "i8", True),
        (bool, "f4", True),
        (complex, "c16", 1.5 - 2j),
        (complex, "c8", 0.1 + 3j),
        (np.float64, "f8", np.float64(0.1)),
        (np.float32, "f4", np.float32(0.1)),
        (np.int8, "i1", np.int8(-3)),
        (np.bool_, "?", np.True_),
        (np.complex128, "c16", np.complex128(1 + 2j)),
        (ml_dtypes.bfloat16, "bfloat16", ml_dtypes.bfloat16(1.5)),
    ],
)
def test_numbers_arrive_converted(kind: type, dtype: str, value: Any) -> None:
    target = np.dtype(dtype)
    found: list[bytes] = []
    with np.errstate(over="ignore"):
        expected = np.asarray(value).astype(target)
    program = entry(
        lambda run, data, *rest: found.append(view(words(data, 1)[0], expected).tobytes())
    )
    call = caller().make(address(program), Signature((NumberOf(kind, target),), ()))
    assert call(value) == ()
    assert found == [expected.tobytes()]


@pytest.mark.parametrize(
    ("kind", "dtype", "value"),
    [
        (float, "f8", 1),
        (float, "f8", True),
        (float, "f8", np.float64(1)),
        (float, "f8", "1.0"),
        (int, "i8", 1.0),
        (int, "i8", True),
        (int, "i8", 2**63),
        (int, "i8", -(2**63) - 1),
        (int, "i8", 10**100),
        (int, "i1", 128),
        (int, "i1", -129),
        (int, "u1", 256),
        (int, "u1", -1),
        (int, "u8", -1),
        (bool, "?", 1),
        (bool, "?", np.True_),
        (complex, "c16", 1.0),
        (np.float32, "f4", np.float64(1)),
        (np.float32, "f4", 1.0),
        (np.float64, "f8", 1.0),
    ],
)
def test_other_numbers_are_a_miss(kind: type, dtype: str, value: Any) -> None:
    assert not takes((NumberOf(kind, np.dtype(dtype)),), (value,))


def test_trees_of_arguments() -> None:
    a = ArrayOf(F32, (3, 4))
    tree = DictOf(
        ("w", "layers", 7),
        (a, ListOf((TupleOf((a, Same(None))), TupleOf((), tuple))), TupleOf((a, a), Pair)),
    )
    seen = Seen((tree, NumberOf(float, F64)), leaves=5)
    xs = [X.copy() for _ in range(4)]
    given: dict[Any, Any] = {"w": xs[0], "layers": [(xs[1], None), ()], 7: Pair(xs[2], xs[3])}
    assert seen.call(given, 1.0) == ()
    assert seen.addresses[:4] == [x.ctypes.data for x in xs]
    wrong: list[Any] = [
        {**given, "more": X},
        {key: given[key] for key in ("w", "layers")},
        {"w": given["w"], "Layers": given["layers"], 7: given[7]},
        dict(reversed(given.items())),
        OrderedDict(given),
        {**given, 7: (xs[2], xs[3])},
        {**given, "layers": ((xs[1], None), ())},
        {**given, "layers": [(xs[1], None)]},
        {**given, "layers": [(xs[1], 0), ()]},
        {**given, "layers": [[xs[1], None], ()]},
        {**given, "layers": [(xs[1], None, None), ()]},
        {**given, "w": None},
        list(given.values()),
        None,
    ]
    assert [seen.call(other, 1.0) for other in wrong] == [MISS] * len(wrong)
    assert seen.call(given, 1.0) == ()


def test_dicts_have_their_keys_in_an_order() -> None:
    a = ArrayOf(F32, (3, 4))
    seen = Seen((DictOf(("aa", "bb", "cc"), (a, a, a), (2, 0, 1)),), leaves=3)
    xs = {name: X.copy() for name in ("cc", "aa", "bb")}
    assert seen.call(xs) == ()
    assert seen.addresses[:3] == [xs[name].ctypes.data for name in ("aa", "bb", "cc")]
    others = {"".join([*name]): x for name, x in xs.items()}
    assert all(name is not other for name, other in zip(xs, others, strict=True))
    assert seen.call(others) == ()  # equal keys are other objects
    assert seen.call({name: xs[name] for name in sorted(xs)}) is MISS


def test_keys_that_cannot_be_compared_are_a_miss() -> None:
    class Bad:
        def __hash__(self) -> int:
            return hash("w")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

    seen = Seen((DictOf(("w",), (ArrayOf(F32, (3, 4)),)),))
    assert seen.call({Bad(): X}) is MISS
    assert seen.call({"w": X}) == ()


def test_keys_whose_comparison_changes_other_arguments() -> None:
    other: list[Any] = []

    class Bad:
        def __hash__(self) -> int:
            return hash("w")

        def __eq__(self, key: object) -> bool:
            other.clear()
            return True

    a = ArrayOf(F32, (1000,))
    seen = Seen((ListOf((a,)), DictOf(("w",), (ArrayOf(F32, (3, 4)),))), leaves=2)
    for _ in range(100):
        other.append(np.zeros(1000, np.float32))
        assert seen.call(other, {Bad(): X}) == ()
        assert other == []


def test_keywords_in_any_order() -> None:
    arguments = (ArrayOf(F32, (3, 4)), ArrayOf(F64, (2,)), NumberOf(float, F64))
    seen = Seen(arguments, names=("x", "y", "scale"), leaves=3)
    y = np.zeros(2)
    for values, named in (
        ((X, y, 1.0), {}),
        ((X, y), {"scale": 1.0}),
        ((X,), {"scale": 1.0, "y": y}),
        ((), {"scale": 1.0, "y": y, "x": X}),
    ):
        assert seen.call(*values, **named) == ()
        assert seen.addresses[:2] == [X.ctypes.data, y.ctypes.data]
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((X, y), {"factor": 1.0}),
        ((X, y), {"x": 1.0}),
        ((X,), {"y": y}),
        ((X, y, 1.0), {"scale": 1.0}),
        ((), {}),
    ]
    assert [seen.call(*values, **named) for values, named in wrong] == [MISS] * len(wrong)


def test_fallback_gets_the_call_as_it_was_made() -> None:
    def fallback(*args: Any, **named: Any) -> Any:
        return args, named

    seen = Seen((ArrayOf(F32, (3, 4)),), fallback=fallback)
    assert seen.call(1, 2, key=3) == ((1, 2), {"key": 3})
    assert seen.call(X) == ()

    def refuse(*args: Any) -> None:
        raise LookupError("no such arguments")

    with pytest.raises(LookupError, match="no such"):
        Seen((ArrayOf(F32, (3, 4)),), fallback=refuse).call(1)


def test_stubs_can_be_chained() -> None:
    first = Seen((ArrayOf(F32, (3, 4)),))
    second = Seen((ArrayOf(F64, (2,)),), fallback=first.call)
    y = np.zeros(2)
    assert (second.call(y), second.call(X), second.call(1)) == ((), (), MISS)
    assert (first.addresses, second.addresses) == ([X.ctypes.data], [y.ctypes.data])


def test_nothing_crashes_on_any_argument() -> None:
    a = ArrayOf(F32, ("n", 4))
    tree = TupleOf((a, DictOf(("k",), (NumberOf(int, np.dtype("i2")),))))
    seen = Seen((tree, ListOf((a,)), NumberOf(float, F32)), (Symbol("n"),), leaves=4)
    rng = random.Random(0)
    atoms: list[Callable[[], Any]] = [
        lambda: rng.choice(list(WRONG_ARRAYS.values())),
        lambda: X,
        lambda: rng.choice([0, 5, 2**70, -1, 1.5, 2j, True, None, "k", b"k", object, Ellipsis]),
        lambda: {"k": rng.choice([1, 10**6, "1", 2**80])},
        lambda: (X, {"k": 5}),
        lambda: [X],
        lambda: rng.choice([{}, (), [], {1: 2}, set(), frozenset(), lambda: 0, seen.call]),
    ]

    def value(depth: int) -> Any:
        if depth and rng.random() < 0.4:
            items = [value(depth - 1) for _ in range(rng.randrange(4))]
            return rng.choice([tuple, list])(items)
        return rng.choice(atoms)()

    outcomes = set()
    for _ in range(4000):
        given = [value(2) for _ in range(rng.choice([3, 3, 3, 3, 0, 1, 5]))]
        outcomes.add(seen.call(*given))
    assert outcomes == {MISS, ()} or outcomes == {MISS}
    assert seen.call((X, {"k": 5}), [X], 1.0) == ()


def test_many_leaves_need_a_frame_of_their_own() -> None:
    count = 700
    arrays = {f"w{number}": np.zeros(3, np.float32) for number in range(count)}
    seen = Seen((DictOf(tuple(arrays), (ArrayOf(F32, (3,)),) * count),), leaves=count)
    assert seen.call(arrays) == ()
    assert seen.addresses == [array.ctypes.data for array in arrays.values()]
    assert seen.call({**arrays, "w699": None}) is MISS


def test_arguments_keep_their_reference_counts() -> None:
    a = ArrayOf(F32, ("n", 4))
    for options in ({}, {"release": True}):
        seen = Seen(
            (DictOf(("w",), (a,)), ListOf((a,)), NumberOf(float, F64)),
            (Symbol("n"),),
            leaves=3,
            **options,
        )
        arrays, number = [X.copy(), X.copy()], 0.123
        given: tuple[Any, ...] = ({"w": arrays[0]}, [arrays[1]], number)
        things = [*arrays, number, *given, F32, "w", MISS, None, seen.call]
        with no_leak_of(*things):
            for _ in range(1000):
                seen.call(*given)
                seen.call(given[0], given[1], None)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (NumberOf(float, np.dtype("f2")), "cannot be passed"),
        (NumberOf(float, I64), "cannot be passed"),
        (NumberOf(str, F64), "cannot be passed"),
        (NumberOf(np.float32, F64), "cannot be passed"),
        (ArrayOf(np.dtype(object), (2,)), "cannot be passed"),
        (ArrayOf(np.dtype(">f4"), (2,)), "cannot be passed"),
        (ArrayOf(F32, ("m",)), "not among the symbols"),
        (ArrayOf(F32, (("+", "n", 1),)), "alone as a size"),
        (DictOf(((1, 2),), (Same(None),)), "no plain text"),
        (TupleOf((), list), "no kind of tuple"),
        ("x", "no kind of argument"),
    ],
)
def test_signatures_that_no_stub_can_serve(argument: Any, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        caller().make(1, Signature((argument,), (), (Symbol("n"),)))


def test_results_are_described_too() -> None:
    with pytest.raises(Unsupported, match="not among the symbols"):
        caller().make(1, Signature((), (Result(F32, ("n",)),)))
