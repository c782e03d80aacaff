"""Compiled programs as bytes: a head of JSON, then the object code and constants. Nothing is
executed to read them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.artifact import Artifact, Failure, HostCall, Native, Signature, Site
from weft.compiler.ir import dtypes
from weft.compiler.ir.attributes import HostFunction
from weft.compiler.ir.dims import Atom, Dim, Maximum, Quotient, Size, Symbol
from weft.compiler.ir.location import Location
from weft.compiler.ir.raising import named_class
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record
from weft.frontends.tracing import tree

FORMAT: Final = b"weft-program-3\n"
_LENGTH: Final = struct.Struct("<Q")


class Unstorable(Exception):
    """Why a program, or the structure of its results, cannot be kept."""


@record
class StoredProgram:
    """What a call needs of a compiled graph: its code, and which result may be written over which
    parameter.
    """

    artifact: Artifact
    donated: Mapping[int, int]


@record
class Untraced:
    """What is known of a function without tracing it: the key of its graph, and how results are put
    together.
    """

    graph: str
    out_tree: tree.TreeDef


def encode(stored: StoredProgram) -> bytes:
    """A program as bytes; raises `Unstorable`."""
    artifact, native = stored.artifact, stored.artifact.native
    if native is None or not all(_is_data(host) for host in native.hosts):
        raise Unstorable("it calls back into Python")
    head = {
        "name": artifact.name,
        "backend": artifact.backend,
        "names": artifact.signature.names,
        "parameters": [_type_data(type) for type in artifact.signature.parameters],
        "results": [_type_data(type) for type in artifact.signature.results],
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
        "failures": [_failure_data(host) for host in native.hosts],
        "in_place": list(native.in_place.items()),
        "donated": list(stored.donated.items()),
        "is_parallel": native.is_parallel,
        "is_long": native.is_long,
        "measured": native.measured,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    constants = [np.ascontiguousarray(constant).tobytes() for constant in native.constants]
    return b"".join([FORMAT, _LENGTH.pack(len(text)), text, *native.code, *constants])


def decode(data: bytes) -> StoredProgram:
    """The program of bytes that `encode` made; some ValueError if it did not."""
    if not data.startswith(FORMAT):
        raise ValueError("no stored program, or one of another release")
    start = len(FORMAT) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(data, len(FORMAT))
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
        hosts=tuple(_failure(failure) for failure in head["failures"]),
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
    artifact = Artifact(head["name"], head["backend"], signature, None, native)
    donated = {result: parameter for result, parameter in head["donated"]}
    return StoredProgram(artifact, donated)


def encode_untraced(untraced: Untraced) -> bytes:
    """The same for what is known of a function; raises `Unstorable`."""
    example = tree.unflatten(untraced.out_tree, range(untraced.out_tree.num_leaves))
    head = {"graph": untraced.graph, "output": _output_data(example)}
    return FORMAT + json.dumps(head, separators=(",", ":")).encode()


def decode_untraced(data: bytes) -> Untraced:
    """What `encode_untraced` made bytes of; some ValueError if it did not."""
    if not data.startswith(FORMAT):
        raise ValueError("of another release")
    head = json.loads(data[len(FORMAT) :])
    leaves, out_tree = tree.flatten(_output(head["output"]))
    if leaves != list(range(len(leaves))):
        raise ValueError("the results are in another order")
    return Untraced(str(head["graph"]), out_tree)


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
    return [site.error, site.message, site.op, _place_data(site.location)]


def _site(data: list[Any]) -> Site:
    error, message, op, where = data
    return Site(error, message, op, _place(where))


def _place_data(place: Location | None) -> list[Any] | None:
    return None if place is None else [place.file, place.line, place.expression]


def _place(data: list[Any] | None) -> Location | None:
    return None if data is None else Location(*data)


def _is_data(host: HostCall) -> bool:
    """Whether a call to the host only raises an exception that text says all of."""
    return isinstance(host.function, Failure) and host.function.is_data


def _failure_data(host: HostCall) -> list[Any]:
    failure: Any = host.function
    types = [_type_data(type) for type in host.operands]
    where = _place_data(failure.location)
    return [types, failure.error, failure.form, failure.function, where]


def _failure(data: list[Any]) -> HostCall:
    types, error, form, function, where = data
    if named_class(error) is None:
        raise ValueError(f"{error} is not there any more")
    failure = Failure(error, form, HostFunction("nothing"), function, _place(where))
    return HostCall(tuple(_type(type) for type in types), (), failure)


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
