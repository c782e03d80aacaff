"""Draws are functions of their key and parameters: the same bits outside of jit and in it, alone
and fused with what uses them, batched, of symbolic sizes, and on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import weft as wf
from weft import random

Array = np.ndarray[Any, Any]
Draw = Callable[..., Any]

COV: Final = np.array([[2.0, 0.5], [0.5, 1.0]])
P: Final = np.array([0.1, 0.2, 0.3, 0.4])

# name -> draw(key, shape, dtype), with a parameter that is no power of two where there is one.
FLOATS: Final[dict[str, Draw]] = {
    "uniform": lambda k, s, d: random.uniform(k, s, d),
    "uniform between": lambda k, s, d: random.uniform(k, s, d, low=-0.3, high=1.7),
    "normal": lambda k, s, d: random.normal(k, s, d),
    "normal scaled": lambda k, s, d: random.normal(k, s, d, mean=0.7, std=1.3),
    "gumbel": lambda k, s, d: random.gumbel(k, s, d),
    "gumbel scaled": lambda k, s, d: random.gumbel(k, s, d, loc=0.7, scale=1.3),
    "exponential": lambda k, s, d: random.exponential(k, s, d, scale=1.3),
    "laplace": lambda k, s, d: random.laplace(k, s, d, loc=0.7, scale=1.3),
    "logistic": lambda k, s, d: random.logistic(k, s, d, loc=0.7, scale=1.3),
    "cauchy": lambda k, s, d: random.cauchy(k, s, d, loc=0.7, scale=1.3),
    "rayleigh": lambda k, s, d: random.rayleigh(k, s, d, scale=1.3),
    "weibull": lambda k, s, d: random.weibull(k, 1.7, s, d, scale=1.3),
    "pareto": lambda k, s, d: random.pareto(k, 2.3, s, d),
    "lognormal": lambda k, s, d: random.lognormal(k, s, d, mean=0.7, std=0.3),
    "truncated_normal": lambda k, s, d: random.truncated_normal(k, 0.3, 1.9, s, d),
    "loggamma": lambda k, s, d: random.loggamma(k, 0.7, s, d),
    "gamma": lambda k, s, d: random.gamma(k, 2.3, s, d, scale=1.3),
    "chisquare": lambda k, s, d: random.chisquare(k, 3.3, s, d),
    "t": lambda k, s, d: random.t(k, 3.3, s, d),
    "beta": lambda k, s, d: random.beta(k, 0.7, 2.3, s, d),
    "dirichlet": lambda k, s, d: random.dirichlet(k, np.array([0.7, 1.3, 2.9]), s, d),
    "multivariate_normal": lambda k, s, d: random.multivariate_normal(k, np.ones(2), COV, s, d),
    "rademacher": lambda k, s, d: random.rademacher(k, s, d),
}
WHOLE: Final[dict[str, Draw]] = {
    "bits": lambda k, s, d: random.bits(k, s),
    "randint": lambda k, s, d: random.randint(k, s, -3, 17),
    "bernoulli": lambda k, s, d: random.bernoulli(k, 0.3, s),
    "categorical": lambda k, s, d: random.categorical(k, np.log(P), shape=s),
    "geometric": lambda k, s, d: random.geometric(k, 0.13, s),
    "poisson": lambda k, s, d: random.poisson(k, 3.7, s),
    "poisson of many": lambda k, s, d: random.poisson(k, 37.3, s),
    "binomial": lambda k, s, d: random.binomial(k, 20.0, 0.23, s),
    "binomial of many": lambda k, s, d: random.binomial(k, 200.0, 0.61, s),
    "choice": lambda k, s, d: random.choice(k, np.array([1.5, 2.5, 3.5, 4.5]), s, p=P),
}
CASES: Final = [
    *((name, "f32") for name in FLOATS),
    *((name, "f64") for name in (*WHOLE, "uniform", "normal", "gumbel", "logistic", "gamma")),
]
OTHERS: Final = {"key", "split", "fold_in", "permutation", "orthogonal"}


def assert_same(made: Any, wanted: Any) -> None:
    a, b = np.asarray(made), np.asarray(wanted)
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes(), f"{np.mean(a != b):.1%} differ"


def test_all_functions_are_here() -> None:
    assert {name.split()[0] for name in (*FLOATS, *WHOLE)} | OTHERS == set(random.__all__)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_jit_has_the_bits_of_calls_outside(name: str, dtype: str) -> None:
    draw, key = {**FLOATS, **WHOLE}[name], random.key(5)
    for size in (7, 1000):
        wanted = draw(key, (size,), dtype)
        assert_same(wf.jit(lambda k, size=size: draw(k, (size,), dtype))(key), wanted)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_what_a_draw_is_fused_with_changes_nothing(name: str, dtype: str) -> None:
    draw, key = {**FLOATS, **WHOLE}[name], random.key(6)
    wanted = np.asarray(draw(key, (513,), dtype))
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *wanted.shape)).astype(wanted.dtype)

    def fused(key: Any, x: Any, y: Any) -> Any:
        drawn = draw(key, (513,), dtype)
        return x * drawn + y, drawn

    def used(key: Any, y: Any) -> Any:
        return y + draw(key, (513,), dtype), y - draw(key, (513,), dtype) if name in FLOATS else y

    assert_same(wf.jit(fused)(key, x, y)[1], wanted)
    if wanted.dtype != bool:
        made, less = wf.jit(used)(key, y)
        assert_same(made, y + wanted)
        if name in FLOATS:
            assert_same(less, y - wanted)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_batches_and_symbolic_sizes_have_the_same_bits(name: str, dtype: str) -> None:
    draw = {**FLOATS, **WHOLE}[name]
    keys = random.split(random.key(7), 3)
    wanted = [np.asarray(draw(key, (65,), dtype)) for key in keys]
    batched = wf.jit(wf.vmap(lambda key: draw(key, (65,), dtype)))(keys)
    assert_same(batched, np.stack(wanted))
    specs = [wf.spec("u32[2]"), wf.spec("f64[n]")]
    late = wf.jit(lambda key, x: draw(key, x.shape, dtype), specs=specs)
    assert_same(late(keys[0], np.zeros(65)), wanted[0])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(threads: int) -> None:
    key, size = random.key(9), 100_003
    wanted = random.normal(key, (size,), "f32")
    drawn = wf.jit(lambda key: random.normal(key, (size,), "f32") + 0.0, threads=threads)
    assert_same(drawn(key), wanted)


def test_one_number_has_the_bits_of_many() -> None:
    for name, dtype in (("normal", "f32"), ("gumbel", "f64"), ("cauchy", "f32")):
        wanted = FLOATS[name](random.key(5), (1,), dtype)
        assert_same(wf.jit(lambda k, n=name, d=dtype: FLOATS[n](k, (1,), d))(random.key(5)), wanted)
        assert_same(FLOATS[name](random.key(5), (1000,), dtype)[:1], wanted)


PARAMETERS: Final[dict[str, tuple[Draw, tuple[float, ...]]]] = {
    "uniform": (lambda k, a, b: random.uniform(k, (200,), "f32", low=a, high=b), (-0.3, 1.7)),
    "normal": (lambda k, a, b: random.normal(k, (200,), "f32", mean=a, std=b), (0.7, 1.3)),
    "weibull": (lambda k, a, b: random.weibull(k, a, (200,), "f32", scale=b), (1.7, 1.3)),
    "truncated_normal": (lambda k, a, b: random.truncated_normal(k, a, b, (200,)), (0.3, 1.9)),
    "gamma": (lambda k, a, b: random.gamma(k, a, (200,), "f32", scale=b), (2.3, 1.3)),
    "beta": (lambda k, a, b: random.beta(k, a, b, (200,)), (0.7, 2.3)),
    "poisson": (lambda k, a: random.poisson(k, a, (200,)), (37.3,)),
    "binomial": (lambda k, a, b: random.binomial(k, a, b, (200,)), (200.0, 0.61)),
    "geometric": (lambda k, a: random.geometric(k, a, (200,)), (0.13,)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_may_be_known_given_or_computed(name: str) -> None:
    draw, numbers = PARAMETERS[name]
    key = random.key(8)
    wanted = draw(key, *numbers)
    assert_same(wf.jit(lambda key: draw(key, *numbers))(key), wanted)
    assert_same(wf.jit(draw)(key, *numbers), wanted)
    assert_same(draw(key, *map(np.asarray, numbers)), wanted)
    # Products of the caller's, which must be rounded before they are added.
    halves = [number / 3.0 for number in numbers]
    products = [half * 3.0 for half in halves]
    computed = wf.jit(lambda key, *halves: draw(key, *[half * 3.0 for half in halves]))
    assert_same(computed(key, *halves), draw(key, *products))


def test_draws_outside_of_jit_compile_functions_once_for_all_shapes() -> None:
    from weft.frontends.eager import op_by_op, recording

    random.normal(random.key(0), (77,), mean=0.25, std=1.1)
    before = len(recording._programs), op_by_op._program.cache_info().currsize
    for seed in range(1, 4):
        random.normal(random.key(seed), (seed, 5), mean=0.3 * seed, std=1.7)
    assert (len(recording._programs), op_by_op._program.cache_info().currsize) == before


def test_products_of_draws_are_rounded_in_the_graph() -> None:
    graph = wf.trace(lambda key: random.normal(key, (3,), std=1.3))(wf.spec("u32[2]"))
    products = [op.result for op in graph.ops if op.name == "mul"]
    rounded = [op.operands[0] for op in graph.ops if op.name == "rounded"]
    assert len(products) == 3 and rounded == products[1:]  # the first one is by 2
