"""Local alignment of two sequences by Smith and Waterman, and edit distance row by row."""

import numpy as np


def smith_waterman(first, second, match, mismatch, gap):
    n, m = len(first), len(second)
    scores = np.zeros((n + 1, m + 1))
    best, end_i, end_j = 0.0, 0, 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            step = match if first[i - 1] == second[j - 1] else mismatch
            score = max(
                0.0,
                scores[i - 1, j - 1] + step,
                scores[i - 1, j] + gap,
                scores[i, j - 1] + gap,
            )
            scores[i, j] = score
            if score > best:
                best, end_i, end_j = score, i, j
    return best, end_i, end_j, scores


def edit_distance(first, second):
    row = np.arange(len(second) + 1)
    for i, letter in enumerate(first):
        new = np.minimum(row[1:] + 1, row[:-1] + (second != letter))
        left = i + 1
        following = row.copy()
        following[0] = left
        for j in range(len(second)):
            left = min(new[j], left + 1)
            following[j + 1] = left
        row = following
    return row[-1]
