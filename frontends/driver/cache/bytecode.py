"""What a code object reads from outside: names of globals, attributes of them, imports."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Final

_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
_IMPORT: Final = opcode.opmap["IMPORT_NAME"]
_LOADS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
# Since 3.11, the lowest bit of LOAD_GLOBAL's argument says something else than the name.
_SHIFTS: Final = {
    opcode.opmap[name]: int(name == "LOAD_GLOBAL") for name in _LOADS if name in opcode.opmap
}
_NEWEST: Final = (3, 14)  # whose bytecode is as below; for later ones `dis` is asked


def global_names(code: CodeType) -> list[str]:
    """The names that a code object, nested ones left out, looks up in globals or builtins.

    >>> global_names((lambda x: abs(x).real + len(x)).__code__)
    ['abs', 'len']
    """
    if sys.version_info[:2] > _NEWEST:
        import dis

        return list(
            dict.fromkeys(i.argval for i in dis.get_instructions(code) if i.opname in _LOADS)
        )
    names: dict[str, None] = {}
    data, high = code.co_code, 0
    for place in range(0, len(data), 2):  # `dis` would take a hundred times as long
        operation = data[place]
        if operation == _EXTENDED:
            high = (high | data[place + 1]) << 8
            continue
        shift = _SHIFTS.get(operation)
        if shift is not None:
            names[code.co_names[(high | data[place + 1]) >> shift]] = None
        high = 0
    return list(names)


def imports(code: CodeType) -> Iterator[tuple[str, int]]:
    """The modules that a code object imports, and how many levels up."""
    if _IMPORT not in code.co_code[::2]:
        return
    import dis

    before: list[object] = [None, None]
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            continue
        if instruction.opname == "IMPORT_NAME":
            level = before[0]
            yield instruction.argval, level if isinstance(level, int) else 1
        before = [before[1], instruction.argval]


def may_read_attribute(code: CodeType, variable: str, attribute: str) -> bool:
    """Whether a code object may read this attribute of a global: it does so in one expression, or
    uses the global in another way than for its attributes.
    """
    import dis

    is_loaded = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("EXTENDED_ARG", "CACHE"):
            continue
        if is_loaded:
            is_attribute = instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
            if not is_attribute or instruction.argval == attribute:
                return True
        is_loaded = instruction.opname in _LOADS and instruction.argval == variable
    return False
