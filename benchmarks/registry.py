"""All workloads by name, in the order of the table; to add one is to list its module here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from benchmarks.workload import AnyWorkload
from benchmarks.workloads import (
    adbench_bundle,
    adbench_bundle_jacobian,
    adbench_gmm,
    adbench_hand,
    adbench_lstm,
    attention,
    black_scholes,
    cnn,
    convolution,
    elementwise,
    gcn,
    gpt,
    graphs,
    growth,
    imports,
    latency,
    mlp,
    ode,
    onnx,
    pairwise,
    pinn,
    products,
    programs,
    recurrent,
    regression,
    rows,
    solve,
    sparse_hessian,
    stencil,
    vae,
    vit,
)

_MODULES: Final = (
    elementwise,
    black_scholes,
    rows,
    pairwise,
    stencil,
    recurrent,
    ode,
    solve,
    regression,
    pinn,
    sparse_hessian,
    products,
    convolution,
    attention,
    mlp,
    cnn,
    gpt,
    vit,
    gcn,
    vae,
    onnx,
    adbench_gmm,
    adbench_bundle,
    adbench_bundle_jacobian,
    adbench_lstm,
    adbench_hand,
    programs,
    latency,
    imports,
    graphs,
    growth,
)
WORKLOADS: Final[Mapping[str, AnyWorkload]] = {
    workload.name: workload for module in _MODULES for workload in module.WORKLOADS
}
MODULE_OF: Final[Mapping[str, str]] = {
    workload.name: module.__name__ for module in _MODULES for workload in module.WORKLOADS
}
