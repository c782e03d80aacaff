import numpy as np

from .methods import METHODS


def strip_units(*arrs):
    strip = lambda a: None if a is None else np.asarray(a)  # noqa: E731
    if len(arrs) == 1:
        return strip(arrs[0])
    return map(strip, arrs)


class LombScargle:
    available_normalizations = ["standard", "model", "log", "psd"]

    def __init__(
        self, t, y, dy=None, fit_mean=True, center_data=True, nterms=1, normalization="standard"
    ):
        if normalization not in self.available_normalizations:
            raise ValueError(f"normalization={normalization!r} is not known")
        self.t, self.y, self.dy = self._validate_inputs(t, y, dy)
        self.fit_mean = fit_mean
        self.center_data = center_data
        self.nterms = nterms
        self.normalization = normalization

    def _validate_inputs(self, t, y, dy):
        t, y, dy = strip_units(t, y, dy)
        if dy is None:
            t, y = np.broadcast_arrays(t, y)
            dy = 1.0
        else:
            t, y, dy = np.broadcast_arrays(t, y, dy)
        if t.ndim != 1:
            raise ValueError("t, y, dy must be one-dimensional")
        return t, y, dy

    def autofrequency(self, samples_per_peak=5, nyquist_factor=2, minimum=None, maximum=None):
        baseline = self.t.max() - self.t.min()
        n_samples = self.t.size
        df = 1.0 / baseline / samples_per_peak
        if minimum is None:
            minimum = 0.5 * df
        if maximum is None:
            maximum = nyquist_factor * 0.5 * n_samples / baseline
        Nf = 1 + int(np.round((maximum - minimum) / df))
        return minimum + df * np.arange(Nf)

    def power(self, frequency, method="slow", assume_regular=False):
        if method not in METHODS:
            raise ValueError(f"{method} must be one of {sorted(METHODS)}")
        frequency = np.asarray(frequency)
        if not assume_regular and frequency.size > 1 and method == "trig":
            diff = np.diff(frequency)
            if not np.allclose(diff[0], diff):
                raise ValueError("frequencies must be regular")
        power = METHODS[method](
            self.t,
            self.y,
            self.dy,
            frequency=frequency.ravel(),
            fit_mean=self.fit_mean,
            center_data=self.center_data,
        )
        return self._normalize(power).reshape(frequency.shape)

    def _normalize(self, power):
        if self.normalization == "standard":
            return power
        if self.normalization == "model":
            return power / (1 - power)
        if self.normalization == "log":
            return -np.log(1 - power)
        w = np.broadcast_to(self.dy**-2.0, self.t.shape)
        return power * 0.5 * np.dot(w, (self.y - np.dot(w, self.y) / w.sum()) ** 2)

    def autopower(self, method="slow", **kwargs):
        frequency = self.autofrequency(**kwargs)
        return frequency, self.power(frequency, method=method, assume_regular=True)


def periodogram(t, y, frequency, dy=None, method="slow", normalization="standard", **kwargs):
    return LombScargle(t, y, dy, normalization=normalization, **kwargs).power(frequency, method)


def best_period(t, y, frequency):
    """The period of highest power, refined by a parabola."""
    power = periodogram(t, y, frequency, method="trig")
    i = int(np.argmax(power))
    if i == 0 or i == len(frequency) - 1:
        return 1.0 / frequency[i], power[i]
    a, b, c = power[i - 1], power[i], power[i + 1]
    shift = 0.5 * (a - c) / (a - 2 * b + c)
    return 1.0 / (frequency[i] + shift * (frequency[1] - frequency[0])), b
