"""Random graphs whose results are the same on every backend, bit by bit.

All floats hold whole numbers, and a bound on the magnitude is kept for every value: nothing is ever
rounded, so the order of a sum, a fused multiplication or another algorithm cannot show. What would
grow beyond what its dtype holds exactly is brought back into range first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from tests.compiler.ir.making import ops
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import BY_NAME, DType, bool_, f64, i64
from weft.compiler.ir.graph import Constant, Graph, Value
from weft.compiler.ir.types import ArrayType, Shape

Array = np.ndarray[Any, Any]
USUAL = ("f32", "f64", "i32", "i64", "bool", "u8", "f16", "c64")
UNUSUAL = ("bf16", "i8", "i16", "u16", "u32", "u64", "c128")
DTYPES = [BY_NAME[name] for name in (*USUAL * 3, *UNUSUAL)]
# Up to where a dtype holds all whole numbers.
EXACT = {"bf16": 2.0**8, "f16": 2.0**11, "f32": 2.0**24, "f64": 2.0**53}
EXACT |= {"c64": EXACT["f32"], "c128": EXACT["f64"]}
SIZES = (0, 1, 1, 2, 3, 5, 15, 16, 17, 31, 33, 63, 65, 129)
SMALL = 8
LARGE_SIZES = (1, 3, 17, 300, 1000, 4097)
MOST_ELEMENTS = 6000
MOST_OF_LARGE = 300_000
MOST_RANK = 4


class Program:
    """Values so far, the bounds of their magnitudes, and what can be done with them next."""

    def __init__(
        self, random: Random, depth: int, n: int, special: bool, most: int = MOST_ELEMENTS
    ) -> None:
        self.random = random
        self.depth = depth
        self.n = n  # the value of the symbolic size of that name
        self.special = special  # whether floats may be infinite or NaN
        self.most = most  # elements of a value
        self.values: list[Value] = []
        self.bounds: dict[Value, float] = {}

    # --- what there is ---

    def pick(self, accepts: Callable[[Value], bool] = lambda value: True) -> Value | None:
        found = [value for value in self.values if accepts(value)]
        # Half of the time one of the latest, so that graphs become deep.
        return self.random.choice(found[-5:] if self.chance(0.5) else found) if found else None

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def bound(self, value: Value) -> float:
        if isinstance(value, Constant):
            return float(np.abs(value.array).max(initial=0))
        return self.bounds.get(value, math.inf)

    def size(self, size: Size) -> int:
        """What a size will be when the graph runs."""
        return dims.evaluate(size, {"n": self.n}) if isinstance(size, Dim) else int(size)

    def elements(self, shape: Sequence[Size]) -> int:
        return math.prod(self.size(size) for size in shape)

    def fits(self, shape: Sequence[Size]) -> bool:
        return len(shape) <= MOST_RANK and self.elements(shape) <= self.most

    def of_type(self, type: ArrayType, new: float = 0.2) -> Value:
        """A value of a type; something simple if there is none."""
        found = self.pick(lambda value: value.type == type)
        return self.simple(type) if found is None or self.chance(new) else found

    def simple(self, type: ArrayType) -> Value:
        """A number everywhere, or a count along an axis, or a constant array."""
        if type.rank and not type.dtype.is_complex and self.chance(0.3):
            axis = self.random.randrange(type.rank)
            # A count in a narrow dtype wraps, so it goes through a wide one.
            count = ops.iota(dtype="i64", shape=type.shape, axis=axis)
            return self.note(self.convert(self.fit(self.note(count, math.inf)), type.dtype))
        number = self.number(type.dtype)
        if not type.rank:
            return number
        if all(isinstance(size, int) for size in type.shape) and self.chance(0.3):
            random = np.random.default_rng(self.random.randrange(100))
            shape = tuple(int(size) for size in type.shape)
            return Constant(random_array(random, type.dtype, shape))
        return self.note(ops.broadcast(number, shape=type.shape, dims=()), self.bound(number))

    def number(self, dtype: DType) -> Constant:
        few = [0, 1, 2, -1, -3, 5] if dtype.is_signed else [0, 1, 2, 3]
        return Constant(np.array(self.random.choice(few), dtype.numpy))

    # --- what is made ---

    def note(self, value: Value, bound: float | None = None) -> Value:
        """Remember a bound."""
        if value.type.dtype.is_bool:
            bound = 1
        if bound is not None:
            self.bounds[value] = min(bound, self.bounds.get(value, math.inf))
        return value

    def fit(self, x: Value, most: int = SMALL) -> Value:
        """The value with a magnitude of at most `most`: itself, clipped, or a remainder."""
        dtype = x.type.dtype
        if self.bound(x) <= most:
            return x
        if dtype.is_complex:
            parts = [self.fit(self.note(part(x))) for part in (ops.real, ops.imag)]
            return self.note(ops.complex_(*parts), 2 * SMALL)
        may_be_infinite = self.bound(x) == math.inf  # of which the remainder is no number
        if dtype.is_float and (may_be_infinite or self.chance(0.5)):
            low, high = [Constant(np.array(sign * most, dtype.numpy)) for sign in (-1, 1)]
            return self.note(ops.clamp(low, x, high), most)
        return self.note(ops.remainder(x, Constant(np.array(most, dtype.numpy))), most)

    def exact(self, x: Value, dtype: DType | None = None) -> Value:
        """The value, brought into range if its dtype does not hold such magnitudes exactly."""
        most = EXACT.get((dtype or x.type.dtype).name, math.inf)
        return self.fit(x) if self.bound(x) > most else x

    def convert(self, x: Value, dtype: DType) -> Value:
        """A cast that is exact."""
        given = x.type.dtype
        if dtype.is_bool or given is dtype:
            return self.note(ops.cast(x, dtype=dtype), 1)
        inexact = dtype.name in EXACT or given.name in EXACT
        if not inexact:
            return self.note(ops.cast(x, dtype=dtype), math.inf)
        x = self.fit(x, SMALL if given.is_integer else 100)
        if given.is_complex and not dtype.is_complex:
            x = self.note(ops.real(x), self.bound(x))
        if not dtype.is_signed:
            x = self.note(ops.abs_(x), self.bound(x))
        return self.note(ops.cast(x, dtype=dtype), self.bound(x))

    def grow(self, steps: int, kinds: Sequence[Step]) -> None:
        for _ in range(steps):
            for made in self.random.choice(kinds)(self):
                if self.fits(made.type.shape):
                    self.note(made)
                    self.values.append(self.exact(made))


Step = Callable[[Program], Sequence[Value]]


def is_number(value: Value) -> bool:
    return not value.type.dtype.is_bool


def is_real(value: Value) -> bool:
    return not value.type.dtype.is_bool and not value.type.dtype.is_complex


def is_integer(value: Value) -> bool:
    return value.type.dtype.is_integer


def is_ordered(value: Value) -> bool:
    return not value.type.dtype.is_complex


def has_rank(value: Value) -> bool:
    return value.type.rank > 0


# --- elementwise --------------------------------------------------------------------------------


def unary(program: Program) -> Sequence[Value]:
    x = program.pick()
    if x is None:
        return []
    dtype, bound = x.type.dtype, program.bound(x)
    names = ["stop_gradient", "fence"]
    if dtype.is_bool:
        names += ["not"] * 4
    elif dtype.is_complex:
        names += ["neg", "conj", "real", "imag"]
    elif dtype.is_float:
        names += ["neg", "abs", "sign", "floor", "ceil", "trunc", "round", "is_nan", "is_finite"]
    else:
        names += ["neg", "abs", "sign", "not", "population_count"]
        bound = math.inf
    name = program.random.choice(names)
    if name == "fence":
        return [program.note(ops.fence(x, fuse=program.chance(0.5)), bound)]
    return [program.note(getattr(ops, name)(x), bound)]


def binary(program: Program) -> Sequence[Value]:
    x = program.pick(is_number)
    if x is None:
        return []
    y = program.of_type(x.type)
    pair = [x, y] if program.chance(0.5) else [y, x]
    names = ["add", "sub", "mul"]
    if not x.type.dtype.is_complex:
        names += ["maximum", "minimum"]
    name = program.random.choice(names)
    made = getattr(ops, name)
    if not is_integer(x):
        if name == "mul":
            pair = [program.fit(item, 32) for item in pair]
        grown = {"mul": 2 * math.prod(map(program.bound, pair))}
        return [program.note(made(*pair), grown.get(name, sum(map(program.bound, pair))))]
    return [made(*pair)]


def division(program: Program) -> Sequence[Value]:
    x = program.pick(is_real)
    if x is None:
        return []
    op = program.random.choice([ops.floor_divide, ops.remainder, ops.fmod])
    if is_integer(x):
        return [op(x, program.of_type(x.type))]
    divisor = Constant(np.array(program.random.choice([1, 2, 3, -4]), x.type.dtype.numpy))
    return [program.note(op(program.fit(x, 100), divisor), 101)]


def bits(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: is_integer(value) or value.type.dtype.is_bool)
    if x is None:
        return []
    names = ["and", "or", "xor"] + ["shift_left", "shift_right"] * is_integer(x)
    return [getattr(ops, program.random.choice(names))(x, program.of_type(x.type))]


def comparison(program: Program) -> Sequence[Value]:
    x = program.pick(is_number)
    if x is None:
        return []
    names = ["eq", "ne"] + ["lt", "le", "gt", "ge"] * is_ordered(x)
    return [getattr(ops, program.random.choice(names))(x, program.of_type(x.type))]


def choice(program: Program) -> Sequence[Value]:
    x = program.pick()
    if x is None:
        return []
    y = program.of_type(x.type)
    pred = program.of_type(ArrayType(bool_, x.type.shape), new=0)
    bound = max(program.bound(x), program.bound(y))
    return [program.note(ops.select(pred, x, y), bound)]


def clamp(program: Program) -> Sequence[Value]:
    x = program.pick(is_real)
    if x is None:
        return []
    low, high = program.of_type(x.type), program.of_type(x.type)
    bound = max(program.bound(item) for item in (low, x, high))
    return [program.note(ops.clamp(low, x, high), bound)]


def root(program: Program) -> Sequence[Value]:
    """The square root of squares is exact."""
    x = program.pick(lambda value: value.type.dtype.is_float)
    if x is None:
        return []
    x = program.fit(x)
    return [program.note(ops.sqrt(ops.mul(x, x)), SMALL)]


def cast(program: Program) -> Sequence[Value]:
    dtype = program.random.choice(DTYPES)
    x = program.pick()
    if x is None or (program.special and x.type.dtype.is_float and dtype.is_integer):
        return []
    if program.special and x.type.dtype.is_complex:
        return []
    return [program.convert(x, dtype)]


# --- views --------------------------------------------------------------------------------------


def view(program: Program) -> Sequence[Value]:
    x = program.pick(has_rank)
    if x is None:
        return []
    random, rank, shape = program.random, x.type.rank, x.type.shape
    makers: list[Callable[[], Value]] = [
        lambda: ops.transpose(x, permutation=random.sample(range(rank), rank)),
        lambda: ops.reverse(x, axes=random.sample(range(rank), random.randint(1, rank))),
        lambda: ops.reshape(x, shape=reshaped(program, shape)),
        lambda: sliced(program, x),
        lambda: sliced(program, x),
    ]
    return [program.note(random.choice(makers)(), program.bound(x))]


def reshaped(program: Program, shape: Shape) -> list[Size]:
    """Another shape with as many elements: merged axes, split ones, ones of size 1."""
    made = list(shape)
    axis = program.random.randrange(len(made))
    kind = program.random.randrange(4)
    size = made[axis]
    if kind == 0:
        return [dims.product(made)]
    if kind == 1 and axis:
        made[axis - 1 : axis + 1] = [made[axis - 1] * size]
    elif kind == 2 and isinstance(size, int):
        divisors = [d for d in (2, 3, 5, 13, 16, 1) if size and size % d == 0]
        if divisors:
            made[axis : axis + 1] = [divisors[0], size // divisors[0]]
    else:
        made.insert(axis, 1)
    return made


def sliced(program: Program, x: Value) -> Value:
    starts: list[Size] = []
    limits: list[Size] = []
    for size in x.type.shape:
        least = dims.lower(size) or 0
        start = program.random.randint(0, min(least, 3))
        starts.append(start)
        limits.append(size - program.random.randint(0, min(least - start, 3)))
    strides = [program.random.choice([1, 1, 2, 3]) for _ in starts]
    return ops.slice_(x, starts=starts, limits=limits, strides=strides)


def broadcast(program: Program) -> Sequence[Value]:
    """New axes, in front, behind or in between; axes of size 1 stretched."""
    x = program.pick()
    if x is None:
        return []
    wanted = program.pick(lambda value: value.type.rank > x.type.rank)
    new = program.random.choice([2, 3, 5]) if wanted is None else wanted.type.shape[-1]
    shape = list(x.type.shape)
    at = program.random.randint(0, len(shape))
    shape.insert(at, new)
    kept = [axis for axis in range(len(shape)) if axis != at]
    for axis in kept:
        if shape[axis] == 1 and program.chance(0.5):
            shape[axis] = program.random.choice([2, 17])
    if not program.fits(shape):
        return []
    return [program.note(ops.broadcast(x, shape=shape, dims=kept), program.bound(x))]


def like(program: Program) -> Sequence[Value]:
    """A row, column or number stretched to the shape of another value, and combined with it."""
    y = program.pick(lambda value: has_rank(value) and is_number(value))
    if y is None:
        return []
    axes = [axis for axis in range(y.type.rank) if program.chance(0.5)]
    part = ArrayType(y.type.dtype, [y.type.shape[axis] for axis in axes])
    x = program.of_type(part)
    wide = ops.broadcast(x, shape=y.type.shape, dims=axes)
    return [program.note(ops.add(wide, y), program.bound(x) + program.bound(y))]


def pad(program: Program) -> Sequence[Value]:
    x = program.pick(has_rank)
    if x is None:
        return []
    random, number = program.random, program.number(x.type.dtype)
    low, high, interior = [], [], []
    for size in x.type.shape:
        room = 1 if (dims.lower(size) or 0) >= 2 else 0
        low.append(random.randint(-room, 3))
        high.append(random.randint(-room, 3))
        interior.append(random.choice([0, 0, 0, 1, 2]))
    made = ops.pad(x, number, low=low, high=high, interior=interior)
    return [program.note(made, max(program.bound(x), program.bound(number)))]


def concatenate(program: Program) -> Sequence[Value]:
    x = program.pick(has_rank)
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)

    def rest(value: Value) -> Shape:
        return (*value.type.shape[:axis], *value.type.shape[axis + 1 :])

    def joins(value: Value) -> bool:
        same = value.type.dtype is x.type.dtype and value.type.rank == x.type.rank
        return same and rest(value) == rest(x)

    parts = [x, *[program.pick(joins) or x for _ in range(program.random.randint(0, 4))]]
    return [program.note(ops.concatenate(*parts, axis=axis), max(map(program.bound, parts)))]


def start(program: Program) -> Value:
    """A number that may lie outside of an axis."""
    found = program.pick(lambda value: is_integer(value) and not value.type.rank)
    return Constant(np.int64(program.random.randint(-2, 20))) if found is None else found


def window(program: Program) -> Sequence[Value]:
    """A piece at a place that only the run tells, read or replaced."""
    x = program.pick(has_rank)
    if x is None:
        return []
    sizes = [program.random.randint(0, min(dims.lower(size) or 0, 17)) for size in x.type.shape]
    first = start(program)
    starts = [Constant(np.array(1, first.type.dtype.numpy)) for _ in sizes]
    starts[program.random.randrange(len(starts))] = first  # type: ignore[call-overload]
    if program.chance(0.5):
        return [program.note(ops.dynamic_slice(x, *starts, sizes=sizes), program.bound(x))]
    piece = program.of_type(ArrayType(x.type.dtype, sizes))
    made = ops.dynamic_update_slice(x, piece, *starts)
    return [program.note(made, max(program.bound(x), program.bound(piece)))]


def counted(program: Program) -> Sequence[Value]:
    x = program.pick(has_rank)
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)
    return [program.note(ops.iota(dtype="i64", shape=x.type.shape, axis=axis), MOST_ELEMENTS)]


SIMPLE: list[Step] = [
    *[unary, binary, binary, binary, choice, cast, comparison] * 2,
    *[division, bits, clamp, root],
    *[view, view, view, broadcast, like, like, pad, concatenate, window, counted],
]


# --- whole graphs -------------------------------------------------------------------------------


def random_array(random: np.random.Generator, dtype: DType, shape: Sequence[int]) -> Array:
    """Small whole numbers of a dtype."""
    if dtype.is_bool:
        return random.random(shape) < 0.5
    low = -4 if dtype.is_signed else 0
    made = np.asarray(random.integers(low, 5, shape)).astype(dtype.numpy)
    if dtype.is_complex:
        made = made + 1j * random.integers(-4, 5, shape)
    return np.asarray(made, dtype.numpy)


def random_shapes(random: Random, n: Dim | None, known: Sequence[int]) -> list[Shape]:
    """Shapes that share sizes, so that values fit together."""
    sizes: list[Size] = [random.choice(known) for _ in range(3)]
    if n is not None:
        sizes[0] = n
    a, b, c = sizes
    return [(), (a,), (b,), (a, b), (b, a), (b, 1), (min(3, c) if isinstance(c, int) else 3, a, b)]


def random_graph(
    random: Random,
    steps: int,
    kinds: Sequence[Step],
    n: int | None,
    *,
    special: bool = False,
    large: bool = False,
) -> Graph:
    """A valid graph; with `n`, a symbol of that name is among its sizes, to run at that value."""
    builder = Builder()
    symbol = None if n is None else dims.symbol("n", lower=min(n, 1))
    program = Program(random, 2, n or 0, special, MOST_OF_LARGE if large else MOST_ELEMENTS)
    shapes = random_shapes(random, symbol, LARGE_SIZES if large else SIZES)
    shapes = [shape for shape in shapes if program.fits(shape)]
    usual = random.choice([f64, BY_NAME["f32"], i64, BY_NAME["f16"]])
    for number in range(random.randint(2, 6)):
        dtype = usual if random.random() < 0.6 else random.choice(DTYPES)
        shape = shapes[1] if not number else random.choice(shapes)
        value = builder.parameter(ArrayType(dtype, shape), f"x{number}")
        program.values.append(program.note(value, SMALL))
    with builder.active():
        program.grow(steps, kinds)
    results = [random.choice(program.values) for _ in range(random.randint(1, 4))]
    return builder.graph("random", [*results, *program.values[-2:]])
