"""Golden numbers G69 to G79: variational bounds, adversarial losses, flows, transport, scores and
diffusion. Means under a Gaussian are taken by quadrature that is exact for their polynomials.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import (
    array,
    check,
    check_modes,
    gaussian_nodes,
    lgamma,
    logsumexp,
    near,
    normal_log_density,
    run,
    sigmoid,
    softplus,
    tiny,
)
from weft.frontends.nn.convolution import conv

# --- G69: divergences and bounds ------------------------------------------------------------------


def kl_normal(mean: Any, deviation: Any, other_mean: Any = 0.0, other_deviation: Any = 1.0) -> Any:
    ratio = (deviation / other_deviation) ** 2
    distance = ((mean - other_mean) / other_deviation) ** 2
    return 0.5 * (ratio + distance - 1 - np.log(ratio))


def test_g69_divergence_from_the_standard_normal() -> None:
    def divergence(mean: Any, logvar: Any) -> Any:
        return 0.5 * np.sum(np.exp(logvar) + mean**2 - 1 - logvar)

    mean = array(1, -1)
    check(divergence, [mean, array(0, np.log(4))], 1.8068528194, [mean, array(0, 1.5)])
    check(kl_normal, [0.5, 0.8], 0.1681435513, [0.5, -0.45])


def test_g69_divergence_between_normals() -> None:
    near(run(kl_normal, 1.0, 0.5, 0.0, 2.0), 1.0425443611)
    near(run(kl_normal, 0.0, 1.0, 1.0, 2.0), 0.4431471806)


def elbo(mean: Any, variance: Any) -> Any:
    """For z ~ N(0, 1), x given z ~ N(z, 1), observed x = 1, q = N(mean, variance)."""
    noise, weights = gaussian_nodes(4)
    z = mean + np.sqrt(variance) * noise
    return np.sum(weights * normal_log_density(1.0, z)) - kl_normal(mean, np.sqrt(variance))


def test_g69_bound_is_tight_at_the_posterior() -> None:
    evidence = -1.5155121235
    near(run(lambda x: normal_log_density(x, 0.0, 2.0), 1.0), evidence)
    near(run(elbo, 0.0, 1.0), -1.9189385332)
    check(elbo, [0.5, 0.5], evidence, [0.0, 0.0])


# --- G70: reparameterisation ----------------------------------------------------------------------


def test_g70_mean_of_a_square() -> None:
    noise, weights = gaussian_nodes(4)

    def second_moment(mean: Any, deviation: Any) -> Any:
        return np.sum(weights * (mean + deviation * noise) ** 2)

    check(second_moment, [0.5, 0.8], 0.89, [1.0, 1.6])


def test_g70_full_covariance() -> None:
    def sample(mean: Any, factor: Any) -> Any:
        return mean + factor @ array(0.5, -2)

    mean, factor = array(1, -1), array([2, 0], [1, 0.5])
    near(run(sample, mean, factor), array(2, -1.5))
    gradients = [array(1, 1), np.tile(array(0.5, -2), (2, 1))]
    check(lambda *a: np.sum(sample(*a)), [mean, factor], 0.5, gradients)


def test_g70_exponential_by_its_inverse_distribution() -> None:
    check(lambda rate: -np.log(1 - 0.3) / rate, [2.0], 0.178337472, [-0.089168736])


def gamma_distribution(x: Any, alpha: Any) -> Any:
    """P(alpha, x), the lower incomplete gamma function by its series."""
    terms = np.cumprod(x / (alpha + np.arange(1.0, 40)))
    return np.exp(alpha * np.log(x) - x - lgamma(alpha + 1)) * (1 + np.sum(terms))


def test_g70_implicit_derivative_of_a_gamma_sample() -> None:
    def bisect(alpha: Any, u: Any) -> Any:
        def halve(i: Any, bounds: Any) -> Any:
            low, high = bounds
            middle = (low + high) / 2
            below = gamma_distribution(middle, alpha) < u
            return np.where(below, middle, low), np.where(below, high, middle)

        return wf.fori_loop(0, 60, halve, (0.0 * alpha, 20.0 + 0.0 * alpha))[0]

    solved = wf.implicit.root(lambda x, alpha, u: gamma_distribution(x, alpha) - u, bisect)
    u = 1 - np.exp(-1.5) * 2.5
    near(run(gamma_distribution, 1.5, 2.0), u)
    density = 1.5 * np.exp(-1.5)
    check(solved, [2.0, u], 1.5, [0.936639067877, 1 / density])


# --- G71, G72: bounds and adversaries -------------------------------------------------------------


def test_g71_importance_weighted_bound() -> None:
    weights = array(-1, -2, -3)
    gradient = array(0.6652409558, 0.2447284711, 0.0900305732)
    check(lambda w: logsumexp(w) - np.log(3), [weights], -1.6910063242, [gradient])
    near(run(np.mean, weights), -2.0)


def test_g72_adversarial_losses() -> None:
    def value(real: Any, fake: Any) -> Any:
        return -softplus(-real) - softplus(fake)

    near(run(value, 0.0, 0.0), -1.3862943611)
    saturating = wf.grad(lambda a: -softplus(a))
    modified = wf.grad(lambda a: softplus(-a))
    near(run(saturating, -4.0), -0.01798621, 8)
    near(run(modified, -4.0), -0.98201379, 8)
    near((run(saturating, 0.0), run(modified, 0.0)), (-0.5, -0.5))


def test_g72_best_discriminator() -> None:
    def best(x: Any) -> Any:
        real, fake = normal_log_density(x), normal_log_density(x, 2.0)
        return sigmoid(real - fake)

    near(run(best, array(0, 1)), array(0.880797078, 0.5))
    x = array(-1, 0, 0.5, 3)
    near(run(best, x), run(lambda x: sigmoid(2 - 2 * x), x))


# --- G73 to G75: flows ----------------------------------------------------------------------------


def determinant(flow: Any, z: Any) -> Any:
    return np.linalg.det(wf.jacobian(flow)(z))


def test_g73_planar_flow() -> None:
    w, u, z = array(1, -1), array(0.5, 0.25), array(1, 2)

    def planar(z: Any) -> Any:
        return z + u * np.tanh(w @ z)

    def log_determinant(z: Any) -> Any:
        return np.log(np.abs(1 + u @ wf.grad(lambda z: np.tanh(w @ z))(z)))

    near(run(planar, z), array(0.619202922, 1.809601461))
    near(run(lambda z: determinant(planar, z), z), 1.1049935854)
    near(run(log_determinant, z), 0.0998395299)
    check_modes(log_determinant, [z])


def test_g73_radial_flow() -> None:
    def radial(z: Any) -> Any:
        return z + 0.5 * z / (1 + np.linalg.norm(z))

    near(run(radial, array(1, 2)), array(1.1545084972, 2.3090169944))
    near(run(lambda z: determinant(radial, z), array(1, 2)), 1.2096313729)


def test_g73_affine_flow() -> None:
    factor, mean, x = array([2, 0], [1, 2]), array(1, -1), array(2, 1)

    def inverse(x: Any) -> Any:
        return np.linalg.solve(factor, x - mean)

    def log_density(x: Any) -> Any:
        return np.sum(normal_log_density(inverse(x))) - np.log(np.prod(np.diagonal(factor)))

    near(run(inverse, x), array(0.5, 0.75))
    covariance = factor @ factor.T
    check(log_density, [x], -3.6304214275, [-np.linalg.solve(covariance, x - mean)])


def test_g74_coupling() -> None:
    def coupling(z: Any) -> Any:
        first, second = z[:2], z[2:]
        return np.concatenate([first, second * np.exp(first) + first])

    z = array(0, np.log(2), 3, 4)
    near(run(coupling, z), array(0, np.log(2), 3, 8.6931471806))
    near(run(lambda z: determinant(coupling, z), z), 2.0)


def test_g74_invertible_one_by_one_convolution() -> None:
    w = array([2, 1], [1, 3])

    def mix(image: Any, w: Any) -> Any:
        return conv(image[None], w[:, :, None, None])[0]

    def log_determinant(w: Any) -> Any:
        return 16 * np.linalg.slogdet(w)[1]

    check(log_determinant, [w], 25.7510065989, [array([9.6, -3.2], [-3.2, 6.4])])
    image = np.arange(32.0).reshape(2, 4, 4)
    jacobian = run(wf.jacobian(mix), image, w).reshape(32, 32)
    near(np.linalg.slogdet(jacobian)[1], 25.7510065989)
    near(run(lambda y, w: mix(y, np.linalg.inv(w)), run(mix, image, w), w), image)


def test_g75_autoregressive_flow() -> None:
    def sample(z: Any) -> Any:
        def step(x: Any, z: Any) -> Any:
            shift, log_scale = 0.5 * x, 0.1 * x
            x = z * np.exp(log_scale) + shift
            return x, (x, log_scale)

        x, log_scales = wf.scan(step, 0.0, z)[1]
        return x, np.sum(log_scales)

    def log_density(x: Any) -> Any:
        before = np.concatenate([np.zeros(1), x[:-1]])
        z = (x - 0.5 * before) * np.exp(-0.1 * before)
        return np.sum(normal_log_density(z) - 0.1 * before)

    z = array(1, -1, 2)
    x, total = run(sample, z)
    near(x, array(1, -0.6051709181, 1.5799699025))
    near(total, 0.0394829082)
    near(run(log_density, x), -5.7962985078)
    near(run(lambda z: np.log(determinant(lambda z: sample(z)[0], z)), z), 0.0394829082)


# --- G76, G77: continuous flow and transport ------------------------------------------------------

FIELD = array([0.1, 0.2], [-0.3, 0.4])


def test_g76_continuous_flow_by_runge_kutta() -> None:
    def speed(state: Any) -> Any:
        z, _ = state
        return FIELD @ z, -np.trace(wf.jacobian(lambda z: FIELD @ z)(z))

    def moved(state: Any, rate: Any, time: float) -> Any:
        return state[0] + time * rate[0], state[1] + time * rate[1]

    def step(i: Any, state: Any, h: float = 0.02) -> Any:
        k1 = speed(state)
        k2 = speed(moved(state, k1, h / 2))
        k3 = speed(moved(state, k2, h / 2))
        k4 = speed(moved(state, k3, h))
        for rate, share in ((k1, 1), (k2, 2), (k3, 2), (k4, 1)):
            state = moved(state, rate, h * share / 6)
        return state

    z, change = run(lambda z: wf.fori_loop(0, 50, step, (z, 0.0)), array(1, 2))
    near(z, array(1.5790289049, 2.520050164))
    near(change, -0.5)


def test_g76_continuous_flow_by_matrix_exponential() -> None:
    def end(z: Any) -> Any:
        return wf.numpy.linalg.expm(FIELD) @ z

    near(run(end, array(1, 2)), array(1.5790289049, 2.520050164))
    near(run(lambda z: np.log(determinant(end, z)), array(1, 2)), 0.5)


def test_g76_trace_by_random_signs() -> None:
    matrix = array([1, 2], [3, 4])
    signs = array([1, 1], [1, -1], [-1, 1], [-1, -1])

    def probe(sign: Any) -> Any:
        return sign @ wf.jvp(lambda z: matrix @ z, (np.zeros(2),), (sign,))[1]

    near(np.mean(run(wf.vmap(probe), signs)), 5.0)


def test_g77_transport_on_a_line() -> None:
    def squared_distance(x: Any, y: Any) -> Any:
        return np.mean((np.sort(x) - np.sort(y)) ** 2)

    gradient = 2 * array(-5, -5, -5) / 3
    check(squared_distance, [array(3, 0, 1), array(5, 6, 8)], 25.0, [gradient, -gradient])


def test_g77_sinkhorn() -> None:
    kernel = np.exp(-array([0, 1], [1, 0]) / 0.5)
    half = array(0.5, 0.5)

    def plan(kernel: Any) -> Any:
        def balance(i: Any, scales: Any) -> Any:
            _, right = scales
            left = half / (kernel @ right)
            return left, half / (kernel.T @ left)

        left, right = wf.fori_loop(0, 30, balance, (np.ones(2), np.ones(2)))
        return left[:, None] * kernel * right

    near(run(plan, kernel), array([0.440398539, 0.059601461], [0.059601461, 0.440398539]))


# --- G78, G79: scores and diffusion ---------------------------------------------------------------


def test_g78_score() -> None:
    near(run(wf.grad(lambda x: normal_log_density(x, 1.0, 4.0)), 3.0), -0.5)
    near(run(wf.grad(lambda x: -((x - 1) ** 2) / 8), 3.0), -0.5)


def test_g78_score_matching() -> None:
    def loss(a: Any) -> Any:
        def psi(x: Any) -> Any:
            return -a * x

        terms = wf.vmap(lambda x: wf.grad(psi)(x) + 0.5 * psi(x) ** 2)(array(1, -2, 0.5))
        return np.mean(terms)

    check(loss, [1.0], -0.125, [0.75])
    newton = run(lambda a: a - wf.grad(loss)(a) / wf.grad(wf.grad(loss))(a), 1.0)
    near(newton, 0.5714285714)


def test_g78_heat_flow() -> None:
    def divergence(t: Any) -> Any:
        return kl_normal(0.0, np.sqrt(1 + t), 0.0, np.sqrt(2 + t))

    near(run(wf.grad(divergence), 0.0), -0.125)
    points, weights = gaussian_nodes(4)

    def log_ratio(x: Any) -> Any:
        return normal_log_density(x, 0.0, 1.0) - normal_log_density(x, 0.0, 2.0)

    slopes = run(wf.vmap(wf.grad(log_ratio)), points)
    near(-0.5 * np.sum(weights * slopes**2), -0.125)


def schedule() -> Any:
    betas = wf.numpy.linspace(1e-4, 0.02, 1000)
    return betas, np.cumprod(1 - betas)


def test_g79_noise_schedule() -> None:
    _, kept = run(schedule)
    near(kept[[0, 99, 499]], array(0.9999, 0.8970181457, 0.0785872429))
    tiny(kept[999], 4.035829765e-05, 10)


def test_g79_forward_and_reverse_step() -> None:
    def steps(t: Any) -> Any:
        betas, kept = schedule()
        beta, share, before = betas[t - 1], kept[t - 1], kept[t - 2]
        noisy = np.sqrt(share) * 1.0 + np.sqrt(1 - share) * -1.0
        mean = (1.0 - beta / np.sqrt(1 - share) * 0.5) / np.sqrt(1 - beta)
        return noisy, mean, beta * (1 - before) / (1 - share)

    near(run(steps, 500), (-0.6795683098, 0.9998019685, 0.0100313554))


@pytest.mark.parametrize("t", [1, 500, 1000])
def test_g79_noisy_sample_keeps_its_variance(t: int) -> None:
    def jacobian(x: Any, noise: Any) -> Any:
        _, kept = schedule()
        made = wf.grad(lambda x, e: np.sqrt(kept[t - 1]) * x + np.sqrt(1 - kept[t - 1]) * e, (0, 1))
        first, second = made(x, noise)
        return first**2 + second**2

    near(run(jacobian, 1.0, -1.0), 1.0)
