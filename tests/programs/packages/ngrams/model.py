import numpy as np


class NGramModel:
    def __init__(self, n, size, smoothing=0.5):
        if n < 1:
            raise ValueError("n must be positive")
        self.n, self.size = n, size
        self.smoothing = smoothing
        self.counts = np.zeros((size,) * n, dtype=np.int64)
        self.seen = 0

    def update(self, tokens):
        tokens = np.asarray(tokens)
        if tokens.size and (tokens.min() < 0 or tokens.max() >= self.size):
            raise IndexError("token outside of the vocabulary")
        for i in range(len(tokens) - self.n + 1):
            self.counts[tuple(tokens[i : i + self.n])] += 1
            self.seen += 1
        return self

    @property
    def probabilities(self):
        smooth = self.counts + self.smoothing
        return smooth / smooth.sum(axis=-1, keepdims=True)

    def log_likelihood(self, tokens):
        p = self.probabilities
        total = 0.0
        for i in range(len(tokens) - self.n + 1):
            total += np.log(p[tuple(tokens[i : i + self.n])])
        return total

    def generate(self, start, uniforms):
        out = list(start)
        p = self.probabilities
        for u in uniforms:
            row = p[tuple(out[len(out) - self.n + 1 :])]
            out.append(int(np.searchsorted(np.cumsum(row), u)))
        return np.array(out)


def perplexity(train, test, size, n=2, smoothing=0.5):
    model = NGramModel(n, size, smoothing).update(train)
    return np.exp(-model.log_likelihood(test) / (len(test) - n + 1)), model.seen


def sample_text(train, uniforms, size, n=3):
    model = NGramModel(n, size).update(train)
    return model.generate(train[: n - 1], uniforms)
