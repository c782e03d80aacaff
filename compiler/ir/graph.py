"""The graph: values, ops, regions. Immutable, compared by identity, built only through
`build.Builder`.

A region is closed: its ops use its own parameters, earlier results in it, and constants, never a
value of an enclosing region. What a loop body needs from outside is an operand of the loop. So a
region can be hashed, compiled or differentiated on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Symbol
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.location import Location
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType, type_of

FORMAT_VERSION: Final = 1

Number: TypeAlias = bool | int | float | complex


class Value:
    """An array that ops take and make; one of Parameter, Result and Constant."""

    __slots__ = ("type",)

    type: ArrayType


class Parameter(Value):
    """An input of a region; `name` is what the user called it, for messages and text."""

    __slots__ = ("name",)

    def __init__(self, type: ArrayType, name: str = "") -> None:
        self.type = type
        self.name = name

    def __repr__(self) -> str:
        return f"<parameter {self.name or '?'}: {self.type}>"


class Result(Value):
    """One of the arrays an op makes."""

    __slots__ = ("op", "index")

    def __init__(self, type: ArrayType, op: Op, index: int) -> None:
        self.type = type
        self.op = op
        self.index = index

    def __repr__(self) -> str:
        return f"<result {self.index} of {self.op.name}: {self.type}>"


class Constant(Value):
    """An array known now; it belongs to no op or region, and may be used in any."""

    __slots__ = ("array", "location", "_digest", "_uniform")

    _uniform: Number | None

    def __init__(
        self, array: np.ndarray[Any, Any] | np.generic, location: Location | None = None
    ) -> None:
        array = np.asarray(array)
        self.type = type_of(array)
        if _may_change(array) or not array.dtype.isnative:
            array = array.astype(self.type.dtype.numpy, copy=True)
            array.setflags(write=False)
        self.array = array
        self.location = location
        self._digest: bytes | None = None

    @property
    def is_scalar(self) -> bool:
        return not self.type.shape

    @property
    def digest(self) -> bytes:
        """A hash of the bytes, computed once."""
        if self._digest is None:
            from hashlib import blake2b

            self._digest = blake2b(
                np.ascontiguousarray(self.array).tobytes(), digest_size=16
            ).digest()
        return self._digest

    @property
    def uniform(self) -> Number | None:
        """The number that all elements are, found once; None if there is no such."""
        try:
            return self._uniform
        except AttributeError:
            self._uniform = _uniform(self.array, self.type.dtype)
            return self._uniform

    def __repr__(self) -> str:
        return f"<constant {self.type}>"


def _uniform(array: np.ndarray[Any, Any], dtype: DType) -> Number | None:
    if not array.size or (array.size > 1 and not _is_uniform(array)):
        return None
    element = array.flat[0]
    if dtype.is_float:
        return float(element)
    if dtype.is_complex:
        return complex(element)
    return bool(element) if dtype.is_bool else int(element)


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    first, last = array.flat[0], array.flat[-1]
    if first.tobytes() != last.tobytes():
        return False  # most arrays end here, before their bytes are compared
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((flat == flat[0]).all())


def _may_change(array: np.ndarray[Any, Any]) -> bool:
    """Whether the memory of an array can be written to by anybody: through the array, one that it
    is a read-only view of, or a buffer or file that is no array.
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return base is not None and not isinstance(base, bytes)


class Op:
    """One application of a primitive."""

    __slots__ = ("definition", "operands", "attributes", "regions", "results", "location")

    def __init__(
        self,
        definition: OpDef,
        operands: tuple[Value, ...],
        attributes: dict[str, Any],
        regions: tuple[Region, ...],
        result_types: tuple[ArrayType, ...],
        location: Location | None,
    ) -> None:
        self.definition: Final = definition
        self.operands: Final = operands
        self.attributes: Final = attributes
        self.regions: Final = regions
        self.location: Final = location
        if len(result_types) == 1:  # nearly all ops
            self.results: tuple[Result, ...] = (Result(result_types[0], self, 0),)
        else:
            self.results = tuple([Result(type, self, i) for i, type in enumerate(result_types)])

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def result(self) -> Result:
        """The only result."""
        (result,) = self.results
        return result

    def __repr__(self) -> str:
        types = ", ".join(str(result.type) for result in self.results)
        return f"<op {self.name} -> {types}>"


