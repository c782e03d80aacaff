"""The second half of a call: new arrays for the results, and the structure they are put into."""

from __future__ import annotations

from typing import Final

from weft.compiler.abi import (
    ALIGNED,
    C_ORDER,
    MEMORY_HANDLER,
    MEMORY_NEW,
    OWNS_DATA,
    STUB_ARRAY,
    WRITEABLE,
    ArrayField,
    Failed,
    Run,
    Shared,
    Stub,
    Tree,
)
from weft.compiler.lower.llvm.emit.function import Function, Module, V, Variable
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR, VOID
from weft.compiler.lower.llvm.support.arguments import SIZE
from weft.compiler.lower.llvm.support.python import (
    INLINE,
    array_number,
    drop,
    keep,
    pointer,
    put,
    saturating_product,
    switch,
    word,
)

ALLOCATE: Final = "weft_stub_allocate"
BUILD: Final = "weft_stub_build"
_TRACE_DOMAIN: Final = 389047  # under which tracemalloc knows the memory of NumPy arrays


def emit_results(module: Module) -> None:
    """weft_stub_array, weft_stub_allocate and weft_stub_build, which see."""
    _emit_array(module)
    _emit_allocate(module)
    _emit_build(module)


def _emit_array(module: Module) -> None:
    """weft_stub_array(shared, dtype, rank, dims, bytes): an array that owns its memory, or null
    without an exception if there is none.

    The array gets our memory handler, so that NumPy frees and resizes it correctly; a capsule as
    base object would cost more and the array could not be resized.
    """
    parameters = [("shared", PTR), ("dtype", PTR), ("rank", I64), ("dims", PTR), ("bytes", I64)]
    f = module.function(STUB_ARRAY, PTR, parameters)
    shared, dtype, rank, dims, bytes = f.arguments
    memory = pointer(f, shared, Shared.MEMORY)
    made = f.variable(0, PTR)
    data = f.call(MEMORY_NEW, PTR, [memory, bytes])
    with f.when(data.ne(0)):
        null = f.const(0, PTR)
        flags = f.const(C_ORDER | ALIGNED | WRITEABLE, I32)
        type = pointer(f, shared, Shared.ARRAY)
        values = [type, keep(f, dtype), rank.to(I32), dims, null, data, flags, null]
        array = f.call("PyArray_NewFromDescr", PTR, values)
        made.set(array)
        with f.otherwise(array.ne(0)) as choice:
            place = f.offset(array, ArrayField.FLAGS)
            f.store(array_number(f, array, ArrayField.FLAGS) | OWNS_DATA, place)
            handler = keep(f, pointer(f, shared, Shared.MEMORY_OBJECT))
            f.store(handler, f.offset(array, ArrayField.HANDLER))
            traced = [f.const(_TRACE_DOMAIN, I32), data, bytes]
            f.call("PyTraceMalloc_Track", I32, traced)
            choice.otherwise()
            f.call(MEMORY_HANDLER[3], VOID, [memory, data, bytes])
    f.ret(made.get())


