"""From LLVM text to object code for a target: the optimisation passes, and emission."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from weft.compiler.lower.llvm.target import Target as Target
from weft.compiler.lower.llvm.target import host as host


def target_machine(target: Target) -> Any:
    """LLVM's code generator for a target: one for each module, so that several can be compiled at
    the same time.
    """
    import llvmlite.binding as llvm

    made = llvm.Target.from_triple(target.triple)
    return made.create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


# The text has its vectors, its unrolling and its hoisting already, so a short column does: on fused
# kernels it takes an eighth of the time of LLVM's O2 and gives code of the same speed
# (docs/decisions/llvm_passes.md).
_PASSES: Final = (
    "always_inliner",
    "global_dead_code_eliminate",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "new_gvn",
)


@contextmanager
def optimised(text: str, machine: Any) -> Iterator[Any]:
    """The parsed module after LLVM's passes. It has a context of its own: LLVM never forgets types
    and constants of the common one, and modules of different contexts are independent.
    """
    import llvmlite.binding as llvm

    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    try:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
        column = llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(column, f"add_{name}_pass")()
        _unlocked("RunNewModulePassManager")(column, module, builder)
        yield module
    finally:
        module.close()
        context.close()


def compile_text(text: str, target: Target | None = None) -> bytes:
    """Object code of LLVM text; several threads may compile at the same time."""
    machine = target_machine(target or host())
    with optimised(text, machine) as module:
        return _object(machine, module)


def assembly(text: str, target: Target | None = None) -> str:
    """The assembly of LLVM text, for reading."""
    machine = target_machine(target or host())
    with optimised(text, machine) as module:
        return str(machine.emit_assembly(module))


def _object(machine: Any, module: Any) -> bytes:
    """What `machine.emit_object(module)` returns, made without llvmlite's lock."""
    from llvmlite.binding import ffi

    with ffi.OutputString() as message:
        buffer = _unlocked("TargetMachineEmitToMemory")(machine, module, 1, message)
        if not buffer:
            raise RuntimeError(str(message))
    try:
        start, length = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, length)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _unlocked(name: str) -> Any:
    """One of llvmlite's functions that may run in several threads at once. llvmlite lets in one
    thread at a time; LLVM lets each work on modules of a context of its own.
    """
    from llvmlite.binding import ffi

    locked = getattr(ffi.lib, f"LLVMPY_{name}")
    library = ctypes.CDLL(ffi.lib._name, handle=ffi.lib._handle)
    function = getattr(library, f"LLVMPY_{name}")
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function