class Region:
    """A closed list of ops in an order in which every value is made before it is used."""

    __slots__ = ("parameters", "ops", "results")

    def __init__(
        self, parameters: tuple[Parameter, ...], ops: tuple[Op, ...], results: tuple[Value, ...]
    ) -> None:
        self.parameters: Final = parameters
        self.ops: Final = ops
        self.results: Final = results

    @property
    def parameter_types(self) -> tuple[ArrayType, ...]:
        return tuple([parameter.type for parameter in self.parameters])

    @property
    def result_types(self) -> tuple[ArrayType, ...]:
        return tuple([result.type for result in self.results])


class Graph:
    """A named region: what tracing returns and every pass takes and gives."""

    __slots__ = ("name", "region")

    def __init__(self, name: str, region: Region) -> None:
        self.name: Final = name
        self.region: Final = region

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.region.parameters

    @property
    def ops(self) -> tuple[Op, ...]:
        return self.region.ops

    @property
    def results(self) -> tuple[Value, ...]:
        return self.region.results

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbolic sizes of the parameters, in order of first use."""
        symbols: dict[Symbol, None] = {}
        for parameter in self.parameters:
            for size in parameter.type.shape:
                if not isinstance(size, int):
                    symbols.update(dict.fromkeys(sorted(dims.symbols(size), key=str)))
        return tuple(symbols)

    @property
    def defined_symbols(self) -> tuple[Symbol, ...]:
        """The symbolic sizes that ops define while they run, in order."""
        symbols: list[Symbol] = []
        for region in self.regions():
            for op in region.ops:
                if op.definition.defines is not None:
                    symbols.extend(dims.symbols(op.attributes[op.definition.defines]))
        return tuple(symbols)

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The distinct constants of the graph and its nested regions, in order of first use."""
        constants: dict[int, Constant] = {}
        for region in self.regions():
            used = [operand for op in region.ops for operand in op.operands]
            for value in (*used, *region.results):
                if isinstance(value, Constant):
                    constants.setdefault(id(value), value)
        return tuple(constants.values())

    def regions(self) -> Iterator[Region]:
        """The outermost region and all nested ones, outer before inner."""
        stack = [self.region]
        while stack:
            region = stack.pop()
            yield region
            holders = [op for op in region.ops if op.regions]
            stack.extend(inner for op in reversed(holders) for inner in reversed(op.regions))

    def text(self, *, locations: bool = False, embed_constants: bool = False) -> str:
        """The graph as text that `weft.parse` reads back.

        `locations` adds each op's source line; `embed_constants` writes large constants into the
        text, which otherwise holds their names and hashes only (pass
        `constants=graph.constant_table()` to `parse`).
        """
        return _methods().text(self, locations=locations, embed_constants=embed_constants)

    def constant_table(self) -> dict[str, np.ndarray[Any, Any]]:
        """The large constants by the names that `text` gives them."""
        return _methods().constant_table(self)

    def verify(self) -> Graph:
        """The graph itself if it keeps every rule of the IR; raises VerifyError if not."""
        return _methods().verify(self)

    def content_hash(self) -> str:
        """A hash of structure, types, attributes and constants, not of names and locations."""
        return _methods().content_hash(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.ops)} ops>"


class Methods(Protocol):
    """What a graph can be asked that is written in terms of graphs, in modules above this one."""

    def text(self, graph: Graph, *, locations: bool, embed_constants: bool) -> str:
        """See `Graph.text`."""

    def constant_table(self, graph: Graph) -> dict[str, np.ndarray[Any, Any]]:
        """See `Graph.constant_table`."""

    def verify(self, graph: Graph) -> Graph:
        """See `Graph.verify`."""

    def content_hash(self, graph: Graph) -> str:
        """See `Graph.content_hash`."""


_registered: list[Methods] = []


def register(methods: Methods) -> None:
    """Give graphs their methods, as `build` does when it is loaded."""
    _registered[:] = [methods]


def _methods() -> Methods:
    return _registered[0]
