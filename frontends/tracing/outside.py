"""Functions of traced arrays that users may call anywhere: inside a trace they are traced, outside
they compute.

What computes outside is `frontends.eager`, which is written in terms of traces and of these very
functions. It hands itself in: when it is loaded, or, by whoever is loaded before it, as a function
that loads it at the first call outside of a trace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from weft.compiler.record import record
from weft.frontends.tracing.trace import find_trace, located


@record
class OutsideCalls:
    """How functions are called outside of traces: gathered with others if there is a `weft.Array`
    among the arguments or one is made, else computed at once, by the reference evaluator or by
    native code.
    """

    array: Callable[[Any], Any]
    holds_array: Callable[[Any], bool]
    gather: Callable[..., Any]
    compute: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
    compute_natively: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class Registration:
    """Holds the one `OutsideCalls` there is, which `frontends.eager` owns. No `weft.Array` exists
    before it is there.
    """

    def __init__(self) -> None:
        self.outside: OutsideCalls | None = None
        self._load: Callable[[], OutsideCalls] | None = None

    def hand_in(self, outside: OutsideCalls) -> None:
        self.outside = outside

    def load_by(self, load: Callable[[], OutsideCalls]) -> None:
        """Call this for the first function that runs outside of a trace."""
        self._load = load

    def loaded(self) -> OutsideCalls:
        if self.outside is None:
            if self._load is None:
                raise RuntimeError(
                    "a function of traced arrays is called outside of a trace, and what computes "
                    "there is not loaded: import weft.numpy"
                )
            self.outside = self._load()
        return self.outside


REGISTRATION: Final = Registration()


def eager(
    function: Callable[..., Any], *, creates: bool = False, native: bool = False
) -> Callable[..., Any]:
    """The function for use anywhere: inside a trace it is traced, outside it computes. One that
    `creates` arrays gives `weft.Array`s there; a `native` one has the bits of compiled programs.
    """

    @functools.wraps(function, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = REGISTRATION.outside
        if outside is not None and (
            creates or outside.holds_array(args) or outside.holds_array(kwargs)
        ):
            return outside.gather(function, *args, **kwargs)
        if find_trace() is not None:
            return located(function, *args, **kwargs)
        outside = REGISTRATION.loaded()
        if creates:
            return outside.gather(function, *args, **kwargs)
        compute = outside.compute_natively if native else outside.compute
        return compute(function, args, kwargs)

    return wrapper
