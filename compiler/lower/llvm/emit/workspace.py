"""Memory that emitted code works in: from what the plan has set aside for it, as long as that
lasts, else from the heap; and how code returns where there is none.

Each place that takes memory has a slot on the stack with what it holds. A function that finds no
memory notes this in the run record, gives back what its slots hold, and returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.compiler.abi import Failed, Run
from weft.compiler.ir.alignment import ALIGNMENT
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Function, Module
    from weft.compiler.lower.llvm.emit.value import V

ALLOCATE: Final = "aligned_alloc"
RELEASE: Final = "free"

START, NEXT, END, THREADS = range(4)  # the words of a record of memory that is set aside
WORDS: Final = 4

_TAKE: Final = "weft.take"
_TAKE_PLANNED: Final = "weft.take.planned"
_GIVE_BACK: Final = "weft.give.back"
_EXIT: Final = "no.memory"  # the label of the block that returns


def take(f: Function, run: V, bytes: V, planned: V | None = None) -> V:
    """Memory of so many bytes; the function returns where there is none. `planned` is the record of
    what is set aside, or null.
    """
    if planned is None:
        _define_take(f.module)
        pointer = f.call(_TAKE, PTR, [run, bytes])
    else:
        _define_planned(f.module)
        pointer = f.call(_TAKE_PLANNED, PTR, [run, planned, bytes])
    slot = f.pointer_slot()
    f.held.append((slot, planned))
    _leave_if(f, pointer.eq(0))
    f.store(pointer, slot)
    return pointer


def require(f: Function, run: V, pointer: V, bytes: V) -> None:
    """Return, as where there is no memory, if memory from elsewhere is null."""
    f.has_exit = True
    with f.when(pointer.eq(0)):
        _note(f, run, bytes)
    _leave_if(f, pointer.eq(0))


def give_back(f: Function, pointer: V, planned: V | None = None) -> None:
    """Free memory, or nothing if the pointer is null; its slot holds nothing from now on. Of what
    is set aside, all that was taken after it is given back too.
    """
    for slot, _ in f.held:
        held = f.load(slot, PTR)
        f.store(f.select(held.eq(pointer), f.const(0, PTR), held), slot)
    if planned is None:
        f.call(RELEASE, VOID, [pointer])
    else:
        f.call(_GIVE_BACK, VOID, [planned, pointer])


def leave_if_failed(f: Function, run: V) -> None:
    """Return if some code of this run found no memory."""
    error = f.load(f.element(run, I64, int(Run.ERROR)), I64)
    leave_if(f, error.eq(Failed.WORKSPACE_MEMORY))


def leave_if_stopped(f: Function, run: V) -> None:
    """Return if this run has failed or was interrupted: its results are not wanted any more."""
    leave_if(f, f.load(f.element(run, I64, int(Run.STOP)), I64).ne(0))


def leave_if(f: Function, condition: V) -> None:
    """Give back what is held and return, if a condition holds."""
    f.has_exit = True
    _leave_if(f, condition)


def exit_lines(f: Function) -> list[str]:
    """The last block of a function that may return early."""
    if not f.held and not f.has_exit:
        return []
    lines = [f"{_EXIT}:"]
    for number, (slot, planned) in enumerate(f.held):
        lines.append(f"  %held.{number} = load ptr, ptr {slot.ref}, align 8")
        release = f"{RELEASE}(" if planned is None else f"{_GIVE_BACK}(ptr {planned.ref}, "
        lines.append(f"  call void @{release}ptr %held.{number})")
    nothing = "ret void" if f.result is VOID else f"ret {f.result.text} zeroinitializer"
    return [*lines, f"  {nothing}"]


def _leave_if(f: Function, condition: V) -> None:
    following = f.label("next")
    f.branch(condition, _EXIT, following, likely=True)
    f.begin(following)


def _define_take(module: Module) -> None:
    """weft.take(run, bytes): memory, or null and a run that has failed."""
    if _TAKE in module.functions:
        return
    module.declare(RELEASE, VOID, [PTR])
    f = module.function(_TAKE, PTR, [("run", PTR), ("bytes", I64)], internal=True, glue=True)
    run, bytes = f.arguments
    rounded = (bytes + (2 * ALIGNMENT - 1)) & -ALIGNMENT
    pointer = f.call(ALLOCATE, PTR, [f.const(ALIGNMENT, I64), rounded])
    with f.when(pointer.eq(0)):
        _note(f, run, bytes)
    f.ret(pointer)


def _define_planned(module: Module) -> None:
    """The same with a record of memory that is set aside, and what gives memory back to it."""
    if _TAKE_PLANNED in module.functions:
        return
    _define_take(module)
    parameters = [("run", PTR), ("planned", PTR), ("bytes", I64)]
    f = module.function(_TAKE_PLANNED, PTR, parameters, internal=True, glue=True)
    run, planned, bytes = f.arguments
    pointer = f.variable(0, PTR)
    with f.when(planned.ne(0)):
        next, end = [f.load(f.element(planned, I64, word), I64) for word in (NEXT, END)]
        rounded = (bytes + (ALIGNMENT - 1)) & -ALIGNMENT
        with f.when(bytes.ge(0) & rounded.le(end - next)):
            pointer.set(f.load(f.element(planned, I64, NEXT), PTR))
            f.store(next + rounded, f.element(planned, I64, NEXT))
    with f.when(pointer.get().eq(0)):
        pointer.set(f.call(_TAKE, PTR, [run, bytes]))
    f.ret(pointer.get())

    parameters = [("planned", PTR), ("pointer", PTR)]
    f = module.function(_GIVE_BACK, VOID, parameters, internal=True, glue=True)
    planned, pointer_ = f.arguments
    is_inside = f.variable(0, I64)
    with f.when(planned.ne(0)):
        address = f.instruction(f"ptrtoint ptr {pointer_.ref} to i64", I64)
        start, next, end = [f.load(f.element(planned, I64, w), I64) for w in (START, NEXT, END)]
        # No bytes may lie at the end itself, where nothing of the heap begins.
        is_inside.set((address.ge(start) & address.le(end)).to(I64))
        with f.when(is_inside.get().ne(0) & address.lt(next)):
            f.store(address, f.element(planned, I64, NEXT))
    with f.when(is_inside.get().eq(0)):
        f.call(RELEASE, VOID, [pointer_])
    f.ret()


def _note(f: Function, run: V, bytes: V) -> None:
    """Let a run fail for want of so many bytes, unless it has failed before."""
    slot = f.element(run, I64, int(Run.ERROR))
    with f.when(f.load(slot, I64).eq(0)):
        f.store(f.const(Failed.WORKSPACE_MEMORY, I64), slot)
        f.store(bytes, f.element(run, I64, int(Run.DETAIL1)))
    f.store(f.const(1, I64), f.element(run, I64, int(Run.STOP)))
