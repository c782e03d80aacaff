import numpy as np

from .transforms import rfft

WINDOWS = {"hann": np.hanning, "hamming": np.hamming, "boxcar": np.ones}


def frames(x, size, hop):
    if len(x) < size:
        raise ValueError(f"signal of {len(x)} samples is shorter than a frame of {size}")
    count = 1 + (len(x) - size) // hop
    return np.lib.stride_tricks.sliding_window_view(x, size)[::hop][:count]


def stft(x, size=16, hop=8, window="hann"):
    w = WINDOWS[window](size)
    return np.array([rfft(frame * w) for frame in frames(np.asarray(x), size, hop)]).T


def power_spectrum(x, rate=1.0, size=16, **kwargs):
    """Welch's method."""
    Z = stft(x - np.mean(x), size, **kwargs)
    power = np.mean(np.abs(Z) ** 2, axis=1) / (rate * size)
    power[1:-1] *= 2
    return np.arange(len(power)) * rate / size, power
