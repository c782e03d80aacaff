"""The transforms by name, and what frontends build derivatives from: vjp and jvp of a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.rules import DerivedRegion, SplitRegion, Transforms
from weft.compiler.ops.helpers import accumulate, zeros
from weft.compiler.transforms.batch import batch_region
from weft.compiler.transforms.forward import jvp_region
from weft.compiler.transforms.linearize import linearize, recompute_region, split_region
from weft.compiler.transforms.prune import prune_region
from weft.compiler.transforms.transpose import pull_back, transpose_region


class _Transforms:
    """The transforms as the rules of ops with regions see them."""

    def jvp(self, region: Region, tangents: Sequence[bool]) -> DerivedRegion:
        return jvp_region(region, tangents, self)

    def split(self, region: Region, tangents: Sequence[bool], keep: Sequence[bool]) -> SplitRegion:
        return split_region(region, tangents, keep, self)

    def recompute(
        self, region: Region, tangents: Sequence[bool], keep: Callable[[Op], bool]
    ) -> SplitRegion:
        return recompute_region(region, tangents, keep, self)

    def transpose(
        self, region: Region, linear: Sequence[bool], cotangents: Sequence[bool]
    ) -> DerivedRegion:
        return transpose_region(region, linear, cotangents, self)

    def prune(self, region: Region, keep: Sequence[bool]) -> Region:
        return prune_region(region, keep)

    def batch(
        self, region: Region, batched: Sequence[bool], size: Size, keep: Sequence[bool]
    ) -> DerivedRegion:
        return batch_region(region, batched, size, keep, self)


TRANSFORMS: Transforms = _Transforms()


def vjp(
    region: Region, marked: Sequence[bool], cotangents: Sequence[bool], probes: Sequence[str] = ()
) -> Region:
    """(parameters, cotangents of marked results) -> (results, cotangents of marked parameters).

    The cotangents of the values that `probes` name follow those of the parameters.
    """
    region = prune_region(region)
    probe_ops = [_find_probe(region, name) for name in probes]
    made = linearize(region, marked, TRANSFORMS, probe_ops)
    builder = Builder()
    builder.parameters = list(region.parameters)
    builder.ops = list(made.known)
    given: dict[Value, Value] = {}
    with builder.active():
        for result, tangent, wanted in zip(region.results, made.outputs, cotangents, strict=True):
            if not wanted:
                continue
            cotangent = builder.parameter(result.type)
            if tangent is not None:
                total = accumulate(given.get(tangent), cotangent)
                assert total is not None
                given[tangent] = total
        pull_back(made.linear, given, made.inputs, builder, TRANSFORMS)
        gradients = [given.get(tangent) or zeros(tangent.type) for tangent in made.inputs]
    return prune_region(builder.region([*made.results, *gradients]))


def _find_probe(region: Region, name: str) -> Op:
    found = [op for op in region.ops if op.name == "probe" and op.attributes["name"] == name]
    if len(found) == 1:
        return found[0]
    where = "more than one" if found else "no"
    raise TraceError(
        f'there is {where} wf.probe("{name}", x) in the function, outside of loops and branches'
    )


def jvp(region: Region, marked: Sequence[bool]) -> Region:
    """(parameters, tangents of marked ones) -> (results, tangents of floating-point ones)."""
    made = jvp_region(region, marked, TRANSFORMS)
    count = len(region.results)
    tangents = iter(made.region.results[count:])
    builder = Builder()
    builder.parameters = list(made.region.parameters)
    builder.ops = list(made.region.ops)
    with builder.active():
        all_tangents = [
            next(tangents) if has else zeros(result.type)
            for result, has in zip(region.results, made.has, strict=True)
            if has or result.type.dtype.is_inexact
        ]
    return prune_region(builder.region([*made.region.results[:count], *all_tangents]))
