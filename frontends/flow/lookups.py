"""`container[key]` where the key is traced, in what NumPy and Python hold: arrays, lists of numbers
and dicts whose keys are numbers.
"""

from __future__ import annotations

import collections
from typing import Any, Final

import numpy as np

from weft.frontends.flow.branches import choose
from weft.frontends.flow.kinship import element
from weft.frontends.flow.parts import is_traced
from weft.frontends.numpy.functions import index_tricks
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer, current_trace

_DICTS: Final = (dict, collections.OrderedDict)


def item(container: Any, key: Any) -> Any:
    """`container[key]`; arrays, lists of numbers and dicts that are known can be asked for a traced
    place.
    """
    if not holds_traced(key):
        return container[key]
    if container is np.c_ or container is np.r_:
        return (index_tricks.c_ if container is np.c_ else index_tricks.r_)[key]
    if isinstance(container, np.ndarray):
        trace = current_trace()
        value = core.lift(container)
        return trace.make_tracer(trace, value, owner="a part of a NumPy array")[key]  # type: ignore[index]
    if isinstance(container, list | tuple) and container and isinstance(key, Tracer):
        return element(container, key)
    if type(container) in _DICTS and isinstance(key, Tracer):
        return of_dict(container, key)
    return container[key]


def holds_traced(value: Any) -> bool:
    """Whether something traced is in a value, or in lists, tuples and slices."""
    if isinstance(value, slice):
        return holds_traced((value.start, value.stop, value.step))
    if isinstance(value, tuple | list):
        return any(holds_traced(part) for part in value)
    return isinstance(value, Selected) or (isinstance(value, Tracer) and is_traced(value))


def of_dict(table: dict[Any, Any], key: Any) -> Any:
    """The value of a traced number; one that is no key is an error when the program runs."""
    keys = _number_keys(table, key)
    # One past the end if none of them is it, so that the lookup fails.
    place = np.sum(np.where(keys == key, np.arange(len(keys)) - len(keys), 0)) + len(keys)
    return element([value for one, value in table.items() if _is_number(one)], place)


def is_key(table: dict[Any, Any], key: Any) -> Any:
    """`key in table` of a traced number."""
    return core.wrap(core.lift(np.any(_number_keys(table, key) == key)), weak=True)


def get_of(table: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """`table.get(key, default)`."""
    if not is_traced(key) or type(table) not in _DICTS:
        return table.get(key, default)
    found = is_key(table, key)
    return choose(found, lambda: of_dict(table, key), lambda: default, "this .get()")


def _number_keys(table: Any, key: Any) -> Any:
    found = [one for one in table if _is_number(one)]
    if key.type.shape or not found:
        raise core.trace_error(
            f"a dict is asked for {key.type}; a traced key is one number, and some of the dict's "
            "keys are numbers"
        )
    return BY_NUMPY[np.array](np.array(found))


def _is_number(key: Any) -> bool:
    return isinstance(key, bool | int | float | np.number | np.bool_)
