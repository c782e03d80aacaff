"""The package's own source files: a digest of them, and whether what this process loaded is what
the digest tells of.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
from typing import Final

from weft.frontends.tracing.caller import OWN_FOLDERS

_LOADED: Final = time.time()
_seen: Final[set[str]] = set()  # modules that were loaded from the files of the digest


def digest() -> str | None:
    """A digest of the source files: of names, sizes and times of change, as Python's own cache of
    bytecode trusts them. None if one changed since this process began, or if there are none to
    look at.
    """
    files = _files()
    if not files or any(changed >= _LOADED * 1e9 for _, changed in files.values()):
        return None
    text = "".join([f"{path} {size} {changed}\n" for path, (size, changed) in files.items()])
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def are_unchanged() -> bool:
    """Whether all modules that were loaded so far come from the files that the digest tells of.
    Each is looked at once: what is loaded does not change.
    """
    files = _files()
    loaded = sys.modules.copy()  # in one step: other threads may be importing
    for name in [name for name in loaded if name.startswith("weft.") and name not in _seen]:
        path = getattr(loaded[name], "__file__", None)
        if path is not None and path.startswith(OWN_FOLDERS):
            if files.get(path) != _status(path):
                return False
        _seen.add(name)
    return True


@functools.cache
def _files() -> dict[str, tuple[int, int]]:
    paths = [path for folder in OWN_FOLDERS for path in _source_files(folder)]
    return {path: _status(path) for path in paths}


def _status(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def _source_files(folder: str) -> list[str]:
    files = []
    for parent, _, names in os.walk(folder):
        files += [os.path.join(parent, name) for name in names if name.endswith(".py")]
    return sorted(files)
