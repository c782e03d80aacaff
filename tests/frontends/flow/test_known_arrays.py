"""Arrays that functions make with NumPy and write to, with traced values and known ones, under
several names: random programs against Python.
"""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.flow.comparing import as_python

VECTOR = np.array([3.0, 1.0, 2.0, 5.0])
MAKERS = (
    "np.zeros(4, dtype=int)",
    "np.ones(4, bool)",
    "np.arange(4)",
    "np.arange(4.0)",
    "np.linspace(0.0, 1.0, 4)",
    "np.array([4, 3, 2, 1])",
    "np.array([1.5, 2.5, 3.5, 4.5])",
    "np.asarray([1.0, 2.0, 3.0, 4.0], dtype=np.float32)",
    "np.full(4, 7)",
    "np.zeros(4)",
    "np.tile(np.arange(2), 2)",
    "np.repeat(np.arange(2.0), 2)",
    "np.atleast_1d([1, 2, 3, 4])",
    "np.copy(KNOWN)",
    "KNOWN.copy()",
    "KNOWN.astype(int)",
    "np.zeros_like(KNOWN)",
    "np.arange(8).reshape(2, 4)[1]",
    "np.sort(KNOWN)[::-1]",
    "np.where(KNOWN > 1, 1, 0)",
)
STATEMENTS = (
    "{a} = {maker}",
    "{a} = {b}",
    "{a} = {b}[1:]",
    "{a} = {b}[::-1]",
    "{a} = {b}.reshape(-1)",
    "{a} = {b}.copy()",
    "{a} = {b} + 1",
    "o.kept = {a}",
    "l.append({a})",
    "{a} = o.kept",
    "{a} = l[0]",
    "{a}[0] = 5",
    "{a}[-1] = x[{k}]",
    "o.kept[1] = x[{k}]",
    "l[-1][0] = x[{k}] * 2",
    "{a}[1] += 1",
    "{a}[1] += int(x[{k}])",
    "{a}[{a} > 1] = 0",
    "{a}[:2] = {b}[1:3]",
    "{a} *= 2",
    "{a}.fill(x[{k}])",
    "{a}.fill(1)",
    "{a}.sort()",
    "write({a}, x)",
    "np.add.at({a}, [0, 0], 1)",
    "np.copyto({a}[:2], {b}[:2], casting='unsafe')",
    "s = s + {a}.sum() * {k}",
    "s = s + {a}[0]",
    "s = s + x[int({a}[0]) % 4]",
    "s = s + len({a}) + sum({a})",
    "if x[{k}] > 2: {a}[0] = 1",
    "if x[{k}] > 2: {a} = {b}",
    "if {a}[0] > 1: s = s + 1",
    "for i in range(2): {a}[i] = i + 1",
    "for i in range(40): {a}[i % 2] = x[{k}] + i",
    "for i in range(40): s = s + {a}[i % 2]",
    "for v in {a}: s = s + v",
)


class Holder:
    matrix: Any
    vector: Any


def write(array: Any, x: Any) -> None:
    array[1] = x[0]


def program(seed: int) -> str:
    draw = random.Random(seed)
    names = ("a", "b", "c")
    lines = [f"{name} = {draw.choice(MAKERS)}" for name in names]
    lines += ["o, l, s = Holder(), [a], 0.0", "o.kept = b"]
    for _ in range(draw.randint(3, 9)):
        a, b = draw.choice(names), draw.choice(names)
        maker, k = draw.choice(MAKERS), draw.randint(0, 3)
        lines.append(draw.choice(STATEMENTS).format(a=a, b=b, k=k, maker=maker))
    lines.append("return a * 1, b * 1, c * 1, o.kept * 1, [one * 1 for one in l], s * 1.0")
    return "def f(x):\n" + "".join(f"    {line}\n" for line in lines)


def compiled(text: str, name: str) -> Any:
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names: dict[str, Any] = {
        "np": np,
        "Holder": Holder,
        "write": write,
        "KNOWN": np.array([2.0, 0.5, 3.0, 1.0]),
    }
    exec(compile(text, name, "exec"), names)
    return names["f"]


