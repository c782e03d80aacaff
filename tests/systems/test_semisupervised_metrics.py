"""Golden numbers G80 to G83: soft targets, scores of generators, the health of gradients, and how
many parameters models hold.

G83 counts what a model takes as arguments when it is traced with it, so the shapes must fit
together. Receptive fields are where a gradient is not zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import (
    array,
    check,
    log_softmax,
    near,
    parameter_count,
    relu,
    run,
    sigmoid,
    softmax,
    tiny,
)
from weft.frontends.nn.convolution import conv, max_pool

# --- G80: soft targets ----------------------------------------------------------------------------


def test_g80_sharpening_and_alignment() -> None:
    def sharpen(p: Any, temperature: Any) -> Any:
        powers = p ** (1 / temperature)
        return powers / np.sum(powers)

    p = array(0.5, 0.3, 0.2)
    near(run(sharpen, p, 0.5), array(0.6578947368, 0.2368421053, 0.1052631579))

    def align(p: Any, running: Any) -> Any:
        moved = p * (1 / 3) / running
        return moved / np.sum(moved)

    near(run(align, p, array(0.5, 0.25, 0.25)), array(1 / 3, 0.4, 0.2666666667))


def test_g80_mixup_and_moving_average() -> None:
    near(run(lambda a, b: 0.7 * a + 0.3 * b, array(1, 0), array(0, 1)), array(0.7, 0.3))
    near(run(lambda old, new: 0.9 * old + 0.1 * new, 1.0, 3.0), 1.2)


def test_g80_distillation() -> None:
    def loss(student: Any, teacher: Any) -> Any:
        wanted, given = log_softmax(teacher / 2), log_softmax(student / 2)
        return 4 * np.sum(np.exp(wanted) * (wanted - given))

    gradient = array(-0.489759976, 0.3048556671, 0.1849043089)
    check(loss, [array(1, 1, 0), array(2, 0, -1)], 0.4887320922, [gradient])


# --- G81: scores of generators --------------------------------------------------------------------


def test_g81_inception_score() -> None:
    def score(p: Any) -> Any:
        marginal = np.mean(p, axis=0)
        return np.exp(np.mean(np.sum(p * np.log(p / marginal), axis=1)))

    near(run(score, array([0.9, 0.1], [0.2, 0.8])), 1.317052276)


def root_of(matrix: Any) -> Any:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(values) @ vectors.T


def frechet(mean1: Any, cov1: Any, mean2: Any, cov2: Any) -> Any:
    half = root_of(cov1)
    cross = np.sqrt(np.linalg.eigvalsh(half @ cov2 @ half))
    return np.sum((mean1 - mean2) ** 2) + np.trace(cov1 + cov2) - 2 * np.sum(cross)


def test_g81_frechet_distance() -> None:
    cov1, cov2 = array([2, 1], [1, 2]), np.diag([1.0, 3.0])
    args = (array(0, 0), cov1, array(1, 0), cov2)
    near(run(frechet, *args), 1.5166852265)
    near(run(frechet, *args), 9 - 2 * np.sqrt(14))
    diagonal = np.diag([1.0, 4.0]), np.diag([4.0, 1.0])
    # (1 - 2)^2 + (2 - 1)^2 for the deviations and 1 for the means.
    near(run(frechet, array(0, 0), diagonal[0], array(1, 0), diagonal[1]), 3.0)
    # The gradient by the second covariance is I - cov1^(1/2) (cov1^(1/2) cov2 cov1^(1/2))^(-1/2)
    # cov1^(1/2), as one of symmetric matrices: eigvalsh reads one triangle.
    half = np.array(run(root_of, cov1))
    inner = np.linalg.inv(run(root_of, half @ cov2 @ half))
    slope = run(wf.grad(frechet, 3), *args)
    near((slope + slope.T) / 2, np.eye(2) - half @ inner @ half)


# --- G82: health of gradients ---------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "product"), [(10, 9.536743e-07), (20, 9.094947e-13)])
def test_g82_gradients_vanish_through_sigmoids(depth: int, product: float) -> None:
    def chain(z: Any) -> Any:
        return wf.fori_loop(0, depth, lambda i, z: sigmoid(z) - 0.5, z)

    slope = run(wf.grad(chain), 0.0)
    tiny(slope, product, 7)
    assert slope == 0.25**depth


def test_g82_saturated_slopes() -> None:
    near(run(wf.grad(sigmoid), 5.0), 0.0066480567)
    near(run(wf.grad(np.tanh), 3.0), 0.0098660372)
    near(run(wf.grad(lambda x: x + np.tanh(x)), 0.5), 1.786447733)


def test_g82_variance_behind_a_rectifier() -> None:
    points, weights = np.polynomial.legendre.leggauss(120)
    z = 10 + 10 * points

    def moments(z: Any) -> Any:
        density = np.exp(-(z**2) / 4) / np.sqrt(4 * np.pi) * weights * 10
        return np.sum(relu(z) ** 2 * density), np.sum(relu(z) * density)

    second, first = run(moments, z)
    near(second, 1.0)
    near(second - first**2, 0.6816901138)


def test_g82_highway() -> None:
    def highway(gate: Any, h: Any, x: Any) -> Any:
        t = sigmoid(gate)
        return t * np.tanh(h) + (1 - t) * x

    slope = 1 - 0.2689414214
    check(highway, [-1.0, 0.5, 2.0], 1.5863996024, [None, None, slope])


# --- G83: counts ----------------------------------------------------------------------------------


def f32(*shape: int) -> Any:
    return wf.spec(f"f32[{', '.join(map(str, shape))}]")


def dense(n_in: int, n_out: int) -> Any:
    return {"w": f32(n_in, n_out), "b": f32(n_out)}


def apply(layer: Any, x: Any) -> Any:
    return x @ layer["w"] + layer["b"]


@pytest.mark.parametrize(
    ("inputs", "width", "depth", "outputs", "expected"),
    [
        (1, 3, 1, 1, 10),
        (1, 3, 2, 1, 22),
        (1, 10, 5, 1, 471),
        (2, 5, 1, 1, 21),
        (784, 128, 2, 10, 118282),
    ],
)
def test_g83_dense_networks(
    inputs: int, width: int, depth: int, outputs: int, expected: int
) -> None:
    sizes = [inputs, *[width] * depth, outputs]
    layers = [dense(a, b) for a, b in zip(sizes, sizes[1:], strict=False)]

    def network(layers: Any, x: Any) -> Any:
        for layer in layers[:-1]:
            x = relu(apply(layer, x))
        return apply(layers[-1], x)

    assert parameter_count(network, layers, f32(7, inputs)) == expected


def recurrent(layers: Any, x: Any) -> Any:
    """Stacked tanh cells with two biases each."""
    for layer in layers:

        def step(h: Any, x: Any, p: Any = layer) -> Any:
            h = np.tanh(x @ p["u"].T + p["b"] + h @ p["w"].T + p["c"])
            return h, h

        start = wf.numpy.zeros((x.shape[1], layer["w"].shape[0]), "f4")
        x = wf.scan(step, start, x)[1]
    return x


def test_g83_recurrent_network() -> None:
    layers = [{"u": f32(20, n), "w": f32(20, 20), "b": f32(20), "c": f32(20)} for n in (10, 20)]
    assert sum(len(layer) for layer in layers) == 8
    assert parameter_count(recurrent, layers, f32(5, 3, 10)) == 1480


@pytest.mark.parametrize(("gates", "expected"), [(1, 32), (4, 128)], ids=["rnn", "lstm"])
def test_g83_cells_with_one_bias(gates: int, expected: int) -> None:
    def cell(p: Any, x: Any, h: Any) -> Any:
        made = p["u"] @ x + p["w"] @ h + p["b"]
        parts = np.split(made, gates)
        return sum(np.tanh(part) for part in parts) + h

    parameters = {"u": f32(4 * gates, 3), "w": f32(4 * gates, 4), "b": f32(4 * gates)}
    assert parameter_count(cell, parameters, f32(3), f32(4)) == expected


def test_g83_convolutions() -> None:
    def layer(p: Any, x: Any) -> Any:
        return conv(x, p["w"], 4) + p["b"][:, None, None]

    parameters = {"w": f32(96, 3, 11, 11), "b": f32(96)}
    assert parameter_count(layer, parameters, f32(1, 3, 227, 227)) == 34944
    plain = parameter_count(lambda w, x: conv(x, w), f32(5, 3, 7, 7), f32(1, 3, 9, 9))
    assert plain == 735

    def separable(p: Any, x: Any) -> Any:
        return conv(conv(x, p["space"], groups=3), p["mix"])

    parts = {"space": f32(3, 1, 7, 7), "mix": f32(5, 3, 1, 1)}
    assert parameter_count(separable, parts, f32(1, 3, 9, 9)) == 162


WIDTH, INNER, HEADS = 512, 2048, 8


def projections() -> Any:
    return {name: dense(WIDTH, WIDTH) for name in ("q", "k", "v", "o")}


def norm() -> Any:
    return {"scale": f32(WIDTH), "shift": f32(WIDTH)}


def attention(p: Any, x: Any, memory: Any) -> Any:
    def split(y: Any) -> Any:
        return y.reshape(-1, HEADS, WIDTH // HEADS).transpose(1, 0, 2)

    q, k, v = split(apply(p["q"], x)), split(apply(p["k"], memory)), split(apply(p["v"], memory))
    weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS))
    return apply(p["o"], (weights @ v).transpose(1, 0, 2).reshape(-1, WIDTH))


def layer_norm(p: Any, x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    return centred / spread * p["scale"] + p["shift"]


def encoder_parameters() -> Any:
    parts = {"self": projections(), "up": dense(WIDTH, INNER), "down": dense(INNER, WIDTH)}
    return {**parts, "norm 1": norm(), "norm 2": norm()}


def decoder_parameters() -> Any:
    return {**encoder_parameters(), "cross": projections(), "norm 3": norm()}


def encoder_layer(p: Any, x: Any) -> Any:
    x = layer_norm(p["norm 1"], x + attention(p["self"], x, x))
    return layer_norm(p["norm 2"], x + apply(p["down"], relu(apply(p["up"], x))))


def decoder_layer(p: Any, x: Any, memory: Any) -> Any:
    x = layer_norm(p["norm 1"], x + attention(p["self"], x, x))
    x = layer_norm(p["norm 3"], x + attention(p["cross"], x, memory))
    return layer_norm(p["norm 2"], x + apply(p["down"], relu(apply(p["up"], x))))


def transformer(p: Any, source: Any, target: Any) -> Any:
    for layer in p["encoder"]:
        source = encoder_layer(layer, source)
    memory = layer_norm(p["encoder norm"], source)
    for layer in p["decoder"]:
        target = decoder_layer(layer, target, memory)
    return layer_norm(p["decoder norm"], target)


def test_g83_attention_and_transformer_layers() -> None:
    x, y = f32(11, WIDTH), f32(7, WIDTH)
    heads = projections()
    assert parameter_count(attention, heads, x, x) == 1_048_576 + 2_048
    weights = [layer["w"] for layer in heads.values()]
    assert sum(int(w.size) for w in weights) == 1_048_576
    assert parameter_count(encoder_layer, encoder_parameters(), x) == 3_152_384
    assert parameter_count(decoder_layer, decoder_parameters(), y, x) == 4_204_032


def test_g83_transformer_of_six_and_six_layers() -> None:
    parameters = {
        "encoder": [encoder_parameters() for _ in range(6)],
        "decoder": [decoder_parameters() for _ in range(6)],
        "encoder norm": norm(),
        "decoder norm": norm(),
    }
    x, y = f32(11, WIDTH), f32(7, WIDTH)
    assert parameter_count(transformer, parameters, x, y) == 44_140_544


def test_g83_patches_and_low_rank_updates() -> None:
    def patches(image: Any) -> Any:
        split = image.reshape(3, 14, 16, 14, 16)
        return split.transpose(1, 3, 2, 4, 0).reshape(14 * 14, 16 * 16 * 3)

    assert wf.trace(patches)(f32(3, 224, 224)).results[0].type.shape == (196, 768)

    def adapted(factors: Any, w: Any, x: Any) -> Any:
        return x @ (w + factors["a"] @ factors["b"])

    factors = {"a": f32(512, 8), "b": f32(8, 512)}
    assert parameter_count(adapted, factors, f32(512, 512), f32(3, 512)) == 8_192
    assert int(f32(512, 512).size) == 262_144


RECEPTIVE = {
    "two layers": ([("conv", 1), ("conv", 1)], 5),
    "three layers": ([("conv", 1), ("conv", 1), ("conv", 1)], 7),
    "with a pool between": ([("conv", 1), ("pool", 2), ("conv", 1)], 8),
    "dilated": ([("conv", 1), ("conv", 2), ("conv", 4), ("conv", 8)], 31),
}


@pytest.mark.parametrize("name", RECEPTIVE)
def test_g83_receptive_field_is_where_the_gradient_is_not_zero(name: str) -> None:
    layers, expected = RECEPTIVE[name]

    def network(x: Any) -> Any:
        for kind, step in layers:
            if kind == "conv":
                x = conv(x, np.ones((1, 1, 3)), padding=step, rhs_dilation=step)
            else:
                x = max_pool(x, step) + 0.1 * np.sum(x.reshape(1, 1, -1, step), axis=-1)
        return x[0, 0, x.shape[2] // 2]

    slope = run(wf.grad(network), np.arange(64.0)[None, None])[0, 0]
    touched = np.flatnonzero(slope)
    assert len(touched) == expected
    assert touched[-1] - touched[0] + 1 == expected
