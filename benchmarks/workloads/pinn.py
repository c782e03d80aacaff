"""A physics-informed network: the residual of the equation of Korteweg and de Vries has the third
derivative of the network by its input, and is differentiated by the weights.
"""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Function, Workload, gradient, normal


def residual(xp: Any, size: Any) -> Function:
    """The mean square of u u' + u''' at points x, for u a network with tanh."""

    def loss(p: Any, x: Any) -> Any:
        one = 0.0 * x + 1.0

        def network(x: Any) -> Any:
            h = x[:, None] * p[0]["w"][0] + p[0]["b"]
            for layer in p[1:]:
                h = xp.tanh(h) @ layer["w"] + layer["b"]
            return h[:, 0]

        def derivative(function: Function) -> Function:
            return lambda x: xp.jvp(function, (x,), (one,))[1]

        first = derivative(network)
        return xp.mean((network(x) * first(x) + derivative(derivative(first))(x)) ** 2)

    return loss


def by_hand(xp: Any, size: Any) -> Function:
    """The same, with the three derivatives carried through the layers: for those that have none."""

    def loss(p: Any, x: Any) -> Any:
        h = x[:, None] * p[0]["w"][0] + p[0]["b"]
        d1, d2, d3 = 0.0 * h + p[0]["w"][0], 0.0 * h, 0.0 * h
        for layer in p[1:]:
            t = xp.tanh(h)
            t1 = 1.0 - t * t
            t2 = -2.0 * t * t1
            t3 = -2.0 * (t1 * t1 + t * t2)
            d3 = t3 * d1 * d1 * d1 + 3.0 * t2 * d1 * d2 + t1 * d3
            d2 = t2 * d1 * d1 + t1 * d2
            d1 = t1 * d1
            h, d1, d2, d3 = t @ layer["w"] + layer["b"], *(d @ layer["w"] for d in (d1, d2, d3))
        return xp.mean((h * d1 + d3)[:, 0] ** 2)

    return loss


def parameters(size: Any) -> tuple[Any, ...]:
    points, width, depth = size
    sizes = (1, *(width,) * depth, 1)
    layers = [
        {
            "w": normal(a, b, dtype="f8", seed=i, scale=max(a, 2) ** -0.5),
            "b": normal(b, dtype="f8", seed=10 + i, scale=0.1),
        }
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]
    return layers, normal(points, dtype="f8", seed=20)


WORKLOADS = (
    Workload(
        "pinn",
        "derivatives",
        "gradient of a residual with a third derivative",
        residual,
        parameters,
        {"1,000 points, 3 layers of 64, f64": (1000, 64, 3)},
        (7, 4, 2),
        form=gradient(0),
        own={"numpy": by_hand},
        without={"torch.compile": "it compiles for minutes"},
        tolerance=1e-8,
    ),
)
