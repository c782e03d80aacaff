"""The one way to make ops: a builder that runs the type rule, so an ill-typed op cannot exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.compiler.ir.ambient import InForce, active
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import CompilerError, ShapeError, WeftError
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Result, Value, register
from weft.compiler.ir.infer import describe, infer_types, known_types
from weft.compiler.ir.location import Location
from weft.compiler.ir.methods import METHODS
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.stages import TYPE_RULE, is_fault, stage
from weft.compiler.ir.types import ArrayType

register(METHODS)


class Builder:
    """Collects the parameters and ops of one region.

    `locate` is asked for the source location of each op that is emitted without one.
    """

    __slots__ = ("parameters", "ops", "locate", "location")

    def __init__(self, locate: Callable[[], Location | None] | None = None) -> None:
        self.parameters: list[Parameter] = []
        self.ops: list[Op] = []
        self.locate = locate
        self.location: Location | None = None

    def parameter(self, type: ArrayType, name: str = "") -> Parameter:
        """Add an input."""
        parameter = Parameter(type, name)
        self.parameters.append(parameter)
        return parameter

    def emit(
        self,
        definition: OpDef,
        operands: Sequence[Value],
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
        location: Location | None = None,
    ) -> tuple[Value, ...]:
        """Append an op and return its results."""
        if location is None:
            location = self.location or (self.locate() if self.locate is not None else None)
        try:
            checked = definition.normalise(attributes or {})
            if regions or definition.regions or definition.has_effect:
                result_types = infer_types(definition, operands, checked, regions)
            else:
                types = tuple([operand.type for operand in operands])
                result_types = known_types(definition, types, tuple(checked.values()))
        except WeftError as error:
            if isinstance(error, ShapeError) and len(operands) > 1:
                error.message += origins(operands)
            raise error.at(location, describe(definition, operands)) from None
        except Exception as error:
            if not is_fault(error, TYPE_RULE):
                raise
            raise _failure(error, definition, operands, location) from error
        op = Op(definition, tuple(operands), checked, tuple(regions), result_types, location)
        self.ops.append(op)
        return op.results

    def region(self, results: Iterable[Value]) -> Region:
        """The region built so far, with these results."""
        return Region(tuple(self.parameters), tuple(self.ops), tuple(results))

    def graph(self, name: str, results: Iterable[Value]) -> Graph:
        """The graph built so far, with these results."""
        return Graph(name, self.region(results))

    def active(self) -> InForce[Builder]:
        """Put this builder in force: ops that are called emit into it."""
        return InForce(active, self)

    @contextmanager
    def at(self, location: Location | None) -> Iterator[None]:
        """Give ops emitted inside this location, as rules do for the op they stand for."""
        previous, self.location = self.location, location
        try:
            yield
        finally:
            self.location = previous


def _failure(
    error: Exception, definition: OpDef, operands: Sequence[Value], location: Location | None
) -> CompilerError:
    """What a type rule raised that it should not have."""
    failure = stage(TYPE_RULE, definition.name).failure(error)
    failure.location = failure.about = None
    return failure.at(location, describe(definition, operands))


def constant(value: Any, dtype: DType | None = None) -> Constant:
    """A constant from a number or array, of the given dtype."""
    array = np.asarray(value, dtype=None if dtype is None else dtype.numpy)
    return Constant(array)


def origins(values: Sequence[Value]) -> str:
    """Lines that say what each value is and where it comes from, to end a message with."""
    return "".join([f"\n  {value.type} {origin(value)}" for value in values])


def origin(value: Value) -> str:
    """Where a value comes from, for messages."""
    if isinstance(value, Parameter):
        return (
            f"is the argument {value.name}"
            if value.name
            else "is an argument of a loop body or branch"
        )
    if isinstance(value, Result) and value.op.location is not None:
        return f"made {value.op.location}"
    return "is a constant" if isinstance(value, Constant) else "is computed"
