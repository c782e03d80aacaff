"""Functions with derivative rules of their own: custom_jvp, custom_vjp, straight_through."""

from __future__ import annotations

from typing import Any

from weft.frontends.eager.anywhere import eager
from weft.frontends.regions import custom


class custom_jvp(custom.CustomJvp):  # noqa: N801
    """A function with its own forward derivative, from which reverse mode follows by transposition.

    The rule takes tuples of primals and tangents and returns (value, tangent of the value); called
    on the primals in it, the function gives the value that is known already. The
    tangent must be linear in the tangents. An argument that is not floating point has the tangent
    None.

    >>> import numpy as np, weft as wf
    >>> @wf.custom_jvp
    ... def safe_sqrt(x):
    ...     return np.sqrt(x)
    >>> @safe_sqrt.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     y = np.sqrt(x)
    ...     return y, t * np.where(x > 0, 0.5 / np.where(x > 0, y, 1), 0)
    >>> float(wf.grad(safe_sqrt)(0.0)), float(wf.grad(safe_sqrt)(4.0))
    (0.0, 0.25)
    """

    def apply(self, *args: Any) -> Any:
        """The function's value, inside and outside of a trace."""
        return eager(self._emit)(*args)


class custom_vjp(custom.CustomVjp):  # noqa: N801
    """A function with its own reverse derivative.

    `forward(*args)` returns (value, residuals) and may call the function for the value;
    `backward(residuals, cotangent)` returns a tuple with the cotangent of each argument, None for
    zero.

    >>> import numpy as np, weft as wf
    >>> @wf.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, ()), lambda _, ct: (np.clip(ct, -1, 1),))
    >>> float(wf.grad(lambda x: 5 * clip_gradient(x))(2.0))
    1.0
    """

    def apply(self, *args: Any) -> Any:
        """The function's value, inside and outside of a trace."""
        return eager(self._emit)(*args)


straight_through = eager(custom.straight_through)
