"""Stages of Fourier transforms: one factor of the length at a time, on many transforms at once.

Data is planar: real and imaginary parts in arrays of their own, whose elements are vectors with a
transform in each lane. A stage reads one array and writes another in such an order that the last
result is in its right place (Stockham's way), so nothing is ever reordered. All stages are forward
transforms; exchanging real and imaginary parts makes them inverse ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, VOID, Type
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.record import record

Complex: TypeAlias = tuple[V, V]

# Prime factors beyond this are left to Bluestein's algorithm: a stage takes r * r steps.
MOST_PRIME: Final = 61


@record
class Planes:
    """Complex numbers as two arrays."""

    real: V
    imaginary: V

    def load(self, f: Function, type: Type, position: Operand) -> Complex:
        real, imaginary = (f.load(f.element(x, type, position), type) for x in self.pointers)
        return real, imaginary

    def store(self, f: Function, value: Complex, position: Operand) -> None:
        for part, pointer in zip(value, self.pointers, strict=True):
            f.store(part, f.element(pointer, part.type, position))

    @property
    def pointers(self) -> tuple[V, V]:
        return self.real, self.imaginary

    @property
    def turned(self) -> Planes:
        """Real and imaginary parts exchanged."""
        return Planes(self.imaginary, self.real)


def factors(length: int) -> list[int]:
    """The radices of the stages of a transform, as few as can be; beyond 8 they are primes."""
    twos = (length & -length).bit_length() - 1
    length >>= twos
    eights = (twos - 4) // 3 if twos % 3 == 1 and twos > 1 else twos // 3
    rest = twos - 3 * eights
    found = [8] * eights + [4] * (rest // 2) + [2] * (rest % 2)
    radix = 3
    while length > 1:
        if radix * radix > length:
            radix = length
        while length % radix == 0:
            found.append(radix)
            length //= radix
        radix += 2
    return found


# --- complex arithmetic -------------------------------------------------------------------------


def add(x: Complex, y: Complex) -> Complex:
    return x[0] + y[0], x[1] + y[1]


def subtract(x: Complex, y: Complex) -> Complex:
    return x[0] - y[0], x[1] - y[1]


def multiply(x: Complex, y: Complex) -> Complex:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def scale(x: Complex, factor: float | V) -> Complex:
    return x[0] * factor, x[1] * factor


def conjugate(x: Complex) -> Complex:
    return x[0], -x[1]


def times_minus_i(x: Complex) -> Complex:
    return x[1], -x[0]


# --- butterflies --------------------------------------------------------------------------------


def _two(x: Sequence[Complex]) -> list[Complex]:
    return [add(x[0], x[1]), subtract(x[0], x[1])]


def _three(x: Sequence[Complex]) -> list[Complex]:
    both = add(x[1], x[2])
    middle = add(x[0], scale(both, -0.5))
    turned = times_minus_i(scale(subtract(x[1], x[2]), math.sqrt(0.75)))
    return [add(x[0], both), add(middle, turned), subtract(middle, turned)]


def _four(x: Sequence[Complex]) -> list[Complex]:
    even, odd = _two([x[0], x[2]]), _two([x[1], x[3]])
    turned = times_minus_i(odd[1])
    return [
        add(even[0], odd[0]),
        add(even[1], turned),
        subtract(even[0], odd[0]),
        subtract(even[1], turned),
    ]


def _five(x: Sequence[Complex]) -> list[Complex]:
    c1, c2 = (math.cos(2 * math.pi * k / 5) for k in (1, 2))
    s1, s2 = (math.sin(2 * math.pi * k / 5) for k in (1, 2))
    sums = add(x[1], x[4]), add(x[2], x[3])
    differences = subtract(x[1], x[4]), subtract(x[2], x[3])
    first = add(x[0], add(scale(sums[0], c1), scale(sums[1], c2)))
    second = add(x[0], add(scale(sums[0], c2), scale(sums[1], c1)))
    turned = times_minus_i(add(scale(differences[0], s1), scale(differences[1], s2)))
    other = times_minus_i(subtract(scale(differences[0], s2), scale(differences[1], s1)))
    return [
        add(x[0], add(sums[0], sums[1])),
        add(first, turned),
        add(second, other),
        subtract(second, other),
        subtract(first, turned),
    ]


def _eight(x: Sequence[Complex]) -> list[Complex]:
    even, odd = _four(x[::2]), _four(x[1::2])
    half = math.sqrt(0.5)
    (a, b), (c, d) = odd[1], odd[3]
    turned = [
        odd[0],
        ((a + b) * half, (b - a) * half),
        times_minus_i(odd[2]),
        ((d - c) * half, (c + d) * -half),
    ]
    pairs = list(zip(even, turned, strict=True))
    return [*[add(a, b) for a, b in pairs], *[subtract(a, b) for a, b in pairs]]


_BUTTERFLIES: Final[dict[int, Callable[[Sequence[Complex]], list[Complex]]]] = {
    2: _two,
    3: _three,
    4: _four,
    5: _five,
    8: _eight,
}


RADICES: Final = tuple(_BUTTERFLIES)


# --- stages -------------------------------------------------------------------------------------


@record
class FourierStage:
    """Where a stage stands: `radix * rest` remain to be transformed, `done` is the product of the
    radices before. Elements of the source are `stride` numbers apart, vectors done together follow
    each other. `roots` are those of the whole length.
    """

    radix: Operand
    rest: Operand
    done: Operand
    stride: Operand
    roots: V


def emit_stage(
    f: Function, type: Type, source: Planes, target: Planes, stage: FourierStage
) -> None:
    """Write y[q + done * (radix * p + k)], the sums over j of x[q + done * (p + rest * j)] times
    the roots of unity of jk / radix and of pk / (radix * rest), for all p, q, and k.
    """
    fixed = not isinstance(stage.radix, V) and stage.radix in _BUTTERFLIES
    name = f"fft.stage.{stage.radix if fixed else 'prime'}.{type.suffix}"
    numbers = [f.const(x, I64) for x in (stage.radix, stage.rest, stage.done, stage.stride)]
    given = [*source.pointers, *target.pointers, stage.roots, *numbers]
    parameters = [(f"x{i}", value.type) for i, value in enumerate(given)]
    radix = int(stage.radix) if fixed and not isinstance(stage.radix, V) else 0

    def build(g: Function) -> None:
        _build_fixed(g, type, radix) if fixed else _build_prime(g, type)

    rows.shared(f.module, name, VOID, parameters, build, attributes="noinline")
    f.call(name, VOID, given)


def _build_fixed(f: Function, type: Type, radix: int) -> None:
    *pointers, roots, _, rest, done, stride = f.arguments
    source, target = Planes(*pointers[:2]), Planes(*pointers[2:])
    lanes = type.lanes

    def butterflies(p: V, twiddles: Sequence[Complex]) -> None:
        with f.range(0, done * lanes, lanes) as q:
            given = [source.load(f, type, (p + rest * j) * stride + q) for j in range(radix)]
            made = _BUTTERFLIES[radix](given)
            for k, value in enumerate(made):
                turned = multiply(value, twiddles[k - 1]) if k and twiddles else value
                target.store(f, turned, (p * radix + k) * (done * lanes) + q)

    # The first root is 1: not multiplying saves time, and keeps infinities what they are.
    butterflies(f.const(0, I64), [])
    with f.range(1, rest) as p:
        butterflies(p, [root_in_lanes(f, type, roots, p * k * done) for k in range(1, radix)])
    f.ret()


def root_in_lanes(f: Function, type: Type, roots: V, number: V) -> Complex:
    """A root of unity in all lanes."""
    address = f.element(roots, type, number * 2)
    parts = [f.load(f.element(address, type, part), type.element) for part in range(2)]
    return f.splat(parts[0], type.lanes), f.splat(parts[1], type.lanes)


def _build_prime(f: Function, type: Type) -> None:
    *pointers, roots, radix, rest, done, stride = f.arguments
    prime = _Prime(f, type, pointers, roots, radix, rest, done, stride)
    prime.run(f.const(0, I64), is_first=True)
    with f.range(1, rest) as p:
        prime.run(p, is_first=False)
    f.ret()


class _Prime:
    """A stage of any odd radix. x[j] and x[radix - j] meet conjugate roots, so that their sum is
    multiplied by cosines and their difference by sines alone.
    """

    def __init__(
        self,
        f: Function,
        type: Type,
        pointers: Sequence[V],
        roots: V,
        radix: V,
        rest: V,
        done: V,
        stride: V,
    ) -> None:
        self.f = f
        self.type = type
        self.source = Planes(pointers[0], pointers[1])
        self.target = Planes(pointers[2], pointers[3])
        self.roots = roots
        self.radix = radix
        self.rest = rest
        self.done = done
        self.stride = stride
        room = [f.stack(type, MOST_PRIME // 2 + 1, align=64) for _ in range(4)]
        self.sums, self.differences = Planes(room[0], room[1]), Planes(room[2], room[3])

    def run(self, p: V, is_first: bool) -> None:
        f, lanes, done = self.f, self.type.lanes, self.done
        half = self.radix >> 1
        with f.range(0, done * lanes, lanes) as q:
            first = self.load(p, q, f.const(0, I64))
            total = self.pair_up(p, q, first, half)
            self.target.store(f, total, p * self.radix * (done * lanes) + q)
            with f.range(1, half + 1) as k:
                low, high = self.sum_up(first, half, k)
                self.store(low, p, q, k, is_first)
                self.store(high, p, q, self.radix - k, is_first)

    def load(self, p: V, q: V, j: V) -> Complex:
        return self.source.load(self.f, self.type, (p + self.rest * j) * self.stride + q)

    def store(self, value: Complex, p: V, q: V, k: V, is_first: bool) -> None:
        f, block = self.f, self.done * self.type.lanes
        if not is_first:
            value = multiply(value, root_in_lanes(f, self.type, self.roots, p * k * self.done))
        self.target.store(f, value, (p * self.radix + k) * block + q)

    def pair_up(self, p: V, q: V, first: Complex, half: V) -> Complex:
        """Hold sums and differences; the sum of all."""
        f = self.f
        held = [f.variable(part) for part in first]
        with f.range(1, half + 1) as j:
            x, y = self.load(p, q, j), self.load(p, q, self.radix - j)
            both = add(x, y)
            self.sums.store(f, both, j * self.type.lanes)
            self.differences.store(f, subtract(x, y), j * self.type.lanes)
            for variable, part in zip(held, both, strict=True):
                variable.set(variable.get() + part)
        return held[0].get(), held[1].get()

    def sum_up(self, first: Complex, half: V, k: V) -> tuple[Complex, Complex]:
        """The results at k and at radix - k."""
        f, type = self.f, self.type
        even = [f.variable(part) for part in first]
        odd = [f.variable(0, type) for _ in first]
        turn = f.variable(0, I64)
        with f.range(1, half + 1) as j:
            further = turn.get() + k
            turn.set(f.select(further.ge(self.radix), further - self.radix, further))
            cosine, sine = root_in_lanes(f, type, self.roots, turn.get() * (self.rest * self.done))
            both = self.sums.load(f, type, j * type.lanes)
            apart = self.differences.load(f, type, j * type.lanes)
            for variable, part in zip(even, both, strict=True):
                variable.set(variable.get() + part * cosine)
            for variable, part in zip(odd, apart, strict=True):
                variable.set(variable.get() + part * sine)
        (a, b), (c, d) = ([variable.get() for variable in held] for held in (even, odd))
        return (a - d, b + c), (a + d, b - c)
