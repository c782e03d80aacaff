"""Loops under construction: bodies that bring in what they need, and code that runs once in place
of a loop of one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.compiler.ir.ambient import active_builder
from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import without_dead_ops
from weft.compiler.ir.graph import Constant, Parameter, Value
from weft.compiler.ir.location import Location
from weft.compiler.ops import helpers
from weft.compiler.ops.scan import emit_scan

Array = np.ndarray[Any, Any]


class BlockLoop:
    """A scan of some steps. `indices` says for each loop that it stands for where each step is. A
    loop of one step is no scan: its body is written where it stands.
    """

    def __init__(
        self, length: int, indices: Mapping[int, Array], location: Location | None
    ) -> None:
        surrounding = active_builder()
        assert isinstance(surrounding, Builder)
        self.length = length
        self.surrounding = surrounding
        self.body = surrounding
        self.indices = indices
        self.location = location
        self._consts: dict[Value, Parameter] = {}
        self._carry: list[tuple[Value, Parameter]] = []
        self._sequences: dict[Value, Parameter] = {}
        self._numbers: dict[int, Value] = {}
        if length != 1:
            self.body = Builder()
            self.body.location = location

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Emit into the body."""
        with self.body.active():
            yield

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Emit before the loop."""
        with self.surrounding.active():
            yield

    def const(self, value: Value) -> Value:
        """A value from outside, in the body."""
        if self.length == 1 or isinstance(value, Constant):
            return value
        return self._consts.setdefault(value, Parameter(value.type))

    def sequence(self, value: Value) -> Value:
        """The step's part of a value whose first axis counts the steps."""
        step = value.type.with_shape(value.type.shape[1:])
        if self.length != 1:
            return self._sequences.setdefault(value, Parameter(step))
        if isinstance(value, Constant):
            return Constant(value.array[0])
        with self.outside():
            return helpers.reshape(value, step.shape)

    def carry(self, start: Value) -> Value:
        """A value that each step passes on to the next."""
        if self.length == 1:
            return start
        parameter = Parameter(start.type)
        self._carry.append((start, parameter))
        return parameter

    def index(self, loop: int) -> Value:
        """Where the step is."""
        if loop not in self._numbers:
            self._numbers[loop] = self.sequence(Constant(self.indices[loop]))
        return self._numbers[loop]

    def finish(
        self, carry: Sequence[Value], outs: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """What is carried after the last step, and the outs of all steps along a first axis."""
        if self.length == 1:
            with self.outside():
                stacks = [helpers.reshape(out, (1, *out.type.shape)) for out in outs]
            return list(carry), stacks
        self.body.parameters = [
            *self._consts.values(),
            *[parameter for _, parameter in self._carry],
            *self._sequences.values(),
        ]
        region = without_dead_ops(self.body.region([*carry, *outs]))
        with self.outside(), self.surrounding.at(self.location):
            results = emit_scan(
                list(self._consts),
                [start for start, _ in self._carry],
                list(self._sequences),
                region,
                self.length,
                False,
            )
        return list(results[: len(carry)]), list(results[len(carry) :])
