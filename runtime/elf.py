"""Loads x86-64 ELF objects: one block of memory for each library, with all of its sections.

Code of the model "small" reaches 2 GiB. Sections that lie in one block, with the slots that lead
out of it, are always near each other, however spread the process's memory is. What objects that
LLVM makes of PIC code do not have (thread-local storage, common symbols, absolute 32-bit addresses)
is refused. Tables for unwinding are left out: no exception passes through compiled code.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QIIq")
_IDENT: Final = b"\x7fELF\x02\x01"  # 64 bits, little endian
_X86_64: Final = 62

_RELOCATABLE: Final = 1
_SYMBOLS, _WITH_ADDENDS, _NO_BITS, _NO_ADDENDS = 2, 4, 8, 9  # kinds of sections
_WRITE, _ALLOCATE, _THREAD_LOCAL = 1, 2, 0x400  # flags of sections
_UNDEFINED, _FIRST_RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1  # numbers of sections
_LOCAL, _WEAK = 0, 2  # bindings of symbols
_FILE: Final = 4  # the kind of a symbol that names a source file

_R_64, _R_PC32, _R_PLT32, _R_PC64 = 1, 2, 4, 24
_THROUGH_SLOT: Final = (9, 41, 42)  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX

# How code reaches what is outside: a jump through the address behind it, in 16 bytes.
_JUMP: Final = b"\xff\x25\x02\x00\x00\x00\x66\x90"
_SLOT: Final = struct.Struct("<8sQ")
_ADDRESS_IN_SLOT: Final = 8


class LinkError(RuntimeError):
    """Object code that cannot be loaded."""


def is_loadable(image: bytes) -> bool:
    """Whether an image is an object of the kind that is loaded here."""
    return image[:6] == _IDENT and image[18:20] == _X86_64.to_bytes(2, "little")


class Block:
    """Memory with linked code; it is unmapped when the object dies, or is closed."""

    __slots__ = ("_map", "_addresses")

    def __init__(
        self, images: Sequence[bytes], exports: Sequence[str], imports: Mapping[str, int]
    ) -> None:
        linker = _Linker([_Object(image) for image in images], imports)
        self._map = _map(linker.bytes)
        anchor = ctypes.c_char.from_buffer(self._map)
        base = ctypes.addressof(anchor)
        del anchor  # a map with views of it cannot be closed
        self._map.write(linker.linked(base))
        if linker.code_bytes:
            _make_executable(base, linker.code_bytes)
        self._addresses = {name: base + linker.exported(name) for name in exports}

    def address(self, name: str) -> int:
        return self._addresses[name]

    def close(self) -> None:
        self._map.close()


class _Object:
    """One object: its sections that are loaded, its symbols, its relocations."""

    def __init__(self, image: bytes) -> None:
        self.image = image
        header = _HEADER.unpack_from(image)
        if not is_loadable(image) or header[1] != _RELOCATABLE:
            raise LinkError("not an x86-64 ELF object")
        first, count = header[6], header[12]
        table = image[first : first + count * _SECTION.size]
        self.sections = list(_SECTION.iter_unpack(table))
        names = self.sections[header[13]][4]
        self.loaded = [
            number
            for number, section in enumerate(self.sections)
            if section[2] & _ALLOCATE and _text(image, names + section[0]) != ".eh_frame"
        ]
        if any(self.sections[number][2] & _THREAD_LOCAL for number in self.loaded):
            raise LinkError("thread-local storage in object code")
        self.offsets: dict[int, int] = {}  # of loaded sections, in the block
        self.symbols = list(self._read_symbols())

    def _read_symbols(self) -> Iterator[tuple[str, int, int, int]]:
        """Name, binding, section and value of each symbol."""
        for section in self.sections:
            if section[1] == _SYMBOLS:
                names = self.sections[section[6]][4]
                for name, info, _, number, value, _ in _SYMBOL.iter_unpack(self.content(section)):
                    if number >= _FIRST_RESERVED and number != _ABSOLUTE and info & 15 != _FILE:
                        raise LinkError(f"{_text(self.image, names + name)}: common symbol")
                    yield _text(self.image, names + name), info >> 4, number, value

    def content(self, section: tuple[int, ...]) -> bytes:
        return self.image[section[4] : section[4] + section[5]]

    def relocations(self) -> Iterator[tuple[int, int, int, int, int]]:
        """The section that is changed, the offset in it, the kind, the symbol, and the addend."""
        for section in self.sections:
            if section[7] not in self.offsets:
                continue
            if section[1] == _NO_ADDENDS:
                raise LinkError("relocations without addends")
            if section[1] == _WITH_ADDENDS:
                for offset, kind, symbol, addend in _RELOCATION.iter_unpack(self.content(section)):
                    yield section[7], offset, kind, symbol, addend


class _Linker:
    """Where everything of some objects lies in their block, as offsets: first code and what is only
    read, then the slots, then, on pages of its own, what is written.
    """

    def __init__(self, objects: Sequence[_Object], imports: Mapping[str, int]) -> None:
        self._objects = objects
        self._imports = imports
        end = self._lay_out(0, is_written=False)
        self._defined = self._definitions()
        self._slots: dict[tuple[int, int] | str, int] = {}
        self._first_slot = end = _aligned(end, _SLOT.size)
        self._assign_slots()
        end += len(self._slots) * _SLOT.size
        self.code_bytes = _aligned(end, mmap.PAGESIZE)
        self.bytes = self._lay_out(self.code_bytes, is_written=True)

    def exported(self, name: str) -> int:
        """Where a symbol lies in the block."""
        if name not in self._defined:
            raise LinkError(f"object code has no symbol {name}")
        owner, number = self._defined[name]
        return self._inside(owner, number)

    def linked(self, base: int) -> bytearray:
        """The content of the block, for the address that it begins at."""
        memory = bytearray(self.bytes)
        for owner in self._objects:
            for number, offset in owner.offsets.items():
                section = owner.sections[number]
                if section[1] != _NO_BITS:
                    memory[offset : offset + section[5]] = owner.content(section)
        for index, owner in enumerate(self._objects):
            for relocation in owner.relocations():
                self._relocate(memory, base, index, *relocation)
        for key, slot in self._slots.items():
            target = self._outside(key) if isinstance(key, str) else base + self._inside(*key)
            _SLOT.pack_into(memory, slot, _JUMP, target)
        return memory

    def _lay_out(self, end: int, is_written: bool) -> int:
        for owner in self._objects:
            for number in owner.loaded:
                section = owner.sections[number]
                if bool(section[2] & _WRITE) == is_written:
                    end = _aligned(end, section[8])
                    owner.offsets[number] = end
                    end += section[5]
        return end

    def _definitions(self) -> dict[str, tuple[int, int]]:
        """The object and the number of each symbol that all objects see; of several that are weak
        the first counts.
        """
        defined: dict[str, tuple[int, int]] = {}
        weak: set[str] = set()
        for index, owner in enumerate(self._objects):
            for number, (name, binding, section, _) in enumerate(owner.symbols):
                if binding == _LOCAL or section == _UNDEFINED:
                    continue
                if name not in defined or (name in weak and binding != _WEAK):
                    defined[name] = index, number
                    weak.discard(name)
                    if binding == _WEAK:
                        weak.add(name)
                elif binding != _WEAK:
                    raise LinkError(f"two objects define {name}")
        return defined

    def _assign_slots(self) -> None:
        for index, owner in enumerate(self._objects):
            for _, _, kind, number, _ in owner.relocations():
                key = self._definition(index, number)
                if kind in _THROUGH_SLOT or (kind == _R_PLT32 and isinstance(key, str)):
                    self._slots.setdefault(key, self._first_slot + len(self._slots) * _SLOT.size)

    def _definition(self, index: int, number: int) -> tuple[int, int] | str:
        """The object and number by which a symbol is defined; the name of one from outside."""
        name, binding, _, _ = self._objects[index].symbols[number]
        if binding == _LOCAL:
            return index, number
        return self._defined.get(name, name)

    def _inside(self, index: int, number: int) -> int:
        name, _, section, value = self._objects[index].symbols[number]
        offsets = self._objects[index].offsets
        if section not in offsets:
            raise LinkError(f"symbol {name!r} is not in memory")
        return offsets[section] + value

    def _outside(self, name: str) -> int:
        return self._imports[name] if name in self._imports else process_address(name)

    def _relocate(
        self,
        memory: bytearray,
        base: int,
        index: int,
        section: int,
        offset: int,
        kind: int,
        number: int,
        addend: int,
    ) -> None:
        place = self._objects[index].offsets[section] + offset
        key = self._definition(index, number)
        if kind in _THROUGH_SLOT:
            target = base + self._slots[key] + _ADDRESS_IN_SLOT
        elif isinstance(key, tuple):
            target = base + self._inside(*key)
        elif kind == _R_PLT32:
            target = base + self._slots[key]
        else:
            target = self._outside(key)
        target += addend
        try:
            if kind == _R_64:
                struct.pack_into("<Q", memory, place, target)
            elif kind == _R_PC64:
                struct.pack_into("<q", memory, place, target - base - place)
            elif kind in (_R_PC32, _R_PLT32, *_THROUGH_SLOT):
                struct.pack_into("<i", memory, place, target - base - place)
            else:
                raise LinkError(f"relocation of kind {kind} in object code")
        except struct.error:
            raise LinkError(f"{key} is out of reach of code that refers to it") from None


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@functools.cache
def process_address(name: str) -> int:
    """Where a function of the process, or of the libraries it was linked with, begins."""
    try:
        function = _process()[name]
    except AttributeError:
        raise LinkError(f"object code needs {name}, which nothing defines") from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _map(bytes: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, max(bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {bytes} bytes of machine code") from error


def _make_executable(address: int, bytes: int) -> None:
    protect: Any = _process().mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(address, bytes, mmap.PROT_READ | mmap.PROT_EXEC):
        number = ctypes.get_errno()
        kind = MemoryError if number == errno.ENOMEM else LinkError
        raise kind(f"{bytes} bytes cannot be made executable ({os.strerror(number)})")


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment if alignment > 1 else offset


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(b"\0", start)].decode()