def outcome(seed: int) -> str:
    """Whether a random program is as in Python, refused, or an error in Python."""
    text = program(seed)
    f = compiled(text, f"<known arrays {seed}>")
    try:
        with np.errstate(all="ignore"):
            f(VECTOR.copy())
    except Exception:
        return "error"
    try:
        as_python(f, VECTOR)
    except (wf.TraceError, TypeError) as error:
        return f"refused: {error}"
    except AssertionError as error:
        raise AssertionError(f"{text}\n{error}") from error
    return "same"


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs(first: int) -> None:
    found = [outcome(seed) for seed in range(first, first + 20)]
    assert found.count("same") >= 8


# --- what an array is while it is known -----------------------------------------------------------


def sizes_and_conditions(x: Any) -> Any:
    n = np.array([2, 3])
    n[0] += 1
    table = np.zeros(n)
    if (n > 2).all() and n[0] == 3 and 3 in n:
        table[: n[1], 0] = x[:3]
    order = np.arange(4)[::-1]
    parts = [x[i] for i in order if i != n[0]]
    return table, parts, {int(n[0]): 1.0}, list(range(n[1])), float(n.mean()), n.tolist()


def masks_and_places(x: Any) -> Any:
    mask = np.ones(4, dtype=bool)
    mask[1] = False
    (places,) = np.nonzero(mask)
    return x[mask], x[places], len(places), np.split(x, np.cumsum([1, 2])), np.repeat(x, mask + 1)


def views_of_every_kind(x: Any) -> Any:
    a = np.arange(12).reshape(3, 4)
    row, column, turned, spread = a[1], a[:, 2], a.T, np.broadcast_to(a[0], (2, 4))
    corner, diagonal = a[::2, 1:3], a.diagonal()
    column[0] = int(x[0])
    turned[3, 1] = int(x[1])
    corner[1] = 7
    return a, row, column, turned, spread, corner, diagonal


def passed_on(x: Any) -> Any:
    counts, kept = np.zeros(3, dtype=int), {}
    kept["counts"] = counts
    for k in range(40):
        kept["counts"][k % 3] += int(x[k % 4])
    write(counts, x)
    return counts, kept["counts"].sum()


def drawn(x: Any) -> Any:
    order, generator = np.arange(4), np.random.default_rng(3)
    shuffled = generator.permutation(order)
    generator.shuffle(order)
    order[0] += 0
    shuffled[1] = int(x[1])
    return x[order], shuffled, generator.choice(np.array([5, 6, 7]), 2)


def in_attributes(x: Any) -> Any:
    o = Holder()
    o.matrix, o.vector = np.array([[1.0, 0.0], [0.0, 1.0]]), np.arange(2)
    o.matrix[0, 1] = x[1]
    o.vector[0] = x[0]
    o.vector[1] += 1
    return o.matrix @ x[:2], o.vector


@pytest.mark.parametrize(
    "f",
    [sizes_and_conditions, masks_and_places, views_of_every_kind, passed_on, drawn, in_attributes],
)
def test_as_in_python(f: Any) -> None:
    as_python(f, VECTOR)


def test_memory_that_others_hold() -> None:
    def written(x: Any) -> Any:
        a = np.arange(4)
        numbers = a.view(np.float64)
        a[0] = x[0]
        return a, numbers

    with pytest.raises(wf.TraceError, match="another dtype"):
        wf.jit(written, control_flow=True)(VECTOR)


def test_arrays_of_the_caller_are_not_taken() -> None:
    outer = np.arange(4)

    def written(x: Any) -> Any:
        a = np.asarray(outer)
        a[0] = x[0]
        return a

    with pytest.raises(wf.TraceError):
        wf.jit(written, control_flow=True)(VECTOR)
    np.testing.assert_array_equal(outer, range(4))


def test_derivative_through_written_constants() -> None:
    def loss(x: Any) -> Any:
        a = np.array([1.0, 2.0, 3.0])
        b = a
        b[1] = x[0] ** 2
        return (a * a).sum()

    np.testing.assert_allclose(wf.grad(loss)(VECTOR), [4 * 27.0, 0, 0, 0])
