"""Object code in this process: linking it, finding its functions, dropping it again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import Any

_lock = threading.RLock()
_jit: Any = None
_names = itertools.count()


def _linker() -> Any:
    """The process's one linker, made on first use."""
    import llvmlite.binding as llvm

    global _jit
    if _jit is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_triple(llvm.get_process_triple())
        machine = target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), reloc="pic", codemodel="small", jit=True
        )
        _jit = llvm.create_lljit_compiler(machine)
    return _jit


class Library:
    """Linked object code; its memory is given back when the object dies."""

    __slots__ = ("_tracker", "_addresses")

    def __init__(
        self,
        code: bytes | Sequence[bytes],
        exports: Sequence[str],
        imports: Mapping[str, int] | None = None,
    ) -> None:
        """`code` is an object, or several that are linked together."""
        import llvmlite.binding as llvm

        with _lock:
            builder = llvm.JITLibraryBuilder().add_current_process()
            for image in (code,) if isinstance(code, bytes) else code:
                builder.add_object_img(image)
            for name in exports:
                builder.export_symbol(name)
            for name, address in (imports or {}).items():
                builder.import_symbol(name, address)
            self._tracker = builder.link(_linker(), f"weft.{next(_names)}")
            self._addresses = {name: int(self._tracker[name]) for name in exports}

    def address(self, name: str) -> int:
        return self._addresses[name]

    def close(self) -> None:
        """Drop the code; nothing may call it any more."""
        with _lock:
            self._tracker.close()
