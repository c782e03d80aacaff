"""What packages above this one make their functions with: `eager`, for functions to be called
anywhere, and `start_trace`, whose arrays know such functions. With either, calls outside of traces
find what computes them, which is loaded with the first.
"""

from __future__ import annotations

from weft.frontends.numpy.array import start_trace as start_trace
from weft.frontends.tracing.outside import REGISTRATION, OutsideCalls
from weft.frontends.tracing.outside import eager as eager


def _load() -> OutsideCalls:
    from weft.frontends.eager.array import OUTSIDE

    return OUTSIDE


REGISTRATION.load_by(_load)
