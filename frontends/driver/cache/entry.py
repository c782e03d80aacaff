"""Compiled programs on disk, so that a second process runs them without tracing anything.

An entry is a head of JSON and then the bytes of the object code and of constants; nothing in it is
executed to read it, and the cache checks that it is whole. It is found by a key over everything
that the program was made from. Programs that call back into Python are not kept, nor those of
functions that have no `identity`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.artifact import Artifact, Native, Signature, Site
from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Atom, Dim, Maximum, Quotient, Size, Symbol
from weft.compiler.ir.location import Location
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record
from weft.frontends.driver.cache import purity
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call

if TYPE_CHECKING:
    from weft.runtime.cache import Cache

Strides = tuple[int | None, ...]
_HEAD: Final = b"weft-program-1\n"
_LENGTH: Final = struct.Struct("<Q")
_CHANGED: Final = "not kept: Weft's own sources changed since they were loaded"


class Unstorable(Exception):
    """Why a program cannot be kept."""


@record
class StoredProgram:
    """What a call needs of a compiled function."""

    artifact: Artifact
    out_tree: tree.TreeDef
    donated: Mapping[int, int]


class ProgramEntry:
    """The place on disk of one version of a function: looks there for programs, and keeps them.

    `note` says how that went. `options` are what the caller chose beside the arguments; `refused`
    says why nothing is kept, if so.
    """

    def __init__(
        self,
        cache: Cache,
        function: Callable[..., Any],
        call: Call,
        options: Sequence[Any],
        refused: str = "",
    ) -> None:
        self._cache = cache
        self._version = functools.partial(_version_digest, function, call, tuple(options))
        self._digest: str | None = None
        self.note = ""
        if refused:
            self.note = f"not kept: {refused}"
        elif cache.directory is None:
            self.note = "not kept: there is no cache directory"
        elif environment() is None:
            self.note = _CHANGED
        else:
            self._try_identity()

    def find(self, strides: Sequence[tuple[int, Strides]] = ()) -> StoredProgram | None:
        """The program for arguments of these strides, if an earlier process left it."""
        if self._digest is None:
            return None
        data = self._cache.get(self._key(strides))
        if data is None:
            return None
        try:
            stored = decode(data)
        except (ValueError, KeyError, TypeError, IndexError, struct.error):
            return None
        self.note = self.note or f"found on disk, {len(data):,} bytes"
        return stored

    def confirm(self) -> None:
        """To be called after tracing: what changes what it depends on is not kept."""
        if self._digest is None:
            return
        before, self._digest = self._digest, None
        if purity.weft_sources() is None:
            self.note = _CHANGED
            return
        self._try_identity()
        if self._digest is not None and self._digest != before:
            self._digest = None
            self.note = "not kept: tracing it changed a value that it depends on"

    def keep(
        self,
        artifact: Artifact,
        out_tree: tree.TreeDef,
        donated: Mapping[int, int],
        strides: Sequence[tuple[int, Strides]],
    ) -> None:
        """Leave a program for later processes."""
        if self._digest is None:
            return
        try:
            data = encode(StoredProgram(artifact, out_tree, donated))
        except Unstorable as reason:
            self._digest = None
            self.note = f"not kept: {reason}"
            return
        self._cache.put(self._key(strides), data)
        self.note = self.note or f"not found on disk; kept, {len(data):,} bytes"

    def _try_identity(self) -> None:
        from weft.frontends.driver.cache.fingerprint import NoFingerprint

        try:
            self._digest = self._version()
        except NoFingerprint as reason:
            self.note = f"not kept: {reason}"
        except Exception as error:  # looking at a user's object can run the user's code
            self.note = f"not kept: looking at the function raised {error!r}"

    def _key(self, strides: Sequence[tuple[int, Strides]]) -> str:
        parts = (environment(), self._digest, tuple(strides))
        return hashlib.blake2b(repr(parts).encode(), digest_size=20).hexdigest()


def _version_digest(function: Callable[..., Any], call: Call, options: tuple[Any, ...]) -> str:
    """A digest of a function and of the kind of its arguments."""
    from weft.frontends.driver.cache.fingerprint import Fingerprint

    fingerprint = Fingerprint()
    fingerprint.add(function, "the function")
    fingerprint.add(
        tree.unflatten(call.treedef, range(len(call.leaves))), "the structure of arguments"
    )
    for leaf in call.leaves:
        fingerprint.add((leaf.name, leaf.type, leaf.weak), "an argument")
    for argument_key, value in call.static:
        fingerprint.add((argument_key, value), f"the static argument {argument_key}")
    fingerprint.add(options, "an option")
    return fingerprint.hexdigest()


@functools.cache
def environment() -> tuple[str, ...] | None:
    """What code depends on beside the function; None if that cannot be told."""
    import llvmlite

    from weft.compiler.lower.llvm.target import host

    sources = purity.weft_sources()
    if sources is None:
        return None
    return (
        _HEAD.decode(),
        sources,
        sys.version,
        sys.implementation.name,
        np.__version__,
        llvmlite.__version__,
        host().key,
        _stamp("scipy"),
    )


def _stamp(package: str) -> str:
    """What tells releases of a package apart, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    status = os.stat(spec.origin)
    return f"{spec.origin} {status.st_size} {status.st_mtime_ns}"


# --- bytes ----------------------------------------------------------------------------------------


