"""Copies of arguments that cannot be passed as they lie: elements that are apart, misaligned, or
have their bytes in the other order.

Arrays of that kind are noted while arguments are taken apart, with no address. Once all match, each
is copied: to where its address says by then, which is the array of a result that is written over
it, or else to memory that is given back after the call.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from weft.compiler.abi import (
    MEMORY_HANDLER,
    MEMORY_NEW,
    MOST_AXES,
    NOTES_AT,
    ArrayField,
    Failed,
    Run,
    Shared,
    Stub,
    Taken,
)
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I1, I8, I16, I32, I64, PTR, VOID, Type
from weft.compiler.lower.llvm.support.python import (
    INLINE,
    array_number,
    array_pointer,
    is_native,
    pointer,
    put,
    saturating_product,
    switch,
    word,
)

COPY_ARGUMENTS: Final = "weft_stub_copy_arguments"
_BYTES: Final = "weft_copy_bytes"
_ROOM: Final = "weft_copy_room"
_ROW: Final = "weft_copy_row"
_ARRAY: Final = "weft_copy_array"

_ON_STACK: Final = 4096  # bytes of copies that need no memory of their own
_ALIGNMENT: Final = 64
_UNITS: Final[dict[int, Type]] = {1: I8, 2: I16, 4: I32, 8: I64}
# Bytes of an element and of its units, and whether the bytes of each unit change places.
_ROWS: Final = (
    *((bytes, bytes, False) for bytes in (1, 2, 4, 8)),
    (16, 8, False),
    *((bytes, bytes, True) for bytes in (2, 4, 8)),
    (8, 4, True),
    (16, 8, True),
)


def emit_copies(module: Module, enter: str) -> None:
    """weft_stub_copy_arguments(descriptor, frame): call `enter` with the same, with copies of the
    arguments that are noted; if there is no memory for them, the run record says so.
    """
    _emit_bytes(module)
    _emit_room(module)
    _emit_row(module)
    _emit_array(module)
    _emit_copy_arguments(module, enter)


def _emit_bytes(module: Module) -> None:
    """weft_copy_bytes(frame, note): what a copy takes."""
    f = module.function(_BYTES, I64, [("frame", PTR), ("note", PTR)], internal=True)
    frame, note = f.arguments
    code = pointer(f, note, 1)
    dims = array_pointer(f, pointer(f, frame, word(f, code, Taken.SLOT)), ArrayField.DIMS)
    bytes = f.variable(word(f, code, Taken.ITEM))
    with f.range(0, word(f, code, Taken.RANK)) as axis:
        bytes.set(saturating_product(f, bytes.get(), word(f, dims, axis)))
    f.ret(bytes.get())


def _room(f: Function, frame: V, note: V) -> V:
    """The bytes from one copy to the next."""
    return (f.call(_BYTES, I64, [frame, note]) + (_ALIGNMENT - 1)) & -_ALIGNMENT


def _target(f: Function, frame: V, note: V) -> V:
    """Where the address of the data belongs."""
    return f.element(frame, I64, word(f, pointer(f, note, 1), Taken.DATA_AT))


def _emit_room(module: Module) -> None:
    """weft_copy_room(frame): what all copies take that have no place yet."""
    f = module.function(_ROOM, I64, [("frame", PTR)], **INLINE)
    (frame,) = f.arguments
    total, note = f.variable(0, I64), f.variable(pointer(f, frame, NOTES_AT))
    with f.loop_while() as loop:
        loop.stop_if(note.get().eq(0))
        with f.when(f.load(_target(f, frame, note.get()), PTR).eq(0)):
            total.set(total.get() + _room(f, frame, note.get()))
        note.set(pointer(f, note.get(), 0))
    f.ret(total.get())


def _emit_row(module: Module) -> None:
    """weft_copy_row(target, source, count, step, kind): copy elements that are `step` bytes apart
    to where they are side by side.
    """
    parameters = [("target", PTR), ("source", PTR), ("count", I64), ("step", I64), ("kind", I64)]
    f = module.function(_ROW, VOID, parameters, internal=True)
    target, source, count, step, kind = f.arguments

    def copy(bytes: int, unit: int, is_swapped: bool) -> None:
        type = _UNITS[unit]
        with f.range(0, count) as i:
            place = f.offset(source, i * step)
            for number in range(bytes // unit):
                value = f.load(f.element(place, type, number), type, align=1)
                value = f.intrinsic("bswap", value) if is_swapped else value
                at = f.element(target, type, i * (bytes // unit) + number)
                f.store(value, at)

    cases = {_kind(*row): partial(copy, *row) for row in _ROWS}
    switch(f, kind, cases)
    f.ret()


def _kind(bytes: int, unit: int, is_swapped: bool) -> int:
    return bytes * 16 + unit * is_swapped


def _emit_array(module: Module) -> None:
    """weft_copy_array(target, array, code): copy an array of one element or more, in row-major
    order.
    """
    f = module.function(
        _ARRAY, VOID, [("target", PTR), ("array", PTR), ("code", PTR)], internal=True
    )
    target, array, code = f.arguments
    dims, strides = (array_pointer(f, array, x) for x in (ArrayField.DIMS, ArrayField.STRIDES))
    last = array_number(f, array, ArrayField.RANK).to(I64) - 1
    item = word(f, code, Taken.ITEM)
    in_order = is_native(f, array_pointer(f, array, ArrayField.DTYPE))
    kind = item * 16 + f.select(in_order, f.const(0, I64), word(f, code, Taken.UNIT))
    count, step = f.variable(1, I64), f.variable(item)
    with f.when(last.ge(0)):
        count.set(word(f, dims, last))
        step.set(word(f, strides, last))
    is_plain = in_order & step.get().eq(item)
    bytes = count.get() * item
    index = f.stack(I64, MOST_AXES, align=8)
    with f.range(0, last) as axis:
        put(f, f.const(0, I64), index, axis)
    source = f.variable(array_pointer(f, array, ArrayField.DATA))
    place, axis_left = f.variable(target), f.variable(0, I64)
    with f.loop_while() as loop:
        with f.otherwise(is_plain) as choice:
            values = [place.get(), source.get(), bytes, f.const(False, I1)]
            f.call("llvm.memcpy.p0.p0.i64", VOID, values)
            choice.otherwise()
            f.call(_ROW, VOID, [place.get(), source.get(), count.get(), step.get(), kind])
        place.set(f.offset(place.get(), bytes))
        axis_left.set(last - 1)
        with f.loop_while() as carry:  # the index of the next row
            axis = axis_left.get()
            carry.stop_if(axis.lt(0))
            following, size = word(f, index, axis) + 1, word(f, dims, axis)
            source.set(f.offset(source.get(), word(f, strides, axis)))
            put(f, following, index, axis)
            carry.stop_if(following.lt(size))
            source.set(f.offset(source.get(), -(size * word(f, strides, axis))))
            put(f, f.const(0, I64), index, axis)
            axis_left.set(axis - 1)
        loop.stop_if(axis_left.get().lt(0))
    f.ret()


def _emit_copy_arguments(module: Module, enter: str) -> None:
    parameters = [("descriptor", PTR), ("frame", PTR)]
    f = module.function(COPY_ARGUMENTS, VOID, parameters, internal=True)
    descriptor, frame = f.arguments
    memory = pointer(f, pointer(f, descriptor, Stub.SHARED), Shared.MEMORY)
    total, made = f.call(_ROOM, I64, [frame]), f.variable(0, PTR)
    room = f.variable(f.stack(I8, _ON_STACK, align=_ALIGNMENT))
    with f.when(total.gt(_ON_STACK)):
        made.set(f.call(MEMORY_NEW, PTR, [memory, total]))
        room.set(made.get())
    with f.otherwise(room.get().ne(0)) as choice:
        note = f.variable(pointer(f, frame, NOTES_AT))
        with f.loop_while() as loop:
            loop.stop_if(note.get().eq(0))
            target = _target(f, frame, note.get())
            with f.when(f.load(target, PTR).eq(0)):
                f.store(room.get(), target)
                room.set(f.offset(room.get(), _room(f, frame, note.get())))
            with f.when(f.call(_BYTES, I64, [frame, note.get()]).ne(0)):
                code = pointer(f, note.get(), 1)
                array = pointer(f, frame, word(f, code, Taken.SLOT))
                f.call(_ARRAY, VOID, [f.load(target, PTR), array, code])
            note.set(pointer(f, note.get(), 0))
        f.call(enter, VOID, [descriptor, frame])
        f.call(MEMORY_HANDLER[3], VOID, [memory, made.get(), total])
        choice.otherwise()
        put(f, f.const(Failed.COPY_MEMORY, I64), frame, Run.ERROR)
        put(f, total, frame, Run.DETAIL1)
    f.ret()
