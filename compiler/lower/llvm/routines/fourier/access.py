"""Rows of arrays as Fourier transforms see them: elements read, held in planes, and written.

`Group` is as many rows as there are lanes, a vector having the same element of each; `Row` is one
row, a vector having consecutive elements of it. Both have the same methods, so what is done to
elements is said once. Elements are given by their number in the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Array, Element, plus, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.memory import Address
from weft.compiler.lower.llvm.emit.types import I1, I64, Type
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.fourier.roots import SplitRoots
from weft.compiler.lower.llvm.routines.fourier.stages import (
    Complex,
    Planes,
    multiply,
    root_in_lanes,
)
from weft.compiler.record import record


@record
class ElementPlace:
    """Where rows are in an array: from a position on, or each lane's from its own."""

    array: Array
    start: Operand
    varying: V | None = None


class Access:
    """The rows of a source and a target, and the planes where they are transformed."""

    def __init__(
        self, f: Function, type: Type, axis: int, places: Sequence[ElementPlace], planes: Planes
    ) -> None:
        self.f = f
        self.type = type
        self.axis = axis
        self.source, self.target = places
        self.planes = planes
        self.mask: V | None = None

    @contextmanager
    def masked(self, mask: V | None) -> Iterator[None]:
        """Only some lanes have an element in the arrays (None: all have)."""
        self.mask = mask
        yield
        self.mask = None

    def address(self, place: ElementPlace, number: Operand, step: int) -> Address:
        raise NotImplementedError

    def at(self, number: Operand) -> V:
        """The position of an element in the planes."""
        raise NotImplementedError

    def root(self, number: V, lanes: int) -> Complex:
        """Roots of unity, of the length that the access was made for."""
        raise NotImplementedError

    @property
    def single(self) -> int:
        """The lanes of a single element."""
        return 0

    def stride(self, place: ElementPlace) -> Operand:
        return place.array.strides[self.axis]

    # --- arrays ---

    def load(self, number: Operand, lanes: int, step: int = 1) -> Element:
        """Elements of the source; lanes of a row go on by `step`."""
        address = self.address(self.source, number, step)
        array = self.source.array
        return memory.load(self.f, array.pointer, array.dtype, address, lanes, self.mask)

    def store(self, number: Operand, value: Element, lanes: int, step: int = 1) -> None:
        address = self.address(self.target, number, step)
        memory.store(self.f, self.target.array.pointer, value, address, lanes, self.mask)

    def read(self, number: Operand, lanes: int, step: int = 1) -> Complex:
        found = self.load(number, lanes, step)
        assert isinstance(found, tuple)
        return found

    def read_real(self, number: Operand, lanes: int, step: int = 1) -> V:
        found = self.load(number, lanes, step)
        assert isinstance(found, V)
        return found

    def read_pair(self, number: V, lanes: int) -> Complex:
        """Two real elements as one complex number."""
        first = number * 2
        return self.read_real(first, lanes, 2), self.read_real(first + 1, lanes, 2)

    def write_pair(self, number: V, value: Complex, lanes: int) -> None:
        for part, real in enumerate(value):
            self.store(number * 2 + part, real, lanes, 2)

    # --- planes ---

    def hold(self, number: Operand, value: Complex, backwards: bool = False) -> None:
        self.planes.store(self.f, value, self.at(number))

    def held(self, number: Operand, lanes: int, backwards: bool = False) -> Complex:
        return self.planes.load(self.f, self.type.with_lanes(lanes), self.at(number))

    def loop(self, begin: Operand, end: Operand, step: Callable[[V, int], None]) -> None:
        """All numbers of a range, `step(number, lanes)`."""
        raise NotImplementedError


