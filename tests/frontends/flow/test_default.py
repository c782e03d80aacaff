"""Control flow is converted without being asked for, by everything that traces; where that cannot
be done the function is traced as it is, and `explain` says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import weft as wf

SOURCE = Path(__file__).parent.parent.parent.parent / "src"
INPUTS = np.array([0.7, -0.3, 0.2])


def bent(x: Any) -> Any:
    """A branch and a loop that values decide; the derivative is 4 or 6 times x."""
    y = x * x
    while y < 0.0:
        y = y + 1.0
    return 2.0 * y if x > 0.0 else 3.0 * y


def total(x: Any) -> Any:
    return bent(x[0]) + bent(x[1]) + bent(x[2])


@wf.custom_jvp
def ruled(x: Any) -> Any:
    return bent(x)


@ruled.defjvp
def _ruled(primals: Any, tangents: Any) -> Any:
    return ruled(*primals), 7.0 * tangents[0] if primals[0] > 0.0 else tangents[0]


SLOPES = np.where(INPUTS > 0, 4.0, 6.0) * INPUTS

WAYS: dict[str, tuple[Callable[[], Any], Any]] = {
    "jit": (lambda: wf.jit(total)(INPUTS), total(INPUTS)),
    "jit of a gradient": (lambda: wf.jit(wf.grad(total))(INPUTS), SLOPES),
    "grad": (lambda: wf.grad(total)(INPUTS), SLOPES),
    "value_and_grad": (lambda: wf.value_and_grad(total)(INPUTS)[1], SLOPES),
    "vmap": (lambda: wf.vmap(bent)(INPUTS), [bent(x) for x in INPUTS]),
    "jvp": (lambda: wf.jvp(total, (INPUTS,), (np.ones(3),))[1], SLOPES.sum()),
    "vjp": (lambda: wf.vjp(total, INPUTS)[1](1.0)[0], SLOPES),
    "linearize": (lambda: wf.linearize(total, INPUTS)[1](np.ones(3)), SLOPES.sum()),
    "jacfwd": (lambda: wf.jacfwd(wf.vmap(bent))(INPUTS), np.diag(SLOPES)),
    "jacrev": (lambda: wf.jacrev(total)(INPUTS), SLOPES),
    "hessian": (lambda: wf.hessian(total)(INPUTS), np.diag(SLOPES / INPUTS)),
    "hvp": (lambda: wf.hvp(total, (INPUTS,), (np.ones(3),)), SLOPES / INPUTS),
    "trace": (lambda: wf.trace(total)(INPUTS).ops[-1].name == "add", True),
    "scan": (lambda: wf.scan(lambda c, x: (c + bent(x), c), 0.0, INPUTS)[0], total(INPUTS)),
    "while_loop": (
        lambda: wf.while_loop(lambda c: c < 5.0, lambda c: c + bent(c), 1.0),
        27.0 - 24.0 + 18.0,
    ),
    "fori_loop": (lambda: wf.fori_loop(0, 2, lambda i, c: c + bent(c), 1.0), 21.0),
    "map": (lambda: wf.map(bent, INPUTS), [bent(x) for x in INPUTS]),
    "no_fuse": (lambda: wf.jit(wf.no_fuse(total))(INPUTS), total(INPUTS)),
    "checkpoint": (lambda: wf.grad(wf.checkpoint(total))(INPUTS), SLOPES),
    "an array of Weft": (
        lambda: wf.scan(lambda c, x: (c + bent(x), c), 0.0, wf.numpy.asarray(INPUTS))[0],
        total(INPUTS),
    ),
    "fixed_point": (
        lambda: wf.implicit.fixed_point(
            lambda x, a: 0.5 * bent(a) + 0.0 * x, lambda a: 0.5 * bent(a)
        )(2.0),
        4.0,
    ),
    "custom_jvp": (lambda: wf.grad(ruled)(2.0), 7.0),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_traces_converts(way: str) -> None:
    made, wanted = WAYS[way][0](), WAYS[way][1]
    np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-12)


def test_sparse_derivatives_convert() -> None:
    made = wf.sparse_jacobian(lambda x: np.stack([y * y if y > 0.0 else y for y in x]))(INPUTS)
    assert scipy.sparse.issparse(made)
    slopes = np.where(INPUTS > 0, 2.0 * INPUTS, 1.0)
    np.testing.assert_allclose(made.toarray(), np.diag(slopes), rtol=1e-12)


@pytest.mark.parametrize(
    "called",
    [
        lambda: wf.jit(total, control_flow=False)(INPUTS),
        lambda: wf.grad(total, control_flow=False)(INPUTS),
        lambda: wf.vmap(bent, control_flow=False)(INPUTS),
        lambda: wf.trace(total, control_flow=False)(INPUTS),
        lambda: wf.jit(wf.grad(total, control_flow=False))(INPUTS),
        lambda: wf.jit(wf.grad(total), control_flow=False)(INPUTS),
        lambda: wf.jit(lambda x: wf.jit(total, control_flow=False)(x))(INPUTS),
    ],
)
def test_it_can_be_switched_off(called: Callable[[], Any]) -> None:
    with pytest.raises(wf.TraceError, match="needs the value .* without control_flow=False"):
        called()


def test_what_asks_for_it_inside_of_what_does_not_is_converted() -> None:
    f = wf.jit(lambda x: wf.grad(total, control_flow=True)(x), control_flow=False)
    np.testing.assert_allclose(f(INPUTS), SLOPES, rtol=1e-12)


def only_without(x: Any) -> Any:
    """As a loop it cannot be, and conversion does not unroll so many steps."""
    made = [x]
    for _ in range(600):
        made.append(0.99 * made[-1])
    return made[-1]


def test_what_conversion_refuses_is_traced_as_it_is_and_explain_says_so() -> None:
    f = wf.jit(only_without)
    assert f(2.0) == pytest.approx(only_without(2.0))
    assert wf.grad(only_without)(2.0) == pytest.approx(0.99**600)
    text = f.explain()
    assert "traced without its control flow converted" in text
    assert "made grows in this loop" in text
    with pytest.raises(wf.TraceError, match="made grows in this loop"):
        wf.jit(only_without, control_flow=True)(2.0)


def test_what_was_converted_says_nothing_in_explain() -> None:
    f = wf.jit(total)
    f(INPUTS)
    assert "control flow" not in f.explain()


def test_where_both_fail_the_error_is_that_of_conversion() -> None:
    def sign(x: Any) -> Any:
        if x > 0.0:
            s = 1.0
        return s * x

    with pytest.raises(wf.TraceError, match="s has no value here"):
        wf.jit(sign)(1.0)


def test_errors_of_the_user_are_raised_once() -> None:
    calls = []

    def checked(x: Any) -> Any:
        calls.append(1)
        if x.shape[0] != 2:
            raise ValueError("two of them")
        return x

    with pytest.raises(ValueError, match="two of them"):
        wf.jit(checked)(INPUTS)

    def added(x: Any) -> Any:
        calls.append(1)
        return x + np.ones(2)

    with pytest.raises(wf.ShapeError):
        wf.jit(added)(INPUTS)
    assert len(calls) == 2


PROGRAM = """
import sys
import numpy as np
import weft as wf
before = [name for name in sys.modules if name.startswith("weft.frontends.flow.")]
f = wf.jit(lambda xs: np.tanh(xs).sum())
f(np.ones(3))
print(before, "): found" in f.explain_cache(), "weft.frontends.flow.convert" in sys.modules)
"""


@pytest.mark.slow
def test_what_is_found_on_disk_needs_no_conversion(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    environment = {
        **os.environ,
        "WEFT_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(SOURCE),
    }
    command = [sys.executable, str(path)]
    made = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert made[0].stdout.split()[-2:] == ["False", "True"]
    assert made[1].stdout.split()[-2:] == ["True", "False"]
