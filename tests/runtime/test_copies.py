"""Arguments that the stub copies because they cannot be passed as they lie, and donated ones."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.support import NDArray, address, caller, entry, no_leak_of, view, words
from weft.compiler.abi import MEMORY_LARGE, Run
from weft.runtime.signatures import (
    ArrayOf,
    DictOf,
    FieldsOf,
    HeldArray,
    Result,
    Same,
    Signature,
    Symbol,
    TupleOf,
    Unsupported,
)
from weft.runtime.stub import MISS

F64 = np.dtype(np.float64)
DTYPES = [np.dtype(code) for code in "?bhilBHILefdFD"] + [np.dtype(ml_dtypes.bfloat16)]
COPIED = 1 << 16


class Reader:
    """A stub whose program keeps copies of the arrays that it sees."""

    def __init__(self, *arguments: Any, symbols: tuple[Symbol, ...] = (), fails: bool = False):
        self.seen: list[NDArray] = []
        self.like: list[NDArray] = []
        self.fails = fails
        self._entry = entry(self._run)
        signature = Signature(arguments, (), symbols)
        self.call = caller().make(address(self._entry), signature, on_error=self._on_error)

    def _run(self, run: int, data: int, *_: int) -> None:
        places = words(data, len(self.like))
        pairs = list(zip(places, self.like, strict=True))
        assert not any(place % like.dtype.alignment for place, like in pairs if like.size)
        self.seen = [view(place, like).copy() if like.size else like for place, like in pairs]
        if self.fails:
            (ctypes.c_int64 * 2).from_address(run)[Run.ERROR] = 7

    def _on_error(self, record: Any) -> Any:
        raise LookupError

    def reads(self, *arrays: NDArray, given: Any = None) -> bool:
        """Whether the call is taken, and the program sees these values."""
        self.seen = []
        self.like = [np.ascontiguousarray(a, a.dtype.newbyteorder("=")) for a in arrays]
        if self.call(*(arrays if given is None else given)) is MISS:
            return False
        for seen, like in zip(self.seen, self.like, strict=True):
            assert seen.tobytes() == np.asarray(like).tobytes()
        return True


def numbers(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
    made = np.random.default_rng(1).integers(0, 100, shape)
    return made.astype(dtype) * (1 + 2j if dtype.kind == "c" else True)


def random_layout(rng: random.Random, dtype: np.dtype[Any], rank: int) -> NDArray:
    """An array that lies in memory in some way: strided, reversed, transposed, stretched,
    misaligned, in the other order of bytes, or several of them.
    """
    whole = numbers(tuple(rng.choice([1, 2, 3, 5, 8]) for _ in range(rank)), dtype).astype(dtype)
    if rng.random() < 0.3 and dtype.kind != "V":
        whole = whole.astype(dtype.newbyteorder(">"))
    if rng.random() < 0.3:
        memory = np.zeros(whole.nbytes + 1, np.uint8)[1:]
        moved = memory.view(whole.dtype).reshape(whole.shape)
        moved[...] = whole
        whole = moved
    array = whole.transpose(rng.sample(range(rank), rank))
    cuts = (slice(None), slice(None, None, 2), slice(None, None, -1), slice(1, None, 3))
    array = array[(*(rng.choice(cuts) for _ in range(rank)), ...)]
    if rng.random() < 0.3:
        array = np.broadcast_to(array, (rng.choice([0, 1, 3]), *array.shape))
    if rng.random() < 0.5:
        array.flags.writeable = False
    return array


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_array_of_any_layout_arrives_row_by_row(dtype: np.dtype[Any]) -> None:
    rng = random.Random(str(dtype))
    for rank in range(5):
        sizes = tuple(f"n{i}" for i in range(rank))
        for extra in (0, 1):
            shape = (*sizes, "m") if extra else sizes
            reader = Reader(ArrayOf(dtype, shape, copied=COPIED), symbols=tuple(map(Symbol, shape)))
            for _ in range(25):
                array = random_layout(rng, dtype, rank)
                assert reader.reads(array) == (array.ndim == len(shape))


def test_array_of_most_axes() -> None:
    array = numbers((2,) * 12, F64).reshape((2,) * 12 + (1,) * 52).T
    assert array.ndim == 64
    assert Reader(ArrayOf(F64, array.shape, copied=COPIED)).reads(array)


def test_plain_and_other_arrays_together() -> None:
    x = numbers((8, 8), F64)
    lying = [x, x.T, x[::-1], x, np.broadcast_to(x[0], (8, 8)), x.astype(">f8")]
    assert Reader(*[ArrayOf(F64, (8, 8), copied=COPIED)] * 6).reads(*lying)
    tree = DictOf(("a", "b"), (ArrayOf(F64, (8, 8), copied=COPIED),) * 2)
    assert Reader(tree).reads(x.T, x, given=({"a": x.T, "b": x},))


def test_copies_beyond_the_stack_and_in_one_block() -> None:
    x = numbers((60, 60), F64)
    lying = [x.T[:, : 60 - n] for n in range(6)]
    arguments = [ArrayOf(F64, array.shape, copied=COPIED) for array in lying]
    assert Reader(*arguments).reads(*lying)


def test_larger_arrays_are_not_copied() -> None:
    reader = Reader(ArrayOf(F64, ("n",), copied=800), symbols=(Symbol("n"),))
    assert reader.reads(numbers((200,), F64)[::2])
    assert not reader.reads(numbers((202,), F64)[::2])
    assert reader.reads(numbers((1000,), F64))
    assert reader.reads(numbers((1000,), F64).astype(">f8"))  # nothing reads it where it lies
    assert not Reader(ArrayOf(F64, (4,))).reads(numbers((8,), F64)[::2])
    assert reader.call(np.broadcast_to(1.0, (1 << 59,))) is MISS


def test_layouts_with_strides_leave_to_copies_what_is_copied() -> None:
    seen: list[int] = []
    program = entry(lambda run, data, found, *_: seen.extend(words(found, 2)))
    signature = Signature((ArrayOf(F64, ("n",), (None,), 800),), (), (Symbol("n"),))
    call = caller().make(address(program), signature, keep=program)
    x = numbers((1000,), F64)
    assert call(x[::3]) == () and seen == [334, 3]
    for other in (x, x[:200:2], np.broadcast_to(1.0, (1000,))):
        assert call(other) is MISS


def test_memory_of_copies_is_given_back() -> None:
    x = np.zeros((2, MEMORY_LARGE // 8 + 1000))
    like = ArrayOf(F64, x.T.shape, copied=1 << 40)
    ends, fails = Reader(like), Reader(like, fails=True)
    memory = caller().memory
    memory.trim()
    with no_leak_of(x, F64):
        for _ in range(3):
            assert ends.call(x.T) == ()
            held = memory.kept
            assert held >= x.nbytes
            with pytest.raises(LookupError):
                fails.call(x.T)
            assert memory.kept == held
    memory.trim()


def test_no_memory_for_copies() -> None:
    reader = Reader(ArrayOf(F64, ("n",), copied=1 << 62), symbols=(Symbol("n"),))
    for length in (1 << 45, 1 << 58):
        with pytest.raises(MemoryError, match="copies of arguments"):
            reader.call(np.broadcast_to(1.0, (length,)))
    assert reader.reads(numbers((8,), F64)[::2])


# --- donated arguments ---------------------------------------------------------------------------


def adding(*arrays: ArrayOf, written_over: tuple[int | None, ...]) -> Any:
    """A stub whose program adds 1 to each result, which is in the memory of a donated argument."""

    def run(_: int, data: int, numbers: int, results: int, arena: int) -> None:
        targets = words(results, len(written_over))
        for place, leaf in zip(targets, written_over, strict=True):
            if leaf is not None:
                assert place == words(data, len(arrays))[leaf]
                view(place, np.empty(4))[...] += 1

    program = entry(run)
    results = tuple(Result(F64, (4,), written_over=leaf) for leaf in written_over)
    return caller().make(address(program), Signature(arrays, results), keep=program)


GIVEN = ArrayOf(F64, (4,), copied=COPIED, donated=True)
PLAIN = ArrayOf(F64, (4,), copied=COPIED)


def test_result_is_the_donated_array() -> None:
    call = adding(GIVEN, PLAIN, written_over=(0,))
    x, y = np.zeros(4), np.zeros(4)
    with no_leak_of(x, y):
        for number in range(200):
            assert call(x, y) is x and x[0] == number + 1
    assert not y.any()


def test_result_in_place_of_an_array_that_cannot_be_written_over_is_new() -> None:
    call = adding(GIVEN, written_over=(0,))
    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    for x in (fixed, np.arange(8.0)[::2], np.arange(4.0)[::-1], np.arange(4.0).astype(">f8")):
        before = x.copy()
        result = call(x)
        assert np.array_equal(result, before + 1) and np.array_equal(x, before)
        assert result.flags.owndata and result.flags.writeable


def test_donated_arrays_that_share_memory_are_a_miss() -> None:
    pair = adding(GIVEN, GIVEN, written_over=(0, 1))
    first = adding(GIVEN, PLAIN, written_over=(0,))
    x = np.arange(20.0)
    for call in (pair, first):
        with no_leak_of(x):
            for _ in range(100):
                assert call(x[:4], x[:4]) is MISS
                assert call(x[:4], x[3:7]) is MISS
                assert call(x[4:0:-1], x[:4]) is MISS
                assert call(x[3:7], x[2:18:4]) is MISS
    assert first(x[3:7], x[7:11]) is not MISS
    assert pair(x[:4], x[4:8]) is not MISS


@pytest.mark.parametrize("count", [2, 3, 7, 40])
def test_any_donated_array_that_overlaps_is_found(count: int) -> None:
    rng = random.Random(count)
    x = np.zeros(8 * count)
    for _ in range(60):
        donated = [rng.random() < 0.3 for _ in range(count)]
        arrays = [ArrayOf(F64, (4,), copied=COPIED, donated=given) for given in donated]
        starts = [
            rng.randrange(8 * count - 3) if rng.random() < 0.2 else 8 * i for i in range(count)
        ]
        call = adding(*arrays, written_over=(None,))
        clash = any(
            (donated[i] or donated[j]) and abs(starts[i] - starts[j]) < 4
            for i in range(count)
            for j in range(i)
        )
        assert (call(*[x[start : start + 4] for start in starts]) is MISS) == clash


def test_empty_donated_arrays_share_no_memory() -> None:
    empty = ArrayOf(F64, (0,), copied=COPIED, donated=True)
    x = np.zeros(0)
    assert Reader(empty, empty).reads(x, x)


def test_result_of_another_type_than_the_donated_array() -> None:
    for result in (Result(F64, (5,), "", 0), Result(np.dtype("f4"), (4,), "", 0)):
        with pytest.raises(Unsupported, match="another type"):
            caller().make(0, Signature((GIVEN,), (result,)))
    with pytest.raises(Unsupported, match="another type"):
        caller().make(0, Signature((PLAIN,), (Result(F64, (4,), "", 0),)))


# --- objects that hold arrays --------------------------------------------------------------------


class Held:
    """Holds an array in a slot, or makes it when asked for it."""

    __slots__ = ("other", "slot")
    made: NDArray | None = np.arange(4.0)

    @property
    def value(self) -> None:
        if self.made is None:
            raise LookupError
        self.slot = self.made


def test_array_that_an_object_holds() -> None:
    reader = Reader(HeldArray(Held, "slot", "value", PLAIN))
    held = Held()
    held.slot = np.arange(8.0)[::2]
    assert reader.reads(held.slot, given=(held,))
    assert held.made is not None
    for empty in (Held(), Held()):
        assert reader.reads(held.made, given=(empty,))
    with no_leak_of(held, held.slot, held.made):
        for _ in range(200):
            assert reader.call(held) == ()
            assert reader.call(held.slot) is MISS


def test_object_that_holds_no_array_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(HeldArray(Held, "slot", "value", PLAIN))
    monkeypatch.setattr(Held, "made", None)
    assert reader.call(Held()) is MISS
    monkeypatch.setattr(Held, "made", "text")
    assert reader.call(Held()) is MISS


def test_slots_that_are_none() -> None:
    for name in ("value", "nothing"):
        with pytest.raises(Unsupported, match="not in a slot"):
            caller().make(0, Signature((HeldArray(Held, name, "value", PLAIN),), ()))
    with pytest.raises(Unsupported, match="somebody else"):
        caller().make(0, Signature((HeldArray(Held, "slot", "value", GIVEN),), ()))


class Fields:
    """Has attributes."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def test_fields_of_an_object() -> None:
    reader = Reader(FieldsOf(Fields, ("x", "y", "n"), (PLAIN, PLAIN, Same(5000))))
    x, y = np.arange(4.0), np.ones(8)[::2]
    with no_leak_of(x, y):
        for _ in range(200):
            assert reader.reads(x, y, given=(Fields(y=y, x=x, n=int("5000")),))
            assert reader.call(Fields(y=y, x=x, n=5001)) is MISS
            assert reader.call(Fields(y=y, x=x)) is MISS
            assert reader.call(5) is MISS


