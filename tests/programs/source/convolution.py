"""Convolution by the fast Fourier transform, with overlap-add for long signals."""

import numpy as np


def fft_convolve(signal, kernel):
    size = len(signal) + len(kernel) - 1
    spectrum = np.fft.rfft(signal, size) * np.fft.rfft(kernel, size)
    return np.fft.irfft(spectrum, size)


def overlap_add(signal, kernel, block):
    size = block + len(kernel) - 1
    transformed = np.fft.rfft(kernel, size)
    result = np.zeros(len(signal) + len(kernel) - 1)
    for start in range(0, len(signal), block):
        piece = np.fft.irfft(np.fft.rfft(signal[start : start + block], size) * transformed, size)
        result[start : start + size] += piece
    return result
