import numpy as np

from .rk import RK23, RK45

METHODS = {"RK23": RK23, "RK45": RK45}


class OdeResult(dict):
    __getattr__ = dict.__getitem__


def find_root(function, a, b, tol=1e-10):
    fa, fb = function(a), function(b)
    if fa * fb > 0:
        raise ValueError("f(a) and f(b) must have different signs")
    while abs(b - a) > tol:
        m = 0.5 * (a + b)
        fm = function(m)
        if fa * fm <= 0:
            b, fb = m, fm
        else:
            a, fa = m, fm
    return 0.5 * (a + b)


def solve_ivp(fun, t_span, y0, method="RK45", events=None, args=None, **options):
    """Solve until the end, or until the terminal event crosses zero upwards."""
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {list(METHODS)}.")
    if args is not None:
        fun = lambda t, x, fun=fun: fun(t, x, *args)  # noqa: E731
    t0, tf = map(float, t_span)
    solver = METHODS[method](fun, t0, y0, tf, **options)
    ts, ys, t_event = [t0], [solver.y], np.nan
    g = events(t0, solver.y) if events is not None else None
    status = None
    while status is None:
        solver.step()
        if solver.status == "finished":
            status = 0
        elif solver.status == "failed":
            status = -1
            break
        t, y = solver.t, solver.y
        if events is not None:
            g_new = events(t, y)
            if g < 0 and g_new >= 0:
                sol = solver.dense_output()
                t_event = find_root(lambda s: events(s, sol(s)), solver.t_old, t)
                t, y = t_event, sol(t_event)
                status = 1
            g = g_new
        ts.append(t)
        ys.append(y)
    return OdeResult(
        t=np.array(ts), y=np.vstack(ys).T, t_event=t_event, status=status, nfev=solver.nfev
    )


def pendulum(t, y, damping, omega):
    theta, speed = y
    return [speed, -damping * speed - omega**2 * np.sin(theta)]


def pendulum_period(theta0, omega=2.0, damping=0.05, rtol=1e-6, method="RK45"):
    """Time until the pendulum, let go at theta0, passes through rest again."""
    if abs(theta0) >= np.pi:
        raise ValueError("theta0 must be below pi")
    out = solve_ivp(
        pendulum,
        (0, 20),
        [theta0, 0.0],
        method=method,
        events=lambda t, y: y[1],
        args=(damping, omega),
        rtol=rtol,
        atol=1e-9,
    )
    return out.t_event, out.y[:, -1]
