"""The planes of a convolution's result, one for each image and output, as they are handed out.

What reads them may go along plane by plane, or line by line where planes are computed in bands. The
loop program decides by these numbers who goes along, and the code of convolutions divides its work
by the same.
"""

from __future__ import annotations

import math
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.ir.lowering import Consumers
from weft.compiler.record import record


@record
class PlaneLimits:
    """When planes are handed out, and when they are divided into lines.

    `frame_bytes`: what a work item copies of the signal's channels, which has to stay in the cache
    of a core beside kernels and results; planes that need more are divided into bands.
    `least_elements`: what a work item computes at least if a call for these alone is to pay.
    `least_images`: with fewer images and groups, bands are needed to keep all threads busy.
    `least_line` is the length of a line that is worth a call, if it is a multiple of `vector`
    elements; from `long_line` on, a part of a vector at its end does not matter. `most_axes`: of
    the convolutions that have code which hands out planes.
    """

    frame_bytes: int = 3 << 17
    least_elements: int = 512
    least_images: int = 8
    least_line: int = 32
    long_line: int = 128
    vector: int = 16
    most_axes: int = 3


LIMITS: Final = PlaneLimits()


def plane_shape(op: Op) -> tuple[Size, Size, Size]:
    """Planes, their elements, and the terms of each element."""
    shape, kernel = op.results[0].type.shape, op.operands[1].type.shape
    return dims.product(shape[:2]), dims.product(shape[2:]), dims.product(kernel[1:])


def _in_order(op: Op) -> bool:
    """Whether one plane is computed after the other: convolutions with more taps than windows add
    up parts of all planes, and those of dilated signals compute every plane phase by phase.
    """
    windows, taps = [dims.product(v.type.shape[2:]) for v in (op.results[0], op.operands[1])]
    is_plain = all(dilation == 1 for dilation in op.attributes["lhs_dilation"])
    few = not (isinstance(windows, int) and isinstance(taps, int)) or taps <= windows
    # The planes of a group are computed together.
    elements = dims.floor_divide(op.results[0].type.shape[1], op.attributes["groups"]) * windows
    is_large = not isinstance(elements, int) or elements >= LIMITS.least_elements
    return is_plain and few and is_large and op.results[0].type.rank <= 2 + LIMITS.most_axes


def _lines(op: Op) -> int:
    """The lines of a plane, if a convolution is computed in bands of these; else 1."""
    if op.results[0].type.rank < 4:
        return 1
    sizes = (*op.operands[0].type.shape, *op.operands[1].type.shape, *op.results[0].type.shape)
    if not all(isinstance(size, int) for size in sizes):
        return 1
    images, channels, *extents = [int(size) for size in op.operands[0].type.shape]
    *lines, line = [int(size) for size in op.results[0].type.shape[2:]]
    taps = [int(size) for size in op.operands[1].type.shape[2:]]
    groups = int(op.attributes["groups"])
    bytes = channels // groups * math.prod(extents) * op.results[0].type.dtype.itemsize
    is_divided = bytes > LIMITS.frame_bytes or images * groups < LIMITS.least_images
    is_whole = line >= LIMITS.least_line and line % LIMITS.vector == 0
    is_long = line >= LIMITS.long_line or is_whole
    return math.prod(lines) if is_divided and is_long and max(taps) > 1 else 1


# Where a transform met infinities, a plane is computed again without it.
PLANES: Final = Consumers(
    plane_shape,
    in_order=_in_order,
    parts=_lines,
    names=("plane by plane", "line by line"),
    may_restart=True,
)
