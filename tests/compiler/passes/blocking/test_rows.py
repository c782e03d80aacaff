"""Attention and its like in blocks of rows: which graphs are rewritten, that they compute the same,
and that native programs need little memory and have the same bits for any number of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from tests.compiler.ir.golden import assert_golden
from tests.compiler.passes.random_programs import random_arguments, random_program
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op
from weft.compiler.ir.walk import walk
from weft.compiler.passes.blocking.rows import RowBlockLimits, block_rows
from weft.compiler.passes.pipeline import DEFAULT, optimise
from weft.compiler.passes.running import Pass

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

# Small blocks of small graphs.
SMALL = RowBlockLimits(
    least_bytes=0,
    least_gain=0.3,
    least_ratio=1,
    block_bytes=1,
    least_rows=6,
    most_rows=6,
    lanes=2,  # columns are left out two by two, not sixteen by sixteen
)
BEFORE = [item for item in DEFAULT if not item.is_last]
RANDOM = np.random.default_rng(0)
B, H, T, S, D = 2, 3, 24, 20, 2


# --- functions ------------------------------------------------------------------------------------


def normal(*shape: int) -> Array:
    return RANDOM.normal(size=shape)


def softmax(s: Any) -> Any:
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def attention(
    q: Any, k: Any, v: Any, bias: Any = None, mask: Any = None, low: Any = -np.inf
) -> Any:
    s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = np.where(mask, s, low)
    return softmax(s) @ v


def gradients(f: Function, *numbers: int) -> Any:
    """Value and gradients of a number made of a function's result that mixes all of it, so that
    what comes back waits for all that went out.
    """

    def total(*args: Any) -> Any:
        return np.sum(np.tanh(f(*args))) ** 2

    return wf.value_and_grad(total, numbers or (0, 1, 2))


def qkv(rows: int = T, columns: int = S) -> tuple[Array, Array, Array]:
    return normal(B, H, rows, D), normal(B, H, columns, D), normal(B, H, columns, D)


def traced(f: Function, *args: Any) -> Graph:
    """The graph of a function when the passes before have been over it."""
    return optimise(wf.trace(f)(*args), passes=BEFORE)[0]


def leaves(args: Any) -> list[Array]:
    return [np.asarray(leaf) for leaf in optree.tree_leaves(args)]


def check(
    f: Function, *args: Any, limits: RowBlockLimits = SMALL, tolerance: float = 1e-9
) -> tuple[Graph, Counter[str]]:
    """The graph in blocks, which must compute what it did before."""
    graph, fired = traced(f, *args), Counter[str]()
    made = block_rows(graph, fired, limits=limits)
    made.verify()
    given = leaves(args)
    with np.errstate(all="ignore"):
        wanted, found = evaluate(graph, given), evaluate(made, given)
    for new, old in zip(found, wanted, strict=True):
        assert new.dtype == old.dtype
        np.testing.assert_allclose(new, old, rtol=tolerance, atol=tolerance)
    return made, fired


def widest(graph: Graph) -> int:
    """The most elements that a value of a graph has, in its loops too."""
    return max(int(result.type.size) for op in walk(graph) for result in op.results)


# --- what it does ---------------------------------------------------------------------------------


def test_golden() -> None:
    graph = traced(attention, normal(2, 8, 2), normal(2, 9, 2), normal(2, 9, 2))
    limits = RowBlockLimits(0, 0.3, 1, block_bytes=1, least_rows=2, most_rows=2, lanes=2)
    assert_golden("passes/block_rows", block_rows(graph, limits=limits).text())


def test_small_products_are_left_alone() -> None:
    graph = traced(gradients(attention), *qkv())
    assert block_rows(graph) is graph


def test_layers_of_a_perceptron_are_left_alone() -> None:
    def f(x: Any, w1: Any, w2: Any) -> Any:
        return np.tanh(x @ w1) @ w2

    x, w1, w2 = [np.zeros(s, np.float32) for s in ((4096, 256), (256, 1024), (1024, 256))]
    graph = traced(wf.grad(lambda *args: f(*args).sum(), (1, 2)), x, w1, w2)
    assert block_rows(graph) is graph


def test_scores_that_are_returned_are_left_alone() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        p = softmax(q @ k.swapaxes(-1, -2))
        return p @ v, p

    arrays = [np.zeros((8, 1024, 64), np.float32)] * 3
    graph = traced(f, *arrays)
    assert block_rows(graph) is graph


def test_fence_keeps_scores_whole() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        return softmax(wf.fence(q @ k.swapaxes(-1, -2))) @ v

    arrays = [np.zeros((8, 1024, 64), np.float32)] * 3
    graph = traced(f, *arrays)
    assert block_rows(graph) is graph
    assert block_rows(traced(attention, *arrays)).ops[-1].name != "dot_general"


def test_scores_are_never_whole() -> None:
    made, fired = check(gradients(attention), *qkv(48, 60))
    assert fired == {"6 x 48 rows in blocks of 8": 2}
    assert widest(made) <= B * H * 60 * D


# --- the same results -----------------------------------------------------------------------------

BIASES = {
    "rows by columns": (T, S),
    "for each head": (H, T, S),
    "for each batch and head": (B, H, T, S),
    "for each batch": (B, 1, T, S),
    "columns of each batch": (B, 1, 1, S),
    "columns": (S,),
    "rows": (T, 1),
}


@pytest.mark.parametrize("has_gradient", [False, True])
@pytest.mark.parametrize("shape", BIASES.values(), ids=BIASES)
def test_bias(shape: tuple[int, ...], has_gradient: bool) -> None:
    numbers = (0, 1, 2, 3) if has_gradient else (0, 1, 2)
    _, fired = check(gradients(attention, *numbers), *qkv(), normal(*shape))
    assert fired


@pytest.mark.parametrize("low", [-np.inf, -1e9])
def test_mask_that_is_an_argument(low: float) -> None:
    mask = RANDOM.random((B, 1, 1, S)) < 0.7
    f = gradients(lambda q, k, v, m: attention(q, k, v, mask=m, low=low))
    assert check(f, *qkv(), mask)[1]
    mask[0] = False  # NaN, or equal weights
    assert check(f, *qkv(), mask)[1]


def test_dropout() -> None:
    def with_mask(q: Any, k: Any, v: Any, keep: Any) -> Any:
        return np.where(keep, softmax(q @ k.swapaxes(-1, -2)) / 0.9, 0) @ v

    def with_key(q: Any, k: Any, v: Any, key: Any) -> Any:
        return with_mask(q, k, v, wf.random.bernoulli(key, 0.9, (B, H, T, S)))

    assert check(gradients(with_mask), *qkv(), RANDOM.random((B, H, T, S)) < 0.9)[1]
    made, fired = check(gradients(with_key), *qkv(), wf.random.key(3))
    assert fired
    assert widest(made) < B * H * T * S


def test_soft_cap() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        return softmax(5.0 * np.tanh(q @ k.swapaxes(-1, -2) / 5.0)) @ v

    assert check(gradients(f), *qkv())[1]


@pytest.mark.parametrize("rows, columns", [(25, 20), (23, 40), (7, 20), (13, 13), (6, 80)])
def test_any_number_of_rows(rows: int, columns: int) -> None:
    args = qkv(rows, columns)
    assert check(gradients(attention), *args)[1]
    assert check(gradients(attention), *args, normal(H, rows, columns))[1]


def test_layouts() -> None:
    def with_heads_last(q: Any, k: Any, v: Any) -> Any:
        return attention(*[x.swapaxes(1, 2) for x in (q, k, v)]).swapaxes(1, 2)

    def einsum(q: Any, k: Any, v: Any) -> Any:
        s = np.einsum("bthd,bshd->bhts", q, k)
        return np.einsum("bhts,bshd->bthd", softmax(s), v)

    args = normal(B, T, H, D), normal(B, S, H, D), normal(B, S, H, D)
    assert check(gradients(with_heads_last), *args)[1]
    assert check(gradients(einsum), *args)[1]
    assert check(gradients(attention), normal(T, D), normal(S, D), normal(S, D))[1]


def test_keys_shared_by_heads() -> None:
    f = gradients(lambda q, k, v: attention(q, k[:, None], v[:, None]))
    assert check(f, normal(B, H, T, D), normal(B, S, D), normal(B, S, D))[1]


def test_softmax_over_rows_of_the_product() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        s = k @ q.swapaxes(-1, -2)
        e = np.exp(s - np.max(s, axis=-2, keepdims=True))
        return (e / np.sum(e, axis=-2, keepdims=True)).swapaxes(-1, -2) @ v

    made, fired = check(gradients(f), *qkv(48, 60))
    assert fired
    assert widest(made) <= B * H * 60 * D


def test_one_array_in_all_roles() -> None:
    assert check(gradients(lambda x: attention(x, x, x), 0), normal(B, H, T, D))[1]


def test_several_results() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        p = softmax(q @ k.swapaxes(-1, -2))
        return p @ v, np.sum(p * p), np.max(p, axis=-1), np.argmax(p, axis=-1)

    assert check(f, *qkv())[1]


def test_derivatives_of_derivatives_and_maps() -> None:
    inner = wf.grad(lambda *args: np.sum(np.tanh(attention(*args))))
    assert check(wf.grad(lambda q, k, v: np.sum(np.sin(inner(q, k, v)))), *qkv())[1]
    assert check(wf.vmap(gradients(attention)), *[x[0] for x in qkv()])[1]
    assert check(lambda q, k, v: wf.jvp(attention, (q, k, v), (q, k, v)), *qkv())[1]
    assert check(gradients(lambda *x: wf.map(lambda a: attention(*a), x)), *[x[0] for x in qkv()])[
        1
    ]


def test_layers_that_follow_each_other() -> None:
    mask = np.tril(np.ones((T, T), bool))

    def f(x: Any, weights: Any) -> Any:
        for w in weights:
            parts = (x @ w).reshape(B, T, 3, H, D).swapaxes(1, 3)
            mixed = attention(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2], mask=mask)
            x = x + mixed.swapaxes(1, 2).reshape(x.shape)
        return x

    weights = [normal(H * D, 3 * H * D) for _ in range(3)]
    _, fired = check(gradients(f, 0, 1), normal(B, T, H * D), weights)
    assert sum(fired.values()) >= 6


def test_numbers_of_less_precision() -> None:
    args = [x.astype(np.float32) for x in qkv()]
    assert check(gradients(attention), *args, tolerance=1e-4)[1]
    halves = [x.astype(np.float16) for x in qkv()]
    assert not check(gradients(attention), *halves, tolerance=1e-1)[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_random_programs(seed: int) -> None:
    """Whatever it may be: all that can be put in blocks is, of one row or of two."""
    for number in range(seed, seed + 10):
        made = random_program(Random(number), steps=25)
        arrays = random_arguments(made, number)
        for rows in (1, 2):
            limits = RowBlockLimits(
                0, 1e-6, 0, block_bytes=1, least_rows=rows, most_rows=rows, lanes=2
            )
            after = block_rows(made, limits=limits)
            after.verify()
            with np.errstate(all="ignore"):
                wanted, found = evaluate(made, arrays), evaluate(after, arrays)
            for new, old in zip(found, wanted, strict=True):
                np.testing.assert_allclose(new, old, rtol=1e-7, atol=1e-9)


# --- other things of this form --------------------------------------------------------------------


def cross_entropy(x: Any, w: Any, labels: Any) -> Any:
    logits = x @ w
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    p = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return -np.mean(np.take_along_axis(p, labels[..., None], axis=-1))


def test_cross_entropy() -> None:
    f = wf.value_and_grad(cross_entropy, (0, 1))
    made, fired = check(f, normal(40, 3), normal(3, 50), RANDOM.integers(0, 50, 40))
    assert fired == {"40 rows in blocks of 8": 1}
    assert widest(made) < 40 * 50
    # Gradients of weights are summed over the batch, not kept for each part of it.
    made, _ = check(f, normal(9, 20, 3), normal(3, 50), RANDOM.integers(0, 50, (9, 20)))
    assert widest(made) < 9 * 3 * 50


def test_kernel_matrix() -> None:
    def f(x: Any, y: Any, w: Any) -> Any:
        distances = (x * x).sum(-1)[:, None] + (y * y).sum(-1) - 2 * x @ y.T
        return np.exp(-distances) @ w

    assert check(gradients(f), normal(40, 3), normal(50, 3), normal(50, 2))[1]


# --- columns that a mask leaves no part in --------------------------------------------------------

CAUSAL = np.tril(np.ones((T, T), bool))
AWAY = np.abs(np.arange(T)[:, None] - np.arange(T))


def added(values: Array) -> Function:
    return lambda q, k, v: attention(q, k, v, bias=values.astype(q.dtype))


def normalised_last(q: Any, k: Any, v: Any) -> Any:
    s = np.where(CAUSAL, q @ k.swapaxes(-1, -2), -np.inf)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return (e @ v) / np.sum(e, axis=-1, keepdims=True)


MASKS: dict[str, Function] = {
    "chosen": lambda q, k, v: attention(q, k, v, mask=CAUSAL),
    "chosen, finite": lambda q, k, v: attention(q, k, v, mask=CAUSAL, low=-1e9),
    "chosen the other way": lambda q, k, v: (
        softmax(np.where(~CAUSAL, -np.inf, q @ k.swapaxes(-1, -2) / 1.5)) @ v
    ),
    "added": added(np.where(CAUSAL, 0, -np.inf)),
    "added, finite": added((1 - np.tri(T)) * -1e10),
    "added with a slope": added(np.where(CAUSAL, -0.1 * AWAY, -np.inf)),
    "window": lambda q, k, v: attention(q, k, v, mask=CAUSAL & (AWAY < 6)),
    "other half": lambda q, k, v: attention(q, k, v, mask=CAUSAL.T),
    "normalised last": normalised_last,
}


@pytest.mark.parametrize("name", MASKS)
def test_masked_columns_are_left_out(name: str) -> None:
    args = qkv(T, T)
    made, fired = check(gradients(MASKS[name]), *args)
    assert list(fired) == ["6 x 24 rows in blocks of 8 without masked columns"]
    assert branches_taken(made, args) == [1, 1]
    single = [x.astype(np.float32) for x in args]
    made, _ = check(gradients(MASKS[name]), *single, tolerance=1e-4)
    assert branches_taken(made, single) == [1, 1]


@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e9])
@pytest.mark.parametrize("name", MASKS)
def test_numbers_that_outweigh_a_mask_are_not_left_out(name: str, value: float) -> None:
    for number in (1, 2) if np.isnan(value) else (0,):
        args = qkv(T, T)
        args[number][0, 1, 20] = value
        made, _ = check(gradients(MASKS[name]), *args, tolerance=1e-6)
        if not np.isfinite(value):
            assert branches_taken(made, args) == [0, 0]


def branches_taken(graph: Graph, args: Any) -> list[int]:
    """Which branch the switches of a graph take."""
    taken: list[int] = []
    conditions = {op.operands[0]: None for op in graph.ops if op.name == "switch"}

    def observe(op: Op, results: Any) -> None:
        taken.extend(int(r) for v, r in zip(op.results, results, strict=True) if v in conditions)

    with np.errstate(all="ignore"):
        evaluate(graph, leaves(args), observe=observe)
    return taken


@pytest.mark.parametrize("low", [-np.inf, -1e9])
def test_rows_that_may_see_nothing_keep_their_columns(low: float) -> None:
    keep = RANDOM.random((B, 1, 1, T)) < 0.6
    keep[0, ..., :4] = False

    def both(q: Any, k: Any, v: Any, m: Any) -> Any:
        return attention(q, k, v, mask=CAUSAL & m, low=low)

    def one_after_the_other(q: Any, k: Any, v: Any, m: Any) -> Any:
        s = np.where(m, np.where(CAUSAL, q @ k.swapaxes(-1, -2), low), low)
        return softmax(s) @ v

    def the_other_first(q: Any, k: Any, v: Any, m: Any) -> Any:
        s = np.where(CAUSAL, np.where(m, q @ k.swapaxes(-1, -2), low), low)
        return softmax(s) @ v

    def with_an_empty_row(q: Any, k: Any, v: Any, m: Any) -> Any:
        return attention(q, k, v, mask=CAUSAL & (AWAY > 0), low=low) * m.swapaxes(-1, -2)

    for f in (both, one_after_the_other, the_other_first, with_an_empty_row):
        _, fired = check(gradients(f), *qkv(T, T), keep)
        assert list(fired) == ["6 x 24 rows in blocks of 8"]


def test_masks_with_biases_and_dropout() -> None:
    def f(q: Any, k: Any, v: Any, bias: Any, key: Any) -> Any:
        s = np.where(CAUSAL, q @ k.swapaxes(-1, -2) + bias, -np.inf)
        keep = wf.random.bernoulli(key, 0.9, (B, H, T, T))
        return np.where(keep, softmax(s) / 0.9, 0) @ v

    args = (*qkv(T, T), normal(H, T, T), wf.random.key(1))
    made, fired = check(gradients(f), *args)
    assert "without masked columns" in next(iter(fired))
    assert branches_taken(made, args) == [1, 1]


# --- native programs ------------------------------------------------------------------------------


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Pass]]:
    limits = RowBlockLimits(
        least_bytes=0, least_ratio=4, block_bytes=1 << 14, least_rows=12, most_rows=32, lanes=2
    )
    last = Pass(
        "block_rows", lambda g, fired: block_rows(g, fired, limits=limits), "", is_last=True
    )
    yield [*BEFORE, last]


NATIVE: dict[str, Function] = {
    "all pairs": lambda q, k, v: attention(q, k, v),
    "causal": lambda q, k, v: attention(q, k, v, mask=np.tri(q.shape[-2], dtype=bool)),
    "causal, finite": lambda q, k, v: attention(
        q, k, v, mask=np.tri(q.shape[-2], dtype=bool), low=np.float32(-1e9)
    ),
    "heads last": lambda q, k, v: attention(*[x.transpose(1, 0, 2) for x in (q, k, v)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [96, 77])
@pytest.mark.parametrize("name", NATIVE)
def test_native_programs(name: str, rows: int, small_blocks: list[Pass]) -> None:
    shape = (rows, 4, 8) if name == "heads last" else (4, rows, 8)
    args = [normal(*shape).astype(np.float32) for _ in range(3)]
    wanted = wf.jit(gradients(NATIVE[name]), backend="reference")(*[x.astype("f8") for x in args])
    compiled = wf.jit(gradients(NATIVE[name]), optimise=False, passes=small_blocks)
    bits = []
    for count in (1, 2, 4):
        with wf.threads(count):
            total, made = compiled(*args)
        bits.append([np.asarray(total).tobytes(), *[x.tobytes() for x in made]])
        np.testing.assert_allclose(total, wanted[0], rtol=1e-4)
        for new, old in zip(made, wanted[1], strict=True):
            np.testing.assert_allclose(new, old, atol=1e-4 * np.abs(old).max())
    assert bits[0] == bits[1] == bits[2]
    assert "blocks of" in str(compiled.passes())


@pytest.mark.parametrize("value", [np.nan, 1e20])
def test_native_programs_see_what_outweighs_a_mask(value: float, small_blocks: list[Pass]) -> None:
    args = [normal(4, 77, 8) for _ in range(3)]
    args[1][0, 50, 2] = value
    wanted = wf.jit(NATIVE["causal"], backend="reference")(*args)
    assert np.isnan(value) == np.isnan(wanted).any()
    compiled = wf.jit(NATIVE["causal"], optimise=False, passes=small_blocks)
    np.testing.assert_allclose(compiled(*args), wanted, rtol=1e-9, atol=1e-9)
    assert "without masked columns" in str(compiled.passes())


def test_memory_grows_with_the_tokens_and_not_with_their_square() -> None:
    def peak(rows: int) -> int:
        compiled = wf.jit(gradients(attention))
        args = [np.zeros((2, rows, 32), np.float32)] * 3
        memory = compiled.memory(*args)
        assert "rows in blocks of" in str(compiled.passes())
        return int(memory.total)

    naive = 4 * 2 * 2048 * 2048 * 4
    assert peak(2048) < naive / 10
    assert peak(4096) < 2.5 * peak(2048)
