from collections import Counter, defaultdict

import numpy as np


class Vocabulary:
    def __init__(self, text):
        counts = Counter(text)
        self.letters = [letter for letter, _ in counts.most_common()]
        self.codes = {letter: i for i, letter in enumerate(self.letters)}
        self.positions = defaultdict(list)
        for i, letter in enumerate(text):
            self.positions[letter].append(i)

    def __len__(self):
        return len(self.letters)

    def encode(self, text):
        try:
            return np.array([self.codes[letter] for letter in text])
        except KeyError as e:
            raise ValueError(f"{e.args[0]!r} is not in the vocabulary") from None


def edit_distance(a, b, costs=(1, 1, 1)):
    insertion, deletion, substitution = costs
    previous = [j * insertion for j in range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        current = [i * deletion]
        for j, y in enumerate(b, 1):
            current.append(
                min(
                    previous[j] + deletion,
                    current[j - 1] + insertion,
                    previous[j - 1] + (x != y) * substitution,
                )
            )
        previous = current
    return previous[-1]


def byte_pairs(tokens, merges, size):
    """Byte pair encoding: the commonest pair becomes a token of its own, several times."""
    tokens = np.array(tokens)
    length = len(tokens)
    pairs = np.zeros((merges, 2), dtype=int)
    for m in range(merges):
        counts = np.zeros((size + m, size + m), dtype=int)
        for i in range(length - 1):
            counts[tokens[i], tokens[i + 1]] += 1
        a, b = divmod(int(counts.argmax()), size + m)
        if counts[a, b] < 2:
            break
        pairs[m] = a, b
        i = k = 0
        while i < length:
            if i < length - 1 and tokens[i] == a and tokens[i + 1] == b:
                tokens[k] = size + m
                i += 2
            else:
                tokens[k] = tokens[i]
                i += 1
            k += 1
        length = k
    return tokens[:length], pairs
