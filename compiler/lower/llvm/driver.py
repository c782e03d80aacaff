"""From LLVM text to object code for this machine: the target, the optimisation passes, emission."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that code is made for: its name in LLVM, its features, its vector registers."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int

    @property
    def key(self) -> str:
        """What object code depends on beside its text."""
        import llvmlite.binding as llvm

        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.triple} {self.cpu} {self.features} llvm {version}"

    def lanes(self, bits: int) -> int:
        """How many elements of this width one vector register holds."""
        return max(self.vector_bytes * 8 // bits, 1)


@functools.cache
def host() -> Target:
    """This machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found = llvm.get_host_cpu_features()
    width = (
        64 if found.get("avx512f") and found.get("avx512dq") else 32 if found.get("avx2") else 16
    )
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), found.flatten(), width)


@functools.cache
def target_machine(target: Target) -> Any:
    """LLVM's code generator for a target; one serves all modules, under the lock."""
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
def optimised(text: str, target: Target) -> Iterator[Any]:
    """The parsed module after LLVM's passes. It has a context of its own: LLVM never forgets types
    and constants of the common one.
    """
    import llvmlite.binding as llvm

    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    try:
        module.triple = target.triple
        machine = target_machine(target)
        module.data_layout = str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
        column = llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(column, f"add_{name}_pass")()
        column.run(module, builder)
        yield module
    finally:
        module.close()
        context.close()


def compile_text(text: str, target: Target | None = None) -> bytes:
    """Object code of LLVM text."""
    chosen = target or host()
    with _lock, optimised(text, chosen) as module:
        return bytes(target_machine(chosen).emit_object(module))


def assembly(text: str, target: Target | None = None) -> str:
    """The assembly of LLVM text, for reading."""
    chosen = target or host()
    with _lock, optimised(text, chosen) as module:
        return str(target_machine(chosen).emit_assembly(module))
