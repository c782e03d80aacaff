"""Whether an array that may be written over lies where another argument does.

The memory that each array lies in is noted and sorted by where it starts; then each can overlap
only with those before it that end behind its start.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.abi import ArrayExtent, ArrayField, DonatedArray, Stub
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.support.python import (
    INLINE,
    array_number,
    array_pointer,
    pointer,
    put,
    word,
)

ARE_APART: Final = "weft_stub_are_apart"
_EXTENT: Final = "weft_stub_extent"
_SORT: Final = "weft_stub_sort_extents"
_WORDS: Final = len(ArrayExtent)


def emit_overlaps(module: Module) -> None:
    """weft_stub_are_apart(descriptor, frame): whether no donated array's memory overlaps with that
    of another array; it may say that it does where elements lie between others.
    """
    _emit_extent(module)
    _emit_sort(module)
    _emit_are_apart(module)


def _emit_extent(module: Module) -> None:
    """weft_stub_extent(array, item, extent): note where an array lies; whether it has elements."""
    f = module.function(_EXTENT, I64, [("array", PTR), ("item", I64), ("extent", PTR)], **INLINE)
    array, item, extent = f.arguments
    dims, strides = (array_pointer(f, array, x) for x in (ArrayField.DIMS, ArrayField.STRIDES))
    start = f.variable(f.load(f.offset(array, ArrayField.DATA), I64))
    end, is_there = f.variable(start.get() + item), f.variable(1, I64)
    with f.range(0, array_number(f, array, ArrayField.RANK).to(I64)) as axis:
        size = word(f, dims, axis)
        reach = (size - 1) * word(f, strides, axis)
        start.set(start.get() + f.minimum(reach, 0))
        end.set(end.get() + f.maximum(reach, 0))
        with f.when(size.eq(0)):
            is_there.set(0)
    put(f, start.get(), extent, ArrayExtent.START)
    put(f, end.get(), extent, ArrayExtent.END)
    f.ret(is_there.get())


def _emit_sort(module: Module) -> None:
    """weft_stub_sort_extents(extents, count): Shell's sort, by where they start."""
    f = module.function(_SORT, VOID, [("extents", PTR), ("count", I64)], internal=True)
    extents, count = f.arguments
    gap = f.variable(count >> 1)

    def at(number: V) -> V:
        return f.element(extents, I64, number * _WORDS)

    with f.loop_while() as halving:
        halving.stop_if(gap.get().lt(1))
        with f.range(gap.get(), count) as number:
            moved = [word(f, at(number), field) for field in ArrayExtent]
            place = f.variable(number)
            with f.loop_while() as sinking:
                sinking.stop_if(place.get().lt(gap.get()))
                below = at(place.get() - gap.get())
                sinking.stop_if(word(f, below, ArrayExtent.START).le(moved[ArrayExtent.START]))
                for field in ArrayExtent:
                    put(f, word(f, below, field), at(place.get()), field)
                place.set(place.get() - gap.get())
            for field in ArrayExtent:
                put(f, moved[field], at(place.get()), field)
        gap.set(gap.get() >> 1)
    f.ret()


def _emit_are_apart(module: Module) -> None:
    f = module.function(ARE_APART, I64, [("descriptor", PTR), ("frame", PTR)], internal=True)
    descriptor, frame = f.arguments
    code = f.element(descriptor, I64, word(f, descriptor, Stub.DONATED_CODE))
    extents = f.element(frame, I64, word(f, code, 1))
    count = f.variable(0, I64)
    with f.range(0, word(f, code, 0)) as number:
        entry = f.element(code, I64, number * len(DonatedArray) + 2)
        array = pointer(f, frame, word(f, entry, DonatedArray.SLOT))
        item = word(f, entry, DonatedArray.ITEM)
        extent = f.element(extents, I64, count.get() * _WORDS)
        put(f, word(f, entry, DonatedArray.IS_DONATED), extent, ArrayExtent.IS_DONATED)
        count.set(count.get() + f.call(_EXTENT, I64, [array, item, extent]))
    f.call(_SORT, VOID, [extents, count.get()])
    f.ret(_swept(f, extents, count.get()))


def _swept(f: Function, extents: V, count: V) -> V:
    apart = f.variable(1, I64)
    end, donated_end = f.variable(0, I64), f.variable(0, I64)  # of all arrays before this one
    with f.range(0, count) as number:
        extent = f.element(extents, I64, number * _WORDS)
        is_donated = word(f, extent, ArrayExtent.IS_DONATED).ne(0)
        taken = f.select(is_donated, end.get(), donated_end.get())
        with f.when(word(f, extent, ArrayExtent.START).lt(taken)):
            apart.set(0)
        last = word(f, extent, ArrayExtent.END)
        end.set(f.maximum(end.get(), last))
        donated_end.set(f.select(is_donated, f.maximum(donated_end.get(), last), donated_end.get()))
    return apart.get()
