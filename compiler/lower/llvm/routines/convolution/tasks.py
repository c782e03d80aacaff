"""The division of a convolution by windows into units, which threads share.

A unit is a band of windows of an image, or of some small images, and a block of outputs. Its part
of the signal is copied into a frame, some channels at a time.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, of_dtype
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.convolution import frame as convolution_frame
from weft.compiler.lower.llvm.routines.convolution.frame import FRAME
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    AXES,
    Record,
    band_at,
    follower_of,
    product,
    tasks_wanted,
    up,
    weighted,
)
from weft.compiler.lower.llvm.routines.gemm.tiles import tile_of
from weft.compiler.record import record

_FRAME_BYTES: Final = 3 << 17  # of a frame, if it can be divided
_DEEP: Final = 128  # terms for which copying a result is a small part of the work
_HEAVY: Final = 1 << 18  # bytes of kernels that are not read for a few windows only
_JOINED: Final = 256  # windows that are enough for them
_TASKS: Final = 4  # units for each thread, if there is enough to do
_FOLLOWED_ELEMENTS: Final = 512  # of a unit that is worth a call
UNIT_STEPS: Final = 1 << 18  # multiplications that a unit has at least

PLAN: Final = (
    "terms",
    "taps",
    "channels",  # of a slice
    "slice",  # its terms
    "bunch",  # images of a unit
    "bunches",
    "tiles",  # of the outputs of a group
    "tile_room",  # elements of the kernels of a tile
    "blocks",  # into which these tiles are divided
    "block",  # outputs of a block
    *[f"{name}{axis}" for axis in range(AXES) for name in ("band", "bands")],
    "units",  # without regard to outputs
    "steps",  # multiplications of a unit
    "frame_room",  # elements
    "panel_room",
    "is_in_rows",  # whether a strip never goes on from a row to the next one
    "is_apart",  # whether windows do not lie behind each other in the result, or in another dtype
    "result_room",  # elements, if so
    "is_whole",  # whether a unit has whole planes
    "is_followed",  # whether someone goes on with what a unit has made
)


class Division:
    """A convolution that is divided, under emission. `numbers` are those of its windows."""

    def __init__(self, f: Function, env: Env, dtype: DType, numbers: Record) -> None:
        self.f: Final = f
        self.dtype: Final = dtype
        self.tile: Final = tile_of(of_dtype(working(dtype)), f.module.target)
        self.numbers: Final = numbers
        self.plan: Final = Record(f, PLAN)
        self.frame: Final = Record(f, FRAME)
        self.wanted: Final = tasks_wanted(f, env.run, _TASKS)

    def divide(self, most: int | None) -> None:
        """Fill the plan and the frame; a slice has at most so many terms (None: all of them)."""
        self._count(most)
        self._divide_windows()
        self._join_images()
        self._divide_outputs()
        self._describe_frame()
        self._see_who_follows()

    def _count(self, most: int | None) -> None:
        f, plan, numbers = self.f, self.plan, self.numbers
        taps, channels = product(numbers.axis("taps")), numbers["channels"]
        plan["taps"] = taps
        plan["terms"] = channels * taps
        plan["channels"] = channels
        if most is not None:
            fitting = f.maximum(f.divide(f.const(most, I64), taps), 1)
            plan["channels"] = up(f, channels, up(f, channels, fitting))
        plan["slice"] = plan["channels"] * taps
        plan["tiles"] = up(f, numbers["outputs"], self.tile.rows)
        # Lines are packed in squares, the last of which reaches further.
        plan["tile_room"] = (plan["terms"] + 2 * self.tile.lanes) * self.tile.rows
        counts, steps = numbers.axis("count"), numbers.axis("result")
        follow = steps[2].eq(1) & steps[1].eq(counts[2]) & steps[0].eq(counts[1] * counts[2])
        is_other = f.const(self.dtype is not working(self.dtype), follow.type)
        plan["is_apart"] = (~follow | is_other).to(I64)

    def _shape_frame(self) -> None:
        """The frame of a band."""
        plan, numbers = self.plan, self.numbers
        reach = [
            (band - 1) * stride + (taps - 1) * dilation + 1
            for band, stride, taps, dilation in zip(
                *[plan.axis("band"), *[numbers.axis(x) for x in ("stride", "taps", "dilation")]],
                strict=True,
            )
        ]
        convolution_frame.shape(self.frame, (reach[0], reach[1], reach[2]), numbers["stride2"])

    def _divide_windows(self) -> None:
        """Bands are halved, along the first axis that allows it, until their frame fits into the
        cache and all threads have something to do. So the windows of a band lie in one piece.
        """
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        counts = numbers.axis("count")
        plan.set_axis("band", counts)
        each = plan["terms"] * numbers["outputs"]
        with f.loop_while() as loop:
            self._shape_frame()
            bands = plan.axis("band")
            plan.set_axis(
                "bands", [up(f, count, band) for count, band in zip(counts, bands, strict=True)]
            )
            units = product([numbers["images"], numbers["groups"], *plan.axis("bands")])
            windows = product(bands)
            room = plan["channels"] * convolution_frame.plane(self.frame)
            room = room + plan["is_apart"] * windows * numbers["outputs"]
            is_large = room.gt(_FRAME_BYTES // tile.type.itemsize)
            is_idle = units.lt(self.wanted) & (windows * each).gt(2 * UNIT_STEPS)
            loop.stop_unless((is_large | is_idle) & windows.ge(2 * tile.columns))
            self._halve(bands)

    def _halve(self, bands: list[V]) -> None:
        f, plan, step = self.f, self.plan, self.tile.columns
        with f.otherwise(bands[0].gt(1)) as planes:
            plan["band0"] = up(f, bands[0], 2)
            planes.otherwise()
            with f.otherwise(bands[1].gt(1)) as lines:
                plan["band1"] = up(f, bands[1], 2)
                lines.otherwise()
                plan["band2"] = up(f, bands[2], 2 * step) * step

    def _join_images(self) -> None:
        """Several small images in a unit, so that few lanes are wasted at the end of each, and
        large kernels are read less often. Images then take the place of planes.
        """
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        plan["bunch"] = 1
        windows, images = product(plan.axis("band")), numbers["images"]
        is_whole = product(plan.axis("bands")).eq(1) & numbers["count0"].eq(1)
        room = plan["channels"] * convolution_frame.plane(self.frame)
        is_heavy = (plan["terms"] * numbers["outputs"]).gt(_HEAVY // tile.type.itemsize)
        with f.when(is_whole & plan["terms"].ge(_DEEP)), f.loop_while() as loop:
            bunch = plan["bunch"]
            joined = windows * bunch
            wasted = up(f, joined, tile.columns) * tile.columns - joined
            wanted = (wasted * 25).gt(joined) | (is_heavy & joined.lt(_JOINED))
            fits = (room * bunch * 2).le(_FRAME_BYTES // tile.type.itemsize)
            units = f.divide(images, bunch * 2) * numbers["groups"] * plan["tiles"]
            is_shared = (bunch * 2).le(images) & (units * _TASKS).ge(self.wanted)
            loop.stop_unless(wanted & fits & is_shared)
            plan["bunch"] = bunch * 2
        plan["bunches"] = up(f, images, plan["bunch"])
        plan["units"] = product([plan["bunches"], numbers["groups"], *plan.axis("bands")])
        with f.when(plan["bunch"].gt(1)):
            plan["is_apart"] = 1

    def _divide_outputs(self) -> None:
        """Blocks of outputs, if there are too few bands to keep all threads busy."""
        f, plan, numbers, tile = self.f, self.plan, self.numbers, self.tile
        each = product(plan.axis("band")) * plan["bunch"] * plan["terms"]
        affordable = f.divide(each * numbers["outputs"], UNIT_STEPS)
        wanted = f.minimum(up(f, self.wanted, plan["units"]), affordable)
        wanted = f.maximum(f.minimum(wanted, plan["tiles"]), 1)
        tall = up(f, plan["tiles"], wanted)
        plan["block"] = tall * tile.rows
        plan["blocks"] = up(f, plan["tiles"], tall)
        plan["steps"] = each * plan["block"]

    def _see_who_follows(self) -> None:
        """Whole planes can be followed, and whole lines by who goes line by line; units of few
        elements, as of depthwise convolutions of small images, are followed all at once.
        """
        plan, numbers = self.plan, self.numbers
        is_whole = product(plan.axis("bands")).eq(1)
        has_lines = plan["bands2"].eq(1) & numbers["parts"].gt(1)
        outputs = self.f.minimum(plan["block"], numbers["outputs"])
        is_large = (product(plan.axis("band")) * plan["bunch"] * outputs).ge(_FOLLOWED_ELEMENTS)
        plan["is_whole"] = is_whole.to(I64)
        is_followed = numbers["task"].ne(0) & (is_whole | has_lines) & is_large
        plan["is_followed"] = is_followed.to(I64)

    def _describe_frame(self) -> None:
        plan, numbers, frame, tile = self.plan, self.numbers, self.frame, self.tile
        frame["outer_from"] = numbers["lhs_channel"]
        frame["inner_from"] = numbers["lhs_image"]
        frame["inner_to"] = convolution_frame.plane(frame)
        frame["outer_to"] = plan["bunch"] * frame["inner_to"]
        frame.set_axis("end", numbers.axis("size"))
        frame.set_axis("from", numbers.axis("lhs"))
        plan["frame_room"] = plan["channels"] * frame["outer_to"] + 2 * tile.columns
        windows = product(plan.axis("band")) * plan["bunch"]
        plan["result_room"] = plan["is_apart"] * windows * plan["block"]


@record
class Unit:
    """What a unit computes: windows of a group, for some images (the first, and how many) and some
    outputs. `starts` and `lengths` are those of its band; images count as planes in the latter.
    """

    group: V
    image: V
    images: V
    starts: list[V]
    lengths: list[V]
    output: V
    outputs: V


def unit_at(plan: Record, numbers: Record, which: V, block: V) -> Unit:
    """The unit of a number and a block of outputs."""
    f = plan.f
    band, rest = band_at(plan, which, numbers.axis("count"))
    group = f.remainder(rest, numbers["groups"])
    image = f.divide(rest, numbers["groups"]) * plan["bunch"]
    images = f.minimum(numbers["images"] - image, plan["bunch"])
    planes, *others = band.lengths
    output = block * plan["block"]
    outputs = f.minimum(numbers["outputs"] - output, plan["block"])
    lengths = [planes * images, *others]
    return Unit(group, image, images, band.starts, lengths, output, outputs)


def place(numbers: Record, unit: Unit) -> V:
    """Where the first window and output of a unit is in the result."""
    output = unit.group * numbers["outputs"] + unit.output
    place = unit.image * numbers["result_image"] + output * numbers["result_output"]
    return place + weighted(unit.starts, numbers.axis("result"))


def follow(
    numbers: Record, plan: Record, run: V, unit: Unit, outputs: tuple[V, V], windows: int = 1
) -> None:
    """Let the follower go on with some outputs of a unit: the first, and how many. Along each axis
    the unit counts so many windows as one.
    """
    f, follower = numbers.f, follower_of(numbers)
    parts, (first, count) = numbers["parts"], outputs

    def plane(image: V, output: Operand) -> V:
        number = (unit.image + image) * numbers["groups"] + unit.group
        return number * numbers["outputs"] + unit.output + first + output

    with f.when(plan["is_followed"].ne(0)), f.otherwise(plan["is_whole"].ne(0)) as whole:
        with f.range(0, unit.images) as image:
            follower.call(f, run, plane(image, 0) * parts, (plane(image, 0) + count) * parts)
        whole.otherwise()
        line = unit.starts[1] * windows
        lines = f.minimum(numbers["count1"] - line, unit.lengths[1] * windows)
        with f.range(0, count) as output, f.range(0, unit.lengths[0]) as z:
            begin = plane(f.const(0, I64), output) * parts
            begin = begin + (unit.starts[0] + z) * numbers["count1"] + line
            follower.call(f, run, begin, begin + lines)


def fill(
    frame: Record, dtype: DType, numbers: Record, unit: Unit, lhs: V, room: V, channels: tuple[V, V]
) -> None:
    """Fill the frame of a unit, for some channels: the first, and how many."""
    f = frame.f
    origins = [
        start * stride - low
        for start, stride, low in zip(
            unit.starts, numbers.axis("stride"), numbers.axis("low"), strict=True
        )
    ]
    frame.set_axis("origin", origins)
    frame["inner"] = unit.images
    frame["outer"] = channels[1]
    channel = unit.group * numbers["channels"] + channels[0]
    first = channel * numbers["lhs_channel"] + unit.image * numbers["lhs_image"]
    signal = f.element(lhs, of_dtype(dtype), first)
    tile = tile_of(of_dtype(working(dtype)), f.module.target)
    convolution_frame.fill(f, tile, dtype, signal, room, frame)
