import numpy as np


class Rule:
    def __init__(self, number):
        if not 0 <= number <= 255:
            raise ValueError("rules are numbered from 0 to 255")
        self.number = number
        self.table = np.array([int(bit) for bit in reversed(np.binary_repr(number, 8))])

    def __call__(self, left, centre, right):
        return self.table[4 * left + 2 * centre + right]

    def __repr__(self):
        return f"Rule({self.number})"


def evolve(initial, steps=20, rule=30, boundary="periodic"):
    rule = rule if isinstance(rule, Rule) else Rule(rule)
    initial = np.asarray(initial)
    history = np.zeros((steps + 1, len(initial)), dtype=int)
    history[0] = initial
    for t in range(steps):
        row = history[t]
        if boundary == "periodic":
            history[t + 1] = rule(np.roll(row, 1), row, np.roll(row, -1))
        else:
            padded = np.pad(row, 1)
            history[t + 1] = rule(padded[:-2], row, padded[2:])
    return history
