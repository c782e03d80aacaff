"""A signature as the words of a descriptor that the native call stub reads.

The layout of both is in `weft.compiler.abi`. Objects whose addresses are in a descriptor are
collected beside it and have to live as long as it does.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from types import MemberDescriptorType
from typing import Any, Final

import numpy as np

from weft.compiler import abi
from weft.compiler.abi import Check, Extent, Scalar, Store, Stub, Take, Tree
from weft.runtime.signatures import (
    OPERATORS,
    Argument,
    ArrayOf,
    CallOf,
    DictOf,
    FieldsOf,
    HeldArray,
    Layout,
    Leaf,
    ListOf,
    NumberOf,
    Output,
    Result,
    Same,
    Signature,
    Size,
    TupleOf,
    Unsupported,
)

_CONTIGUOUS: Final = {"C": 1, "F": 2}  # NumPy's flags
_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
_LARGEST: Final = (1 << 63) - 1
_SCALARS: Final = {float: Scalar.FLOAT, int: Scalar.INT, bool: Scalar.BOOL, complex: Scalar.COMPLEX}
_SCALAR_KINDS: Final = {float: "f", int: "fiu", bool: "fiub", complex: "c"}
_STORES: Final = {"f": Store.FLOAT, "c": Store.COMPLEX, "i": Store.SIGNED, "u": Store.UNSIGNED}
_COMPARED: Final = {
    **dict.fromkeys((int, str, bytes), abi.Same.EQUAL),
    float: abi.Same.FLOAT,
}
_Container = TupleOf | ListOf | DictOf | FieldsOf
_SIZES: Final = dict(
    zip(
        OPERATORS,
        (abi.Size.ADD, abi.Size.MULTIPLY, abi.Size.DIVIDE, abi.Size.MAXIMUM),
        strict=True,
    )
)
_VALUE_WORDS: Final = 2  # for a complex number, or a note
_COPIED_ODD: Final = 1 << 20  # bytes from which on NumPy copies what no program can read


class Encoder:
    """The words of one signature; `descriptor` has everything but what the caller fills in."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.kept: list[Any] = [signature]
        self._places = {symbol.name: number for number, symbol in enumerate(signature.symbols)}
        self._bound: set[str] = set()
        self._code: list[int] = []
        self._checks: list[int] = []
        self._lay_out()
        for number, argument in enumerate(signature.arguments):
            self._argument(argument, self.objects_at + number)
        self._constants()
        self._code.append(Take.DONE)
        self._check_symbols()

    def descriptor(self) -> list[int]:
        """The words; those of the head that depend on the program are 0."""
        sections = {
            Stub.NAMES: self._names(),
            Stub.CHECK_CODE: self._checks,
            Stub.RESULT_CODE: list(self._results()),
            Stub.TREE_CODE: self._tree_code(),
            Stub.DONATED_CODE: self._donated_code(),
        }
        words = [0] * Stub.ARGUMENT_CODE + self._code
        for position, section in sections.items():
            if section:
                words[position] = len(words)
                words.extend(section)
        count = len(self.signature.arguments)
        head = {
            Stub.ARGUMENTS: count,
            Stub.POSITIONAL: count - self.signature.keyword_only,
            Stub.OBJECTS: self._objects,
            Stub.OBJECTS_AT: self.objects_at,
            Stub.DATA_AT: self.data_at,
            Stub.NUMBERS_AT: self.numbers_at,
            Stub.RESULTS: len(self.signature.results),
            Stub.POINTERS_AT: self.pointers_at,
            Stub.RESULTS_AT: self.results_at,
            Stub.DIMS_AT: self.dims_at,
            Stub.STACK_AT: self.stack_at,
            Stub.FRAME: self.frame,
        }
        for position, value in head.items():
            words[position] = value
        return words

    def _lay_out(self) -> None:
        """The places of everything in the frame of a call."""
        signature = self.signature
        leaves = [leaf for argument in signature.arguments for leaf in _leaves(argument)]
        strides = sum(_passed_strides(leaf) for leaf in leaves)
        self._objects = len(signature.arguments) + sum(map(_inner, signature.arguments))
        self.objects_at = abi.NOTES_AT + 1
        self.data_at = self.objects_at + self._objects
        self._values_at = self.data_at + len(leaves) + len(signature.constants)
        self.numbers_at = self._values_at + _VALUE_WORDS * len(leaves)
        self.pointers_at = self.numbers_at + len(signature.symbols) + strides
        self.results_at = self.pointers_at + len(signature.results)
        self.dims_at = self.results_at + len(signature.results)
        self.stack_at = self.dims_at + max([0, *[len(r.shape) for r in signature.results]])
        self._extents_at = self.stack_at + _nodes(signature.tree)
        arrays = sum(isinstance(leaf, ArrayOf) for leaf in leaves)
        self._is_donating = any(isinstance(leaf, ArrayOf) and leaf.donated for leaf in leaves)
        self.frame = self._extents_at + len(abi.ArrayExtent) * arrays * self._is_donating
        self._next_object = self.objects_at + len(signature.arguments)
        self._next_leaf = 0
        self._next_stride = self.numbers_at + len(signature.symbols)
        self._arrays: dict[int, tuple[int, ArrayOf]] = {}  # slots, by the numbers of leaves

    def _object(self, thing: Any) -> int:
        self.kept.append(thing)
        return id(thing)

    def _names(self) -> list[int]:
        count = len(self.signature.arguments)
        names = [*self.signature.names, *[None] * count][:count]
        return [0 if name is None else self._object(name) for name in names]

    # --- arguments ---

    def _argument(self, argument: Argument, slot: int) -> None:
        if isinstance(argument, ArrayOf):
            self._array(argument, slot)
        elif isinstance(argument, NumberOf):
            self._number(argument, slot)
        elif isinstance(argument, HeldArray):
            self._held(argument, slot)
        elif isinstance(argument, Same):
            how = _COMPARED.get(type(argument.value), abi.Same.IDENTICAL)
            self._code += [Take.SAME, slot, self._object(argument.value), how]
        elif isinstance(argument, TupleOf | ListOf | DictOf | FieldsOf):
            self._container(argument, slot)
        else:
            raise Unsupported(f"{argument!r} is no kind of argument")

    def _container(self, argument: TupleOf | ListOf | DictOf | FieldsOf, slot: int) -> None:
        first, length = self._next_object, len(argument.items)
        self._next_object += length
        if isinstance(argument, DictOf):
            self._code += [Take.DICT, slot, length]
            for number in argument.order or range(length):
                self._code += [self._object(_plain_key(argument.keys[number])), first + number]
        elif isinstance(argument, ListOf):
            self._code += [Take.LIST, slot, length, first]
        elif isinstance(argument, FieldsOf):
            names = [self._object(name) for name in argument.names]
            self._code += [Take.FIELDS, slot, self._object(argument.type), length, first, *names]
        else:
            if not issubclass(argument.type, tuple):
                raise Unsupported(f"{argument.type.__name__} is no kind of tuple")
            self._code += [Take.TUPLE, slot, self._object(argument.type), length, first]
        for number, item in enumerate(argument.items):
            self._argument(item, first + number)

    def _leaf(self) -> tuple[int, int]:
        """Where the next leaf's address belongs, and where its value may be kept."""
        number = self._next_leaf
        self._next_leaf += 1
        return self.data_at + number, self._values_at + _VALUE_WORDS * number

    def _number(self, argument: NumberOf, slot: int) -> None:
        data, value = self._leaf()
        kind, dtype = argument.type, argument.dtype
        if issubclass(kind, np.generic):
            _check_numpy_scalar(kind, dtype)
            self._code += [Take.NUMPY_SCALAR, slot, self._object(kind), data]
            return
        bits = dtype.itemsize * 8 // (2 if dtype.kind == "c" else 1)
        if dtype.kind not in _SCALAR_KINDS.get(kind, "") or (dtype.kind in "fc" and bits < 32):
            raise Unsupported(f"a {kind.__name__} cannot be passed as {dtype}")
        store = _STORES.get(dtype.kind, Store.UNSIGNED)
        self._code += [Take.SCALAR, slot, _SCALARS[kind], store, bits, data, value]

    def _array(self, argument: ArrayOf, slot: int) -> None:
        dtype, layout = argument.dtype, argument.layout
        if not dtype.isnative or dtype.hasobject:
            raise Unsupported(f"arrays of dtype {dtype} cannot be passed")
        self._arrays[self._next_leaf] = slot, argument
        data, note = self._leaf()
        begin = len(self._code)
        self._code += _words_of_kind(
            dtype, len(argument.shape), layout, argument.copied, argument.donated
        )
        self._code[begin + abi.Taken.SLOT] = slot
        self._code[begin + abi.Taken.DATA_AT] = data
        self._code[begin + abi.Taken.DTYPE] = self._object(dtype)
        self._code[begin + abi.Taken.NOTE_AT] = note
        for axis, size in enumerate(argument.shape):
            self._code += self._extent(size, slot, axis)
        if isinstance(layout, str):
            return
        for axis, stride in enumerate(layout):
            if stride is None:
                exact = argument.copied >= 0
                self._code += [Take.STRIDE, slot, axis, dtype.itemsize, self._next_stride, exact]
                self._next_stride += 1
            else:
                self._checks += [Check.STRIDE, slot, axis, stride * dtype.itemsize]

    def _held(self, argument: HeldArray, slot: int) -> None:
        if argument.array.donated:
            raise Unsupported("what an object holds may be somebody else's too")
        place = self._next_object
        self._next_object += 1
        offset = slot_offset(argument.type, argument.slot)
        objects = [self._object(argument.type), offset, self._object(argument.attribute), place]
        self._code += [Take.HELD, slot, *objects]
        self._array(argument.array, place)

    def _donated_code(self) -> list[int]:
        """What is known of all arrays, if some may be written over."""
        if not self._is_donating:
            return []
        words = [len(self._arrays), self._extents_at]
        for slot, array in self._arrays.values():
            words += [slot, array.dtype.itemsize, array.donated]
        return words

    def _constants(self) -> None:
        addresses = [constant.ctypes.data for constant in self.signature.constants]
        if addresses:
            place = self.data_at + self._next_leaf
            self._code += [Take.GIVEN, place, len(addresses), *addresses]

    def _extent(self, size: Size, slot: int, axis: int) -> tuple[int, int]:
        if isinstance(size, int):
            return Extent.EQUAL, size
        if isinstance(size, tuple):
            self._checks += [Check.EXTENT, slot, axis, *self._size(size)]
            return Extent.ANY, 0
        is_known = size in self._bound
        self._bound.add(size)
        return (Extent.MATCH if is_known else Extent.BIND), self._place(size)

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise Unsupported(f"{name} is not among the symbols")
        return self.numbers_at + self._places[name]

    def _check_symbols(self) -> None:
        for symbol in self.signature.symbols:
            if symbol.name not in self._bound:
                raise Unsupported(f"no argument has {symbol.name} alone as a size")
            upper = _LARGEST if symbol.upper is None else symbol.upper
            self._checks += [Check.BOUNDS, self._place(symbol.name), symbol.lower, upper]
        self._checks.append(Check.DONE)

    def _size(self, size: Size) -> list[int]:
        """The instructions of a size, their number first."""
        code = [word for instruction in self._steps(size) for word in instruction]
        if len(code) > 2 * abi.SIZE_STACK:
            raise Unsupported("a size is too long")
        return [len(code) // 2, *code]

    def _steps(self, size: Size) -> Iterator[tuple[int, int]]:
        if isinstance(size, int):
            yield abi.Size.CONSTANT, size
        elif isinstance(size, str):
            yield abi.Size.NUMBER, self._place(size)
        else:
            operator, left, right = size
            yield from self._steps(left)
            yield from self._steps(right)
            yield _SIZES[operator], 0

    # --- results ---

    def _results(self) -> Iterator[int]:
        for result in self.signature.results:
            yield from (self._object(result.dtype), result.dtype.itemsize, len(result.shape))
            yield from self._written_over(result)
            for size in result.shape:
                yield from self._size(size)

    def _written_over(self, result: Result) -> tuple[int, int]:
        """The slot of an array that becomes the result, and where its address belongs."""
        leaf = result.written_over
        if leaf is None:
            return 0, 0
        slot, array = self._arrays[leaf]
        if not array.donated or (array.dtype, array.shape) != (result.dtype, result.shape):
            raise Unsupported("a result is written over an array of another type")
        return slot, self.data_at + leaf

    def _tree_code(self) -> list[int]:
        tree = self.signature.tree
        if isinstance(tree, Leaf) and len(self.signature.results) == 1:
            return []
        return [*self._output(tree), Tree.DONE]

    def _output(self, tree: Output) -> Iterator[int]:
        if isinstance(tree, Leaf):
            if not 0 <= tree.number < len(self.signature.results):
                raise Unsupported(f"there is no result {tree.number}")
            yield from (Tree.LEAF, tree.number)
            return
        if isinstance(tree, Same):
            yield from (Tree.SAME, self._object(tree.value))
            return
        order = getattr(tree, "order", ()) or range(len(tree.items))
        for number in order:
            yield from self._output(tree.items[number])
        length = len(tree.items)
        if isinstance(tree, CallOf):
            yield from (Tree.CALL, self._object(tree.function), length)
        elif isinstance(tree, DictOf):
            yield from (Tree.DICT, length, *[self._object(tree.keys[number]) for number in order])
        elif isinstance(tree, ListOf):
            yield from (Tree.LIST, length)
        else:
            if tree.type is not tuple:
                raise Unsupported(f"a {tree.type.__name__} is made by CallOf")
            yield from (Tree.TUPLE, length)


def _leaves(argument: Argument) -> Iterator[ArrayOf | NumberOf]:
    if isinstance(argument, ArrayOf | NumberOf):
        yield argument
    elif isinstance(argument, HeldArray):
        yield argument.array
    elif isinstance(argument, _Container):
        for item in argument.items:
            yield from _leaves(item)


def _inner(argument: Argument) -> int:
    """How many objects are inside an argument."""
    if isinstance(argument, HeldArray):
        return 1
    if not isinstance(argument, _Container):
        return 0
    return len(argument.items) + sum(map(_inner, argument.items))


def _nodes(tree: Output) -> int:
    return 1 if isinstance(tree, Leaf | Same) else 1 + sum(map(_nodes, tree.items))


def _passed_strides(leaf: ArrayOf | NumberOf) -> int:
    """How many strides the program is told of."""
    if isinstance(leaf, NumberOf) or isinstance(leaf.layout, str):
        return 0
    return leaf.layout.count(None)


@functools.lru_cache(maxsize=256)
def _words_of_kind(
    dtype: np.dtype[Any], rank: int, layout: Layout, copied: int, donated: bool
) -> tuple[int, ...]:
    """The instruction that takes an array, without what tells arrays of a kind apart: there are few
    kinds, and very many parameters of a model.
    """
    words = dict.fromkeys(range(abi.Taken.AXES), 0) | {
        0: Take.ARRAY,
        abi.Taken.KINDS: _same_kinds(dtype),
        abi.Taken.ITEM: dtype.itemsize,
        abi.Taken.UNIT: dtype.itemsize // (2 if dtype.kind == "c" else 1),
        abi.Taken.RANK: rank,
        **_passed(layout, copied, donated),
    }
    return tuple(words.values())


def _passed(layout: Layout, copied: int, donated: bool) -> dict[int, int]:
    """Which arrays are passed as they are, which are copied, and which are left to another stub."""
    if not isinstance(layout, str):
        avoided = abi.C_ORDER if copied >= 0 else 0
        flags = abi.ALIGNED | (abi.WRITEABLE if donated else 0)
        none: dict[int, int] = {abi.Taken.COPIED: -1, abi.Taken.COPIED_ODD: -1}
        avoiding: dict[int, int] = {abi.Taken.AVOIDED: avoided, abi.Taken.LEAST: copied}
        return {int(abi.Taken.REQUIRED): flags, **avoiding, **none}
    if copied >= 0 and layout != "C":
        raise Unsupported("copies are row-major")
    flags = abi.ALIGNED | _CONTIGUOUS[layout]
    flags |= abi.WRITEABLE * donated
    odd = -1 if copied < 0 else max(copied, _COPIED_ODD)
    return {abi.Taken.REQUIRED: flags, abi.Taken.COPIED: copied, abi.Taken.COPIED_ODD: odd}


def slot_offset(type: type, name: str) -> int:
    """The bytes from the start of an object to what one of its slots holds."""
    member = getattr(type, name, None)
    if not isinstance(member, MemberDescriptorType):
        raise Unsupported(f"{name} of a {type.__name__} is not in a slot")
    held: Any = object()
    probe: Any = object.__new__(type)
    member.__set__(probe, held)
    for offset in range(2 * _POINTER, type.__basicsize__, _POINTER):
        if ctypes.c_void_p.from_address(id(probe) + offset).value == id(held):
            return offset
    raise Unsupported(f"{name} of a {type.__name__} is not where its slots are")


def _plain_key(key: Any) -> Any:
    """Keys are compared in the middle of a call, where no Python code of a user may run."""
    if type(key) not in (str, int, bytes, bool, float):
        raise Unsupported(f"the key {key!r} of a dict is no plain text or number")
    return key


def _same_kinds(dtype: np.dtype[Any]) -> int:
    """A bit for the number of each of NumPy's own dtypes that is equal to one: `long` and
    `longlong` are often two names of the same.
    """
    own = (np.dtype(code) for code in np.typecodes["AllInteger"] + "?" + np.typecodes["AllFloat"])
    return sum({1 << other.num for other in own if other == dtype})


def _check_numpy_scalar(kind: type[np.generic], dtype: np.dtype[Any]) -> None:
    """That the number is where native code will look for it."""
    if np.dtype(kind) != dtype or dtype.kind not in "biufcV":
        raise Unsupported(f"a {kind.__name__} cannot be passed as {dtype}")
    probe: Any = np.ones((), dtype)[()]
    found = ctypes.string_at(id(probe) + abi.SCALAR_VALUE, dtype.itemsize)
    if type(probe) is not kind or found != probe.tobytes():
        raise Unsupported(f"the value of a {kind.__name__} is not where it is in other scalars")
