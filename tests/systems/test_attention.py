"""Golden numbers G41 to G44: soft lookup, attention with gradients, heads, masks and positions.

The layouts of torch's parameters in G43 are a convention of storage, not an array program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import array, check, near, run, softmax

ONE_TO_TEN = np.arange(1.0, 11).reshape(5, 2)


def attend(q: Any, k: Any, v: Any, scale: float = 1.0, bias: Any = 0.0) -> Any:
    """The values under the softmax of the scaled scores, and that softmax."""
    weights = softmax(q @ k.swapaxes(-1, -2) * scale + bias)
    return weights @ v, weights


HALF = 1 / np.sqrt(2)


def scaled_attention(q: Any, k: Any, v: Any) -> Any:
    return attend(q, k, v, HALF)


# --- G41: lookup ----------------------------------------------------------------------------------


def test_g41_linear_lookup() -> None:
    keys = np.eye(5)
    near(run(lambda q: q @ keys.T @ ONE_TO_TEN, keys[2]), array(5, 6))
    near(run(lambda q: q @ keys.T @ ONE_TO_TEN, keys[2] + 2 * keys[4]), array(23, 26))


def test_g41_soft_lookup() -> None:
    keys = np.eye(5)
    out, weights = run(lambda q: attend(q, keys, ONE_TO_TEN), keys[0])
    near(weights, array(0.4046096752, *[0.1488475812] * 4))
    near(out, array(3.976951624, 4.976951624))
    near(
        run(lambda q: attend(q, keys, ONE_TO_TEN)[0], 10 * keys[0]),
        array(1.0009078337, 2.0009078337),
    )


WORDS = array([0.1, 0, 2], [5, 4, 3], [-4, 0, -3], [-0.2, 0, 1], [5, -3, -4])


@pytest.mark.parametrize(
    ("query", "scores", "weights"),
    [
        ((5, 0, 0), (0.5, 25, -20, -1, 25), (0, 0.5, 0, 0, 0.5)),
        ((-5, 0, 0), None, (None, None, 0.9999999931, None, None)),
        ((5, 4, 0), (0.5, 41, -20, -1, 13), (0, 1, 0, 0, 0)),
        ((0, 0, 0), (0, 0, 0, 0, 0), (0.2, 0.2, 0.2, 0.2, 0.2)),
    ],
)
def test_g41_lookup_among_words(query: Any, scores: Any, weights: Any) -> None:
    made = run(lambda q: (WORDS @ q, softmax(WORDS @ q)), array(*query))
    if scores is not None:
        near(made[0], array(*scores))
    known = [i for i, weight in enumerate(weights) if weight is not None]
    near(made[1][known], array(*[weights[i] for i in known]))
    if query == (5, 4, 0):
        np.testing.assert_allclose(made[1][1], 1, rtol=0, atol=1e-11)


# --- G42: scaled dot products ---------------------------------------------------------------------

K3 = array([1, 0], [0, 1], [1, 1])


def test_g42_attention_and_its_gradients() -> None:
    q, v = np.eye(2), array([1, 2], [3, 4], [5, 6])
    out, weights = run(scaled_attention, q, K3, v)
    low, high = 0.1977758146, 0.4011120927
    near(weights, array([high, low, high], [low, high, high]))
    near(out, array([3, 4], [3.4066725561, 4.4066725561]))
    q_bar = array([0, 1.134516323], [0.2306883265, 0.67313967])
    k_rows = ([-1.134516323, -0.67313967], [0, -0.2306883265], [1.134516323, 0.9038279965])
    v_bar = np.outer([0.5988879073, 0.5988879073, 0.8022241854], [1, 1])
    total = 7 + 3.4066725561 + 4.4066725561
    args, gradients = (q, K3, v), [q_bar, array(*k_rows), v_bar]
    check(lambda *a: np.sum(scaled_attention(*a)[0]), args, total, gradients)


def test_g42_attention_without_scale() -> None:
    args = (array([1, 2]), K3, np.arange(1.0, 13).reshape(3, 4))
    row = array(7.3008415304, 8.3008415304, 9.3008415304, 10.3008415304)
    near(run(lambda *a: attend(*a)[0], *args), row[None])
    k_bar = array(
        [-0.5672683744, -1.1345367489], [-0.5630814299, -1.1261628598], [1.1303498043, 2.2606996086]
    )
    v_bar = np.zeros((3, 4))
    v_bar[:, 0] = 0.0900305732, 0.2447284711, 0.6652409558
    # The scores are (1, 2, 3).
    q_bar = array([0.5630814299, 0.5672683744])
    check(lambda *a: attend(*a)[0][0, 0], args, row[0], [q_bar, k_bar, v_bar])
    scaled = array(6.7437844007, 7.7437844007, 8.7437844007, 9.7437844007)
    near(run(lambda *a: scaled_attention(*a)[0], *args), scaled[None])


def test_g42_additive_and_cosine_scores() -> None:
    v, h, s = array(1, -1), array(1, 2), array(0.5, -1)
    near(run(lambda v, h, s: v @ np.tanh(h + s), v, h, s), 0.1435540977)

    def cosine(a: Any, b: Any) -> Any:
        return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))

    near(run(cosine, array(1, 2, 3), array(4, 5, 6)), 0.9746318462)


# --- G43: heads -----------------------------------------------------------------------------------


def multi_head(x: Any, heads: int) -> Any:
    """Self-attention in which all projections are the identity."""
    length, width = x.shape
    split = x.reshape(length, heads, width // heads).transpose(1, 0, 2)
    out, _ = attend(split, split, split, 1 / np.sqrt(width // heads))
    return out.transpose(1, 0, 2).reshape(length, width)


def test_g43_multi_head_attention() -> None:
    x = array([1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0])
    expected = array(
        [0.8022241854, 0.5988879073, 0.5034898435, 0.2482550783],
        [0.5988879073, 0.8022241854, 0.2482550783, 0.5034898435],
        [0.7517449217, 0.7517449217, 0.3333333333, 0.3333333333],
    )
    near(run(lambda x: multi_head(x, 2), x), expected)
    weights = np.arange(1.0, 13).reshape(3, 4)
    gradient = array(
        [2.4132379685, 3.434974308, 7.2684579118, 8.4793734417],
        [4.1984953088, 4.4128225056, 8.4152342475, 10.6118518118],
        [9.6528839925, 11.7559168956, 6.4954219102, 6.9883092405],
    )
    total = np.sum(weights * expected)
    check(lambda x: np.sum(multi_head(x, 2) * weights), [x], total, [gradient], 8)


def test_g43_heads_by_vmap_are_the_same() -> None:
    x = array([1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0])

    def mapped(x: Any) -> Any:
        def head(part: Any) -> Any:
            return attend(part, part, part, HALF)[0]

        return wf.vmap(head, 1, 1)(x.reshape(3, 2, 2)).reshape(3, 4)

    near(run(mapped, x), run(lambda x: multi_head(x, 2), x))


# --- G44: masks and positions ---------------------------------------------------------------------


def test_g44_masked_scores() -> None:
    def masked(scores: Any, length: Any) -> Any:
        return softmax(np.where(np.arange(5) < length, scores, -np.inf))

    made = run(masked, array(3, 5, -1, 4, 3), 3)
    near(made, array(0.1189432359, 0.8788782427, 0.0021785214, 0, 0))
    assert not made[3:].any()
    slope = run(wf.grad(lambda s: masked(s, 3)[0]), array(3, 5, -1, 4, 3))
    assert np.isfinite(slope).all() and not slope[3:].any()


def test_g44_causal_attention() -> None:
    def causal(x: Any) -> Any:
        mask = np.where(np.tril(np.ones((3, 3))) > 0, 0.0, -np.inf)
        return attend(x, x, x, HALF, mask)

    out, weights = run(causal, K3)
    below = [0.3302384507, 0.6697615493]
    last = [0.2482550783, 0.2482550783, 0.5034898435]
    near(weights, array([1, 0, 0], [*below, 0], last))
    near(out, array([1, 0], below, [0.7517449217, 0.7517449217]))
    slope = run(wf.grad(lambda x: np.sum(causal(x)[0][0])), K3)
    near(slope, array([1, 1], [0, 0], [0, 0]))


def test_g44_relative_bias() -> None:
    positions = np.arange(3.0)
    made = run(lambda i: softmax(-np.abs(i[:, None] - i)), positions)
    first = [0.6652409558, 0.2447284711, 0.0900305732]
    near(made, array(first, [0.2119415576, 0.5761168848, 0.2119415576], first[::-1]))


def test_g44_sinusoids() -> None:
    def encode(positions: Any, width: int) -> Any:
        rates = 10000.0 ** (-np.arange(0, width, 2) / width)
        angles = positions[:, None] * rates
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, width)

    expected = array(
        [0, 1, 0, 1],
        [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
        [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
    )
    near(run(lambda i: encode(i, 4), np.arange(3.0)), expected)
