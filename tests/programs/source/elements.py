"""Loops over single elements: recurrences, dynamic programming, hashes, counts, sparse rows."""

import numpy as np


def biquad(x, b0, b1, b2, a1, a2):
    """A recursive filter of second order along a signal."""
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i in range(x.shape[0]):
        new = b0 * x[i] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1 = x1, x[i]
        y2, y1 = y1, new
        y[i] = new
    return y


def filter_elements(x, a):
    """Filters along rows, element by element, there and back."""
    y = x.copy()
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = a * y[i, j - 1] + (1.0 - a) * y[i, j]
        for j in range(x.shape[1] - 2, -1, -1):
            y[i, j] = a * y[i, j + 1] + (1.0 - a) * y[i, j]
    return y


def tridiagonal(below, diagonal, above, right):
    """One tridiagonal system, element by element."""
    n = right.shape[0]
    c = np.zeros(n)
    x = np.zeros(n)
    c[0] = above[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        scale = diagonal[i] - below[i] * c[i - 1]
        c[i] = above[i] / scale
        x[i] = (right[i] - below[i] * x[i - 1]) / scale
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]
    return x


def edit_distance_elements(a, b):
    """The table of the distances of all beginnings of two words."""
    n, m = a.shape[0], b.shape[0]
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def common_subsequence(a, b):
    """The longest one of two words, in two rows that take turns."""
    m = b.shape[0]
    before = np.zeros(m + 1, dtype=np.int64)
    now = np.zeros(m + 1, dtype=np.int64)
    for i in range(a.shape[0]):
        for j in range(1, m + 1):
            if a[i] == b[j - 1]:
                now[j] = before[j - 1] + 1
            else:
                now[j] = max(before[j], now[j - 1])
        before, now = now, before
    return before[m]


def hashed(data):
    """Fowler, Noll and Vo's hash of bytes."""
    h = 2166136261
    for i in range(data.shape[0]):
        h = ((h ^ int(data[i])) * 16777619) & 0xFFFFFFFF
    return h


def random_bits(seed, n):
    """Marsaglia's generator of bits by shifts."""
    out = np.zeros(n, dtype=np.uint64)
    state = np.uint64(seed)
    for i in range(n):
        state = state ^ (state << np.uint64(13))
        state = state ^ (state >> np.uint64(7))
        state = state ^ (state << np.uint64(17))
        out[i] = state
    return out


def checksum(data, table):
    """A cyclic redundancy check by a table."""
    crc = np.uint32(0xFFFFFFFF)
    for i in range(data.shape[0]):
        crc = table[(crc ^ np.uint32(data[i])) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def bit_counts(x):
    """How many bits of each number are set."""
    counts = np.zeros(x.shape[0], dtype=np.int64)
    for i in range(x.shape[0]):
        v = x[i]
        n = 0
        while v != 0:
            v = v & (v - 1)
            n += 1
        counts[i] = n
    return counts


def histogram(x, low, high, bins):
    """How many numbers fall into each of equal bins."""
    counts = np.zeros(bins, dtype=np.int64)
    scale = bins / (high - low)
    for i in range(x.shape[0]):
        if x[i] >= low and x[i] < high:
            counts[int((x[i] - low) * scale)] += 1
    return counts


def relaxed_elements(u, steps):
    """Gauss and Seidel's relaxation, element by element."""
    u = u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def red_black(u, steps):
    """Relaxation of every other point, as on a chessboard."""
    u = u.copy()
    for _ in range(steps):
        for colour in range(2):
            for i in range(1, u.shape[0] - 1):
                first = 1 + (i + colour) % 2
                if first == 1:
                    u[i, 1:-1:2] = 0.25 * (
                        u[i - 1, 1:-1:2] + u[i + 1, 1:-1:2] + u[i, :-2:2] + u[i, 2::2]
                    )
                else:
                    u[i, 2:-1:2] = 0.25 * (
                        u[i - 1, 2:-1:2] + u[i + 1, 2:-1:2] + u[i, 1:-2:2] + u[i, 3::2]
                    )
    return u


def sparse_product(starts, columns, values, x):
    """A sparse matrix by rows times a vector."""
    y = np.zeros(starts.shape[0] - 1)
    for i in range(starts.shape[0] - 1):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def triangular_product(a, b):
    """A lower triangle times a matrix, row by row."""
    n = a.shape[0]
    c = np.zeros_like(b)
    for i in range(n):
        for k in range(i + 1):
            c[i] += a[i, k] * b[k]
    return c


def solved_forward(a, b):
    """A triangular system, element by element."""
    n = a.shape[0]
    x = np.zeros(n)
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= a[i, j] * x[j]
        x[i] = total / a[i, i]
    return x


def cholesky_elements(a):
    """Cholesky's factor, element by element."""
    n = a.shape[0]
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return factor


def eliminated_rows(a):
    """Gauss's elimination without exchanges, in place, by whole rows."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            a[i, k + 1 :] = a[i, k + 1 :] - a[i, k] * a[k, k + 1 :]
    return a


def primes(n):
    """Eratosthenes' sieve."""
    sieve = np.ones(n, dtype=np.bool_)
    sieve[0] = False
    sieve[1] = False
    for i in range(2, n):
        if sieve[i]:
            for j in range(i * i, n, i):
                sieve[j] = False
    return sieve
