"""Filters and spectra of `weft.scipy.signal` against SciPy's, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal as theirs

import weft as wf
from weft.scipy import signal as ours

GENERATOR = np.random.default_rng(0)
LINE, STACK = GENERATOR.normal(size=60), GENERATOR.normal(size=(2, 60, 3))
B, A = theirs.butter(3, 0.2)
SECTIONS = theirs.butter(5, 0.3, output="sos")


def agree(name: str, *arrays: Any, **options: Any) -> None:
    made = wf.jit(lambda *given: getattr(ours, name)(*given, **options))(*arrays)
    expected = getattr(theirs, name)(*arrays, **options)
    both = zip(made, expected, strict=True) if isinstance(expected, tuple) else [(made, expected)]
    for one, other in both:
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("b, a", [(B, A), ([1.0, 2], [2.0, 0.1, 0.3]), ([1.0], [1.0]), (B, [2.0])])
def test_rational_filters(b: Any, a: Any) -> None:
    b, a = np.array(b), np.array(a)
    agree("lfilter", b, a, LINE)
    agree("lfilter", b, a, STACK, axis=1)
    wf.check_grads(ours.lfilter, (b, a, LINE[:8]), order=1)


def test_states_of_filters() -> None:
    start = theirs.lfilter_zi(B, A)
    agree("lfilter_zi", B, A)
    agree("lfilter", B, A, LINE, zi=start * LINE[0])
    agree("sosfilt_zi", SECTIONS)
    agree("sosfilt", SECTIONS, LINE, zi=theirs.sosfilt_zi(SECTIONS) * LINE[0])


@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
def test_filters_without_a_phase(padtype: Any) -> None:
    agree("filtfilt", B, A, STACK, axis=1, padtype=padtype)
    agree("sosfilt", SECTIONS, STACK, axis=1)
    made = wf.jit(lambda x: ours.sosfiltfilt(SECTIONS, x, axis=1, padtype=padtype))(STACK)
    expected = theirs.sosfiltfilt(SECTIONS, STACK, axis=1, padtype=padtype)
    np.testing.assert_allclose(made, expected, rtol=1e-8, atol=1e-10)


def test_a_signal_that_is_too_short() -> None:
    with pytest.raises(ValueError, match="greater than padlen"):
        ours.filtfilt(B, A, LINE[:5])


@pytest.mark.parametrize("mode", ["interp", "mirror", "nearest", "wrap", "constant"])
@pytest.mark.parametrize("window, order, deriv", [(7, 2, 0), (5, 3, 1), (9, 4, 2), (8, 2, 0)])
def test_polynomials_of_windows(mode: str, window: int, order: int, deriv: int) -> None:
    made = wf.jit(lambda x: ours.savgol_filter(x, window, order, deriv, 0.5, axis=1, mode=mode))
    expected = theirs.savgol_filter(STACK, window, order, deriv, 0.5, axis=1, mode=mode)
    np.testing.assert_allclose(made(STACK), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"nperseg": 16},
        {"nperseg": 15, "noverlap": 3, "fs": 3.0, "scaling": "spectrum"},
        {"nperseg": 16, "nfft": 32, "detrend": "linear", "window": "hamming"},
        {"nperseg": 16, "detrend": False, "average": "median"},
        {"nperseg": 16, "return_onesided": False},
    ],
)
def test_spectra(options: Any) -> None:
    agree("welch", STACK, axis=1, **options)


def test_periodograms() -> None:
    agree("periodogram", LINE, fs=2.0)
    agree("periodogram", LINE, nfft=100, window="hann")
    wf.check_grads(lambda x: ours.periodogram(x)[1], (LINE[:9],), order=1)


def test_scipys_functions_in_traced_code() -> None:
    def filtered(x: Any, cut: float) -> Any:
        b, a = theirs.butter(2, cut)
        return theirs.filtfilt(b, a, x) + theirs.savgol_filter(x, 5, 2)

    made = wf.jit(filtered, static_argnames="cut")(LINE, cut=0.25)
    np.testing.assert_allclose(made, filtered(LINE, 0.25), rtol=1e-9)
