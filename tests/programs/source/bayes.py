"""Naive Bayes with normal features: the rows of each class are taken by a mask."""

import numpy as np


def naive_bayes(features, labels, classes):
    scores = []
    for c in range(classes):
        own = features[labels == c]
        mean, variance, share = own.mean(axis=0), own.var(axis=0), len(own) / len(features)
        apart = (features - mean) ** 2 / variance
        scores.append(np.log(share) - 0.5 * np.sum(np.log(2 * np.pi * variance) + apart, axis=1))
    found = np.argmax(np.array(scores), axis=0)
    return found, np.mean(found == labels)
