"""The call stub: one native function behind the Python builtins of all programs.

A builtin's `self` is a tuple whose first item is the descriptor of its program, a bytes object of
64-bit words; the others only have to live as long. The call takes the arguments apart, makes arrays
for the results, enters the program, and puts the results together. Where the arguments are not of
the kind that the descriptor names, Python code gets the call.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from weft.compiler.abi import (
    BUFFER,
    BUFFERED,
    MEMORY_HANDLER,
    MEMORY_NEW,
    NOTES_AT,
    POLL,
    RUN_WORDS,
    STUB_CALL,
    STUB_ENTER,
    Failed,
    Pool,
    Run,
    Shared,
    Stub,
    StubFlag,
)
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I8, I32, I64, PTR, VOID
from weft.compiler.lower.llvm.support.arguments import TAKE, emit_arguments
from weft.compiler.lower.llvm.support.copies import COPY_ARGUMENTS, emit_copies
from weft.compiler.lower.llvm.support.memory import emit_memory
from weft.compiler.lower.llvm.support.overlaps import ARE_APART, emit_overlaps
from weft.compiler.lower.llvm.support.python import INLINE, drop, keep, pointer, put, word
from weft.compiler.lower.llvm.support.results import ALLOCATE, BUILD, emit_results

_FILL: Final = "weft_stub_fill"
_NAMED: Final = "weft_stub_named"
_THREADS: Final = "weft_stub_threads"
_ARENA: Final = "weft_stub_arena"
_RECORD: Final = "weft_stub_record"
_RUN: Final = "weft_stub_run"
_FINISH: Final = "weft_stub_finish"
_FAIL: Final = "weft_stub_fail"
_LET_GO: Final = "weft_stub_let_go"
_MISS: Final = "weft_stub_miss"

_FRAME_ON_STACK: Final = 512  # words of the largest frame that needs no memory of its own
_ARENA_ON_STACK: Final = 8192  # bytes of the largest such arena


def stub_text(triple: str) -> str:
    """LLVM text of the stub and the memory for a machine; `weft.compiler.abi` has the exports."""
    module = Module()
    emit_memory(module, triple)
    emit_arguments(module)
    emit_results(module)
    _emit_poll(module)
    _emit_named(module)
    _emit_fill(module)
    _emit_threads(module)
    _emit_let_go(module)
    _emit_enter(module)
    _emit_arena(module)
    emit_copies(module, _ARENA)
    emit_overlaps(module)
    _emit_fail(module)
    _emit_finish(module)
    _emit_record(module)
    _emit_run(module)
    _emit_miss(module)
    _emit_call(module)
    _emit_buffer(module)
    return module.text()


def _emit_poll(module: Module) -> None:
    """weft_poll(run): run signal handlers, if this is the thread for that. An exception that one
    raises stays pending, and the run stops.
    """
    f = module.function(POLL, VOID, [("run", PTR)])
    (run,) = f.arguments
    shared = pointer(f, run, Run.SHARED)
    here = f.call("PyThread_get_thread_ident", I64, [])
    with f.when(here.eq(word(f, shared, Shared.MAIN_THREAD))):
        state = f.call("PyGILState_Ensure", I32, [])
        pending = f.variable(f.call("PyErr_Occurred", PTR, []).ne(0).to(I32))
        with f.when(pending.get().eq(0)):
            pending.set(f.call("PyErr_CheckSignals", I32, []))
        with f.when(pending.get().ne(0)):
            with f.when(word(f, run, Run.ERROR).eq(0)):
                put(f, f.const(Failed.INTERRUPTED, I64), run, Run.ERROR)
            put(f, f.const(1, I64), run, Run.STOP)
        f.call("PyGILState_Release", VOID, [state])
    f.ret()


def _emit_fill(module: Module) -> None:
    """weft_stub_fill(descriptor, frame, args, nargs, kwnames): put the arguments into the frame,
    and null for what is inside them; whether there is an argument for each parameter.
    """
    parameters = [("descriptor", PTR), ("frame", PTR), ("args", PTR), ("nargs", I64)]
    f = module.function(_FILL, I64, [*parameters, ("kwnames", PTR)], **INLINE)
    descriptor, frame, args, nargs, kwnames = f.arguments
    expected = word(f, descriptor, Stub.ARGUMENTS)
    objects = f.element(frame, I64, word(f, descriptor, Stub.OBJECTS_AT))
    named, matched = f.variable(0, I64), f.variable(0, I64)
    put(f, f.const(0, PTR), frame, NOTES_AT)
    with f.when(kwnames.ne(0)):
        named.set(f.call("PyTuple_Size", I64, [kwnames]))
    count = nargs + named.get()
    with f.when(count.eq(expected) & nargs.le(word(f, descriptor, Stub.POSITIONAL))):
        with f.range(0, nargs) as i:
            put(f, pointer(f, args, i), objects, i)
        with f.range(0, named.get()) as i:
            name = f.call("PyTuple_GetItem", PTR, [kwnames, i])
            place = f.call(_NAMED, I64, [descriptor, nargs, name])
            with f.when(place.ge(0)):
                put(f, pointer(f, args, nargs + i), objects, place)
                matched.set(matched.get() + 1)
        with f.range(expected, word(f, descriptor, Stub.OBJECTS)) as i:
            put(f, f.const(0, PTR), objects, i)
        matched.set(matched.get() + nargs)
    f.ret((count.eq(expected) & matched.get().eq(expected)).to(I64))


def _emit_named(module: Module) -> None:
    """weft_stub_named(descriptor, first, name): the number of the parameter of a name, among those
    from `first` on; -1: there is none. Names are mostly the very same objects.
    """
    parameters = [("descriptor", PTR), ("first", I64), ("name", PTR)]
    f = module.function(_NAMED, I64, parameters, internal=True)
    descriptor, first, name = f.arguments
    names = f.element(descriptor, I64, word(f, descriptor, Stub.NAMES))
    count, found = word(f, descriptor, Stub.ARGUMENTS), f.variable(-1, I64)
    with f.range(first, count) as i:
        with f.when(pointer(f, names, i).eq(name)):
            found.set(i)
    with f.when(found.get().lt(0)):
        with f.range(first, count) as i:
            known = pointer(f, names, i)
            with f.when(known.ne(0)):
                with f.when(f.call("PyUnicode_Compare", I32, [known, name]).eq(0)):
                    found.set(i)
    f.ret(found.get())


def _emit_threads(module: Module) -> None:
    """weft_stub_threads(shared): how many threads this call may use, with workers for them; 0 if
    an exception is pending.
    """
    f = module.function(_THREADS, I64, [("shared", PTR)], **INLINE)
    (shared,) = f.arguments
    count = f.variable(f.load(pointer(f, shared, Shared.THREADS_DEFAULT), I64))
    chosen = f.stack(PTR, align=8)
    f.store(f.const(0, PTR), chosen)
    variable = pointer(f, shared, Shared.THREADS_CHOSEN)
    f.call("PyContextVar_Get", I32, [variable, f.const(0, PTR), chosen])
    value = f.load(chosen, PTR)
    with f.when(value.ne(0)):
        count.set(f.call("PyLong_AsLongLong", I64, [value]))
        drop(f, value)
    pool = pointer(f, shared, Shared.POOL)
    workers, most = word(f, pool, Pool.WORKERS), word(f, pool, Pool.MOST)
    wanted = f.minimum(count.get() - 1, most)
    with f.when(count.get().lt(1) | wanted.gt(workers)):
        prepare = pointer(f, shared, Shared.THREADS_PREPARE)
        made = f.call("PyObject_CallNoArgs", PTR, [prepare])
        count.set(0)
        with f.when(made.ne(0)):
            count.set(f.call("PyLong_AsLongLong", I64, [made]))
            drop(f, made)
    f.ret(count.get())


def _emit_let_go(module: Module) -> None:
    """weft_stub_let_go(descriptor, frame): drop what was found inside arguments and is held during
    the call, as other threads or callbacks might take it out of there meanwhile.
    """
    f = module.function(_LET_GO, VOID, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    objects = f.element(frame, I64, word(f, descriptor, Stub.OBJECTS_AT))
    first, last = word(f, descriptor, Stub.ARGUMENTS), word(f, descriptor, Stub.OBJECTS)
    with f.range(first, last) as i:
        drop(f, pointer(f, objects, i))
    f.ret()


def _emit_enter(module: Module) -> None:
    """weft_stub_enter(program, run, data, numbers, results, arena, flags): call the program, with
    or without the GIL.
    """
    names = ("program", "run", "data", "numbers", "results", "arena")
    f = module.function(STUB_ENTER, VOID, [*[(name, PTR) for name in names], ("flags", I64)])
    program, run, data, numbers, results, arena, flags = f.arguments
    state = f.variable(0, PTR)
    with f.when((flags & StubFlag.RELEASE).ne(0)):
        state.set(f.call("PyEval_SaveThread", PTR, []))
    f.call_pointer(program, I64, [run, data, numbers, results, arena])
    with f.when(state.get().ne(0)):
        f.call("PyEval_RestoreThread", VOID, [state.get()])
    f.ret()


def _enter(f: Function, descriptor: V, frame: V, arena: V) -> None:
    at = (Stub.DATA_AT, Stub.NUMBERS_AT, Stub.POINTERS_AT)
    places = [f.element(frame, I64, word(f, descriptor, position)) for position in at]
    flags = word(f, descriptor, Stub.FLAGS)
    f.call(STUB_ENTER, VOID, [pointer(f, descriptor, Stub.ENTRY), frame, *places, arena, flags])


def _emit_arena(module: Module) -> None:
    """weft_stub_arena(descriptor, frame): enter the program with memory for its intermediate
    values: on the stack if they are small, else a block like those of results.
    """
    f = module.function(_ARENA, VOID, [("descriptor", PTR), ("frame", PTR)], internal=True)
    descriptor, frame = f.arguments
    bytes = f.variable(word(f, descriptor, Stub.ARENA_BYTES))
    function = pointer(f, descriptor, Stub.ARENA_FUNCTION)
    with f.when(function.ne(0)):
        numbers = f.element(frame, I64, word(f, descriptor, Stub.NUMBERS_AT))
        bytes.set(f.call_pointer(function, I64, [frame, numbers]))
    with f.otherwise(bytes.get().le(_ARENA_ON_STACK)) as choice:
        _enter(f, descriptor, frame, f.stack(I8, _ARENA_ON_STACK, align=64))
        choice.otherwise()
        memory = pointer(f, pointer(f, descriptor, Stub.SHARED), Shared.MEMORY)
        arena = f.call(MEMORY_NEW, PTR, [memory, bytes.get()])
        with f.otherwise(arena.ne(0)) as made:
            _enter(f, descriptor, frame, arena)
            f.call(MEMORY_HANDLER[3], VOID, [memory, arena, bytes.get()])
            made.otherwise()
            put(f, f.const(Failed.ARENA_MEMORY, I64), frame, Run.ERROR)
            put(f, bytes.get(), frame, Run.DETAIL1)
    f.ret()


def _emit_fail(module: Module) -> None:
    """weft_stub_fail(descriptor, frame): have the exception raised that the run record tells of."""
    f = module.function(_FAIL, VOID, [("descriptor", PTR), ("frame", PTR)], internal=True)
    descriptor, frame = f.arguments
    interrupted = word(f, frame, Run.ERROR).eq(Failed.INTERRUPTED)
    with f.when(~(interrupted & f.call("PyErr_Occurred", PTR, []).ne(0))):
        f.call("PyErr_Clear", VOID, [])
        record = f.call("PyBytes_FromStringAndSize", PTR, [frame, f.const(RUN_WORDS * 8, I64)])
        with f.when(record.ne(0)):
            handler = pointer(f, descriptor, Stub.ON_ERROR)
            drop(f, f.call("PyObject_CallOneArg", PTR, [handler, record]))
            drop(f, record)
        with f.when(f.call("PyErr_Occurred", PTR, []).eq(0)):
            f.call("PyErr_NoMemory", PTR, [])
    f.ret()


def _emit_finish(module: Module) -> None:
    """weft_stub_finish(descriptor, frame): the call's value from its results, of which no reference
    is left over; null if it failed.
    """
    f = module.function(_FINISH, PTR, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    results = f.element(frame, I64, word(f, descriptor, Stub.RESULTS_AT))
    value = f.variable(0, PTR)
    with f.otherwise(word(f, frame, Run.ERROR).ne(0)) as choice:
        f.call(_FAIL, VOID, [descriptor, frame])
        choice.otherwise()
        with f.otherwise(word(f, descriptor, Stub.TREE_CODE).eq(0)) as single:
            value.set(keep(f, pointer(f, results, 0)))
            single.otherwise()
            value.set(f.call(BUILD, PTR, [descriptor, frame]))
    with f.range(0, word(f, descriptor, Stub.RESULTS)) as number:
        drop(f, pointer(f, results, number))
    f.ret(value.get())


def _emit_record(module: Module) -> None:
    """weft_stub_record(descriptor, frame): fill the run record; how many threads it allows, or 0 if
    an exception is pending.
    """
    f = module.function(_RECORD, I64, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    shared, flags = pointer(f, descriptor, Stub.SHARED), word(f, descriptor, Stub.FLAGS)
    threads, pool = f.variable(1, I64), f.variable(0, PTR)
    with f.when((flags & StubFlag.PARALLEL).ne(0)):
        threads.set(f.call(_THREADS, I64, [shared]))
        pool.set(pointer(f, shared, Shared.POOL))
    filled: dict[int, V] = {
        Run.THREADS: threads.get(),
        Run.POLL: V(f, f"@{POLL}", PTR),
        Run.HOST: word(f, descriptor, Stub.HOST),
        Run.PROGRAM: word(f, descriptor, Stub.PROGRAM),
        Run.POOL: pool.get(),
        Run.SHARED: shared,
    }
    for position in range(RUN_WORDS):
        put(f, filled.get(position, f.const(0, I64)), frame, position)
    f.ret(threads.get())


def _emit_run(module: Module) -> None:
    """weft_stub_run(descriptor, frame): run the program on arguments that match."""
    f = module.function(_RUN, PTR, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    value = f.variable(0, PTR)
    with f.when(f.call(_RECORD, I64, [descriptor, frame]).ne(0)):
        with f.when(f.call(ALLOCATE, I64, [descriptor, frame]).ne(0)):
            with f.otherwise(pointer(f, frame, NOTES_AT).eq(0)) as choice:
                f.call(_ARENA, VOID, [descriptor, frame])
                choice.otherwise()
                f.call(COPY_ARGUMENTS, VOID, [descriptor, frame])
        value.set(f.call(_FINISH, PTR, [descriptor, frame]))
    f.ret(value.get())


def _emit_miss(module: Module) -> None:
    """weft_stub_miss(descriptor, args, nargs, kwnames): hand the call to Python code."""
    parameters = [("descriptor", PTR), ("args", PTR), ("nargs", I64), ("kwnames", PTR)]
    f = module.function(_MISS, PTR, parameters, internal=True)
    descriptor, args, nargs, kwnames = f.arguments
    f.call("PyErr_Clear", VOID, [])
    fallback = pointer(f, descriptor, Stub.FALLBACK)
    value = f.variable(pointer(f, descriptor, Stub.MISS))
    with f.otherwise(fallback.ne(0)) as choice:
        value.set(f.call("PyObject_Vectorcall", PTR, [fallback, args, nargs, kwnames]))
        choice.otherwise()
        keep(f, value.get())
    f.ret(value.get())


def _emit_call(module: Module) -> None:
    parameters = [("self", PTR), ("args", PTR), ("nargs", I64), ("kwnames", PTR)]
    f = module.function(STUB_CALL, PTR, parameters)
    self, args, nargs, kwnames = f.arguments
    words = f.call("PyTuple_GetItem", PTR, [self, f.const(0, I64)])
    descriptor = f.call("PyBytes_AsString", PTR, [words])
    length = word(f, descriptor, Stub.FRAME)
    frame, made = f.variable(f.stack(I64, _FRAME_ON_STACK, align=16)), f.variable(0, PTR)
    with f.when(length.gt(_FRAME_ON_STACK)):
        made.set(f.call("malloc", PTR, [length * 8]))
        frame.set(made.get())
    value, matches = f.variable(0, PTR), f.variable(0, I64)
    with f.when(frame.get().ne(0)):
        matches.set(f.call(_FILL, I64, [descriptor, frame.get(), args, nargs, kwnames]))
    with f.when(matches.get().ne(0)):
        matches.set(f.call(TAKE, I64, [descriptor, frame.get()]))
        has_donated = word(f, descriptor, Stub.DONATED_CODE).ne(0)
        with f.when(has_donated & matches.get().ne(0)):
            matches.set(f.call(ARE_APART, I64, [descriptor, frame.get()]))
        with f.when(matches.get().ne(0)):
            value.set(f.call(_RUN, PTR, [descriptor, frame.get()]))
        f.call(_LET_GO, VOID, [descriptor, frame.get()])
    with f.when(matches.get().eq(0)):
        value.set(f.call(_MISS, PTR, [descriptor, args, nargs, kwnames]))
    f.call("free", VOID, [made.get()])
    f.ret(value.get())


def _emit_buffer(module: Module) -> None:
    """weft_buffer(self, view, flags): let the consumer of a buffer have that of the object's data,
    which then owns the view; -1 with an exception if there is none of this kind.
    """
    f = module.function(BUFFER, I32, [("self", PTR), ("view", PTR), ("flags", I32)])
    this, view, flags = f.arguments
    name = module.data(np.frombuffer(f"{BUFFERED}\0".encode(), np.uint8))
    data = f.call("PyObject_GetAttrString", PTR, [this, V(f, f"@{name}", PTR)])
    outcome = f.variable(-1, I32)
    with f.when(data.ne(0)):
        outcome.set(f.call("PyObject_GetBuffer", I32, [data, view, flags]))
        f.call("Py_DecRef", VOID, [data])
    f.ret(outcome.get())
