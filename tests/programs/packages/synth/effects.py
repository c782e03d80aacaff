import numpy as np


class Biquad:
    """Direct form II transposed, a sample at a time, with state between calls."""

    def __init__(self, b, a):
        self.b = np.asarray(b, dtype=float) / a[0]
        self.a = np.asarray(a, dtype=float) / a[0]
        self.z1 = self.z2 = 0.0

    @classmethod
    def lowpass(cls, cutoff, rate, q=0.7071):
        if not 0 < cutoff < rate / 2:
            raise ValueError("cutoff must be below half of the rate")
        w0 = 2 * np.pi * cutoff / rate
        alpha = np.sin(w0) / (2 * q)
        c = np.cos(w0)
        return cls([(1 - c) / 2, 1 - c, (1 - c) / 2], [1 + alpha, -2 * c, 1 - alpha])

    def process(self, x):
        y = np.empty_like(x)
        for n in range(len(x)):
            y[n] = self.b[0] * x[n] + self.z1
            self.z1 = self.b[1] * x[n] - self.a[1] * y[n] + self.z2
            self.z2 = self.b[2] * x[n] - self.a[2] * y[n]
        return y


class Delay:
    """Feedback through a ring buffer."""

    def __init__(self, samples, feedback=0.4, mix=0.3):
        if samples < 1:
            raise ValueError("delay must be at least one sample")
        self.buffer = np.zeros(samples)
        self.position = 0
        self.feedback, self.mix = feedback, mix

    def process(self, x):
        out = np.zeros(len(x))
        for n, sample in enumerate(x):
            delayed = self.buffer[self.position]
            out[n] = (1 - self.mix) * sample + self.mix * delayed
            self.buffer[self.position] = sample + self.feedback * delayed
            self.position = (self.position + 1) % len(self.buffer)
        return out


class Compressor:
    def __init__(self, threshold=0.5, ratio=4.0, attack=0.1, release=0.01):
        self.threshold, self.ratio = threshold, ratio
        self.attack, self.release = attack, release
        self.envelope = 0.0
        self.reduced = 0

    def process(self, x):
        out = x.copy()
        for n in range(len(x)):
            level = abs(x[n])
            rate = self.attack if level > self.envelope else self.release
            self.envelope += rate * (level - self.envelope)
            if self.envelope > self.threshold:
                over = self.envelope / self.threshold
                out[n] *= over ** (1 / self.ratio - 1)
                self.reduced += 1
        return out
