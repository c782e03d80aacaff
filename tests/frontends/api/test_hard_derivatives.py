"""The classic hard cases of automatic differentiation: kinks, infinities, ties, solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import weft as wf
from tests.frontends.checking import numerical_gradient

# --- values that are not finite -------------------------------------------------------------------


def naive_root(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(x), 0.0)


def safe_root(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)


@pytest.mark.parametrize("f", [naive_root, safe_root], ids=["naive", "double where"])
def test_a_branch_of_where_that_is_not_taken_does_not_leak(f: Any) -> None:
    for x, want in ((-1.0, 0.0), (0.0, 0.0), (4.0, 0.25)):
        assert wf.grad(f)(x) == want
        np.testing.assert_array_equal(wf.vmap(wf.grad(f))(np.array([x, 4.0])), [want, 0.25])
        assert wf.jvp(f, (x,), (1.0,))[1] == want


def test_the_double_where_is_safe_to_every_order() -> None:
    def f(x: Any) -> Any:
        positive = x > 0
        inner = np.where(positive, x, 1.0)
        return np.where(positive, np.log(inner) / np.sqrt(inner) + inner**-2.0, x)

    for x in (-3.0, 0.0):
        derivative = f
        for want in (1.0, 0.0, 0.0):
            derivative = wf.grad(derivative)
            assert derivative(x) == want
    both = wf.vmap(wf.grad(f))(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(both, [1.0, -1.0], rtol=1e-14)


def test_norm_at_zero() -> None:
    """The formula is x / |x|, which is NaN at 0; the derivative is 0 there, as with a double
    where.
    """

    def safe_norm(x: Any) -> Any:
        square = np.sum(x * x)
        return np.where(square > 0, np.sqrt(np.where(square > 0, square, 1.0)), 0.0)

    zero, y = np.zeros(3), np.array([3.0, 0.0, 4.0])
    np.testing.assert_array_equal(wf.grad(np.linalg.norm)(zero), zero)
    np.testing.assert_array_equal(wf.grad(safe_norm)(zero), zero)
    np.testing.assert_allclose(wf.grad(safe_norm)(y), y / 5)
    np.testing.assert_allclose(wf.grad(np.linalg.norm)(y), y / 5)
    hessian = (np.eye(3) - np.outer(y, y) / 25) / 5
    np.testing.assert_allclose(wf.hessian(np.linalg.norm)(y), hessian, atol=1e-15)
    np.testing.assert_allclose(wf.hessian(safe_norm)(y), hessian, atol=1e-15)
    pairs = wf.vmap(wf.grad(safe_norm))(np.stack([zero, y]))
    np.testing.assert_allclose(pairs, np.stack([zero, y / 5]))


@pytest.mark.parametrize("order", [1, 1.5, 2, 3, np.inf, None])
def test_vector_norms_at_zero(order: float | None) -> None:
    def norms(x: Any) -> Any:
        return np.sum(np.linalg.norm(x, order, axis=1))

    x = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.5]])
    np.testing.assert_array_equal(wf.grad(norms)(x)[0], np.zeros(3))
    np.testing.assert_array_equal(wf.jit(wf.grad(norms))(x)[0], np.zeros(3))
    wf.check_grads(norms, (x[1:],))
    forward = wf.jvp(norms, (x,), (np.eye(2, 3),))[1]
    assert forward == pytest.approx(wf.grad(norms)(x)[1, 1])


def stable_logsumexp(x: Any) -> Any:
    top = wf.stop_gradient(np.max(x))
    top = np.where(np.isfinite(top), top, 0.0)
    return np.log(np.sum(np.exp(x - top))) + top


def test_logsumexp_with_minus_infinity() -> None:
    x = np.array([1.0, -np.inf, 2.0, 1000.0, -np.inf])
    want = scipy.special.softmax(x)
    np.testing.assert_allclose(wf.grad(stable_logsumexp)(x), want, rtol=1e-14)
    masked = np.array([1.0, -np.inf, 2.0])
    np.testing.assert_allclose(
        wf.grad(stable_logsumexp)(masked), scipy.special.softmax(masked), rtol=1e-14
    )
    softmax = scipy.special.softmax(masked)
    hessian = wf.hessian(stable_logsumexp)(masked)
    np.testing.assert_allclose(hessian, np.diag(softmax) - np.outer(softmax, softmax), atol=1e-15)


def test_logaddexp_with_infinities() -> None:
    for x, y, by_x in (
        (0.0, -np.inf, 1.0),
        (-np.inf, 0.0, 0.0),
        (1000.0, 0.0, 1.0),
        (2.0, 2.0, 0.5),
        (np.inf, 0.0, 1.0),
    ):
        got = wf.grad(np.logaddexp, (0, 1))(x, y)
        assert got[0] == pytest.approx(by_x), (x, y)
        assert got[1] == pytest.approx(1 - by_x), (x, y)


@pytest.mark.parametrize(
    ("x", "y", "by_x", "by_y"),
    [
        (0.0, 2.0, 0.0, 0.0),
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 3.0, 0.0, 0.0),
        (2.0, 3.0, 12.0, 8 * np.log(2.0)),
        (-2.0, 3.0, 12.0, None),
        (0.0, 0.0, 0.0, None),
        (5.0, 0.0, 0.0, np.log(5.0)),
    ],
)
def test_power_at_its_corners(x: float, y: float, by_x: float, by_y: float | None) -> None:
    """x**y by x is y x**(y-1), also at x = 0; by y it is x**y log(x), 0 where x is 0."""
    assert wf.grad(np.power)(x, y) == pytest.approx(by_x)
    if by_y is not None:
        assert wf.grad(np.power, 1)(x, y) == pytest.approx(by_y)


def test_integer_powers_at_zero_to_second_order() -> None:
    for power, second in ((1, 0.0), (2, 2.0), (3, 0.0)):
        assert wf.grad(wf.grad(lambda x, p=power: x**p))(0.0) == second
        assert wf.grad(wf.grad(lambda x, p=power: x ** float(p)))(0.0) == second
    assert wf.grad(lambda x: x**0)(0.0) == 0.0


def test_kinks_follow_the_conventions() -> None:
    assert wf.grad(np.abs)(0.0) == 0.0
    assert wf.grad(lambda x: np.maximum(x, 0.0))(0.0) == 0.0
    assert wf.grad(lambda x: np.maximum(x, 1.0))(1.0) == 0.0
    assert wf.grad(np.maximum, (0, 1))(1.0, 1.0) == (0.5, 0.5)
    assert wf.grad(np.minimum, (0, 1))(1.0, 1.0) == (0.5, 0.5)
    assert wf.grad(lambda x: np.where(x > 0, x, 0.0))(0.0) == 0.0
    np.testing.assert_allclose(wf.grad(np.max)(np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5])
    np.testing.assert_allclose(wf.grad(np.min)(np.ones(4)), np.full(4, 0.25))
    assert wf.grad(np.sign)(0.3) == 0.0
    assert wf.grad(lambda x: np.clip(x, -1.0, 1.0))(2.0) == 0.0
    assert wf.grad(lambda x: x % 1.0)(2.3) == 1.0


def test_gradients_survive_large_and_small_numbers() -> None:
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def softplus(x: Any) -> Any:
        return np.logaddexp(x, 0.0)

    for x in (-800.0, 800.0):
        assert wf.grad(softplus)(x) == pytest.approx(float(x > 0))
        assert wf.grad(np.tanh)(x) == 0.0
    assert wf.grad(sigmoid)(40.0) == pytest.approx(np.exp(-40.0), rel=1e-6)
    assert wf.grad(np.log1p)(1e-300) == 1.0
    assert wf.grad(np.expm1)(1e-300) == 1.0
    assert wf.grad(np.hypot)(3e200, 4e200) == pytest.approx(0.6)


def test_products_with_zeros() -> None:
    x = np.array([2.0, 0.0, 3.0])
    np.testing.assert_allclose(wf.grad(np.prod)(x), [0.0, 6.0, 0.0])
    np.testing.assert_allclose(wf.grad(np.prod)(np.array([0.0, 0.0, 3.0])), np.zeros(3))
    hessian = wf.hessian(np.prod)(np.array([0.0, 0.0, 3.0]))
    assert hessian[0, 1] == pytest.approx(3.0)
    got = wf.grad(lambda x: np.sum(np.cumprod(x)))(x)
    np.testing.assert_allclose(got, numerical_gradient(lambda x: np.sum(np.cumprod(x)), x))


def test_variance_and_deviation_of_constants() -> None:
    np.testing.assert_allclose(wf.grad(np.var)(np.ones(3)), np.zeros(3), atol=1e-16)
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(wf.grad(np.std)(x), numerical_gradient(np.std, x), rtol=1e-9)


# --- linear algebra -------------------------------------------------------------------------------


def test_functions_of_eigenvalues_with_repeated_eigenvalues() -> None:
    """The sum of f(eigenvalue) is smooth even where eigenvalues meet; its gradient is f'(A)."""
    for a in (np.eye(3), np.diag([2.0, 2.0, 5.0]), np.zeros((3, 3))):
        gradient = wf.grad(lambda a: np.sum(np.linalg.eigh(a)[0] ** 2))(a)
        np.testing.assert_allclose((gradient + gradient.T) / 2, 2 * a, atol=1e-12)
        trace = wf.grad(lambda a: np.sum(np.linalg.eigvalsh(a)))(a)
        np.testing.assert_allclose((trace + trace.T) / 2, np.eye(3), atol=1e-12)


