"""A step of training of a graph convolutional network: features are gathered along edges and summed
up where these end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.workload import Function
from benchmarks.workloads.networks import apply, cross_entropy, dense, training


def loss(xp: Any, size: Any) -> Function:
    nodes = size[0]

    def total(p: Any, x: Any, source: Any, target: Any, weight: Any, classes: Any) -> Any:
        for i, layer in enumerate(p):
            h = apply(layer, x)
            x = xp.segment_sum(h[source] * weight[:, None], target, nodes) + h
            x = xp.maximum(x, 0.0) if i < len(p) - 1 else x
        return cross_entropy(xp, x, classes)

    return total


def inputs(size: Any) -> tuple[Any, ...]:
    nodes, edges, widths = size
    r = np.random.default_rng(0)
    source, target = r.integers(0, nodes, (2, edges))
    degree = np.bincount(target, minlength=nodes) + 1.0
    weight = (degree[source] * degree[target]) ** -0.5
    parameters = [dense(r, a, b) for a, b in pairwise(widths)]
    x = r.normal(size=(nodes, widths[0])).astype(np.float32)
    classes = r.integers(0, widths[-1], nodes)
    return parameters, x, source, target, weight.astype(np.float32), classes


ABOUT = "GCN 128-64-64-7, 2,708 nodes, 10,556 edges"
SIZE, SMALL = (2708, 10556, (128, 64, 64, 7)), (6, 11, (4, 3, 3))
WORKLOADS = (training("gcn", ABOUT, loss, inputs, SIZE, SMALL),)
