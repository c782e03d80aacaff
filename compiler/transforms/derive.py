"""The transforms by name, and what frontends build derivatives from: vjp and jvp of a region."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.ir.rules import DerivedRegion, SplitRegion, Transforms
from weft.compiler.ir.stages import BATCHING, DERIVATIVE, stage
from weft.compiler.ops.helpers import accumulate, zeros
from weft.compiler.transforms.batch import batch_region
from weft.compiler.transforms.forward import jvp_region
from weft.compiler.transforms.linearize import linearize, recompute_region, split_region
from weft.compiler.transforms.prune import prune_region
from weft.compiler.transforms.transpose import pull_back, transpose_region

T = TypeVar("T")


class _Transforms:
    """The transforms as the rules of ops with regions see them, each applied once to a region with
    the same marks: loops in loops ask again at every level, which would double the work each time.
    """

    def __init__(self, known: dict[Hashable, Any] | None) -> None:
        self._known = known  # None: each derivation that starts here has a memory of its own

    def _once(self, transform: Callable[..., T], region: Region, *options: Hashable) -> T:
        if self._known is None:
            return _Transforms({})._once(transform, region, *options)
        key = transform, region, options
        if key not in self._known:
            of = BATCHING if transform is batch_region else DERIVATIVE
            with stage(of, graph=Graph(of.name, region)):
                self._known[key] = transform(region, *options, self)
        derived: T = self._known[key]
        return derived

    def jvp(self, region: Region, tangents: Sequence[bool]) -> DerivedRegion:
        return self._once(jvp_region, region, tuple(tangents))

    def split(self, region: Region, tangents: Sequence[bool], keep: Sequence[bool]) -> SplitRegion:
        return self._once(split_region, region, tuple(tangents), tuple(keep))

    def recompute(
        self, region: Region, tangents: Sequence[bool], keep: Callable[[Op], bool]
    ) -> SplitRegion:
        with stage(DERIVATIVE, graph=Graph(DERIVATIVE.name, region)):
            return recompute_region(region, tangents, keep, self)

    def transpose(
        self, region: Region, linear: Sequence[bool], cotangents: Sequence[bool]
    ) -> DerivedRegion:
        return self._once(transpose_region, region, tuple(linear), tuple(cotangents))

    def prune(self, region: Region, keep: Sequence[bool]) -> Region:
        with stage(DERIVATIVE, graph=Graph(DERIVATIVE.name, region)):
            return prune_region(region, keep)

    def batch(
        self, region: Region, batched: Sequence[bool], size: Size, keep: Sequence[bool]
    ) -> DerivedRegion:
        return self._once(batch_region, region, tuple(batched), size, tuple(keep))


TRANSFORMS: Transforms = _Transforms(None)


def vjp(
    region: Region, marked: Sequence[bool], cotangents: Sequence[bool], probes: Sequence[str] = ()
) -> Region:
    """(parameters, cotangents of marked results) -> (results, cotangents of marked parameters).

    The cotangents of the values that `probes` name follow those of the parameters.
    """
    with stage(DERIVATIVE, graph=Graph(DERIVATIVE.name, region)):
        return _vjp(region, marked, cotangents, probes)


def _vjp(
    region: Region, marked: Sequence[bool], cotangents: Sequence[bool], probes: Sequence[str]
) -> Region:
    region = prune_region(region)
    probe_ops = [_find_probe(region, name) for name in probes]
    rules = _Transforms({})
    linearized = linearize(region, marked, rules, probe_ops)
    builder = Builder()
    builder.parameters = list(region.parameters)
    builder.ops = list(linearized.known)
    cotangent_of: dict[Value, Value] = {}
    with builder.active():
        for result, tangent, wanted in zip(
            region.results, linearized.outputs, cotangents, strict=True
        ):
            if not wanted:
                continue
            cotangent = builder.parameter(result.type)
            if tangent is not None:
                total = accumulate(cotangent_of.get(tangent), cotangent)
                assert total is not None
                cotangent_of[tangent] = total
        pull_back(linearized.linear, cotangent_of, linearized.inputs, builder, rules)
        gradients = [
            cotangent_of.get(tangent) or zeros(tangent.type) for tangent in linearized.inputs
        ]
    return prune_region(builder.region([*linearized.results, *gradients]))


def _find_probe(region: Region, name: str) -> Op:
    probes = [op for op in region.ops if op.name == "probe" and op.attributes["name"] == name]
    if len(probes) == 1:
        return probes[0]
    where = "more than one" if probes else "no"
    raise TraceError(
        f'there is {where} wf.probe("{name}", x) in the function, outside of loops and branches'
    )


def jvp(region: Region, marked: Sequence[bool]) -> Region:
    """(parameters, tangents of marked ones) -> (results, tangents of floating-point ones)."""
    derived = TRANSFORMS.jvp(region, marked)
    count = len(region.results)
    tangents = iter(derived.region.results[count:])
    builder = Builder()
    builder.parameters = list(derived.region.parameters)
    builder.ops = list(derived.region.ops)
    with builder.active():
        all_tangents = [
            next(tangents) if has else zeros(result.type)
            for result, has in zip(region.results, derived.has, strict=True)
            if has or result.type.dtype.is_inexact
        ]
    return prune_region(builder.region([*derived.region.results[:count], *all_tangents]))