def _emit_allocate(module: Module) -> None:
    """weft_stub_allocate(descriptor, frame): whether all results have their arrays; else the run
    record says which has not, and those that were made are dropped by the caller.

    A result that is written over an argument is that array. If the argument has to be copied, the
    copy will be in the result's new array.
    """
    f = module.function(ALLOCATE, I64, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    place = f.variable(f.element(descriptor, I64, word(f, descriptor, Stub.RESULT_CODE)))
    dims = f.element(frame, I64, word(f, descriptor, Stub.DIMS_AT))
    pointers = f.element(frame, I64, word(f, descriptor, Stub.POINTERS_AT))
    results = f.element(frame, I64, word(f, descriptor, Stub.RESULTS_AT))
    shared = pointer(f, descriptor, Stub.SHARED)
    done = f.variable(1, I64)
    with f.range(0, word(f, descriptor, Stub.RESULTS)) as number:
        code = place.get()
        dtype, rank = pointer(f, code, 0), word(f, code, 2)
        slot, data_at = word(f, code, 3), word(f, code, 4)
        bytes = f.variable(word(f, code, 1))
        place.set(f.element(code, I64, 5))
        with f.range(0, rank) as axis:
            size = f.maximum(f.call(SIZE, I64, [frame, place.get()]), 0)
            put(f, size, dims, axis)
            bytes.set(saturating_product(f, bytes.get(), size))
            place.set(f.element(place.get(), I64, word(f, place.get(), 0) * 2 + 1))
        put(f, f.const(0, PTR), results, number)
        array = f.variable(0, PTR)
        is_donated = slot.ne(0)
        with f.when(is_donated & pointer(f, frame, data_at).ne(0)):
            array.set(keep(f, pointer(f, frame, slot)))
        with f.when(done.get().ne(0) & array.get().eq(0)):
            array.set(f.call(STUB_ARRAY, PTR, [shared, dtype, rank, dims, bytes.get()]))
        put(f, array.get(), results, number)
        with f.otherwise(array.get().ne(0)) as choice:
            data = f.load(f.offset(array.get(), ArrayField.DATA), PTR)
            put(f, data, pointers, number)
            with f.when(is_donated):
                put(f, data, frame, data_at)
            choice.otherwise()
            with f.when(done.get().ne(0)):
                done.set(0)
                put(f, f.const(Failed.RESULT_MEMORY, I64), frame, Run.ERROR)
                put(f, number, frame, Run.DETAIL0)
                put(f, bytes.get(), frame, Run.DETAIL1)
    f.ret(done.get())


class _Builder:
    """Emits the instructions of a tree: a stack of objects that own a reference each, or of null
    where something failed before.
    """

    def __init__(self, f: Function, descriptor: V, frame: V) -> None:
        self.f = f
        self.stack = f.element(frame, I64, word(f, descriptor, Stub.STACK_AT))
        self.results = f.element(frame, I64, word(f, descriptor, Stub.RESULTS_AT))
        self.top = f.variable(0, I64)
        self.place: Variable = f.variable(
            f.element(descriptor, I64, word(f, descriptor, Stub.TREE_CODE))
        )

    def advance(self, words: V | int) -> None:
        self.place.set(self.f.element(self.place.get(), I64, words))

    def push(self, thing: V) -> None:
        put(self.f, thing, self.stack, self.top.get())
        self.top.set(self.top.get() + 1)

    def leaf(self) -> None:
        f = self.f
        self.push(keep(f, pointer(f, self.results, word(f, self.place.get(), 1))))
        self.advance(2)

    def same(self) -> None:
        f = self.f
        self.push(keep(f, pointer(f, self.place.get(), 1)))
        self.advance(2)

    def sequence(self, new: str, set_item: str) -> None:
        """A tuple or list of the last items, whose references it takes over."""
        f = self.f
        length = word(f, self.place.get(), 1)
        first = self.top.get() - length
        made = f.call(new, PTR, [length])
        with f.range(0, length) as i:
            item = pointer(f, self.stack, first + i)
            with f.otherwise(made.ne(0)) as choice:
                f.call(set_item, I32, [made, i, item])
                choice.otherwise()
                drop(f, item)
        self.top.set(first)
        self.push(made)
        self.advance(2)

    def dictionary(self) -> None:
        f = self.f
        code = self.place.get()
        length = word(f, code, 1)
        first = self.top.get() - length
        made = f.variable(f.call("PyDict_New", PTR, []))
        with f.range(0, length) as i:
            item = pointer(f, self.stack, first + i)
            key = pointer(f, code, i + 2)
            with f.when(made.get().ne(0) & item.ne(0)):
                failed = f.call("PyDict_SetItem", I32, [made.get(), key, item]).ne(0)
                with f.when(failed):
                    drop(f, made.get())
                    made.set(f.const(0, PTR))
            drop(f, item)
        self.top.set(first)
        self.push(made.get())
        self.advance(length + 2)

    def call(self) -> None:
        f = self.f
        length = word(f, self.place.get(), 2)
        first = self.top.get() - length
        items = f.element(self.stack, I64, first)
        null = f.const(0, PTR)
        values = [pointer(f, self.place.get(), 1), items, length, null]
        occurred = f.call("PyErr_Occurred", PTR, [])
        made = f.variable(0, PTR)
        with f.when(occurred.eq(0)):
            made.set(f.call("PyObject_Vectorcall", PTR, values))
        with f.range(0, length) as i:
            drop(f, pointer(f, items, i))
        self.top.set(first)
        self.push(made.get())
        self.advance(3)


def _emit_build(module: Module) -> None:
    """weft_stub_build(descriptor, frame): what the call returns, a new reference, or null."""
    f = module.function(BUILD, PTR, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    builder = _Builder(f, descriptor, frame)
    cases = {
        Tree.LEAF: builder.leaf,
        Tree.SAME: builder.same,
        Tree.TUPLE: lambda: builder.sequence("PyTuple_New", "PyTuple_SetItem"),
        Tree.LIST: lambda: builder.sequence("PyList_New", "PyList_SetItem"),
        Tree.DICT: builder.dictionary,
        Tree.CALL: builder.call,
    }
    with f.loop_while() as loop:
        instruction = word(f, builder.place.get(), 0)
        loop.stop_if(instruction.eq(Tree.DONE))
        switch(f, instruction, cases)
    whole = f.variable(pointer(f, builder.stack, 0))
    with f.when(whole.get().ne(0)):
        with f.when(f.call("PyErr_Occurred", PTR, []).ne(0)):
            drop(f, whole.get())
            whole.set(f.const(0, PTR))
    f.ret(whole.get())
