"""`r_` and `c_`: arrays joined by indexing, of traced parts too."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.compiler.ir.graph import Value
from weft.frontends.numpy.functions.axis_ops import as_value, join
from weft.frontends.numpy.functions.manipulation import raise_rank
from weft.frontends.tracing.core import cast, reshape, result_dtype, trace_error, wrap
from weft.frontends.tracing.outside import eager
from weft.frontends.tracing.trace import Tracer


class Joiner:
    """What `r_` and `c_` are: `r_[a, 0, b]` joins along the first axis, `c_[a, b]` as columns."""

    def __init__(self, name: str, columns: bool) -> None:
        self._name = name
        self._columns = columns

    def __repr__(self) -> str:
        return f"weft.numpy.{self._name}"

    def __getitem__(self, key: Any) -> Any:
        return eager(self._join)(*(key if isinstance(key, tuple) else (key,)))

    def _join(self, *parts: Any) -> Tracer:
        values = [self._shaped(self._value(part)) for part in parts]
        rank = max(value.type.rank for value in values)
        common = result_dtype(*[_weak(part, v) for part, v in zip(parts, values, strict=True)])
        made = [raise_rank(cast(value, common), rank) for value in values]
        return wrap(join(made, rank - 1 if self._columns else 0))

    def _value(self, part: Any) -> Value:
        if isinstance(part, str):
            raise trace_error(f"{self._name}[{part!r}, ...] is not supported; use np.concatenate")
        if isinstance(part, slice):
            return as_value(np.r_[part])
        return as_value(part)

    def _shaped(self, value: Value) -> Value:
        """At least of rank 1; a column of one of rank 1 for `c_`."""
        shape = value.type.shape
        if not self._columns:
            return value if shape else reshape(value, (1,))
        return value if len(shape) > 1 else reshape(value, (value.type.size, 1))


def _weak(part: Any, value: Value) -> Any:
    """What to promote by: Python numbers as such."""
    return part if isinstance(part, bool | int | float | complex) else wrap(value)


r_: Final = Joiner("r_", columns=False)
c_: Final = Joiner("c_", columns=True)
