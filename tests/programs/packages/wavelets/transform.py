import numpy as np

SQRT3 = np.sqrt(3)

FILTERS = {
    "haar": np.array([1.0, 1.0]) / np.sqrt(2),
    "db2": np.array([1 + SQRT3, 3 + SQRT3, 3 - SQRT3, 1 - SQRT3]) / (4 * np.sqrt(2)),
}


class Wavelet:
    def __init__(self, name):
        try:
            self.lo = FILTERS[name]
        except KeyError:
            raise ValueError(f"Unknown wavelet name {name!r}") from None
        self.name = name
        self.hi = self.lo[::-1].copy()
        self.hi[1::2] *= -1

    def __len__(self):
        return len(self.lo)

    def dwt(self, x):
        n = len(x)
        if n % 2:
            x = np.append(x, x[-1])
            n += 1
        approx, detail = np.zeros(n // 2), np.zeros(n // 2)
        for i in range(n // 2):
            for k in range(len(self)):
                sample = x[(2 * i + k) % n]
                approx[i] += self.lo[k] * sample
                detail[i] += self.hi[k] * sample
        return approx, detail

    def idwt(self, approx, detail):
        n = 2 * len(approx)
        x = np.zeros(n)
        for i in range(len(approx)):
            for k in range(len(self)):
                x[(2 * i + k) % n] += self.lo[k] * approx[i] + self.hi[k] * detail[i]
        return x


def max_level(n, wavelet):
    if n < len(wavelet):
        return 0
    return int(np.floor(np.log2(n / (len(wavelet) - 1))))


def wavedec(data, wavelet="haar", level=None):
    data = np.asarray(data, dtype=float)
    if not isinstance(wavelet, Wavelet):
        wavelet = Wavelet(wavelet)
    limit = max_level(len(data), wavelet)
    if level is None:
        level = limit
    elif level > limit:
        raise ValueError(f"Level value of {level} is too high")
    coeffs_list = []
    a = data
    for _ in range(level):
        a, d = wavelet.dwt(a)
        coeffs_list.append(d)
    coeffs_list.append(a)
    coeffs_list.reverse()
    return coeffs_list


def waverec(coeffs, wavelet="haar"):
    if not isinstance(wavelet, Wavelet):
        wavelet = Wavelet(wavelet)
    if len(coeffs) < 1:
        raise ValueError("Coefficient list too short (minimum 1 array required).")
    a, ds = coeffs[0], coeffs[1:]
    for d in ds:
        if len(a) == len(d) + 1:
            a = a[:-1]
        a = wavelet.idwt(a, d)
    return a
