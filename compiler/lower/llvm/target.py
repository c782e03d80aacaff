"""The machine that code is made for, as one plain record: its name in LLVM, features, vector
registers, caches and cores. `host` reads those of this machine.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Final

from weft.compiler.record import record

_PLACE: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@record
class Caches:
    """Bytes of data that the first, second and last cache hold, which decide how much of a matrix
    is worked on at a time; the usual ones, unless told.
    """

    first: int = 32 << 10
    second: int = 512 << 10
    last: int = 8 << 20


@record
class Target:
    """A machine: its name in LLVM, its features, the bytes of a vector register, its caches, and
    its cores. Cores say how many threads a plan may count with; code serves any number of them.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    caches: Caches = Caches()
    cores: int = 1

    @property
    def key(self) -> str:
        """What object code depends on beside its text."""
        import llvmlite.binding as llvm

        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.triple} {self.cpu} {self.features} llvm {version}"

    @property
    def is_arm(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.vector_bytes == 64 or self.is_arm else 16

    @property
    def converts_halves(self) -> bool:
        """Whether there are instructions between f16 and f32."""
        has_them = self.triple.startswith("x86_64") and "+f16c" in self.features.split(",")
        return self.is_arm or has_them

    def lanes(self, bits: int) -> int:
        """How many elements of this width one vector register holds."""
        return max(self.vector_bytes * 8 // bits, 1)


@functools.cache
def host() -> Target:
    """This machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    has_wide = features.get("avx512f") and features.get("avx512dq")
    width = 64 if has_wide else 32 if features.get("avx2") else 16
    return Target(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        features.flatten(),
        width,
        read_caches(_PLACE),
        os.cpu_count() or 1,
    )


def read_caches(place: Path) -> Caches:
    """The sizes from a directory as Linux has it, or usual ones where the system does not tell."""
    sizes: dict[int, int] = {}
    try:
        for entry in place.glob("index*"):
            if (entry / "type").read_text().strip() != "Instruction":
                sizes[int((entry / "level").read_text())] = _bytes((entry / "size").read_text())
    except (OSError, ValueError):
        return Caches()
    if not sizes:
        return Caches()
    first = sizes.get(1, Caches().first)
    second = max(sizes.get(2, 0), first)
    return Caches(first, second, max(sizes.get(3, 0), second))


def _bytes(text: str) -> int:
    number = text.strip()
    unit = _UNITS.get(number[-1:].upper(), 1)
    return int(number.rstrip("KMGkmg")) * unit