@pytest.mark.parametrize(
    ("value", "equal", "others"),
    [
        (5000, int("5000"), (5000.0, 5001, "5000", None)),
        (1.5, float("1.5"), (1, 1.25, "1.5")),
        (0.0, float("0.0"), (-0.0, 0, False)),
        (float("nan"), float("nan"), (0.0,)),
        ("some text", " ".join(["some", "text"]), ("some", b"some text", 5)),
        (b"bytes", bytes(bytearray(b"bytes")), ("bytes", b"byte")),
        (True, True, (1, False, 1.0)),
    ],
)
def test_static_values_only_have_to_be_equal(value: Any, equal: Any, others: Any) -> None:
    reader = Reader(Same(value), TupleOf((Same(value),)))
    with no_leak_of(value, equal):
        for _ in range(200):
            assert reader.call(equal, (equal,)) == ()
    for other in others:
        assert reader.call(other, (equal,)) is MISS
        assert reader.call(equal, (other,)) is MISS


def test_keyword_only_arguments() -> None:
    signature = Signature((Same(1), Same(2)), (), names=(None, "scale"), keyword_only=1)
    program = entry(lambda *_: None)
    call = caller().make(address(program), signature, keep=program)
    assert call(1, scale=2) == ()
    assert call(1, **{"".join(["sca", "le"]): 2}) == ()
    assert (call(1, 2), call(scale=2), call(1, other=2), call(1)) == (MISS,) * 4
    assert Reader().call() == () and Reader().call(1) is MISS
