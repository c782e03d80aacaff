"""Rows of numpy.fft: transforms along one axis and several, frequencies, shifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    ALL,
    WITHOUT_COMPLEX,
    Array,
    Draw,
    an_axis,
    array,
    choice,
    distinct_axes,
    integer,
    options,
    shape,
)
from tests.frontends.numpy.checking import Call, Function, Weak, call
from tests.frontends.numpy.row import Row, named, rows

# NumPy rounds the factor of the norm to float16 there; the rows named `half` ask for more.
NO_HALF = tuple(dtype for dtype in ALL if dtype != "float16")
NO_HALF_REAL = tuple(dtype for dtype in WITHOUT_COMPLEX if dtype != "float16")

# In units of the last place of the largest number: sums of at most 6**3 terms.
TOLERANCE = 64.0

norms = st.sampled_from((None, "backward", "ortho", "forward", "other"))
lengths = st.sampled_from((None, 1, 2, 3, 5, 6, 8, 0, -1))


# --- transforms -----------------------------------------------------------------------------------


def along_one(draw: Draw, dtypes: tuple[str, ...] = NO_HALF) -> Call:
    x = array(draw, dtypes, least_rank=1, most=6, values="finite")
    axis = st.just(an_axis(draw, x.ndim))
    return call(x, **options(draw, n=lengths, axis=axis, norm=norms))


def along_one_real(draw: Draw) -> Call:
    return along_one(draw, choice(draw, NO_HALF_REAL, NO_HALF_REAL, NO_HALF))


def along_several(draw: Draw, dtypes: tuple[str, ...] = NO_HALF) -> Call:
    x = array(draw, dtypes, values="finite", most=6)
    chosen = distinct_axes(draw, x.ndim)
    form = choice(draw, "all", "axes", "sizes", "both")
    given: dict[str, Any] = options(draw, norm=norms)
    if form in ("axes", "both"):
        given["axes"] = chosen
    if form == "sizes":
        # NumPy deprecates sizes without axes.
        given |= {"axes": tuple(range(x.ndim))}
    if form in ("sizes", "both"):
        count = len(given["axes"]) + (integer(draw, 0, 9) == 9)
        given["s"] = tuple(choice(draw, 1, 2, 3, 5, -1) for _ in range(count))
    return call(x, **given)


def along_several_real(draw: Draw) -> Call:
    return along_several(draw, choice(draw, NO_HALF_REAL, NO_HALF_REAL, NO_HALF))


def along_two(draw: Draw, dtypes: tuple[str, ...] = NO_HALF) -> Call:
    x = array(draw, dtypes, least_rank=1, values="finite", most=6)
    pair = st.just(distinct_axes(draw, x.ndim, least=2)[:2])
    sizes = st.just((choice(draw, 2, 3, 5, -1), choice(draw, 1, 4, 5)))
    return call(x, **options(draw, s=sizes, axes=pair, norm=norms))


def along_two_real(draw: Draw) -> Call:
    return along_two(draw, NO_HALF_REAL)


def with_points(made: Call) -> Call:
    """The call without sizes if there is nothing: NumPy's irfft then reads memory it never set."""
    given = made.kwargs
    if made.args[0].size == 0:
        given = {name: value for name, value in given.items() if name not in ("n", "s")}
    return Call(made.args, given)


def along_one_back(draw: Draw) -> Call:
    return with_points(along_one(draw))


def along_several_back(draw: Draw) -> Call:
    return with_points(along_several(draw))


def along_two_back(draw: Draw) -> Call:
    return with_points(along_two(draw))


def half(draw: Draw) -> Call:
    x = array(draw, ("float16",), least_rank=1, least=1, most=6, values="finite")
    return call(x, **options(draw, n=st.sampled_from((2, 3, 6)), norm=norms))


def half_several(draw: Draw) -> Call:
    x = array(draw, ("float16",), least_rank=1, least=2, values="finite")
    chosen = distinct_axes(draw, x.ndim, least=1)
    return call(x, axes=chosen, **options(draw, norm=norms))


def brief(draw: Draw) -> Call:
    return call(array(draw, ("bfloat16",), (*shape(draw, most_rank=1), 5), values="finite"))


def in_single(name: str) -> Function:
    """NumPy's function on half precision by way of float32, in the dtype that NumPy gives."""

    def computed(x: Array, **kwargs: Any) -> Any:
        found = named(np, name)(x.astype(np.float32), **kwargs)
        return found.astype(named(np, name)(x, **kwargs).dtype) if x.dtype.kind == "f" else found

    return computed


ONE = "fft.fft fft.ifft fft.irfft fft.hfft fft.rfft fft.ihfft".split()
BRIEF = ("fft", "ifft", "rfft", "ihfft")
SEVERAL = "fft.fftn fft.ifftn fft.irfftn fft.rfftn".split()


# --- frequencies ----------------------------------------------------------------------------------


def sampled(draw: Draw) -> Call:
    steps = (0.5, 2, 0.1, Weak(0.25), np.float64(0.3), np.array(1.5))
    return call(integer(draw, 1, 9), **options(draw, d=st.sampled_from(steps)))


def shifted(draw: Draw) -> Call:
    # Over no axes NumPy fails inside.
    x = array(draw, most=6, least_rank=1)
    chosen = choice(draw, None, an_axis(draw, x.ndim), distinct_axes(draw, x.ndim, least=1))
    return call(x, **options(draw, axes=st.just(chosen)))


ROWS: list[Row] = [
    *rows("fft.fft fft.ifft", along_one, tolerance=TOLERANCE),
    *rows("fft.irfft fft.hfft", along_one_back, tolerance=TOLERANCE),
    *rows("fft.rfft fft.ihfft", along_one_real, tolerance=TOLERANCE),
    *rows("fft.fftn fft.ifftn", along_several, tolerance=TOLERANCE),
    Row("fft.irfftn", along_several_back, tolerance=TOLERANCE),
    Row("fft.rfftn", along_several_real, tolerance=TOLERANCE),
    *rows("fft.fft2 fft.ifft2", along_two, tolerance=TOLERANCE),
    Row("fft.irfft2", along_two_back, tolerance=TOLERANCE),
    Row("fft.rfft2", along_two_real, tolerance=TOLERANCE),
    *[Row(name, half, tolerance=TOLERANCE, oracle=in_single(name)) for name in ONE],
    *[Row(name, half_several, tolerance=TOLERANCE, oracle=in_single(name)) for name in SEVERAL],
    *[Row(f"fft.{n}", brief, tolerance=TOLERANCE, oracle=in_single(f"fft.{n}")) for n in BRIEF],
    Row("fft.fftfreq", sampled, oracle=np.fft.fftfreq),
    Row("fft.rfftfreq", sampled, oracle=np.fft.rfftfreq),
    *rows("fft.fftshift fft.ifftshift", shifted),
]
