import numpy as np


def lqr(A, B, Q, R, tol=1e-10, max_iter=1000):
    """Riccati's equation by iteration."""
    P = np.copy(Q)
    for _ in range(max_iter):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        Pn = Q + A.T @ P @ (A - B @ K)
        if np.abs(Pn - P).max() < tol:
            return K, Pn
        P = Pn
    raise RuntimeError("Riccati iteration failed")


class MPC:
    """Box constrained inputs, by projected gradients over a horizon."""

    def __init__(self, A, B, Q, R, horizon=8, bounds=(-1.0, 1.0), rate=None):
        self.A, self.B = np.atleast_2d(A), np.atleast_2d(B)
        if self.A.shape[0] != self.A.shape[1]:
            raise ValueError("A must be square")
        if self.B.shape[0] != self.A.shape[0]:
            raise ValueError("A and B do not fit")
        self.bounds, self.rate = bounds, rate
        self.horizon = horizon
        self._condense(Q, R)
        self.u = np.zeros(horizon * self.B.shape[1])
        self.solves = 0

    def _condense(self, Q, R):
        n, m = self.B.shape
        N = self.horizon
        self.Phi = np.zeros((N * n, n))
        self.Gamma = np.zeros((N * n, N * m))
        power = np.eye(n)
        for i in range(N):
            for j in range(i + 1):
                block = np.linalg.matrix_power(self.A, i - j) @ self.B
                self.Gamma[i * n : (i + 1) * n, j * m : (j + 1) * m] = block
            power = self.A @ power
            self.Phi[i * n : (i + 1) * n] = power
        self.Qbar = np.kron(np.eye(N), Q)
        self.H = self.Gamma.T @ self.Qbar @ self.Gamma + np.kron(np.eye(N), R)
        self.step_size = 1.0 / np.linalg.norm(self.H, 2)

    def control(self, x, tol=1e-8, max_iter=300):
        g = self.Gamma.T @ self.Qbar @ self.Phi @ x
        m = self.B.shape[1]
        u = np.append(self.u[m:], self.u[-m:])
        for k in range(max_iter):
            new = np.clip(u - self.step_size * (self.H @ u + g), *self.bounds)
            if np.max(np.abs(new - u)) < tol:
                break
            u = new
        first = new[:m]
        if self.rate is not None:
            first = np.clip(first, self.u[:m] - self.rate, self.u[:m] + self.rate)
            new[:m] = first
        self.u = new
        self.solves += k + 1
        return first.copy()


def drive(x0, steps=10, dt=0.2, **kwargs):
    A = np.array([[1.0, dt], [0.0, 1.0]])
    B = np.array([[0.5 * dt**2], [dt]])
    mpc = MPC(A, B, np.diag([1.0, 0.1]), 0.05 * np.eye(1), **kwargs)
    x = np.asarray(x0, dtype=float)
    states, inputs = [x], []
    for _ in range(steps):
        u = mpc.control(x)
        x = A @ x + B @ u
        states.append(x)
        inputs.append(u)
    return np.array(states), np.array(inputs), mpc.solves
