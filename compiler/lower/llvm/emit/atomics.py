"""Atomic instructions and waiting on memory, on top of the emitter.

Everything here is sequentially consistent: it is used at the start and the end of parallel work
only, where a weaker order would save nothing that can be measured.
"""

from __future__ import annotations

from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I32, VOID, Type


def load(f: Function, pointer: V, type: Type) -> V:
    text = f"load atomic {type.text}, ptr {pointer.ref} seq_cst, align {type.itemsize}"
    return f.instruction(text, type)


def store(f: Function, value: V, pointer: V) -> None:
    text = f"store atomic {value.type.text} {value.ref}, ptr {pointer.ref} seq_cst"
    f.line(f"{text}, align {value.type.itemsize}")


def update(f: Function, operation: str, pointer: V, value: Operand, type: Type) -> V:
    """Change what is in memory by `add`, `sub`, `and`, `or` or `xchg`; returns what was there."""
    operand = f.const(value, type)
    text = f"atomicrmw {operation} ptr {pointer.ref}, {type.text} {operand.ref} seq_cst"
    return f.instruction(text, type)


def exchange(f: Function, pointer: V, expected: V, value: Operand) -> V:
    """Replace `expected` by a value; whether it was there."""
    type = expected.type
    operand = f.const(value, type)
    pair = f.instruction(
        f"cmpxchg ptr {pointer.ref}, {type.text} {expected.ref}, {type.text} {operand.ref} "
        "seq_cst seq_cst",
        type,
    )
    return f.instruction(f"extractvalue {{ {type.text}, i1 }} {pair.ref}, 1", I1)


def pause(f: Function, triple: str) -> None:
    """Tell the processor that this thread spins."""
    machine = triple.split("-")[0]
    if machine in ("x86_64", "i686", "i386"):
        f.call("llvm.x86.sse2.pause", VOID, [])
    elif machine in ("aarch64", "arm64"):
        f.call("llvm.aarch64.hint", VOID, [f.const(1, I32)])