def test_a_spectral_function_through_eigenvectors() -> None:
    """V f(w) V' of a matrix with a repeated eigenvalue: finite, and right where all differ."""

    def square(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return (v * w**2) @ v.T

    weights = np.arange(9.0).reshape(3, 3)
    weights = weights + weights.T
    a = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 3.0]])
    gradient = wf.grad(lambda a: np.sum(weights * square((a + a.T) / 2)))(a)
    np.testing.assert_allclose(gradient, weights @ a + a @ weights, rtol=1e-10)
    repeated = wf.grad(lambda a: np.sum(weights * square((a + a.T) / 2)))(np.eye(3))
    assert np.isfinite(repeated).all()


def test_linear_algebra_of_singular_and_easy_matrices() -> None:
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(
        wf.grad(lambda a: np.linalg.slogdet(a)[1])(a), np.linalg.inv(a).T, rtol=1e-13
    )
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    cofactors = np.array([[4.0, -2.0], [-2.0, 1.0]])
    np.testing.assert_allclose(wf.grad(np.linalg.det)(singular), cofactors, atol=1e-12)


# --- solvers as loops -----------------------------------------------------------------------------


def newton_root(a: Any) -> Any:
    """The cube root by Newton's method, until the step is small."""

    def go_on(c: Any) -> Any:
        x, step = c
        return np.abs(step) > 1e-14 * np.abs(x)

    def step(c: Any) -> Any:
        x, _ = c
        change = (x**3 - a) / (3 * x**2)
        return x - change, change

    return wf.while_loop(go_on, step, (a, a))[0]


