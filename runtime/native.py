"""Object code in this process: linking it, finding its functions, dropping it again.

x86-64 ELF objects are loaded here (`runtime.elf`); those of other machines by LLVM's JITLink.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from weft.runtime.elf import Block, is_loadable


class Library:
    """Linked object code; its memory is given back when the object dies."""

    __slots__ = ("_linked",)

    _linked: Block | LLVMBlock

    def __init__(
        self,
        code: bytes | Sequence[bytes],
        exports: Sequence[str],
        imports: Mapping[str, int] | None = None,
    ) -> None:
        """`code` is an object, or several that are linked together."""
        images = [code] if isinstance(code, bytes) else list(code)
        kind = Block if all(map(is_loadable, images)) else LLVMBlock
        self._linked = kind(images, exports, imports or {})

    def address(self, name: str) -> int:
        return self._linked.address(name)

    def close(self) -> None:
        """Drop the code; nothing may call it any more."""
        self._linked.close()


class LLVMBlock:
    """What `runtime.elf.Block` is, linked by LLVM."""

    __slots__ = ("_tracker", "_addresses")

    def __init__(
        self, images: Sequence[bytes], exports: Sequence[str], imports: Mapping[str, int]
    ) -> None:
        import llvmlite.binding as llvm

        builder = llvm.JITLibraryBuilder().add_current_process()
        for image in images:
            builder.add_object_img(image)
        for name in exports:
            builder.export_symbol(name)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        self._tracker = builder.link(_llvm_linker(), f"weft.{next(_names)}")
        self._addresses = {name: int(self._tracker[name]) for name in exports}

    def address(self, name: str) -> int:
        return self._addresses[name]

    def close(self) -> None:
        self._tracker.close()


_names: Final = itertools.count()


@functools.cache
def _llvm_linker() -> Any:
    """The process's one linker. JITLink keeps the sections of a library together, as LLVM's older
    linker does not.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), reloc="pic", codemodel="small", jit=True
    )
    return llvm.create_lljit_compiler(machine, use_jit_link=True)
