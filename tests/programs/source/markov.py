"""The most probable path through a hidden Markov model, by Viterbi's recurrence."""

import numpy as np


def viterbi(start, transition, emission, observations):
    steps, states = len(observations), len(start)
    score = np.zeros((steps, states))
    origin = np.zeros((steps, states), dtype=int)
    score[0] = np.log(start) + np.log(emission[:, observations[0]])
    for t in range(1, steps):
        for s in range(states):
            reached = score[t - 1] + np.log(transition[:, s])
            origin[t, s] = np.argmax(reached)
            score[t, s] = reached[origin[t, s]] + np.log(emission[s, observations[t]])
    path = np.zeros(steps, dtype=int)
    path[-1] = np.argmax(score[-1])
    for t in range(steps - 2, -1, -1):
        path[t] = origin[t + 1, path[t + 1]]
    return path, score[-1].max()