def test_the_gradient_of_a_newton_solver() -> None:
    for a in (8.0, 0.5, 27.0):
        assert wf.jit(newton_root)(a) == pytest.approx(np.cbrt(a), rel=1e-14)
        assert wf.grad(newton_root)(a) == pytest.approx(a ** (-2 / 3) / 3, rel=1e-12)
        assert wf.jvp(newton_root, (a,), (1.0,))[1] == pytest.approx(a ** (-2 / 3) / 3, rel=1e-12)
        assert wf.grad(wf.grad(newton_root))(a) == pytest.approx(-2 / 9 * a ** (-5 / 3), rel=1e-10)
    batch = np.array([8.0, 0.5, 27.0])
    np.testing.assert_allclose(
        wf.vmap(wf.grad(newton_root))(batch), batch ** (-2 / 3) / 3, rtol=1e-12
    )


def adaptive_decay(rate: Any, start: Any) -> Any:
    """y' = -rate y to t = 1 by Heun's method with steps from an error estimate."""
    tolerance = 1e-6

    def slope(y: Any) -> Any:
        return -rate * y

    def body(c: Any) -> Any:
        t, y, h = c
        h = np.minimum(h, 1.0 - t)
        k1 = slope(y)
        k2 = slope(y + h * k1)
        error = np.abs(h * (k2 - k1) / 2) + 1e-300
        accepted = error <= tolerance
        t, y = np.where(accepted, t + h, t), np.where(accepted, y + h * (k1 + k2) / 2, y)
        factor = np.clip(0.9 * np.sqrt(tolerance / error), 0.2, 5.0)
        return t, y, h * wf.stop_gradient(factor)

    return wf.while_loop(lambda c: c[0] < 1.0, body, (0.0, start, 0.1))[1]