class Group(Access):
    """As many rows as there are lanes. `roots` are those for `root`, in turn real and imaginary.

    Rows with elements side by side are brought into lanes through `staging`, in tiles, as reading
    and writing element by element takes longer than the transform.
    """

    def __init__(
        self,
        f: Function,
        type: Type,
        axis: int,
        places: Sequence[ElementPlace],
        planes: Planes,
        lanes: int,
        staging: V,
        roots: V | None,
    ) -> None:
        super().__init__(f, type, axis, places, planes)
        self.lanes = lanes
        self.staging = staging
        self.roots = roots

    @property
    def single(self) -> int:
        return self.lanes

    def address(self, place: ElementPlace, number: Operand, step: int) -> Address:
        further = times(self.f, number, self.stride(place))
        if place.varying is not None:
            return Address(further, 0, place.varying)
        return Address(plus(self.f, place.start, further), 1)

    def at(self, number: Operand) -> V:
        return self.f.const(times(self.f, number, self.lanes), I64)

    def root(self, number: V, lanes: int) -> Complex:
        assert self.roots is not None
        return root_in_lanes(self.f, self.type.with_lanes(lanes), self.roots, number)

    def loop(self, begin: Operand, end: Operand, step: Callable[[V, int], None]) -> None:
        with self.f.range(begin, end) as number:
            step(number, self.lanes)

    # --- staging ---

    def is_staged(self, place: ElementPlace) -> bool:
        return place.varying is not None and self.stride(place) == 1

    def load(self, number: Operand, lanes: int, step: int = 1) -> Element:
        if not self.is_staged(self.source):
            return super().load(number, lanes, step)
        f, kind = self.f, self.type.with_lanes(lanes)
        addresses = self.staged(self.source, number)
        found = [f.load(address, kind) for address in addresses]
        return found[0] if len(found) == 1 else (found[0], found[1])

    def store(self, number: Operand, value: Element, lanes: int, step: int = 1) -> None:
        if not self.is_staged(self.target):
            super().store(number, value, lanes, step)
            return
        parts = value if isinstance(value, tuple) else (value,)
        for part, address in zip(parts, self.staged(self.target, number), strict=True):
            self.f.store(part, address)

    def staged(self, place: ElementPlace, number: Operand) -> list[V]:
        """Where the parts of an element are in the staging room."""
        f, parts = self.f, _parts(place)
        first = times(f, number, parts * self.lanes)
        return [
            f.element(self.staging, self.type, plus(f, first, part * self.lanes))
            for part in range(parts)
        ]

    def stage(self) -> None:
        """Bring the rows of the source into lanes."""
        if self.is_staged(self.source):
            self._tiles(self.source, self._stage_tile)

    def unstage(self) -> None:
        """Write the rows of the target from lanes."""
        if self.is_staged(self.target):
            self._tiles(self.target, self._unstage_tile)

    def _tiles(self, place: ElementPlace, run: Callable[[Sequence[V], V, V | None], None]) -> None:
        f, lanes = self.f, self.lanes
        assert place.varying is not None
        size = place.array.shape[self.axis]
        assert not isinstance(size, V)
        count = int(size) * _parts(place)
        starts = [start * _parts(place) for start in rows.lanes_of(f, place.varying)]
        starts = [f.element(place.array.pointer, self.type, start) for start in starts]
        whole = count // lanes * lanes
        with f.range(0, whole, lanes) as first:
            run(starts, first, None)
        if whole != count:
            mask = f.lanes_const([lane < count - whole for lane in range(lanes)], I1)
            run(starts, f.const(whole, I64), mask)

    def _stage_tile(self, starts: Sequence[V], first: V, mask: V | None) -> None:
        f, dtype = self.f, self.source.array.dtype.real
        address = Address(first, 1)
        held = [memory.load(f, start, dtype, address, self.lanes, mask) for start in starts]
        vectors = [value for value in held if isinstance(value, V)]
        for lane, value in enumerate(rows.transposed(f, vectors)):
            f.store(value, f.element(self.staging, self.type, (first + lane) * self.lanes))

    def _unstage_tile(self, starts: Sequence[V], first: V, mask: V | None) -> None:
        f, kind = self.f, self.type.with_lanes(self.lanes)
        held = [
            f.load(f.element(self.staging, self.type, (first + lane) * self.lanes), kind)
            for lane in range(self.lanes)
        ]
        for start, value in zip(starts, rows.transposed(f, held), strict=True):
            memory.store(f, start, value, Address(first, 1), self.lanes, mask)


