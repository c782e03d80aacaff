"""Objects of the user's classes that branches and loops make: as in Python, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from weft.compiler.ir.errors import TraceError


class Quaternion:
    __slots__ = ("w", "v")

    def __init__(self, w: Any, v: Any) -> None:
        self.w, self.v = w, v

    def __mul__(self, other: Quaternion) -> Quaternion:
        return Quaternion(self.w * other.w - self.v @ other.v, self.w * other.v + other.w * self.v)


class Model:
    def __init__(self, x: Any, name: str = "model") -> None:
        self.x = x
        self.name = name
        self.seen = [x, {"twice": 2 * x}]
        self.inner = Quaternion(x, np.ones(2))

    def moved(self, by: Any) -> Model:
        return Model(self.x + by, self.name)

    def chosen(self, n: Any) -> Model:
        if n > 1:
            return self.moved(2.0)
        return self


class Bound:
    """Its attribute knows the object that it is of."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.again = self.step

    def step(self) -> None:
        self.x = self.x + 1.0


class Closure:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.read: Callable[[], Any] = lambda: self.x


class Linked:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.other: Any = self


def a_product_in_a_loop(x: Any, n: Any) -> Any:
    q, r = Quaternion(x, np.ones(3)), Quaternion(0.9, np.array([0.1, 0.2, 0.0]))
    i = 0
    while i < n:
        q = q * r
        i += 1
    return q.w, q.v


def replaced_in_a_branch(x: Any, n: Any) -> Any:
    q = Quaternion(x, np.ones(3))
    if n > 1:
        q = Quaternion(2 * x, q.v + 1)
    q.w = q.w + 1
    return q.w, q.v


def an_expression(x: Any, n: Any) -> Any:
    q = Model(x) if n > 1 else Model(3 * x)
    return q.x, q.seen[1]["twice"], q.inner.w


def the_best(x: Any, n: Any) -> Any:
    best = model = Model(x)
    for k in range(100):
        new = model.moved(np.sin(0.1 * k))
        if new.x > best.x:
            best = new
    return best.x, best.seen[0], best.inner.v, model.x + n


def returned_early(x: Any, n: Any) -> Any:
    made = Model(x).chosen(n)
    return made.x, made.seen[0]


def the_one_before(x: Any, n: Any) -> Any:
    q = before = Quaternion(x, np.ones(3))
    i = 0
    while i < n:
        before = q
        q = Quaternion(q.w + 1, 2 * q.v)
        i += 1
    return q.w, before.w, before.v


def changed_and_not_replaced(x: Any, n: Any) -> Any:
    q = same = Quaternion(x, np.ones(3))
    for _ in range(600):
        q.w = q.w + n
    same.w = 2 * same.w
    return q.w


def items_of_a_list(x: Any, n: Any) -> Any:
    made = [Quaternion(x, np.ones(2)), Quaternion(x, np.zeros(2))]
    i = 0
    while i < n:
        made = [made[1], Quaternion(made[0].w + 1, made[0].v)]
        i += 1
    return made[0].w, made[1].w, made[1].v


def another_name_is_changed(x: Any, n: Any) -> Any:
    q = other = Quaternion(x, np.ones(3))
    if n > 1:
        q = Quaternion(2 * x, q.v)
    q.w = q.w + 1
    return other.w


def the_result_of_a_method_is_changed(x: Any, n: Any) -> Any:
    model = Model(x)
    made = model.chosen(n)
    made.x = 5.0
    return model.x


def a_part_is_changed(x: Any, n: Any) -> Any:
    model = Model(x)
    inner = model.inner
    if n > 1:
        model = Model(3 * x)
    model.inner.w = 7.0
    return inner.w


def a_bound_method(x: Any, n: Any) -> Any:
    made = Bound(x)
    if n > 1:
        made = Bound(2 * x)
    made.again()
    return made.x


def a_closure(x: Any, n: Any) -> Any:
    made = Closure(x)
    if n > 1:
        made = Closure(2 * x)
    made.x = made.x + 1
    return made.read()


def a_circle(x: Any, n: Any) -> Any:
    made = Linked(x)
    if n > 1:
        made = Linked(2 * x)
    made.other.x = 3.0
    return made.x


def names(x: Any, n: Any) -> Any:
    made = Model(x, "one")
    if n > 1:
        made = Model(x, "two")
    return made.x + len(made.name)


RIGHT = [
    a_product_in_a_loop,
    replaced_in_a_branch,
    an_expression,
    the_best,
    returned_early,
    the_one_before,
    changed_and_not_replaced,
    items_of_a_list,
]
REFUSED = [
    another_name_is_changed,
    the_result_of_a_method_is_changed,
    a_part_is_changed,
    a_bound_method,
    a_closure,
    a_circle,
    names,
]


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("program", RIGHT, ids=lambda program: program.__name__)
def test_objects_are_pythons(program: Callable[..., Any], count: int) -> None:
    made, wanted = wf.jit(program)(1.0, count), program(1.0, count)
    optree.tree_map(np.testing.assert_allclose, made, wanted)


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_what_is_not_followed_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(TraceError, match="changed that may be|where it does not"):
        wf.jit(program)(1.0, np.int64(3))


def test_gradients_and_lanes() -> None:
    def slope(x: Any, n: Any) -> Any:
        return a_product_in_a_loop(x, n)[0]

    near = (slope(1.0 + 1e-6, 3) - slope(1.0 - 1e-6, 3)) / 2e-6
    np.testing.assert_allclose(wf.grad(slope)(1.0, 3), near, rtol=1e-6)
    counts = np.array([0, 2, 5])
    made = wf.vmap(slope, in_axes=(None, 0))(1.0, counts)
    np.testing.assert_allclose(made, [slope(1.0, n) for n in counts])
