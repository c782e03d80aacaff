"""What a traced value is to Python: a number, an array or a scalar of NumPy. What asks for the
class of an argument (`isinstance`, `type`, `hasattr`, `np.isscalar`) is answered for a sample of
its kind.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dims import Dim
from weft.compiler.ir.graph import Parameter
from weft.frontends.flow.parts import require_defined
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.trace import Tracer


def sample(value: Tracer) -> Any:
    """A value of the class that a traced one has in Python. What has no rank is a scalar of NumPy
    unless it is known to be an array: operators, functions and indices make those.
    """
    kind = core.python_type(value)
    if kind is not None:
        return kind(1)
    dtype = value.type.dtype.numpy
    is_array = bool(value.type.shape) or value.region_trace.scalars.get(value._value) is False
    return np.empty((0,) * value.type.rank, dtype) if is_array else dtype.type(1)


def _answered(value: Tracer, ask: Callable[[Any], Any], what: str) -> Any:
    """The answer for a sample; refused where that depends on values, or an array and a scalar of
    NumPy differ and an argument may be either.
    """
    answer = ask(sample(value))
    kinds = core.number_types(value)
    if any(ask(kind(1)) is not answer for kind in kinds):
        names = " or ".join(sorted(kind.__name__ for kind in kinds))
        raise core.trace_error(
            f"{what} of this number depends on values, as they decide whether it is {names}; make "
            "the numbers of both ways agree, such as 1.0 and 0.5"
        )
    if _may_be_array(value) and ask(np.asarray(sample(value))) is not answer:
        raise core.trace_error(
            f"{what} of an argument of rank 0 is not known: an array and a scalar of NumPy are "
            "one to a trace; pass a Python number, or write np.ndim(x) == 0"
        )
    return answer


def _array(value: Any) -> Any:
    """What answers for an array whose size only the run tells: the array that has its elements."""
    return value.whole if isinstance(value, Selected) else value


def _may_be_array(value: Tracer) -> bool:
    trace, parameter = value.region_trace, value._value
    is_argument = isinstance(parameter, Parameter) and trace.parent is None
    is_number = bool(value.type.shape) or core.python_type(value) is not None
    return is_argument and not is_number and parameter not in trace.scalars


def isinstance_(value: Any, classes: Any) -> bool:
    """As `isinstance`."""
    value = _array(value) if not _names_ours(classes) else value
    if isinstance(value, Dim):
        return builtins.isinstance(1, classes)
    if not isinstance(value, Tracer) or _names_ours(classes):
        return builtins.isinstance(value, classes)
    answer: bool = _answered(value, lambda one: builtins.isinstance(one, classes), "isinstance()")
    return answer


def _names_ours(classes: Any) -> bool:
    """Whether classes of Weft are asked for, which know their own."""
    if isinstance(classes, tuple):
        return any(map(_names_ours, classes))
    return (getattr(classes, "__module__", "") or "").partition(".")[0] == "weft"


def type_(*args: Any) -> Any:
    """As `type`."""
    args = tuple(map(_array, args)) if len(args) == 1 else args
    if len(args) != 1 or not isinstance(args[0], Tracer | Dim):
        return builtins.type(*args)
    return int if isinstance(args[0], Dim) else _answered(args[0], builtins.type, "type()")


def hasattr_(owner: Any, name: str) -> bool:
    """As `hasattr`."""
    owner = _array(owner)
    if isinstance(owner, Tracer):
        answer: bool = _answered(owner, lambda one: builtins.hasattr(one, name), "hasattr()")
        return answer
    require_defined(owner, name)
    return builtins.hasattr(owner, name)


def getattr_(owner: Any, name: str, *default: Any) -> Any:
    """As `getattr`."""
    if default and isinstance(owner, Tracer | Selected) and not hasattr_(owner, name):
        return default[0]
    if default:
        require_defined(owner, name)
    return builtins.getattr(owner, name, *default)


def subject(value: Any) -> Any:
    """What a `match` looks at that asks for classes, which C code does: it would not find those of
    traced numbers.
    """
    if any(isinstance(leaf, Tracer) for leaf in tree.flatten(value)[0]):
        raise core.trace_error(
            "a `match` asks for the class of a traced value, or whether it is True or False; write "
            "`if isinstance(x, ...)` and `if x is True`"
        )
    return value


def isscalar(element: Any) -> bool:
    """As `numpy.isscalar`."""
    element = _array(element)
    if not isinstance(element, Tracer):
        return np.isscalar(element)
    answer: bool = _answered(element, np.isscalar, "np.isscalar()")
    return answer


SAMPLED: Final[Mapping[Any, Callable[..., Any]]] = {
    builtins.getattr: getattr_,
    builtins.hasattr: hasattr_,
    builtins.isinstance: isinstance_,
    builtins.type: type_,
    np.isscalar: isscalar,
}
