from dataclasses import dataclass, field

import numpy as np


@dataclass(order=True)
class Task:
    priority: float
    duration: float = field(compare=False)
    name: str = field(compare=False, default="")


def makespan(durations, machines=3):
    """Longest task first, each to the machine that is free first."""
    durations = np.asarray(durations)
    if (durations < 0).any():
        raise ValueError("durations must not be negative")
    tasks = sorted((Task(-d, d, f"t{i}") for i, d in enumerate(durations)))
    load = [0.0] * machines
    for task in tasks:
        first = load.index(min(load))
        load[first] += task.duration
    return max(load), np.array(load)


def topological_times(durations, after):
    """Earliest starts; `after` is a matrix of who waits for whom."""
    n = len(durations)
    pending = after.sum(axis=1)
    start = np.zeros(n)
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        ready = np.flatnonzero((pending == 0) & ~done)
        if ready.size == 0:
            raise ValueError("the tasks wait for each other in a circle")
        task = ready[0]
        done[task] = True
        for other in range(n):
            if after[other, task]:
                start[other] = max(start[other], start[task] + durations[task])
                pending[other] -= 1
    return start, (start + durations).max()