def _parts(place: ElementPlace) -> int:
    return 2 if place.array.dtype.is_complex else 1


class Row(Access):
    """One row. Roots are in a table, real and imaginary ones apart, or `split`, to be multiplied by
    those of the lanes.
    """

    def __init__(
        self,
        f: Function,
        type: Type,
        axis: int,
        places: Sequence[ElementPlace],
        planes: Planes,
        lanes: int,
        roots: Planes | None,
        split: SplitRoots | None,
    ) -> None:
        super().__init__(f, type, axis, places, planes)
        self.lanes = lanes
        self.roots = roots
        self.split = split

    def address(self, place: ElementPlace, number: Operand, step: int) -> Address:
        stride = self.stride(place)
        position = plus(self.f, place.start, times(self.f, number, stride))
        return Address(position, times(self.f, stride, step))

    def at(self, number: Operand) -> V:
        return self.f.const(number, I64)

    def root(self, number: V, lanes: int) -> Complex:
        f, kind = self.f, self.type.with_lanes(lanes)
        assert self.roots is not None
        if self.split is None:
            return self.roots.load(f, kind, number)
        one = [part.to(self.type) for part in self.split.root(f, number)]
        if not lanes:
            return one[0], one[1]
        real, imaginary = (f.splat(part, lanes) for part in one)
        return multiply((real, imaginary), self.roots.load(f, kind, 0))

    def loop(self, begin: Operand, end: Operand, step: Callable[[V, int], None]) -> None:
        rows.vector_range(self.f, end, self.lanes, step, begin)

    # Neighbours are read and written as whole vectors in either direction.

    def load(self, number: Operand, lanes: int, step: int = 1) -> Element:
        if step != -1 or not lanes or self.stride(self.source) != 1:
            return super().load(number, lanes, step)
        found = super().load(sizes.minus(self.f, number, lanes - 1), lanes)
        parts = found if isinstance(found, tuple) else (found,)
        turned = [reversed_lanes(self.f, part) for part in parts]
        return (turned[0], turned[1]) if len(turned) == 2 else turned[0]

    def read_pair(self, number: V, lanes: int) -> Complex:
        if self.stride(self.source) != 1:
            return super().read_pair(number, lanes)
        pointer, dtype = self.pairs(self.source)
        found = memory.load(self.f, pointer, dtype, Address(number, 1), lanes, self.mask)
        assert isinstance(found, tuple)
        return found

    def write_pair(self, number: V, value: Complex, lanes: int) -> None:
        if self.stride(self.target) != 1:
            super().write_pair(number, value, lanes)
            return
        pointer, _ = self.pairs(self.target)
        memory.store(self.f, pointer, value, Address(number, 1), lanes, self.mask)

    def pairs(self, place: ElementPlace) -> tuple[V, DType]:
        """A real row whose elements are side by side as a complex one."""
        dtype = dtypes.c128 if self.type.bits == 64 else dtypes.c64
        return place.array.at(self.f, place.start), dtype

    def held(self, number: Operand, lanes: int, backwards: bool = False) -> Complex:
        if not backwards or not lanes:
            return super().held(number, lanes)
        real, imaginary = super().held(sizes.minus(self.f, number, lanes - 1), lanes)
        return reversed_lanes(self.f, real), reversed_lanes(self.f, imaginary)

    def hold(self, number: Operand, value: Complex, backwards: bool = False) -> None:
        lanes = value[0].type.lanes
        if backwards and lanes:
            number = sizes.minus(self.f, number, lanes - 1)
            value = reversed_lanes(self.f, value[0]), reversed_lanes(self.f, value[1])
        super().hold(number, value)


def reversed_lanes(f: Function, x: V) -> V:
    """The lanes of a vector from the last to the first."""
    return f.shuffle(x, x, list(reversed(range(x.type.lanes))))
