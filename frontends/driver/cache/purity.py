"""Which libraries compute the same whenever they are asked, so that a version pins what they do.

Used to decide which traced programs may be kept between processes. What is not listed is not
trusted: its Python functions are looked into, its native ones are refused.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
from typing import Any, Final

from weft.frontends.tracing.caller import OWN_FOLDERS

_PURE: Final = frozenset(
    "__future__ _collections _functools _operator _warnings abc cmath collections contextlib copy "
    "dataclasses enum fractions functools itertools math ml_dtypes numbers numpy operator "
    "opt_einsum optree re scipy string types typing typing_extensions warnings weft".split()
)
_IMPURE: Final = (
    "numpy.ctypeslib",
    "numpy.f2py",
    "numpy.random",
    "numpy.testing",
    "scipy.datasets",
    "scipy.io",
    "scipy.optimize",
    "scipy.stats",
    "weft.demo",
    "weft.runtime",
)
_IMPURE_PARTS: Final = {
    "numpy": "DataSource ctypeslib f2py fromfile fromregex genfromtxt getbufsize geterr geterrcall "
    "get_printoptions load loadtxt memmap random show_config testing",
    "scipy": "datasets io optimize stats",
    "weft": "demo get_num_threads runtime",
}
# Those that give the same for the same arguments, or only tell the user something.
BUILTINS: Final = frozenset(
    "NotImplemented Ellipsis __build_class__ abs all any ascii bin bool bytearray bytes callable "
    "chr classmethod complex dict divmod enumerate filter float format frozenset getattr hasattr "
    "hex int isinstance issubclass iter len list map max min next object oct ord pow print "
    "property range repr reversed round set setattr slice sorted staticmethod str sum super tuple "
    "type zip".split()
)

# Attributes through which code reaches what a look at its names does not show.
REFLECTION: Final = frozenset(
    "__builtins__ __closure__ __code__ __globals__ __subclasses__ f_back f_globals f_locals".split()
)


def is_pure(module: str) -> bool:
    """Whether a version pins what the functions of a module do.

    >>> is_pure("numpy.linalg"), is_pure("numpy.random"), is_pure("time")
    (True, False, False)
    """
    return module.partition(".")[0] in _PURE and not is_impure(module)


def is_impure(module: str) -> bool:
    """Whether it is a part of a pure library that is known to be different."""
    return any(module == part or module.startswith(part + ".") for part in _IMPURE)


@functools.cache
def impure_parts(module: str) -> frozenset[str]:
    """Attributes of a pure module that are not pure."""
    return frozenset(_IMPURE_PARTS.get(module, "").split())


def version(module: str) -> str:
    """The version of the library that a module belongs to; empty for Python's own."""
    top: Any = sys.modules.get(module.partition(".")[0])
    return str(getattr(top, "__version__", ""))


_LOADED: Final = time.time()


def weft_sources() -> str | None:
    """A digest of Weft's own source files: of names, sizes and times of change, as Python's own
    cache of bytecode trusts them. None if one changed since this process loaded it, or if there
    are none to look at.
    """
    digest = hashlib.blake2b(digest_size=20)
    paths = [path for folder in OWN_FOLDERS for path in _source_files(folder)]
    for path in paths:
        status = os.stat(path)
        if status.st_mtime >= _LOADED:
            return None
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest() if paths else None


def _source_files(folder: str) -> list[str]:
    files = []
    for parent, _, names in os.walk(folder):
        files += [os.path.join(parent, name) for name in names if name.endswith(".py")]
    return sorted(files)
