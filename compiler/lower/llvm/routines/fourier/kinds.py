"""What Fourier transforms do to elements before and after: the four kinds of the op.

A real row of even length is taken for half as many complex numbers, even elements real and odd ones
imaginary; their transform Z and its mirror image make the spectrum of the row. Elements at the ends
of ranges, which have no mirror image, are treated alone.
"""

from __future__ import annotations

from weft.compiler.lower.llvm.emit.arrays import plus
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64
from weft.compiler.lower.llvm.routines.common import sizes
from weft.compiler.lower.llvm.routines.fourier.access import Access
from weft.compiler.lower.llvm.routines.fourier.stages import (
    Complex,
    Planes,
    add,
    conjugate,
    multiply,
    scale,
    subtract,
    times_minus_i,
)

Range = tuple[Operand, Operand]


class TransformKind:
    """How rows become planes and planes become rows: a function of single elements at the ends, and
    one of the vectors of a range. `signal` is the length of the row in time.
    """

    # Exchanging real and imaginary parts makes a transform an inverse one.
    is_inverse = False
    # Whether the transform is half as long as the signal, and needs its roots.
    is_packed = False
    # Whether all elements are read, or written, alike and by themselves: with `value` and `put`.
    has_value = True
    has_put = True

    def __init__(self, access: Access, signal: Operand) -> None:
        self.access = access
        self.f: Function = access.f
        self.signal = signal

    def load_ends(self) -> None:
        """Elements that are unlike the others."""

    def load_range(self) -> Range:
        return 0, self.signal

    def load(self, i: V, lanes: int) -> None:
        """Read elements into the planes."""
        self.access.hold(i, self.value(i, lanes))

    def value(self, i: V, lanes: int) -> Complex:
        """What belongs in the planes."""
        raise NotImplementedError

    def store_ends(self) -> None:
        """Elements that are unlike the others."""

    def store_range(self) -> Range:
        return 0, self.signal

    def store(self, i: V, lanes: int) -> None:
        """Write elements from the planes."""
        self.put(i, self.access.held(i, lanes))

    def put(self, i: V, value: Complex) -> None:
        """Write what is in the planes."""
        raise NotImplementedError

    def turned(self, value: Complex) -> Complex:
        """What belongs in the planes, for what belongs in the row or the other way round."""
        return (value[1], value[0]) if self.is_inverse else value

    def use(self, planes: Planes) -> None:
        """Read from planes and write to them."""
        self.access.planes = planes.turned if self.is_inverse else planes

    def half(self) -> Operand:
        return sizes.floor_divide(self.f, self.signal, 2)

    def factor(self, lanes: int) -> V:
        """One over the length of the signal."""
        f, type = self.f, self.access.type
        if sizes.is_known(self.signal):
            return f.const(1.0 / self.signal, type.with_lanes(lanes))
        return f.splat(f.const(1.0, type) / f.const(self.signal, I64).to(type), lanes)

    def zero(self, lanes: int) -> V:
        return self.f.const(0.0, self.access.type.with_lanes(lanes))


class ForwardTransform(TransformKind):
    """Complex to complex."""

    def value(self, i: V, lanes: int) -> Complex:
        return self.access.read(i, lanes)

    def put(self, i: V, value: Complex) -> None:
        self.access.store(i, value, value[0].type.lanes)


class Inverse(ForwardTransform):
    """Complex to complex, divided by the length."""

    is_inverse = True

    def put(self, i: V, value: Complex) -> None:
        super().put(i, scale(value, self.factor(value[0].type.lanes)))


# --- real signals -------------------------------------------------------------------------------


class Real(ForwardTransform):
    """Real to half of the spectrum, through all of it."""

    has_put = False

    def value(self, i: V, lanes: int) -> Complex:
        return self.access.read_real(i, lanes), self.zero(lanes)

    def store_range(self) -> Range:
        return 0, plus(self.f, self.half(), 1)


class PackedReal(TransformKind):
    """Real to half of the spectrum, of an even length."""

    is_packed = True
    has_put = False

    def load_range(self) -> Range:
        return 0, self.half()

    def value(self, i: V, lanes: int) -> Complex:
        return self.access.read_pair(i, lanes)

    def store_ends(self) -> None:
        access = self.access
        lanes = access.single
        real, imaginary = access.held(0, lanes)
        access.store(0, (real + imaginary, self.zero(lanes)), lanes)
        access.store(self.half(), (real - imaginary, self.zero(lanes)), lanes)

    def store_range(self) -> Range:
        return 1, self.half()

    def store(self, k: V, lanes: int) -> None:
        access = self.access
        z = access.held(k, lanes)
        mirrored = conjugate(access.held(self.f.sub(self.half(), k), lanes, backwards=True))
        even, odd = add(z, mirrored), times_minus_i(subtract(z, mirrored))
        access.store(k, scale(add(even, multiply(access.root(k, lanes), odd)), 0.5), lanes)


class InverseReal(TransformKind):
    """Half of a spectrum to real, through all of it."""

    is_inverse = True
    has_value = False

    def load_ends(self) -> None:
        """Frequency 0 and, if the length is even, the highest one are real."""
        f, access, half = self.f, self.access, self.f.const(self.half(), I64)
        lanes = access.single
        access.hold(0, (access.read(0, lanes)[0], self.zero(lanes)))
        with f.when((f.const(self.signal, I64) & 1).eq(0)):
            access.hold(half, (access.read(half, lanes)[0], self.zero(lanes)))

    def load_range(self) -> Range:
        return 1, sizes.ceil_divide(self.f, self.signal, 2)

    def load(self, k: V, lanes: int) -> None:
        value = self.access.read(k, lanes)
        self.access.hold(k, value)
        self.access.hold(self.f.sub(self.signal, k), conjugate(value), backwards=True)

    def put(self, i: V, value: Complex) -> None:
        lanes = value[0].type.lanes
        self.access.store(i, value[0] * self.factor(lanes), lanes)


class PackedInverseReal(TransformKind):
    """Half of a spectrum to real, of an even length: PackedReal undone."""

    is_inverse = True
    is_packed = True
    has_value = False

    def load_ends(self) -> None:
        access = self.access
        lanes = access.single
        first, last = access.read(0, lanes)[0], access.read(self.half(), lanes)[0]
        access.hold(0, (first + last, first - last))

    def load_range(self) -> Range:
        return 1, self.half()

    def load(self, k: V, lanes: int) -> None:
        access = self.access
        x = access.read(k, lanes)
        mirrored = conjugate(access.read(self.f.sub(self.half(), k), lanes, step=-1))
        root = conjugate(access.root(k, lanes))
        even, odd = add(x, mirrored), multiply(subtract(x, mirrored), root)
        # Times i, which is three times -i.
        access.hold(k, subtract(even, times_minus_i(odd)))

    def store_range(self) -> Range:
        return 0, self.half()

    def put(self, i: V, value: Complex) -> None:
        lanes = value[0].type.lanes
        self.access.write_pair(i, scale(value, self.factor(lanes)), lanes)


def kind_of(name: str, signal: Operand) -> type[TransformKind]:
    """The kind of a transform of the op, for signals of a length."""
    is_even = sizes.is_known(signal) and signal % 2 == 0
    match name:
        case "fft":
            return ForwardTransform
        case "ifft":
            return Inverse
        case "rfft":
            return PackedReal if is_even else Real
    return PackedInverseReal if is_even else InverseReal
