"""Elements from and to memory at positions that vary along lanes: whole vectors where neighbours
are wanted, one element where all lanes want the same, lane by lane otherwise.
"""

from __future__ import annotations

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Element, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I8, I16, I32, I64, PTR, VOID, Type, of_dtype
from weft.compiler.record import record


@record
class Address:
    """A position, in elements: `base` for lane 0, `step` more for each further lane, and a part
    that varies freely.
    """

    base: Operand
    step: Operand = 0
    varying: V | None = None

    @property
    def is_uniform(self) -> bool:
        return self.varying is None and not isinstance(self.step, V) and self.step == 0

    @property
    def is_contiguous(self) -> bool:
        return self.varying is None and not isinstance(self.step, V) and self.step == 1


def iota(f: Function, lanes: int, type: Type = I64) -> V:
    """0, 1, 2, ... in lanes."""
    return f.lanes_const(list(range(lanes)), type)


def positions(f: Function, address: Address, lanes: int) -> V:
    """The position of each lane, as i64."""
    found = f.splat(f.const(address.base, I64), lanes)
    if isinstance(address.step, V):
        found = found + f.splat(address.step, lanes) * iota(f, lanes)
    elif address.step:
        found = found + f.lanes_const([address.step * i for i in range(lanes)], I64)
    if address.varying is not None:
        found = found + address.varying
    return found


def every(f: Function, lanes: int) -> V:
    """A mask of all lanes."""
    return f.const(True, I1.with_lanes(lanes))


def both(f: Function, x: V | None, y: V | None) -> V | None:
    """The conjunction of two masks, either of which may be absent or uniform."""
    if x is None or y is None:
        return x or y
    lanes = max(x.type.lanes, y.type.lanes)
    return f.splat(x, lanes) & f.splat(y, lanes)


def load(
    f: Function, pointer: V, dtype: DType, address: Address, lanes: int, mask: V | None
) -> Element:
    """An element, or one per lane; lanes that the mask leaves out read as zero. A uniform mask may
    be a single bool.
    """
    if dtype.is_complex:
        return _load_complex(f, pointer, dtype, address, lanes, mask)
    type = of_dtype(dtype)
    if not lanes or address.is_uniform and (mask is None or not mask.type.lanes):
        return _load_one(f, pointer, type, address.base, mask)
    if address.is_uniform or not address.is_contiguous:
        return _gather(f, pointer, type, address, lanes, mask)
    return load_lanes(f, f.element(pointer, type, address.base), type.with_lanes(lanes), mask)


def _load_one(f: Function, pointer: V, type: Type, position: Operand, mask: V | None) -> V:
    at = f.element(pointer, type, position)
    if mask is not None:
        # A place that does not exist is not touched: zeros lie in the module.
        f.module.zeros()
        at = f.select(mask, at, V(f, "@weft.zeros", PTR))
    return f.load(at, type)


def load_lanes(f: Function, at: V, type: Type, mask: V | None) -> V:
    """A vector of consecutive elements; those that the mask leaves out are zero."""
    if mask is None:
        return f.load(at, type)
    if _is_half(type):
        return load_lanes(f, at, I16.with_lanes(type.lanes), mask).bits(type)
    held = I8.with_lanes(type.lanes) if type.is_bool else type
    mask = f.splat(mask, type.lanes)
    align = f.const(held.itemsize, I32)
    name = f"llvm.masked.load.{held.suffix}.p0"
    found = f.call(name, held, [at, align, mask, f.const(0, held)], immediate=(1,))
    return found.ne(0) if type.is_bool else found


def prefetch(f: Function, at: V) -> None:
    """Ask for what lies at an address, which need not exist, to be read soon and often."""
    to_read, often, data = [f.const(number, I32) for number in (0, 3, 1)]
    f.call("llvm.prefetch.p0", VOID, [at, to_read, often, data], immediate=(1, 2, 3))


def _gather(f: Function, pointer: V, type: Type, address: Address, lanes: int, mask: V | None) -> V:
    if _is_half(type):
        return _gather(f, pointer, I16, address, lanes, mask).bits(type)
    held = I8 if type.is_bool else type
    mask = f.splat(mask, lanes) if mask is not None else every(f, lanes)
    places = positions(f, address, lanes)
    pointers = f.instruction(
        f"getelementptr inbounds {held.text}, ptr {pointer.ref}, {places.type.text} {places.ref}",
        PTR.with_lanes(lanes),
    )
    vector = held.with_lanes(lanes)
    name = f"llvm.masked.gather.{vector.suffix}.{pointers.type.suffix}"
    align = f.const(held.itemsize, I32)
    found = f.call(name, vector, [pointers, align, mask, f.const(0, vector)], immediate=(1,))
    return found.ne(0) if type.is_bool else found