def encode(stored: StoredProgram) -> bytes:
    """A program as bytes; raises `Unstorable`."""
    artifact, native = stored.artifact, stored.artifact.native
    if native is None or native.hosts:
        raise Unstorable("it calls back into Python")
    example = tree.unflatten(stored.out_tree, range(stored.out_tree.num_leaves))
    head = {
        "name": artifact.name,
        "backend": artifact.backend,
        "names": artifact.signature.names,
        "parameters": [_type_data(type) for type in artifact.signature.parameters],
        "results": [_type_data(type) for type in artifact.signature.results],
        "output": _output_data(example),
        "code": [len(image) for image in native.code],
        "constants": [
            [dtypes.dtype(constant.dtype).name, constant.shape, constant.nbytes]
            for constant in native.constants
        ],
        "symbols": native.symbols,
        "strides": native.strides,
        "defined": native.defined,
        "late": native.late,
        "imports": native.imports,
        "sites": [_site_data(site) for site in native.sites],
        "in_place": list(native.in_place.items()),
        "donated": list(stored.donated.items()),
        "is_parallel": native.is_parallel,
        "is_long": native.is_long,
        "measured": native.measured,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    constants = [np.ascontiguousarray(constant).tobytes() for constant in native.constants]
    return b"".join([_HEAD, _LENGTH.pack(len(text)), text, *native.code, *constants])


def decode(data: bytes) -> StoredProgram:
    """The program of bytes that `encode` made; some ValueError if it did not."""
    if not data.startswith(_HEAD):
        raise ValueError("no stored program, or one of another release")
    start = len(_HEAD) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(data, len(_HEAD))
    head = json.loads(data[start : start + length])
    offset = start + length
    code = []
    for size in head["code"]:
        code.append(data[offset : offset + size])
        offset += size
    native = Native(
        code=tuple(code),
        constants=_constants(head["constants"], data, offset),
        symbols=tuple(head["symbols"]),
        strides=tuple((name, number, axis) for name, number, axis in head["strides"]),
        defined=tuple(head["defined"]),
        late=tuple(head["late"]),
        imports=tuple(head["imports"]),
        sites=tuple(_site(site) for site in head["sites"]),
        hosts=(),
        in_place={result: parameter for result, parameter in head["in_place"]},
        is_parallel=head["is_parallel"],
        is_long=head["is_long"],
        measured=tuple(head["measured"]),
    )
    signature = Signature(
        tuple(head["names"]),
        tuple(_type(type) for type in head["parameters"]),
        tuple(_type(type) for type in head["results"]),
    )
    leaves, out_tree = tree.flatten(_output(head["output"]))
    if leaves != list(range(len(signature.results))):
        raise ValueError("the results of a stored program are in another order")
    artifact = Artifact(head["name"], head["backend"], signature, None, native)
    donated = {result: parameter for result, parameter in head["donated"]}
    return StoredProgram(artifact, out_tree, donated)


def _constants(
    described: Sequence[Any], data: bytes, offset: int
) -> tuple[np.ndarray[Any, Any], ...]:
    arrays = []
    for name, shape, size in described:
        dtype = dtypes.named(name).numpy
        array: np.ndarray[Any, Any] = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8, size, offset)
        arrays.append(array)
        offset += size
    return tuple(arrays)


def _site_data(site: Site) -> list[Any]:
    location = site.location
    where = None if location is None else [location.file, location.line, location.expression]
    return [site.error, site.message, site.op, where]


def _site(data: list[Any]) -> Site:
    error, message, op, where = data
    return Site(error, message, op, None if where is None else Location(*where))


def _type_data(type: ArrayType) -> list[Any]:
    return [type.dtype.name, [_size_data(size) for size in type.shape]]


def _type(data: list[Any]) -> ArrayType:
    return ArrayType(dtypes.named(data[0]), [_size(size) for size in data[1]])


def _size_data(size: Size) -> Any:
    if not isinstance(size, Dim):
        return int(size)
    return [
        [[[_atom_data(atom), power] for atom, power in monomial], factor]
        for monomial, factor in size.terms
    ]


def _size(data: Any) -> Size:
    if isinstance(data, int):
        return data
    return Dim(
        tuple(
            (tuple((_atom(atom), power) for atom, power in monomial), factor)
            for monomial, factor in data
        )
    )


def _atom_data(atom: Atom) -> list[Any]:
    if isinstance(atom, Symbol):
        return ["symbol", atom.name, atom.lower, atom.upper]
    if isinstance(atom, Maximum):
        return ["max", _size_data(atom.left), _size_data(atom.right)]
    return ["quotient", _size_data(atom.numerator), _size_data(atom.denominator)]


def _atom(data: list[Any]) -> Atom:
    kind, *parts = data
    if kind == "symbol":
        return Symbol(*parts)
    left, right = (_size(part) for part in parts)
    if kind == "max":
        return Maximum(left, right)
    if not isinstance(left, Dim):
        raise ValueError("a quotient of numbers is a number")
    return Quotient(left, right)


def _output_data(part: Any) -> Any:
    """The structure of the results: numbers for arrays, and what holds them."""
    if isinstance(part, int) and not isinstance(part, bool):
        return part
    if part is None:
        return ["none"]
    if type(part) in (list, tuple):
        return [type(part).__name__, *[_output_data(item) for item in part]]
    if type(part) is dict and all(type(key) in (str, int) for key in part):
        return ["dict", *[[key, _output_data(item)] for key, item in part.items()]]
    raise Unstorable(f"its results are in {type(part).__name__}, which is put together in Python")


def _output(data: Any) -> Any:
    if isinstance(data, int):
        return data
    kind, *parts = data
    if kind == "none":
        return None
    if kind == "dict":
        return {key: _output(item) for key, item in parts}
    items = [_output(item) for item in parts]
    return tuple(items) if kind == "tuple" else items
