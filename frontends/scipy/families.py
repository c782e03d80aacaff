"""Families of distributions: what `scipy.stats` makes of a density and a distribution function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.frontends.eager.anywhere import eager
from weft.frontends.scipy.floats import spread

Function = Callable[..., Any]


def inside(mask: Any, x: Any, harmless: float) -> Any:
    """The argument where it is in the support, else a number that harms nothing."""
    return np.where(mask, x, harmless).astype(x.dtype)


class Continuous:
    """A distribution of floats, moved by `loc` and stretched by `scale`.

    What is missing here is what SciPy computes by numerical inversion.
    """

    def __init__(self, name: str, density: Function, **functions: Function) -> None:
        self.name = name
        self._density = density
        self._functions = functions

    def __repr__(self) -> str:
        return f"weft.scipy.stats.{self.name}"

    def _standard(self, x: Any, shapes: tuple[Any, ...], count: int, loc: Any, scale: Any) -> Any:
        """The argument without location and scale, both of which may come by position."""
        given = list(shapes)
        if len(given) > count:
            loc, *rest = given[count:]
            scale = rest[0] if rest else scale
        x, loc, scale, *parameters = spread(x, loc, scale, *given[:count])
        safe = inside(scale > 0, scale, 1.0)
        z = (x - loc) / safe
        # Comparisons with the edges of a support would take NaN for a number outside of it.
        is_right = (scale > 0) & ~np.isnan(z)
        return z, safe, is_right, parameters

    def _count(self, function: Function) -> int:
        return function.__code__.co_argcount - 1

    def logpdf(self, x: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The logarithm of the density, -inf outside of the support."""
        return eager(self._logpdf)(x, args, loc, scale)

    def _logpdf(self, x: Any, args: tuple[Any, ...], loc: Any, scale: Any) -> Any:
        count = self._count(self._density)
        z, width, is_right, shapes = self._standard(x, args, count, loc, scale)
        made = self._density(z, *shapes) - np.log(width)
        return np.where(is_right, made, np.nan).astype(z.dtype)

    def pdf(self, x: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The density."""
        return eager(lambda: np.exp(self._logpdf(x, args, loc, scale)))()

    def _apply(self, kind: str, x: Any, args: tuple[Any, ...], loc: Any, scale: Any) -> Any:
        function = self._functions.get(kind)
        if function is None:
            raise AttributeError(f"{self!r} has no traced {kind}; call SciPy's with wf.callback")

        def computed() -> Any:
            count = self._count(function)
            z, _, is_right, shapes = self._standard(x, args, count, loc, scale)
            return np.where(is_right, function(z, *shapes), np.nan).astype(z.dtype)

        return eager(computed)()

    def cdf(self, x: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The probability of less."""
        return self._apply("cdf", x, args, loc, scale)

    def sf(self, x: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The probability of more."""
        if "sf" in self._functions:
            return self._apply("sf", x, args, loc, scale)
        return eager(lambda: 1 - self._apply("cdf", x, args, loc, scale))()

    def logcdf(self, x: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The logarithm of the probability of less."""
        if "logcdf" in self._functions:
            return self._apply("logcdf", x, args, loc, scale)
        return eager(lambda: np.log(self._apply("cdf", x, args, loc, scale)))()

    def logsf(self, x: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The logarithm of the probability of more."""
        if "logsf" in self._functions:
            return self._apply("logsf", x, args, loc, scale)
        return eager(lambda: np.log(self.sf(x, *args, loc=loc, scale=scale)))()

    def ppf(self, q: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The quantile."""
        function = self._functions.get("ppf")
        if function is None:
            raise AttributeError(f"{self!r} has no traced ppf; call SciPy's with wf.callback")

        def computed() -> Any:
            count = self._count(function)
            given = list(args)
            place, width = (given[count:] + [loc, scale][len(given[count:]) :])[:2]
            p, place, width, *shapes = spread(q, place, width, *given[:count])
            is_right = (p >= 0) & (p <= 1) & (width > 0)
            made = function(inside(is_right, p, 0.5), *shapes) * width + place
            return np.where(is_right, made, np.nan).astype(p.dtype)

        return eager(computed)()

    def isf(self, q: Any, *args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        """The number that is exceeded with that probability."""
        return eager(lambda: self.ppf(np.subtract(1, q), *args, loc=loc, scale=scale))()


class Discrete:
    """A distribution of whole numbers; others have probability 0."""

    def __init__(self, name: str, mass: Function, cdf: Function | None = None) -> None:
        self.name = name
        self._mass = mass
        self._cdf = cdf

    def __repr__(self) -> str:
        return f"weft.scipy.stats.{self.name}"

    def _count(self) -> int:
        return self._mass.__code__.co_argcount - 1

    def logpmf(self, k: Any, *args: Any, loc: Any = 0.0) -> Any:
        """The logarithm of the probability, -inf outside of the support."""
        return eager(self._logpmf)(k, args, loc)

    def _logpmf(self, k: Any, args: tuple[Any, ...], loc: Any) -> Any:
        k, shapes = self._shifted(k, args, loc)
        is_whole = np.floor(k) == k
        made = np.where(is_whole, self._mass(k, *shapes), -np.inf)
        return np.where(np.isnan(k), np.nan, made).astype(k.dtype)

    def _shifted(self, k: Any, args: tuple[Any, ...], loc: Any) -> tuple[Any, list[Any]]:
        given = list(args)
        if len(given) > self._count():
            loc = given.pop()
        k, shift, *shapes = spread(k, loc, *given)
        return k - shift, shapes

    def pmf(self, k: Any, *args: Any, loc: Any = 0.0) -> Any:
        """The probability."""
        return eager(lambda: np.exp(self._logpmf(k, args, loc)))()

    def cdf(self, k: Any, *args: Any, loc: Any = 0.0) -> Any:
        """The probability of that or less."""
        if self._cdf is None:
            raise AttributeError(f"{self!r} has no traced cdf; call SciPy's with wf.callback")

        def computed() -> Any:
            number, shapes = self._shifted(k, args, loc)
            assert self._cdf is not None
            made = self._cdf(np.floor(number), *shapes)
            return np.where(np.isnan(number), np.nan, made).astype(number.dtype)

        return eager(computed)()

    def sf(self, k: Any, *args: Any, loc: Any = 0.0) -> Any:
        """The probability of more."""
        return eager(lambda: 1 - self.cdf(k, *args, loc=loc))()