def _parts(address: Address, f: Function) -> tuple[Address, Address]:
    """The positions of the real and imaginary parts, counted in parts."""
    base = times(f, f.const(address.base, I64), 2)
    step = times(f, address.step, 2)
    varying = None if address.varying is None else address.varying * 2
    return Address(base, step, varying), Address(f.add(f.const(base, I64), 1), step, varying)


def _load_complex(
    f: Function, pointer: V, dtype: DType, address: Address, lanes: int, mask: V | None
) -> Element:
    real = dtype.real
    if lanes and address.is_contiguous:
        type = of_dtype(dtype)
        at = f.element(pointer, type, times(f, f.const(address.base, I64), 2))
        wide = None if mask is None else _doubled(f, f.splat(mask, lanes))
        both_parts = load_lanes(f, at, type.with_lanes(2 * lanes), wide)
        evens, odds = list(range(0, 2 * lanes, 2)), list(range(1, 2 * lanes, 2))
        return f.shuffle(both_parts, both_parts, evens), f.shuffle(both_parts, both_parts, odds)
    first, second = _parts(address, f)
    x = load(f, pointer, real, first, lanes, mask)
    y = load(f, pointer, real, second, lanes, mask)
    assert isinstance(x, V) and isinstance(y, V)
    return x, y


def _doubled(f: Function, mask: V) -> V:
    return f.shuffle(mask, mask, [lane // 2 for lane in range(2 * mask.type.lanes)])


def store(
    f: Function, pointer: V, value: Element, address: Address, lanes: int, mask: V | None
) -> None:
    """Write an element, or one per lane, where the mask holds."""
    if isinstance(value, tuple):
        _store_complex(f, pointer, value, address, lanes, mask)
        return
    type = value.type.element
    if not lanes:
        at = f.element(pointer, type, address.base)
        if mask is None:
            f.store(value, at)
        else:
            with f.when(mask):
                f.store(value, at)
        return
    value = f.splat(value, lanes)
    if address.is_contiguous:
        _store_lanes(f, f.element(pointer, type, address.base), value, mask)
    else:
        _scatter(f, pointer, value, address, mask)


def _is_half(type: Type) -> bool:
    """Whether lanes of a type are moved as integers: LLVM would take halves apart through f32."""
    return type.is_float and type.bits == 16


def _as_bytes(f: Function, value: V) -> V:
    if _is_half(value.type):
        return value.bits(I16)
    return value.to(I8) if value.type.is_bool else value


def _store_lanes(f: Function, at: V, value: V, mask: V | None) -> None:
    if mask is None:
        f.store(value, at)
        return
    value = _as_bytes(f, value)
    mask = f.splat(mask, value.type.lanes)
    align = f.const(value.type.itemsize, I32)
    f.call(
        f"llvm.masked.store.{value.type.suffix}.p0", VOID, [value, at, align, mask], immediate=(2,)
    )


def _scatter(f: Function, pointer: V, value: V, address: Address, mask: V | None) -> None:
    value = _as_bytes(f, value)
    lanes = value.type.lanes
    mask = f.splat(mask, lanes) if mask is not None else every(f, lanes)
    places = positions(f, address, lanes)
    text = value.type.element.text
    pointers = f.instruction(
        f"getelementptr inbounds {text}, ptr {pointer.ref}, {places.type.text} {places.ref}",
        PTR.with_lanes(lanes),
    )
    name = f"llvm.masked.scatter.{value.type.suffix}.{pointers.type.suffix}"
    align = f.const(value.type.itemsize, I32)
    f.call(name, VOID, [value, pointers, align, mask], immediate=(2,))


def _store_complex(
    f: Function,
    pointer: V,
    value: tuple[V, V],
    address: Address,
    lanes: int,
    mask: V | None,
) -> None:
    if lanes and address.is_contiguous:
        x, y = (f.splat(part, lanes) for part in value)
        order = [lane // 2 + lanes * (lane % 2) for lane in range(2 * lanes)]
        together = f.shuffle(x, y, order)
        at = f.element(pointer, x.type.element, times(f, f.const(address.base, I64), 2))
        wide = None if mask is None else _doubled(f, f.splat(mask, lanes))
        _store_lanes(f, at, together, wide)
        return
    for part, at_part in zip(value, _parts(address, f), strict=True):
        store(f, pointer, part, at_part, lanes, mask)
