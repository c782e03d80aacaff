"""Memory that emitted code takes from the heap, and how it returns where there is none.

Each place that takes memory has a slot on the stack with what it holds. A function that finds no
memory notes this in the run record, gives back what its slots hold, and returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.compiler.abi import Failed, Run
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Function, Module
    from weft.compiler.lower.llvm.emit.value import V

ALLOCATE: Final = "aligned_alloc"
RELEASE: Final = "free"

_ALIGNMENT: Final = 64
_TAKE: Final = "weft.take"
_EXIT: Final = "no.memory"  # the label of the block that returns


def take(f: Function, run: V, bytes: V) -> V:
    """Memory of so many bytes; the function returns where there is none."""
    _define(f.module)
    pointer = f.call(_TAKE, PTR, [run, bytes])
    slot = f.pointer_slot()
    f.held.append(slot)
    _leave_if(f, pointer.eq(0))
    f.store(pointer, slot)
    return pointer


def require(f: Function, run: V, pointer: V, bytes: V) -> None:
    """Return, as where there is no memory, if memory from elsewhere is null."""
    f.has_exit = True
    with f.when(pointer.eq(0)):
        _note(f, run, bytes)
    _leave_if(f, pointer.eq(0))


def give_back(f: Function, pointer: V) -> None:
    """Free memory, or nothing if the pointer is null; its slot holds nothing from now on."""
    for slot in f.held:
        held = f.load(slot, PTR)
        f.store(f.select(held.eq(pointer), f.const(0, PTR), held), slot)
    f.call(RELEASE, VOID, [pointer])


def leave_if_failed(f: Function, run: V) -> None:
    """Return if some code of this run found no memory."""
    error = f.load(f.element(run, I64, int(Run.ERROR)), I64)
    f.has_exit = True
    _leave_if(f, error.eq(Failed.WORKSPACE_MEMORY))


def exit_lines(f: Function) -> list[str]:
    """The last block of a function that may return early."""
    if not f.held and not f.has_exit:
        return []
    lines = [f"{_EXIT}:"]
    for number, slot in enumerate(f.held):
        lines.append(f"  %held.{number} = load ptr, ptr {slot.ref}, align 8")
        lines.append(f"  call void @{RELEASE}(ptr %held.{number})")
    nothing = "ret void" if f.result is VOID else f"ret {f.result.text} zeroinitializer"
    return [*lines, f"  {nothing}"]


def _leave_if(f: Function, condition: V) -> None:
    following = f.label("next")
    f.branch(condition, _EXIT, following, likely=True)
    f.begin(following)


def _define(module: Module) -> None:
    """weft.take(run, bytes): memory, or null and a run that has failed."""
    if _TAKE in module.functions:
        return
    module.declare(RELEASE, VOID, [PTR])
    f = module.function(_TAKE, PTR, [("run", PTR), ("bytes", I64)], internal=True, glue=True)
    run, bytes = f.arguments
    rounded = (bytes + (2 * _ALIGNMENT - 1)) & -_ALIGNMENT
    pointer = f.call(ALLOCATE, PTR, [f.const(_ALIGNMENT, I64), rounded])
    with f.when(pointer.eq(0)):
        _note(f, run, bytes)
    f.ret(pointer)


def _note(f: Function, run: V, bytes: V) -> None:
    """Let a run fail for want of so many bytes, unless it has failed before."""
    slot = f.element(run, I64, int(Run.ERROR))
    with f.when(f.load(slot, I64).eq(0)):
        f.store(f.const(Failed.WORKSPACE_MEMORY, I64), slot)
        f.store(bytes, f.element(run, I64, int(Run.DETAIL1)))
    f.store(f.const(1, I64), f.element(run, I64, int(Run.STOP)))
