"""All workloads at small sizes: the contenders that are installed agree, and Weft's derivatives are
those of the function that NumPy computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from benchmarks.measure import as_numpy, difference
from benchmarks.namespaces import numpy as numpy_names
from benchmarks.namespaces import weft as weft_names
from benchmarks.peers import PEERS, prepared
from benchmarks.registry import WORKLOADS
from benchmarks.trees import leaves, tree_map
from benchmarks.workload import (
    BETA1,
    BETA2,
    EPSILON,
    RATE,
    ProcessWorkload,
    Unsupported,
    Workload,
)
from benchmarks.workloads.growth import PROGRAMS as GROWING

TURNS = [workload for workload in WORKLOADS.values() if isinstance(workload, Workload)]
LONG = {
    "adbench-hand",
    "adbench-hand-jacobian",
    "adbench-lstm",
    "cnn",
    "gcn",
    "gpt",
    "gru-gradient",
}
LONG |= {"pinn", "vae", "vit"}


def marked(workloads: list[Workload]) -> list[Any]:
    """Those that take seconds leave the quick part of the suite."""
    return [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] * (each.name in LONG))
        for each in workloads
    ]


PLAIN = marked([workload for workload in [*TURNS, *GROWING] if not workload.form.numbers])
DERIVED = marked([workload for workload in [*TURNS, *GROWING] if workload.form.numbers])
OTHERS = [
    pytest.param(name, workload, id=f"{name}-{workload.name}")
    for name, peer in PEERS.items()
    for workload in TURNS
    if name not in ("weft", "numpy", "torch.compile", "pytensor")  # the last two take minutes
    and peer.is_installed
    and not peer.reason_against(workload)
]
PROBES = [workload for workload in WORKLOADS.values() if isinstance(workload, ProcessWorkload)]


def name_of(workload: Any) -> str:
    return str(workload.name)


def in_doubles(tree: Any) -> Any:
    """The same numbers as f64, so that differences can be divided by small steps."""

    def convert(leaf: Any) -> Any:
        array = np.asarray(leaf)
        return array.astype(np.float64) if array.dtype.kind == "f" else leaf

    return tree_map(convert, tree)


@pytest.mark.parametrize("workload", PLAIN)
def test_weft_and_numpy_agree(workload: Workload) -> None:
    inputs = workload.arguments(workload.small)
    ours, theirs = (
        as_numpy(prepared(name, workload, workload.small, inputs)()) for name in ("weft", "numpy")
    )
    assert all(np.all(np.isfinite(leaf)) for leaf in ours)
    assert difference(ours, theirs) <= workload.tolerance


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own forward mode
@pytest.mark.parametrize(("contender", "workload"), OTHERS)
def test_other_peers_agree_where_they_are_installed(contender: str, workload: Workload) -> None:
    inputs = workload.arguments(workload.small)
    try:
        theirs = as_numpy(prepared(contender, workload, workload.small, inputs)())
    except Unsupported as reason:
        pytest.skip(str(reason))
    ours = as_numpy(prepared("weft", workload, workload.small, inputs)())
    assert difference(ours, theirs) <= workload.tolerance


@pytest.mark.parametrize("workload", DERIVED)
def test_derivatives_are_those_of_what_numpy_computes(workload: Workload) -> None:
    inputs = in_doubles(workload.inputs(workload.small))
    numbers = workload.form.numbers
    plain = workload.own.get("numpy", workload.function)(numpy_names, workload.small)
    function = workload.function(weft_names, workload.small)
    value, slopes = wf.jit(wf.value_and_grad(function, numbers))(*inputs)
    r = np.random.default_rng(5)
    directions = [tree_map(lambda x: r.normal(size=np.shape(x)), inputs[n]) for n in numbers]

    def moved(by: float) -> float:
        arguments = list(inputs)
        for number, direction in zip(numbers, directions, strict=True):
            arguments[number] = tree_map(lambda x, d: x + by * d, inputs[number], direction)
        return float(plain(*arguments))

    step = 1e-5
    expected = (moved(step) - moved(-step)) / (2 * step)
    pairs = zip(leaves(slopes), leaves(directions), strict=True)
    found = sum(float(np.sum(slope * direction)) for slope, direction in pairs)
    np.testing.assert_allclose(float(value), float(plain(*inputs)), rtol=1e-6)
    # Central differences are off by the third derivative times the step squared, and by rounding.
    scale = abs(expected) + abs(float(value))
    assert abs(found - expected) <= 2e-5 * scale


@pytest.mark.parametrize("workload", PROBES, ids=name_of)
@pytest.mark.slow
def test_probe_measures_seconds_and_memory(workload: ProcessWorkload) -> None:
    found = workload.probe("weft", workload.small)
    assert found["seconds"] >= 0 and {"cpu", "bytes"} & set(found)


def test_adam_moves_parameters_against_their_gradients() -> None:
    workload = WORKLOADS["mlp"]
    assert isinstance(workload, Workload)
    p, m, v, t, *data = workload.arguments(workload.small)
    function = workload.function(weft_names, workload.small)
    value, (g,) = wf.jit(wf.value_and_grad(function, (0,)))(p, *data)
    m = tree_map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
    v = tree_map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
    rate = RATE * np.sqrt(1 - BETA2**t) / (1 - BETA1**t)
    expected = tree_map(lambda p, m, v: p - rate * m / (np.sqrt(v) + EPSILON), p, m, v)
    run = prepared("weft", workload, workload.small, workload.arguments(workload.small))
    assert difference(as_numpy(run()), as_numpy((expected, m, v, value))) < 1e-5


def test_sizes_say_how_much_they_compute_and_move() -> None:
    for workload in TURNS:
        for size in [*workload.sizes.values(), *workload.growth.values()]:
            for count in (workload.flops, workload.bytes):
                assert count is None or count(size) > 0


def test_each_peer_has_its_own_form_or_a_reason_against_it() -> None:
    names = {workload.name for workload in TURNS if not PEERS["numba"].reason_against(workload)}
    assert {"black-scholes", "chain", "heat", "ode", "softmax"} <= names
    assert PEERS["onnxruntime"].reason_against(WORKLOADS["resnet18"]) is None  # type: ignore[arg-type]
    assert PEERS["jax"].reason_against(WORKLOADS["ode-gradient"]) is not None  # type: ignore[arg-type]
