import numpy as np

from .transform import wavedec, waverec


def threshold(data, value, mode="soft"):
    data = np.asarray(data)
    if mode == "soft":
        magnitude = np.absolute(data)
        with np.errstate(divide="ignore"):
            thresholded = 1 - value / magnitude
            thresholded.clip(min=0, max=None, out=thresholded)
            thresholded = data * thresholded
        return np.where(magnitude == 0, 0, thresholded)
    if mode == "hard":
        cond = np.less(np.absolute(data), value)
        return np.where(cond, 0.0, data)
    raise ValueError(f"Invalid value for mode: {mode}")


def denoise(x, wavelet="db2", level=2, mode="soft"):
    coeffs = wavedec(x, wavelet, level=level)
    sigma = np.median(np.abs(coeffs[-1])) / 0.6745
    uthresh = sigma * np.sqrt(2 * np.log(len(x)))
    coeffs[1:] = (threshold(c, uthresh, mode) for c in coeffs[1:])
    return waverec(coeffs, wavelet)[: len(x)], sigma