@pytest.mark.parametrize("rate", [0.5, 2.0, pytest.param(5.0, marks=pytest.mark.slow)])
def test_the_gradient_of_an_adaptive_ode_solver(rate: float) -> None:
    """The exact derivative of exp(-rate) start, to the solver's own accuracy; and exactly the
    derivative of the steps that were taken, as start enters linearly.
    """
    value, (by_rate, by_start) = wf.jit(wf.value_and_grad(adaptive_decay, (0, 1)))(rate, 1.5)
    assert value == pytest.approx(1.5 * np.exp(-rate), rel=1e-3)
    assert by_rate == pytest.approx(-1.5 * np.exp(-rate), rel=1e-2)
    assert by_start == pytest.approx(value / 1.5, rel=1e-12)
    forward = wf.jvp(adaptive_decay, (rate, 1.5), (1.0, 0.0))[1]
    assert forward == pytest.approx(by_rate, rel=1e-10)


def test_the_hessian_of_a_scan() -> None:
    """A damped oscillator by the implicit midpoint rule, 50 steps, by stiffness and damping."""

    def energy(p: Any) -> Any:
        stiffness, damping = p[0], p[1]
        h = 0.05

        def step(c: Any, _: Any) -> Any:
            q, v = c
            middle = v + h / 2 * (-stiffness * q - damping * v)
            return (q + h * middle, v + h * (-stiffness * (q + h / 2 * v) - damping * middle)), None

        (q, v), _ = wf.scan(step, (1.0, 0.0), length=50)
        return stiffness * q * q + v * v

    p = np.array([2.0, 0.3])
    want = np.stack([numerical_gradient(lambda y, i=i: wf.grad(energy)(y)[i], p) for i in (0, 1)])
    got = wf.jit(wf.hessian(energy))(p)
    np.testing.assert_allclose(got, want, rtol=1e-8)
    np.testing.assert_allclose(got, got.T, rtol=1e-12)


def test_meta_gradients_through_an_optimiser() -> None:
    """The gradient of the loss after five steps of gradient descent by the learning rate."""
    a, b = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])

    def loss(w: Any) -> Any:
        return 0.5 * w @ a @ w - b @ w

    def after(rate: Any) -> Any:
        w = wf.fori_loop(0, 5, lambda i, w: w - rate * wf.grad(loss)(w), np.zeros(2))
        return loss(w)

    def plain(rate: Any) -> Any:
        w = np.zeros(2)
        for _ in range(5):
            w = w - rate * (a @ w - b)
        return 0.5 * w @ a @ w - b @ w

    want = numerical_gradient(plain, np.array(0.1))
    assert wf.jit(wf.grad(after))(0.1) == pytest.approx(float(want), rel=1e-9)


# --- one triangle of a matrix; roots of sums of squares at 0 --------------------------------------

LOWER = np.array([[4.0, 0.0, 0.0], [1.0, 5.0, 0.0], [0.5, -1.5, 6.0]])


@pytest.mark.parametrize("other", [0.0, 1.0, LOWER.T], ids=["empty", "anything", "symmetric"])
@pytest.mark.parametrize("imaginary", [0, 0.3j], ids=["real", "complex"])
@pytest.mark.parametrize("name", ["cholesky", "eigvalsh", "projection"])
def test_derivatives_of_what_reads_one_triangle(name: str, imaginary: complex, other: Any) -> None:
    """They are those of what is computed, whatever the other triangle holds."""
    function: dict[str, Any] = {
        "cholesky": lambda a: np.abs(np.linalg.cholesky(a)) ** 2,
        "eigvalsh": np.linalg.eigvalsh,
        "projection": lambda a: np.abs(np.linalg.eigh(a)[1]) ** 2,
    }

    def loss(a: Any) -> Any:
        y = function[name](a + imaginary * np.tril(a, -1) if imaginary else a)
        return np.sum(np.sin(y) * np.arange(1.0, y.size + 1).reshape(y.shape))

    matrix = LOWER + np.triu(np.ones((3, 3)), 1) * other
    wf.check_grads(loss, (matrix,))
    assert np.all(np.triu(wf.grad(loss)(matrix), 1) == 0)


@pytest.mark.parametrize(
    "function",
    [
        np.linalg.norm,
        lambda x: np.linalg.norm(x.reshape(1, -1)),
        lambda x: np.linalg.norm(x, axis=0),
        np.std,
        lambda x: np.std(x[:1]),
        np.nanstd,
    ],
)
def test_roots_of_sums_of_squares_have_derivative_0_at_0(function: Any) -> None:
    zero = np.zeros(3)
    np.testing.assert_array_equal(wf.grad(function)(zero), zero)
    np.testing.assert_array_equal(wf.jvp(function, (zero,), (np.ones(3),))[1], 0.0)
    np.testing.assert_allclose(wf.jit(function)(LOWER[2]), function(LOWER[2]), rtol=1e-15)
