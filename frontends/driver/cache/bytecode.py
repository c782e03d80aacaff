"""What a code object reads from outside: globals and cells, attributes, and byte codes that are not
known to read nothing else.
"""

from __future__ import annotations

import dis
import functools
import opcode
from collections.abc import Iterator
from types import CodeType
from typing import Final, NamedTuple

from weft.frontends.driver.cache import pure_names

_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
_ATTRIBUTES: Final = frozenset(
    opcode.opmap[name] for name in pure_names.LOADS_OF_ATTRIBUTES if name in opcode.opmap
)
_GLOBAL: Final = opcode.opmap["LOAD_GLOBAL"]
_CELL: Final = opcode.opmap["LOAD_DEREF"]
_CHANGES_OF_CELLS: Final = frozenset((opcode.opmap["STORE_DEREF"], opcode.opmap["DELETE_DEREF"]))
_CALLS: Final = frozenset(
    opcode.opmap[name] for name in ("PRECALL", "CALL") if name in opcode.opmap
)
_IMPORTS: Final = frozenset((opcode.opmap["IMPORT_NAME"], opcode.opmap["IMPORT_FROM"]))
_CACHE: Final = opcode.opmap["CACHE"]
_IS: Final = opcode.opmap["IS_OP"]
_CONSTANT: Final = opcode.opmap["LOAD_CONST"]
_SINGLE: Final = (None, True, False, ..., NotImplemented)
# Methods whose results make sets, of an order that differs between processes; and what may be done
# with the results at once.
_VIEWS: Final = ("keys", "items")
_TAKES_VIEWS: Final = frozenset(
    opcode.opmap[name]
    for name in "GET_ITER PRECALL CALL KW_NAMES CONTAINS_OP LIST_EXTEND UNPACK_SEQUENCE".split()
    if name in opcode.opmap
)
VIEW_OF_KEYS: Final = "a view of keys"
"""In place of a byte code: a view that is held, or an operand."""
_KNOWN: Final = frozenset(
    number for name, number in opcode.opmap.items() if name in pure_names.OPERATIONS
)
# Since 3.12, the lowest bit of LOAD_ATTR's argument says whether it is a method.
_ATTRIBUTE_SHIFT: Final = 0 if "LOAD_METHOD" in opcode.opmap else 1


class NameLoad(NamedTuple):
    """A variable that is loaded together with the attributes that are read of it at once; an
    attribute of something else (`variable` None); or a byte code that is not known, with the name
    that it is about, if any. `place` is where in the code the last of this stands; `is_bare` says
    whether what is loaded is called at once, without arguments.
    """

    variable: str | None
    is_global: bool
    attributes: tuple[str, ...]
    unknown: str | None = None
    place: int = 0
    is_bare: bool = False


@functools.lru_cache(maxsize=2048)
def loads(code: CodeType) -> tuple[NameLoad, ...]:
    """All loads of a code object, nested ones left out. Equal code has equal ones, and the same
    functions are looked at for every program that is made of them.

    >>> [(load.variable, load.attributes) for load in loads((lambda x: np.sin(x).T).__code__)]
    [('np', ('sin',)), (None, ('T',))]
    """
    return tuple(_loads(code))


def _loads(code: CodeType) -> Iterator[NameLoad]:
    targets = set(dis.findlabels(code.co_code))  # type: ignore[arg-type]
    instructions = list(_instructions(code))
    variable: str | None = None
    is_global, path, last = False, [], 0
    for number, (place, operation, argument) in enumerate(instructions):
        is_attribute = operation in _ATTRIBUTES
        name = code.co_names[argument >> _ATTRIBUTE_SHIFT] if is_attribute else ""
        if name in _VIEWS and not _is_taken(instructions[number + 1 : number + 4]):
            yield NameLoad(None, False, (name,), VIEW_OF_KEYS, place)
        if variable is not None and is_attribute and place not in targets:
            path.append(name)
            last = place
            continue
        if variable is not None:
            is_bare = operation in _CALLS and argument == 0
            yield NameLoad(variable, is_global, tuple(path), None, last, is_bare)
            variable = None
        if is_attribute:
            yield NameLoad(None, False, (name,), None, place)
        elif operation == _GLOBAL:
            # Since 3.11, the lowest bit says something else than the name.
            variable, is_global, path, last = code.co_names[argument >> 1], True, [], place
        elif operation == _CELL:
            variable, is_global, path, last = _cell(code, argument), False, [], place
        elif operation == _IS and (
            place in targets or not _is_single(code, instructions[number - 1])
        ):
            yield NameLoad(None, False, (), opcode.opname[operation], place)
        elif operation not in _KNOWN or _changes_outside(code, operation, argument):
            about = (code.co_names[argument],) if operation in _IMPORTS else ()
            yield NameLoad(None, False, about, opcode.opname[operation], place)
    if variable is not None:
        yield NameLoad(variable, is_global, tuple(path), None, last)


def _is_single(code: CodeType, instruction: tuple[int, int, int]) -> bool:
    """Whether it loads a constant that there is only one of; of equal numbers or strings, whether
    they are the same object is up to the interpreter.
    """
    _, operation, argument = instruction
    return operation == _CONSTANT and any(code.co_consts[argument] is each for each in _SINGLE)


def _is_taken(instructions: list[tuple[int, int, int]]) -> bool:
    """Whether a method is called, and its result taken by a loop, a call or a test at once."""
    operations = [operation for _, operation, _ in instructions]
    is_called = len(operations) > len(_CALLS) and _CALLS.issuperset(operations[: len(_CALLS)])
    return is_called and operations[len(_CALLS)] in _TAKES_VIEWS


def _cell(code: CodeType, argument: int) -> str:
    return str(code._varname_from_oparg(argument))  # type: ignore[attr-defined]


def _changes_outside(code: CodeType, operation: int, argument: int) -> bool:
    """Whether a variable is changed that belongs to a function around."""
    return operation in _CHANGES_OF_CELLS and _cell(code, argument) in code.co_freevars


def _instructions(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """Place, operation and argument; `dis` would take a hundred times as long."""
    data, high = code.co_code, 0
    for place in range(0, len(data), 2):
        operation = data[place]
        if operation == _CACHE:
            continue
        if operation == _EXTENDED:
            high = (high | data[place + 1]) << 8
            continue
        yield place, operation, high | data[place + 1]
        high = 0
