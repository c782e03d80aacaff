"""Neural networks as layers that keep what their backward pass needs."""

from .layers import Activation, BatchNorm, Conv2D, Dense, Dropout, Flatten, MaxPool
from .network import Sequential, classify, convolutional_loss, train
from .optimizers import SGD, Adam, RMSProp

__all__ = [
    "SGD",
    "Activation",
    "Adam",
    "BatchNorm",
    "Conv2D",
    "Dense",
    "Dropout",
    "Flatten",
    "MaxPool",
    "RMSProp",
    "Sequential",
    "classify",
    "convolutional_loss",
    "train",
]
