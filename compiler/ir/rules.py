"""The kinds of derivative and batching rule that a primitive can declare.

Rules emit ops into the builder in force. A tangent or cotangent that is known to be zero is None,
and stays None as long as it can, so that nothing is computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.ir.dims import Size
    from weft.compiler.ir.graph import Op, Region, Value

Maybe: TypeAlias = "Value | None"

JvpRule = Callable[["Op", "Sequence[Maybe]"], "Sequence[Maybe] | Maybe"]
"""(op, tangents of the operands) -> tangents of the results; op.operands and op.results may be
used.
"""

TransposeRule = Callable[["Op", "Sequence[Maybe]", "Sequence[bool]"], "Sequence[Maybe]"]
"""(op, cotangents of the results, which operands are linear) -> cotangents of the operands.

Only operands that are not linear may be used; the others have types only.
"""

BatchRule = Callable[["Op", "Sequence[Value]", "Sequence[bool]", "Size"], "Sequence[Value] | Value"]
"""(op, operands, which of them have a leading batch axis, its size) -> results with that axis
first.
"""


class Transforms(Protocol):
    """What the rules of ops with regions need: the transforms themselves, applied to a region."""

    def jvp(self, region: Region, tangents: Sequence[bool]) -> DerivedRegion:
        """(parameters, tangents of those marked) -> (results, tangents of those that have one)."""

    def split(self, region: Region, tangents: Sequence[bool], keep: Sequence[bool]) -> SplitRegion:
        """The region in two: what does not depend on tangents, and what does."""

    def recompute(
        self, region: Region, tangents: Sequence[bool], keep: Callable[[Op], bool]
    ) -> SplitRegion:
        """The region in two, where `linear` takes the parameters, the results of ops to keep, and
        tangents, and computes again what else it needs.
        """

    def transpose(
        self, region: Region, linear: Sequence[bool], cotangents: Sequence[bool]
    ) -> DerivedRegion:
        """(parameters that are not linear, cotangents of marked results) -> cotangents of the
        linear ones.
        """

    def prune(self, region: Region, keep: Sequence[bool]) -> Region:
        """The region with the marked results and what these need."""

    def batch(
        self, region: Region, batched: Sequence[bool], size: Size, keep: Sequence[bool]
    ) -> DerivedRegion:
        """The region on parameters of which some have a leading axis; results in `keep` get one
        too.
        """


@record
class DerivedRegion:
    """A transformed region, and which results have what was asked for (a tangent, a cotangent, an
    axis).
    """

    region: Region
    has: tuple[bool, ...]


@record
class SplitRegion:
    """A linearised region: `known` computes results and then residuals; `linear` takes residuals
    and tangents and gives the tangents of the results marked in `has`.

    `residuals` are the values in `known`, so that a caller can see which are parameters.
    """

    known: Region
    linear: Region
    residuals: tuple[Value, ...]
    has: tuple[bool, ...]


@record
class Narrowed:
    """A smaller form of an op with regions: which operands and results it keeps, and its new
    contents.
    """

    operands: Sequence[bool]
    results: Sequence[bool]
    regions: tuple[Region, ...]
    attributes: Mapping[str, Any]


Prune = Callable[["Region", "Sequence[bool]"], "Region"]
"""(region, results to keep) -> the region with those results and what they need."""


@record
class RegionRules:
    """Rules of an op with regions; each is given the transforms to apply to them.

    `jvp` and `linearize` emit the op with tangents, the latter in a primal and a linear form apart,
    and return results and tangents. `narrow` drops what is not used of its results, or says None
    when all is needed.
    """

    jvp: Callable[[Op, Sequence[Maybe], Transforms], tuple[Sequence[Value], Sequence[Maybe]]]
    linearize: Callable[[Op, Sequence[Maybe], Transforms], tuple[Sequence[Value], Sequence[Maybe]]]
    transpose: Callable[[Op, Sequence[Maybe], Sequence[bool], Transforms], Sequence[Maybe]]
    batch: Callable[
        [Op, Sequence[Value], Sequence[bool], Size, Transforms],
        tuple[Sequence[Value], Sequence[bool]],
    ]
    narrow: Callable[[Op, Sequence[bool], Prune], Narrowed | None] | None = None
