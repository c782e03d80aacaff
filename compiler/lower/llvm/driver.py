"""From LLVM text to object code for this machine: the target, the optimisation passes, emission."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

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
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.triple} {self.cpu} {self.features} llvm {version}"

    def lanes(self, bits: int) -> int:
        """How many elements of this width one vector register holds."""
        return max(self.vector_bytes * 8 // bits, 1)


@functools.cache
def host() -> Target:
    """This machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found = llvm.get_host_cpu_features()
    width = (
        64 if found.get("avx512f") and found.get("avx512dq") else 32 if found.get("avx2") else 16
    )
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), found.flatten(), width)


def target_machine(target: Target, level: int = 2) -> Any:
    """LLVM's code generator for a target."""
    made = llvm.Target.from_triple(target.triple)
    return made.create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def optimise(text: str, target: Target, level: int = 2) -> Any:
    """The parsed module after LLVM's passes. Vectors and unrolling are in the text already, so the
    passes that look for them are left out.
    """
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    machine = target_machine(target, level)
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(level)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def compile_text(text: str, target: Target | None = None, level: int = 2) -> bytes:
    """Object code of LLVM text."""
    chosen = target or host()
    with _lock:
        module = optimise(text, chosen, level)
        return bytes(target_machine(chosen, level).emit_object(module))


def assembly(text: str, target: Target | None = None, level: int = 2) -> str:
    """The assembly of LLVM text, for reading."""
    chosen = target or host()
    with _lock:
        return str(target_machine(chosen, level).emit_assembly(optimise(text, chosen, level)))
