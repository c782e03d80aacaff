"""An ordinary differential equation with steps that adapt themselves, as a while loop.

The method of Bogacki and Shampine (third order with an embedded second) on the oscillator of van
der Pol: rejected steps, step sizes and all. The gradient goes through the loop, which needs a
record of unknown length: JAX has reverse mode through scans but not through such loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient

STIFFNESS = 5.0


def solution(xp: Any, size: float) -> Function:
    """A weighted sum of the state at the end."""
    end = size

    def slope(y: Any, mu: Any) -> Any:
        return xp.stack((y[1], mu * (1.0 - y[0] * y[0]) * y[1] - y[0]))

    def attempt(y: Any, mu: Any, h: Any) -> Any:
        k1 = slope(y, mu)
        k2 = slope(y + h * 0.5 * k1, mu)
        k3 = slope(y + h * 0.75 * k2, mu)
        new = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        k4 = slope(new, mu)
        difference = h * (-5.0 * k1 / 72.0 + k2 / 12.0 + k3 / 9.0 - k4 / 8.0)
        error = xp.sqrt(xp.mean((difference / (1e-6 + 1e-6 * xp.abs(new))) ** 2) + 1e-20)
        return new, error

    def total(start: Any, mu: Any) -> Any:
        def goes_on(carry: Any) -> Any:
            return carry[1] < end

        def step(carry: Any) -> Any:
            y, t, h = carry
            used = xp.where(t + h > end, end - t, h)
            new, error = attempt(y, mu, used)
            fine = error <= 1.0
            factor = xp.minimum(xp.maximum(0.9 * error ** (-1.0 / 3.0), 0.2), 5.0)
            return xp.where(fine, new, y), xp.where(fine, t + used, t), used * factor

        zero = start[0] * 0.0
        y, _, _ = xp.while_loop(goes_on, step, (start, zero, zero + 1e-3))
        return y[0] + 0.5 * y[1]

    return total


def numba_solution(xp: Any, size: float) -> Function:
    """The same with numbers, as one writes it for Numba."""
    import numba

    @numba.njit
    def total(start: Any, mu: float) -> float:
        a, b, t, h = start[0], start[1], 0.0, 1e-3
        while t < size:
            used = size - t if t + h > size else h
            a1, b1 = b, mu * (1.0 - a * a) * b - a
            p, q = a + used * 0.5 * a1, b + used * 0.5 * b1
            a2, b2 = q, mu * (1.0 - p * p) * q - p
            p, q = a + used * 0.75 * a2, b + used * 0.75 * b2
            a3, b3 = q, mu * (1.0 - p * p) * q - p
            p = a + used * (2.0 * a1 + 3.0 * a2 + 4.0 * a3) / 9.0
            q = b + used * (2.0 * b1 + 3.0 * b2 + 4.0 * b3) / 9.0
            a4, b4 = q, mu * (1.0 - p * p) * q - p
            da = used * (-5.0 * a1 / 72.0 + a2 / 12.0 + a3 / 9.0 - a4 / 8.0)
            db = used * (-5.0 * b1 / 72.0 + b2 / 12.0 + b3 / 9.0 - b4 / 8.0)
            da, db = da / (1e-6 + 1e-6 * abs(p)), db / (1e-6 + 1e-6 * abs(q))
            error = np.sqrt((da * da + db * db) / 2.0 + 1e-20)
            if error <= 1.0:
                a, b, t = p, q, t + used
            h = used * min(max(0.9 * error ** (-1.0 / 3.0), 0.2), 5.0)
        return float(a + 0.5 * b)

    return total  # type: ignore[no-any-return]


def start(size: float) -> tuple[Any, ...]:
    return np.array([2.0, 0.0]), np.float64(STIFFNESS)


WITHOUT = {
    "torch.compile": "the number of steps depends on values",
    "pytensor": "no loop without a bound on its steps",
}
WORKLOADS = (
    Workload(
        "ode",
        "loops",
        "van der Pol's oscillator to t = 20, adaptive steps",
        solution,
        start,
        {"": 20.0},
        1.0,
        own={"numba": numba_solution},
        without=WITHOUT,
        tolerance=1e-6,
        cold=False,
    ),
    Workload(
        "ode-gradient",
        "loops",
        "its gradient, through the while loop",
        solution,
        start,
        {"": 20.0},
        1.0,
        form=gradient(0, 1),
        without={**WITHOUT, "jax": "no reverse mode through while loops"},
        tolerance=1e-4,
    ),
)
