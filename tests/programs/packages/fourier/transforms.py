import numpy as np


def is_power_of_two(n):
    return n > 0 and (n & (n - 1)) == 0


def fft_recursive(x):
    """Cooley and Tukey as in textbooks."""
    x = np.asarray(x, dtype=complex)
    N = x.shape[0]
    if N % 2 > 0 and N > 1:
        raise ValueError("must be a power of 2")
    if N <= 2:
        n = np.arange(N)
        return np.dot(np.exp(-2j * np.pi * n[:, None] * n / N), x)
    even, odd = fft_recursive(x[::2]), fft_recursive(x[1::2])
    terms = np.exp(-2j * np.pi * np.arange(N) / N)
    return np.concatenate([even + terms[: N // 2] * odd, even + terms[N // 2 :] * odd])


def bit_reverse(n):
    bits = n.bit_length() - 1
    reverse = np.zeros(n, dtype=int)
    for i in range(n):
        k = i
        for _ in range(bits):
            reverse[i] = (reverse[i] << 1) | (k & 1)
            k >>= 1
    return reverse


def fft_in_place(x):
    """Iterative, radix 2; changes its argument and returns it."""
    n = len(x)
    if not is_power_of_two(n):
        raise ValueError("length must be a power of two")
    x[:] = x[bit_reverse(n)]
    size = 2
    while size <= n:
        half = size // 2
        w = np.exp(-2j * np.pi * np.arange(half) / size)
        for start in range(0, n, size):
            top = x[start : start + half].copy()
            bottom = x[start + half : start + size] * w
            x[start : start + half] = top + bottom
            x[start + half : start + size] = top - bottom
        size *= 2
    return x


def bluestein(x):
    """Any length, by a convolution of a power of two."""
    x = np.asarray(x, dtype=complex)
    n = len(x)
    m = 1
    while m < 2 * n - 1:
        m *= 2
    k = np.arange(n)
    chirp = np.exp(-1j * np.pi * (k * k % (2 * n)) / n)
    a = np.zeros(m, dtype=complex)
    a[:n] = x * chirp
    b = np.zeros(m, dtype=complex)
    b[:n] = np.conj(chirp)
    b[m - n + 1 :] = np.conj(chirp[1:][::-1])
    return ifft(fft(a) * fft(b))[:n] * chirp


def fft(x):
    x = np.asarray(x)
    if len(x) == 0:
        raise ValueError("Invalid number of FFT data points (0) specified.")
    if is_power_of_two(len(x)):
        return fft_in_place(x.astype(complex))
    return bluestein(x)


def ifft(x):
    return np.conj(fft(np.conj(x))) / len(x)


def rfft(x):
    if np.iscomplexobj(x):
        raise TypeError("array type complex not supported")
    return fft(x)[: len(x) // 2 + 1]


def dct2(x):
    N = len(x)
    v = np.empty_like(x)
    v[: (N + 1) // 2] = x[::2]
    v[(N + 1) // 2 :] = x[1::2][::-1]
    k = np.arange(N)
    return 2 * np.real(fft(v) * np.exp(-1j * np.pi * k / (2 * N)))
