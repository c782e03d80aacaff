"""Random numbers: known answers, streams that do not meet, moments and ranges, and misuse.

Statistical bounds are five standard deviations of the estimate, for fixed keys, so that a test
either always passes or always fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.stats

import weft as wf
from tests.compiler.ops.rows_random import cipher
from weft import random

Array = np.ndarray[Any, Any]

COUNT = 20_000
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def blocks(key: Array, count: int) -> list[int]:
    """The first 64-bit blocks of a key, by the cipher in Python integers."""
    return [cipher(int(key[0]), int(key[1]), position) for position in range(count)]


def halves(block: int) -> list[int]:
    return [block >> 32, block & 0xFFFFFFFF]


def wide(array: Any) -> Array:
    return np.asarray(array).astype(np.float64)


# --- known answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 42, -1, 2**32, 2**63, 2**64 - 1, np.uint8(7)])
def test_a_key_is_the_two_words_of_its_seed(seed: int) -> None:
    key = random.key(seed)
    assert key.dtype == np.uint32
    assert key.tolist() == halves(int(seed) % 2**64)


def test_split_and_fold_in_are_the_cipher_of_a_position() -> None:
    key = random.key(0x0123456789ABCDEF)
    assert random.split(key, 5).tolist() == [halves(block) for block in blocks(key, 5)]
    for data in (0, 3, 2**32 - 1):
        want = halves(cipher(int(key[0]), int(key[1]), data))
        assert random.fold_in(key, data).tolist() == want


def test_bits_are_the_cipher_of_the_row_major_position() -> None:
    key = random.key(7)
    stream = blocks(key, 6)
    assert random.bits(key, (2, 3), "uint64").ravel().tolist() == stream
    folded = [(block >> 32) ^ (block & 0xFFFFFFFF) for block in stream]
    assert random.bits(key, (2, 3)).ravel().tolist() == folded
    assert random.bits(key, 6, "uint8").tolist() == [word & 0xFF for word in folded]


def test_known_answers_of_another_implementation() -> None:
    """JAX (with its default, partitionable Threefry) gives these for the same keys."""
    assert random.uniform(random.key(0), dtype="f32") == pytest.approx(0.947667, abs=1e-6)
    assert random.normal(random.key(42), dtype="f32") == pytest.approx(-0.028304616, abs=1e-7)
    assert random.split(random.key(42)).tolist() == [
        [1832780943, 270669613],
        [64467757, 2916123636],
    ]


def test_uniform_is_made_of_the_leading_bits() -> None:
    key = random.key(3)
    want = [(block >> 12) / 2.0**52 for block in blocks(key, 4)]
    assert random.uniform(key, (4,)).tolist() == want


# --- the same everywhere --------------------------------------------------------------------------

DRAWS: dict[str, Callable[[Any], Any]] = {
    "bits": lambda key: random.bits(key, (3, 4)),
    "uniform": lambda key: random.uniform(key, (3, 4), low=-1.0, high=2.0),
    "uniform f32": lambda key: random.uniform(key, (3, 4), "f32"),
    "normal": lambda key: random.normal(key, (3, 4), mean=1.0, std=2.0),
    "normal bf16": lambda key: random.normal(key, (3, 4), "bf16"),
    "bernoulli": lambda key: random.bernoulli(key, 0.3, (3, 4)),
    "categorical": lambda key: random.categorical(key, np.arange(4.0), shape=(5,)),
    "gumbel": lambda key: random.gumbel(key, (3,)),
    "permutation": lambda key: random.permutation(key, 9),
    "permutation of rows": lambda key: random.permutation(key, np.arange(12).reshape(4, 3)),
    "randint": lambda key: random.randint(key, (3, 4), -5, 7),
    "split": lambda key: random.split(key, 3),
    "fold_in": lambda key: random.fold_in(key, 5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_bits_eager_jitted_and_batched(name: str) -> None:
    draw = DRAWS[name]
    keys = random.split(random.key(11), 3)
    want = [draw(key) for key in keys]
    compiled = wf.jit(draw)
    for key, expected in zip(keys, want, strict=True):
        np.testing.assert_array_equal(compiled(key), expected, strict=True)
    np.testing.assert_array_equal(wf.vmap(draw)(keys), np.stack(want), strict=True)
    np.testing.assert_array_equal(wf.map(draw, keys), np.stack(want), strict=True)


def test_a_symbolic_shape_draws_the_same() -> None:
    graph = wf.trace(lambda x: random.normal(random.key(3), x.shape))(wf.spec("f64[n, 2]"))
    for size in (1, 4):
        (got,) = wf.evaluate(graph, [np.zeros((size, 2))])
        # The evaluator's functions of numbers are those of NumPy and SciPy.
        wanted = random.normal(random.key(3), (size, 2))
        np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(float).eps)


def test_a_longer_draw_begins_with_the_shorter() -> None:
    key = random.key(5)
    np.testing.assert_array_equal(random.uniform(key, (10,))[:4], random.uniform(key, (4,)))
    np.testing.assert_array_equal(random.split(key, 10)[:4], random.split(key, 4))


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), 3, (2, 0, 1)])
def test_any_shape(shape: Any) -> None:
    want = (shape,) if isinstance(shape, int) else shape
    key = random.key(0)
    for draw in (random.bits, random.uniform, random.normal, random.gumbel, random.randint):
        assert draw(key, shape).shape == want


# --- independence ---------------------------------------------------------------------------------


def correlation(one: Array, other: Array) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def test_keys_of_a_split_do_not_repeat_or_correlate() -> None:
    keys = random.split(random.key(0), COUNT)
    assert len({tuple(key) for key in keys.tolist()}) == COUNT
    draws = wf.vmap(lambda key: random.uniform(key, (2,)))(keys)
    limit = 5 / np.sqrt(COUNT)
    assert abs(correlation(draws[:, 0], draws[:, 1])) < limit
    assert abs(correlation(draws[:-1, 0], draws[1:, 0])) < limit
    assert abs(correlation(draws[:-1, 1], draws[1:, 0])) < limit


def test_neighbouring_seeds_and_steps_do_not_correlate() -> None:
    limit = 5 / np.sqrt(COUNT)
    first, second = random.normal(random.key(0), (COUNT,)), random.normal(random.key(1), (COUNT,))
    assert abs(correlation(first, second)) < limit
    key = random.key(9)
    steps = [random.normal(random.fold_in(key, step), (COUNT,)) for step in (0, 1, 2)]
    assert abs(correlation(steps[0], steps[1])) < limit
    assert abs(correlation(steps[1], steps[2])) < limit


def test_every_bit_is_fair() -> None:
    bits = random.bits(random.key(1), (COUNT,), "uint64")
    counts = [int(((bits >> np.uint64(place)) & np.uint64(1)).sum()) for place in range(64)]
    deviation = 5 * np.sqrt(COUNT) / 2
    assert max(abs(count - COUNT / 2) for count in counts) < deviation


# --- distributions --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_range_and_moments(dtype: str) -> None:
    drawn = random.uniform(random.key(1), (COUNT,), dtype)
    assert drawn.dtype == FLOATS[dtype]
    sample = wide(drawn)
    assert sample.min() >= 0.0 and sample.max() < 1.0
    spacing = {"f16": 2.0**-10, "bf16": 2.0**-7}.get(dtype, 0.0)
    assert abs(sample.mean() + spacing / 2 - 0.5) < 5 / np.sqrt(12 * COUNT)
    assert abs(sample.var() - 1 / 12) < 5 * np.sqrt(1 / 180 / COUNT) + spacing**2
    if not spacing:
        assert scipy.stats.kstest(sample, "uniform").pvalue > 1e-4


def test_uniform_between_limits_that_are_arrays() -> None:
    low, high = np.array([-1.0, 10.0]), np.array([1.0, 12.0])
    sample = random.uniform(random.key(2), (COUNT, 2), low=low, high=high)
    assert (sample >= low).all() and (sample < high).all()
    np.testing.assert_allclose(sample.mean(axis=0), [0.0, 11.0], atol=5 * 2 / np.sqrt(12 * COUNT))


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_moments(dtype: str) -> None:
    drawn = random.normal(random.key(2), (COUNT,), dtype)
    assert drawn.dtype == FLOATS[dtype]
    sample = wide(drawn)
    assert np.isfinite(sample).all()
    few_bits = {"f16": 2.0**-10, "bf16": 2.0**-6}.get(dtype, 0.0)
    assert abs(sample.mean()) < 5 / np.sqrt(COUNT) + few_bits
    assert abs(sample.var() - 1.0) < 5 * np.sqrt(2 / COUNT) + 4 * few_bits
    if not few_bits:
        assert abs(scipy.stats.skew(sample)) < 5 * np.sqrt(6 / COUNT)
        assert abs(scipy.stats.kurtosis(sample)) < 5 * np.sqrt(24 / COUNT)
        assert scipy.stats.kstest(sample, "norm").pvalue > 1e-4


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_and_gumbel_stay_finite_for_many_draws(dtype: str) -> None:
    key = random.key(8)
    assert np.isfinite(wide(random.normal(key, (500_000,), dtype))).all()
    assert np.isfinite(wide(random.gumbel(key, (500_000,), dtype))).all()


def test_normal_with_mean_and_deviation_has_gradients() -> None:
    key = random.key(4)
    unit = random.normal(key, (5,))
    gradients = wf.grad(lambda m, s: random.normal(key, (5,), mean=m, std=s).sum(), (0, 1))(
        1.0, 2.0
    )
    assert gradients[0] == 5.0
    assert gradients[1] == pytest.approx(unit.sum(), rel=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_bernoulli_frequency(p: float) -> None:
    for probability in (p, np.float32(p)):
        drawn = random.bernoulli(random.key(3), probability, (COUNT,))
        assert drawn.dtype == bool
        assert abs(drawn.mean() - p) <= 5 * np.sqrt(p * (1 - p) / COUNT)


def test_bernoulli_of_many_probabilities() -> None:
    p = np.array([0.0, 1.0, 0.25])
    assert random.bernoulli(random.key(0), p).shape == (3,)
    frequency = random.bernoulli(random.key(0), p, (COUNT, 3)).mean(axis=0)
    np.testing.assert_allclose(frequency, p, atol=5 * np.sqrt(0.25 / COUNT))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categorical_frequencies(dtype: str) -> None:
    logits = np.log(np.array([0.1, 0.6, 0.3])).astype(dtype)
    drawn = random.categorical(random.key(4), logits, shape=(COUNT,))
    frequency = np.bincount(drawn, minlength=3) / COUNT
    np.testing.assert_allclose(frequency, [0.1, 0.6, 0.3], atol=5 * np.sqrt(0.25 / COUNT))


def test_categorical_along_an_axis_and_with_impossible_classes() -> None:
    logits = np.full((3, 4), -np.inf)
    logits[[2, 0, 1, 2], np.arange(4)] = 5.0
    np.testing.assert_array_equal(random.categorical(random.key(0), logits, axis=0), [2, 0, 1, 2])
    drawn = random.categorical(random.key(0), logits.T, shape=(7, 4))
    np.testing.assert_array_equal(drawn, np.broadcast_to([2, 0, 1, 2], (7, 4)))


def test_gumbel_moments() -> None:
    sample = random.gumbel(random.key(6), (COUNT,))
    assert abs(sample.mean() - np.euler_gamma) < 5 * np.pi / np.sqrt(6 * COUNT)
    assert scipy.stats.kstest(sample, "gumbel_r").pvalue > 1e-4


def test_permutations_are_permutations_and_uniform() -> None:
    keys = random.split(random.key(5), 6000)
    drawn = wf.vmap(lambda key: random.permutation(key, 3))(keys)
    np.testing.assert_array_equal(np.sort(drawn, axis=1), np.tile(np.arange(3), (6000, 1)))
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


def test_permutation_of_an_array_along_an_axis() -> None:
    x = np.arange(12).reshape(3, 4)
    for axis in (0, 1, -1):
        got = random.permutation(random.key(1), x, axis=axis)
        np.testing.assert_array_equal(np.sort(got, axis=axis), x)
        slices = np.moveaxis(got, axis, 0).tolist()
        assert sorted(slices) == np.moveaxis(x, axis, 0).tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_randint_range_and_frequencies(dtype: str) -> None:
    low, high = (0, 10) if dtype.startswith("u") else (-5, 5)
    drawn = random.randint(random.key(7), (COUNT,), low, high, dtype)
    assert drawn.dtype == dtype
    values, counts = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(values, np.arange(low, high))
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-(2**63), 2**63 - 1, "int64"),
        (0, 2**64 - 1, "uint64"),
        (2**63, 2**63 + 4, "uint64"),
        (-128, 128, "int8"),
        (0, 1, "int32"),
    ],
)
def test_randint_at_the_limits_of_a_dtype(low: int, high: int, dtype: str) -> None:
    drawn = random.randint(random.key(7), (2000,), low, high, dtype)
    numbers = [int(number) for number in drawn]
    assert min(numbers) >= low and max(numbers) < high
    if high - low > 1:
        middle = low + (high - low) // 2
        below = sum(number < middle for number in numbers)
        assert abs(below - 1000) < 5 * np.sqrt(500)


def test_randint_between_arrays_and_traced_bounds() -> None:
    low, high = np.array([0, 10, -3]), np.array([1, 12, 3])
    drawn = random.randint(random.key(0), (500, 3), low, high)
    assert (drawn >= low).all() and (drawn < high).all()
    assert (drawn.max(axis=0) == high - 1).all()
    traced = wf.jit(lambda a, b: random.randint(random.key(0), (50,), a, b))
    np.testing.assert_array_equal(traced(-3, 3), random.randint(random.key(0), (50,), -3, 3))
    np.testing.assert_array_equal(traced(3, -3), np.full(50, 3))


# --- misuse ---------------------------------------------------------------------------------------

KEY = random.key(0)
MISUSE: list[tuple[Callable[[], Any], str]] = [
    (lambda: random.uniform(0), r"a random key is u32\[2\].*got i64\[\]"),
    (lambda: random.normal((3,)), r"a random key is u32\[2\].*got i64\[1\]"),
    (lambda: random.uniform(random.split(KEY)), r"a random key is u32\[2\].*got u32\[2, 2\]"),
    (lambda: random.key(1.5), r"a seed is an integer, got f64\[\]"),
    (lambda: random.key(np.arange(2)), r"a seed is an integer, got i64\[2\]"),
    (lambda: random.fold_in(KEY, 0.5), r"an integer, got f64\[\]"),
    (lambda: random.normal(KEY, (2,), "i32"), "floating-point dtype, got i32"),
    (lambda: random.uniform(KEY, (2,), "c64"), "floating-point dtype, got c64"),
    (lambda: random.bits(KEY, (2,), "i32"), "unsigned dtype, got i32"),
    (lambda: random.randint(KEY, (2,), 0, 3, "f32"), "integer dtype, got f32"),
    (lambda: random.randint(KEY, (2,), 5, 5), "needs low < high, got low=5, high=5"),
    (lambda: random.randint(KEY, (2,), 0, 300, "uint8"), r"\[0, 300\) does not fit into u8"),
    (lambda: random.randint(KEY, (2,), 0.5, 3), r"a bound of randint is an integer, got f64"),
    (lambda: random.uniform(KEY, (2,), low=np.zeros(3)), "does not stretch to 2"),
    (lambda: random.uniform(KEY, (-1,)), "negative size -1"),
    (lambda: random.categorical(KEY, np.zeros(3), axis=1), "axis 1 is out of bounds"),
    (lambda: random.categorical(KEY, np.zeros((2, 3)), shape=(5, 4)), "does not stretch to 4"),
    (lambda: random.permutation(KEY, 2.5), "a Python integer or an array of rank 1"),
    (
        lambda: wf.jit(lambda n: random.permutation(KEY, n))(np.int64(3)),
        "a Python integer or an array",
    ),
    (
        lambda: wf.jit(lambda n: random.uniform(KEY, (n,)))(np.int64(3)),
        "a shape depends on the traced value",
    ),
    (lambda: random.uniform(KEY, (2,), "string"), "'string' is no dtype"),
]


@pytest.mark.parametrize(("call", "match"), MISUSE)
def test_misuse_is_explained(call: Callable[[], Any], match: str) -> None:
    with pytest.raises(wf.WeftError, match=match) as caught:
        call()
    assert "test_sampling.py" in str(caught.value)
