"""Finds the user's line: the innermost frame that is neither Weft's own code nor a library between
the two.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import numpy as np

from weft.compiler.ir.location import Location

_PACKAGE: Final = str(Path(os.path.abspath(__file__)).parents[2])
OWN_FOLDERS: Final = tuple(
    os.path.join(_PACKAGE, part) + os.sep for part in ("compiler", "frontends", "runtime")
)
"""Where Weft's own sources are."""
_INTERNAL: Final = (
    *OWN_FOLDERS,
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(np.__file__))), "scipy") + os.sep,
    os.path.abspath(contextlib.__file__),
)

_STANDARD: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED: Final = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def is_weft(file: str) -> bool:
    """Whether it is a source file of Weft."""
    return file.startswith(OWN_FOLDERS)


@functools.cache
def is_users(file: str) -> bool:
    """Whether the user wrote a source file: it is no part of Weft, and of no library."""
    if file.startswith("<"):
        return not file.startswith("<frozen ")
    path = os.path.abspath(file)
    is_library = path.startswith(_STANDARD) or any(part in path for part in _INSTALLED)
    return not is_library and not is_weft(path)


class Locator:
    """Remembers which files are internal and which instructions were met, so that a look-up costs
    little: names of files know their hashes, code does not.
    """

    __slots__ = ("_is_internal", "_locations")

    def __init__(self) -> None:
        self._is_internal: dict[str, bool] = {}
        self._locations: dict[tuple[int, int], tuple[CodeType, Location]] = {}

    def frame(self) -> FrameType | None:
        """The user's innermost frame."""
        frame: FrameType | None = sys._getframe(1)
        is_internal = self._is_internal
        while frame is not None:
            file = frame.f_code.co_filename
            internal = is_internal.get(file)
            if internal is None:
                internal = is_internal[file] = file.startswith(_INTERNAL)
            if not internal:
                return frame
            frame = frame.f_back
        return None

    def __call__(self) -> Location | None:
        """The place in the user's source that is running now."""
        frame = self.frame()
        if frame is None:
            return None
        code, place = frame.f_code, frame.f_lasti
        known = self._locations.get((id(code), place))
        if known is None:
            known = code, Location.of_instruction(code, place, frame.f_lineno)
            self._locations[id(code), place] = known
        return known[1]


def caller_location() -> Location | None:
    """The place in the user's source that is running now, for messages outside of a trace."""
    return Locator()()
