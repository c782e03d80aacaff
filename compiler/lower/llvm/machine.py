"""From LLVM text to object code for a target: the optimisation passes, and emission."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from weft.compiler.ir.stages import LLVM, PARSER, stage
from weft.compiler.lower.llvm import ternary_logic
from weft.compiler.lower.llvm.emit.blocks import TIGHT
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

# Loops whose steps are short are not like that: their numbers have to come from registers instead
# of memory, their invariants leave them, what they call is written in line. Longer modules would
# take seconds.
MOST_LINES: Final = 4000

# NewGVN goes over a function again for each loop that changes what a later one reads, and ends the
# process once it met one value 100 times (an assertion; 97 loops in a row do that). No function of
# the benchmarks has more than 26.
MOST_LOOPS: Final = 48  # of a function for which it runs


class _Tools:
    """A code generator and the passes that run for it, for one module at a time. They are used
    again for the next one: llvmlite does not free passes.
    """

    def __init__(self, target: Target) -> None:
        import llvmlite.binding as llvm

        self.machine = target_machine(target)
        self._columns = []
        for numbers_values in (False, True):
            column = llvm.create_new_module_pass_manager()
            for name in _PASSES if numbers_values else _PASSES[:-1]:
                getattr(column, f"add_{name}_pass")()
            self._columns.append(column)

    def optimise(self, module: Any, text: str) -> None:
        """Run the passes for the module of a text, with a builder of their own: each run adds to
        what one calls back.
        """
        import llvmlite.binding as llvm

        options = llvm.create_pipeline_tuning_options(2)
        with llvm.create_pass_builder(self.machine, options) as builder:
            if has_tight_loops(text):
                column = builder.getModulePassManager()
            else:
                column = self._columns[not has_many_loops(text)]
            _unlocked("RunNewModulePassManager")(column, module, builder)


@functools.cache
def _idle(target: Target) -> list[_Tools]:
    """Those that nobody uses now: as many as ever were at work at the same time."""
    return []


@contextmanager
def _lent(target: Target) -> Iterator[_Tools]:
    idle = _idle(target)
    try:
        tools = idle.pop()
    except IndexError:
        tools = _Tools(target)
    try:
        yield tools
    finally:
        idle.append(tools)


def has_many_loops(text: str) -> bool:
    """Whether a function of a module has more loops than NewGVN can take."""
    if _loops(text) <= MOST_LOOPS:
        return False
    return any(_loops(function) > MOST_LOOPS for function in text.split("\ndefine "))


def has_tight_loops(text: str) -> bool:
    """Whether a module is worth all that LLVM does for loops."""
    return f"\n{TIGHT}." in text and text.count("\n") <= MOST_LINES


def _loops(text: str) -> int:
    return sum(text.count(f"\n{label}.") for label in ("loop", "while", TIGHT))


@contextmanager
def optimised(text: str, target: Target) -> Iterator[tuple[Any, Any]]:
    """The parsed module after LLVM's passes, and the code generator for it. The module has a
    context of its own: LLVM never forgets types and constants of the common one, and modules of
    different contexts are independent.
    """
    with parsed(text) as module, _lent(target) as tools:
        with stage(LLVM, "optimiser"):
            module.triple = tools.machine.triple
            module.data_layout = str(tools.machine.target_data)
            tools.optimise(module, text)
        yield module, tools.machine


@contextmanager
def parsed(text: str) -> Iterator[Any]:
    """The module that a text writes, in a context of its own."""
    import llvmlite.binding as llvm

    with llvm.create_context() as context:
        with stage(LLVM, PARSER):
            module = llvm.parse_assembly(text, context)
        with module:
            yield module


def compile_text(text: str, target: Target | None = None) -> bytes:
    """Object code of LLVM text; several threads may compile at the same time."""
    code, _ = _generated(text, target or host(), with_assembly=False)
    return code


def assembly(text: str, target: Target | None = None) -> str:
    """The assembly of LLVM text, for reading: of the code that `compile_text` gives."""
    _, listing = _generated(text, target or host(), with_assembly=True)
    return listing


def _generated(text: str, target: Target, with_assembly: bool) -> tuple[bytes, str]:
    """Object code, and its listing if it is asked for."""

    def emitted(module: Any) -> tuple[bytes, str]:
        with stage(LLVM, "code generator"):
            listing = str(machine.emit_assembly(module)) if with_assembly else ""
            return _object(machine, module), listing

    with optimised(text, target) as (module, machine):
        code, listing = emitted(module)
        if ternary_logic.may_be_wrong(code, target):
            with parsed(ternary_logic.with_fenced_selects(str(module))) as fenced:
                code, listing = emitted(fenced)
    return code, listing


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
