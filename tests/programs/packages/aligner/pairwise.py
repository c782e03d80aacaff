import numpy as np

from .scoring import Scoring

STOP, DIAGONAL, UP, LEFT = range(4)
GAP = -1


class Aligner:
    def __init__(self, scoring=None, mode="local"):
        if mode not in ("local", "global"):
            raise ValueError(f"mode {mode}")
        self.scoring = scoring or Scoring()
        self.mode = mode

    def _fill(self, a, b):
        s = self.scoring
        n, m = len(a), len(b)
        H = np.zeros((n + 1, m + 1))
        E = np.full((n + 1, m + 1), -np.inf)
        F = np.full((n + 1, m + 1), -np.inf)
        trace = np.zeros((n + 1, m + 1), dtype=np.int8)
        if self.mode == "global":
            for i in range(1, n + 1):
                H[i, 0] = s.gap_open + (i - 1) * s.gap_extend
                trace[i, 0] = UP
            for j in range(1, m + 1):
                H[0, j] = s.gap_open + (j - 1) * s.gap_extend
                trace[0, j] = LEFT
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                E[i, j] = max(E[i, j - 1] + s.gap_extend, H[i, j - 1] + s.gap_open)
                F[i, j] = max(F[i - 1, j] + s.gap_extend, H[i - 1, j] + s.gap_open)
                diagonal = H[i - 1, j - 1] + s.substitution(a[i - 1], b[j - 1])
                best, way = diagonal, DIAGONAL
                if F[i, j] > best:
                    best, way = F[i, j], UP
                if E[i, j] > best:
                    best, way = E[i, j], LEFT
                if self.mode == "local" and best <= 0:
                    best, way = 0.0, STOP
                H[i, j] = best
                trace[i, j] = way
        return H, trace

    def score(self, a, b):
        H, _ = self._fill(np.asarray(a), np.asarray(b))
        return H.max() if self.mode == "local" else H[-1, -1]

    def align(self, a, b):
        a, b = np.asarray(a), np.asarray(b)
        H, trace = self._fill(a, b)
        if self.mode == "local":
            i, j = np.unravel_index(np.argmax(H), H.shape)
        else:
            i, j = H.shape[0] - 1, H.shape[1] - 1
        score = H[i, j]
        length = len(a) + len(b)
        top, bottom = np.full(length, GAP), np.full(length, GAP)
        k = length
        while trace[i, j] != STOP:
            k -= 1
            if trace[i, j] == DIAGONAL:
                i -= 1
                j -= 1
                top[k], bottom[k] = a[i], b[j]
            elif trace[i, j] == UP:
                i -= 1
                top[k] = a[i]
            else:
                j -= 1
                bottom[k] = b[j]
        return score, top[k:], bottom[k:]


def align_local(a, b, **scores):
    return Aligner(Scoring(**scores)).align(a, b)


def align_global(a, b, **scores):
    return Aligner(Scoring(**scores), mode="global").score(a, b)
