"""What asks for the value of a traced array, and what to write in its place: read off the user's
line and off the library that stands between that line and us. Only for messages.
"""

from __future__ import annotations

import importlib.util
import linecache
import re
import sys
from types import FrameType
from typing import Final, NamedTuple

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Parameter, Result, Value
from weft.compiler.ir.location import Location

CONVERTED: Final = "; or let Weft do so, without control_flow=False"
INTO_NUMPY: Final = (
    "weft.numpy.zeros or np.zeros_like(x) to make the array, as one of NumPy's cannot hold it"
)

_STORE: Final = re.compile(r"\s*[-+*/@%&|^<>]*=(?!=)")
_TABLE: Final = re.compile(r"([\w.]+).*\[.*\]", re.DOTALL)
_CALL: Final = re.compile(r"([\w.]+)\(")


class ValueNeed(NamedTuple):
    """Who needs a value, and what to use instead."""

    what: str
    instead: str


def array_needed_by(location: Location | None, frame: FrameType | None) -> ValueNeed:
    """Who calls `__array__` on a traced array."""
    library = _library(frame)
    if library is not None:
        return library
    text = "" if location is None else location.expression
    if is_store(location):
        return ValueNeed(f"the write to {text}, of a NumPy array,", INTO_NUMPY + CONVERTED)
    table = _TABLE.fullmatch(text)
    if table is not None and not text.startswith(("np.c_", "np.r_")):
        name = table[1] if text.startswith(table[1] + "[") else "table"
        return ValueNeed(
            f"the index of {name}, a NumPy array,",
            f"weft.numpy.asarray({name})[i]" + CONVERTED,
        )
    called = _CALL.match(text)
    if called is not None and ".random." in called[1]:
        return ValueNeed(
            "a function of numpy.random",
            "weft.random, as in weft.random.normal(key, x.shape), which draws in the program",
        )
    return ValueNeed(
        "a NumPy array (np.array, np.asarray, or a list of traced arrays)",
        "weft.numpy.asarray / weft.numpy.stack, or the function of the same name in weft.numpy"
        + CONVERTED,
    )


def is_store(location: Location | None) -> bool:
    """Whether the line assigns to an item at this place."""
    if location is None or not location.expression.endswith("]"):
        return False
    line = linecache.getline(location.file, location.line)
    _, separator, rest = line.partition(location.expression)
    return bool(separator) and _STORE.match(rest) is not None


def statement_at(location: Location | None) -> str:
    """The kind of statement or expression on the line that needs a truth value; "" if unknown."""
    line = "" if location is None else linecache.getline(location.file, location.line).strip()
    for word, name in (("elif", "if"), ("if", "if"), ("while", "while"), ("assert", "assert")):
        if line.startswith(word + " ") or line.startswith(word + "("):
            return name
    for word in (" if ", " and ", " or ", "not "):
        if word in f" {line}":
            return word.strip()
    return ""


def describe(value: Value) -> str:
    """What a traced value is to the user."""
    if isinstance(value, Parameter):
        return (
            f"the argument {value.name}" if value.name else "an argument of a loop body or branch"
        )
    if isinstance(value, Result):
        expression = value.op.location.expression if value.op.location is not None else ""
        return f"`{expression}`" if expression else f"the result of {value.op.name}"
    return "a constant"


def _library(frame: FrameType | None) -> ValueNeed | None:
    """SciPy's function that the user called, if it is that which asks."""
    caller: FrameType | None = None
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("scipy."):
            caller = frame
        elif caller is not None or not module.startswith(("numpy", "weft")):
            break
        frame = frame.f_back
    if caller is None:
        return None
    part = caller.f_globals["__name__"].split(".")[1]
    ours = f"weft.scipy.{part}"
    if part.startswith("_") or not _has(ours):
        return ValueNeed(
            "a function of SciPy", "functions of NumPy or weft.scipy, or wf.callback, to call it"
        )
    return ValueNeed(
        f"a function of scipy.{part}",
        f"the one of the same name in {ours}, or wf.callback, to call SciPy's" + CONVERTED,
    )


def _has(module: str) -> bool:
    return module in sys.modules or importlib.util.find_spec(module) is not None


def most_informative(error: BaseException) -> BaseException:
    """The error that says most: ours, where NumPy put one of its own over it."""
    is_plain = type(error) in (ValueError, TypeError)
    cause = error.__cause__
    return cause if is_plain and isinstance(cause, TraceError) else error
