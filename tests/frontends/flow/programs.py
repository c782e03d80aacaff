"""Functions with Python's control flow on their arguments, each with inputs that take every way.

Plain Python runs the very same function for comparison.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]
PROGRAMS: dict[str, tuple[Function, list[tuple[Any, ...]]]] = {}
VECTOR = np.array([3.0, -1.0, 2.0, 5.0, -4.0, 0.5])
LONG = np.linspace(-2.0, 3.0, 40)
SCALE = 2.0


def program(*inputs: Any) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        listed = [given if isinstance(given, tuple) else (given,) for given in inputs]
        PROGRAMS[function.__name__] = function, listed
        return function

    return register


# --- branches -------------------------------------------------------------------------------------


@program(2.0, -3.0, 0.0)
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = -x
    return y


@program(2.0, -3.0, 0.0)
def if_without_else(x):
    y = 1.0
    if x > 0:
        y = x * 2
    return y


@program(5.0, 1.0, -1.0, -7.0)
def elif_chain(x):
    if x > 3:
        y = 1
    elif x > 0:
        y = 2
    elif x > -3:
        y = 3
    else:
        y = 4
    return y


@program(2.0, -3.0, -0.5)
def early_returns(x):
    if x > 0:
        return x, 1
    z = x * x
    if z > 4:
        return z, 2
    return -z, 3


@program((2.0, 1.0), (2.0, -1.0), (-2.0, 1.0), (-2.0, -1.0))
def nested_returns_that_may_fall_through(x, y):
    if x > 0:
        if y > 0:
            return x + y
        x = x * 10
    else:
        x = x - 1
    return x - y


@program((1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0))
def a_variable_assigned_where_nothing_is_returned(x, y):
    if y > 0:
        if x > 0:
            return x
        z = x * 2
    else:
        z = y
    return z + 1


@program((2.0, "a"), (2.0, "b"), (-2.0, "b"))
def match_on_a_known_value(x, kind):
    match kind:
        case "a":
            y = x
        case _:
            if x > 0:
                return x * 3
            y = -x
    return y


@program((1.0, 2.0), (3.0, 2.0), (-1.0, 2.0))
def and_or_not(x, y):
    if 0 < x and x < y or not y > 0:
        return 1.0
    return 0.0


@program(-1, 3, 5, 6)
def the_right_side_of_and_may_not_run(i):
    if 0 <= i and i < 6 and VECTOR_TRACED(i)[i] > 1:
        return 1
    return 0


def VECTOR_TRACED(like):
    return VECTOR + 0.0 * like


@program((1.0, 2.0), (2.5, 2.0), (7.0, 2.0))
def chained_comparison(x, y):
    return 1.0 if 1.5 < x <= y * 3 < 7 else 2.0


@program(1.0, -1.0)
def conditional_expression(x):
    return (x if x > 0 else -x) + (1 if x > 0 else 2)


@program(1, 2, 7)
def membership(n):
    a = 1 if n in (1, 2, 3) else 0
    b = 1 if n not in [2, 7] else 0
    c = 1 if n in range(1, 8, 3) else 0
    return a, b, c


@program(1.0, -1.0, 0.0)
def values_of_and_and_or(x):
    return (x and x + 1), (x or x - 1), (x > 0 or x < -2)


@program(2.0, -2.0)
def a_variable_that_only_one_branch_uses(x):
    if x > 0:
        t = x * 3
        y = t + 1
    else:
        y = x
    return y


@program(2.0, -2.0)
def tuples_and_dicts(x):
    if x > 0:
        pair, named = (x, 2 * x), {"a": x, "b": 1.0}
    else:
        pair, named = (-x, x), {"a": 0.0, "b": x}
    return pair, named


@program(2.0, -2.0)
def a_static_condition_inside(x):
    kind = "double"
    if x > 0:
        y = x * 2 if kind == "double" else x
    else:
        y = x
        kind = "double"
    return y if kind == "double" else None


@program(2.0, -2.0)
def a_branch_that_does_nothing(x):
    y = x
    if x > 0:
        pass
    return y


# --- while ----------------------------------------------------------------------------------------


@program(27, 1, 6)
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program((2.0, 1e-10), (9.0, 1e-3))
def newton_with_a_known_start(a, tolerance):
    x, error = 1.0, np.inf
    count = 0
    while error > tolerance and count < 50:
        new = 0.5 * (x + a / x)
        error = abs(new - x)
        x = new
        count += 1
    return x, count


@program(2.0, 100.0)
def while_true_with_break(a):
    x = a
    while True:
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12:
            break
        x = new
    return new


@program(2.0, 30.0)
def while_true_with_return(a):
    x = 1.0
    while True:
        x = x * 1.5
        if x > a:
            return x


@program(10, 0, 25)
def while_with_continue_and_else(n):
    total = i = 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        if total > 50:
            break
        total += i
    else:
        total = -total
    return total, i


@program(4, 9)
def nested_while(n):
    total, i = 0, 0
    while i < n:
        j = 0
        while j < i:
            if (i + j) % 4 == 3:
                break
            total += i * j
            j += 1
        i += 1
    return total


@program(3.0, 50.0)
def while_with_walrus(x):
    while (y := x / 2) > 1:
        x = y
    return x, y


@program(1.5)
def while_with_a_known_condition(x):
    i, total = 0, x
    while i < 5:
        total = total * x
        i += 1
    return total, i


@program(1.01)
def a_long_while_with_a_known_condition(x):
    i, total = 0, x
    while i < 100:
        total = total * x
        i += 1
    return total, i


# --- for ------------------------------------------------------------------------------------------


@program((1.0, 3), (2.0, 0), (2.0, 20))
def for_over_a_traced_range(x, n):
    for i in range(n):
        x = x + i
    return x


@program((2, 9, 2), (9, 2, -3), (3, 3, 1), (0, 10, 4))
def range_with_all_bounds(start, stop, step):
    total, last = 0, -1
    for i in range(start, stop, step):
        total = total * 3 + i
        last = i
    return total, last


@program(7, 0)
def reversed_range(n):
    total = 0
    for i in reversed(range(n)):
        total = total * 2 + i
    return total


@program(LONG, VECTOR)
def for_over_an_array(xs):
    total, largest = 0.0, -np.inf
    for x in xs:
        total += x
        if x > largest:
            largest = x
    return total, largest


@program(LONG, VECTOR)
def enumerate_and_zip(xs):
    total = 0.0
    for i, (x, y) in enumerate(zip(xs, xs[::-1])):
        total += i * x * y
    for x, k in zip(xs, range(3, 50)):
        total += k * x
    return total


@program((LONG, 2.0), (LONG, 100.0), (VECTOR, 2.0))
def for_with_break_and_else(xs, limit):
    total = 0.0
    for x in xs:
        if x > limit:
            break
        total += x
    else:
        total = -1.0
    return total


@program((LONG, 1.0), (LONG, 100.0), (VECTOR, 2.0))
def for_with_return(xs, limit):
    for i in range(len(xs)):
        if xs[i] > limit:
            return i, xs[i]
    return -1, 0.0


@program(1.0, 0.1)
def for_and_else_with_returns(x):
    for i in range(50):
        if x * i > 10:
            return i
    else:
        return -1


@program((LONG,), (VECTOR,))
def for_with_continue(xs):
    total = 0.0
    for x in xs:
        if x < 0:
            continue
        total = total + np.sqrt(x)
    return total


@program((3.0, 2.0), (1.0, 5.0))
def a_list_with_a_traced_break(x, limit):
    for name, factor in [("a", 1.0), ("b", 2.0), ("c", 3.0)]:
        if x * factor > limit:
            break
        x = x + len(name) * factor
    return x


@program(2.0)
def a_short_range_is_unrolled(x):
    parts = []
    for i in range(4):
        parts.append(x * i)
    return parts


@program(LONG)
def a_list_grows_in_a_long_loop(xs):
    history, total = [], 0.0
    for x in xs:
        total = total + x
        history.append(total)
    return np.array(history), history[3], len(history)


@program(LONG)
def a_list_of_pairs_grows(xs):
    history = []
    for i in range(xs.shape[0]):
        history.append((xs[i], i))
    return history[5][0], history[-1][1]


@program(2.0)
def a_loop_that_needs_known_numbers(x):
    total = x
    for i in range(40):
        total = total + np.sum(np.full(i, 1.0)) * x
    return total


@program(2.0)
def the_loop_variable_afterwards(x):
    for i in range(40):
        last = x * i
    return i, last


@program((2.0, 3))
def loop_variables_of_different_kinds(x, n):
    for t in range(n):
        y = x + t
        x = y
    for t in range(40):
        y = np.full(2, x)
        x = y[0] + t
    return x


@program(LONG)
def nested_loops_over_a_matrix(xs):
    m = xs.reshape(4, 10)
    total = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > 0:
                total += m[i, j] * i
            else:
                total -= j
    return total


# --- writes ---------------------------------------------------------------------------------------


@program(LONG)
def writes_in_a_loop(xs):
    out = np.zeros(xs.shape[0])
    for i in range(xs.shape[0]):
        out[i] = xs[i] * 2 if xs[i] > 0 else 0.0
    return out


@program((VECTOR, 1), (VECTOR, 4))
def writes_in_a_branch(xs, i):
    out = xs.copy()
    if xs[i] > 0:
        out[i] = 100.0
        out[0] += 1.0
    else:
        out[:] = -1.0
    return out


@program((VECTOR, 3), (VECTOR, 0))
def an_alias_sees_writes_in_a_loop(xs, n):
    a = xs * 1.0
    b, row = a, a[2:4]
    for i in range(n):
        a[i] += 10.0
    return a, b, row


@program((VECTOR, 3))
def an_alias_inside_of_the_loop_sees_writes(xs, n):
    a = xs * 1.0
    b = a
    total = 0.0
    for i in range(n):
        a[i] = i
        total += b[i] + b[0]
    return a, total


@program((VECTOR, 3))
def a_view_made_in_the_loop_is_written_to(xs, n):
    m = xs.reshape(2, 3) * 1.0
    for i in range(n):
        row = m[0]
        row += i
        m[1] = row
    return m


@program((VECTOR, 4))
def in_place_operators_on_arrays(xs, n):
    a = xs.copy()
    b = a
    for _ in range(n):
        a += 1.0
        a *= 2.0
    return a, b


@program((VECTOR, 4), (VECTOR, 5))
def buffers_are_swapped(xs, n):
    u, v = xs.copy(), np.zeros_like(xs)
    for _ in range(n):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    return u, v


@program((VECTOR, 2))
def elements_are_swapped(xs, n):
    a = xs.copy()
    for i in range(n):
        a[i], a[i + 1] = a[i + 1], a[i]
    return a


@program(VECTOR)
def insertion_sort(xs):
    a = xs.copy()
    for i in range(1, len(a)):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program((LONG, 5))
def an_integer_array_of_numpy_is_written_to(xs, bins):
    counts = np.zeros(6, int)
    for x in xs:
        counts[int(abs(x)) % 6] += 1
    return counts


def _bump(array, i):
    array[i] = array[i] + 1.0


@program((VECTOR, 4))
def a_called_function_writes(xs, n):
    a = xs.copy()
    for i in range(n):
        _bump(a, i)
    return a


@program((2.0, 3))
def a_dict_changes_in_a_loop(x, n):
    state = {"x": x, "y": 0.0}
    same = state
    for i in range(n):
        state["x"] = state["x"] * 2
        state["y"] += i
    return state, same["x"]


class _Counter:
    def __init__(self, start):
        self.value = start
        self.seen = []
        self.seen = []
        self.__private = 2.0

    def step(self, x):
        if x > 0:
            self.value = self.value + x * self.__private
        return self.value


class _Louder(_Counter):
    def step(self, x):
        if x > 10:
            return super().step(x) * 100
        return super().step(x)


@program(LONG, -LONG)
def a_list_of_an_object_grows(xs):
    counter = _Counter(0.5)
    for x in xs:
        counter.seen.append(counter.step(x))
    return np.array(counter.seen), counter.value


@program((1.0, 5), (-1.0, 2), (11.0, 3))
def methods_and_attributes(x, n):
    counter = _Louder(0.5)
    for _ in range(n):
        y = counter.step(x)
        counter.value = y + 1
    return counter.value


# --- functions ------------------------------------------------------------------------------------


def _absolute(x):
    return x if x > 0 else -x


def _scaled(function, x, *, factor=SCALE):
    return function(x) * factor


@program(2.0, -2.0)
def called_functions_are_converted(x):
    return _scaled(_absolute, x) + _scaled(lambda v: 1.0 if v > 0 else 0.0, x, factor=3.0)


@program(2.0, -2.0)
def closures_and_nonlocal(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 0:
            total = total + v
        else:
            total = total - 2 * v

    for _ in range(3):
        add(x)
        x = -x
    return total


@program((2.0, 30), (-2.0, 3))
def a_called_function_assigns_nonlocal_variables(x, n):
    total, seen = 0.0, []

    def add(v):
        nonlocal total
        total = total + v if v > 0 else total - 2 * v
        seen.append(total)

    for _ in range(40):
        add(x)
        x = -x * 0.9

    def count(v):
        nonlocal total
        total += v

    for i in range(n):
        count(i)
    return total, np.array(seen)


@program(2.0, -2.0)
def partial_map_reduce_sorted(x):
    clip = functools.partial(_scaled, _absolute, factor=0.5)
    values = list(map(clip, [x, 2 * x]))
    return functools.reduce(lambda a, b: a if a > b else b, values), sum(v for v in values)


@program(2.0, -2.0)
def recursion_on_known_values(x):
    def power(base, n):
        if n == 0:
            return 1.0
        return base * power(base, n - 1) if base > 0 else base - power(base, n - 1)

    return power(x, 3)


@program((2.7, 1.0), (-2.7, 5.0))
def builtins_on_traced_values(x, y):
    numbers = [int(x), float(x), min(x, y), max(x, y, 3.0), abs(x), round(x)]
    return numbers, any([x > 0, y > 2]), all([x > 0, y > 2]), math.exp(x), math.floor(x)


@program((1.0, 2.0), (-1.0, 2.0))
def default_arguments_and_keywords(x, y):
    def inner(a, b=SCALE, *rest, c=1.0, **others):
        if a > 0:
            return a * b + c + sum(rest) + others.get("d", 0.0)
        return b - a

    return inner(x) + inner(x, y) + inner(x, y, 1.0, 2.0, c=3.0, d=4.0)


@program(2.0, -1.0)
def try_and_with(x):
    y = 0.0
    try:
        with np.errstate(all="ignore"):
            if x > 0:
                return np.sqrt(x)
            y = x
    finally:
        y = y - 1
    return y


@program(2.0, -1.0)
def an_annotated_variable_and_assert(x):
    assert isinstance(SCALE, float)
    y: float = 0.0
    if x > 0:
        y = x
    z: float
    z = y
    return z


# --- windows --------------------------------------------------------------------------------------


@program((LONG, 4), (LONG, 0))
def windows_at_a_traced_place(xs, k):
    return xs[k : k + 3], xs[2 * k + 1 : k + 4 + k].sum(), xs.reshape(5, 8)[1, k : k + 2]


@program(LONG)
def a_window_that_moves(xs):
    out = np.zeros(len(xs))
    for i in range(1, len(xs) - 1):
        out[i] = xs[i - 1 : i + 2].mean()
    return out


@program((LONG, 2))
def writes_to_a_window(xs, k):
    m = xs.reshape(5, 8).copy()
    m[k : k + 2, 1] = 7.0
    m[k - 1 : k + 1, k : k + 3] += xs[k : k + 3]
    row = m[k + 1 : k + 3]
    row *= 2.0
    for i in range(3):
        m[i : i + 2, i] = float(i)
    return m


# --- what NumPy does not hand on ------------------------------------------------------------------


@program(16.0, -3.0)
def halving(x, n=4):
    """Calls itself by its name in the module."""
    if n == 0:
        return x
    return halving(x / 2 if x > 0 else x, n - 1)


@program((VECTOR, LONG[:6]))
def lists_of_traced_values(x, y):
    numbers = [x[0], y[1]]
    rows = np.maximum.reduce([x, y, x * 2]), np.sum([x, y], axis=0), np.lexsort([x, y])
    outer = np.add.outer(numbers, [1.0, 2.0]), np.hypot(numbers, [3.0, 4.0])
    means = np.median(numbers), np.average(numbers, weights=[1.0, 3.0]), np.linalg.norm(numbers)
    return rows, outer, means, x[:2] + numbers, np.c_[x, y], np.r_[x, 1.0, y[0]]


@program(VECTOR)
def items_of_lists(x):
    places = np.zeros((3, 2), dtype=int)
    places[1] = (int(x[0]), 4)
    places[2] = [7, int(x[3])]
    return places, x[range(2)], x[(0, 2),]


@program(VECTOR)
def scipys_functions(x):
    from scipy.linalg import toeplitz
    from scipy.special import logsumexp
    from scipy.stats import norm

    half = np.vectorize(lambda v: v / 2 if v > 0 else v)
    return logsumexp(x), norm.logpdf(x, 0.5), norm.cdf(x) * norm.ppf(0.75), toeplitz(x), half(x)


@program((VECTOR, LONG[:6]))
def writes_by_functions(x, y):
    counts, table, sums = np.zeros((3, 3), dtype=int), np.arange(4), np.zeros(6)
    places = np.floor(np.abs(x) % 3).astype(int)
    np.add.at(counts, (places, places[::-1]), 1)
    np.fill_diagonal(table.reshape(2, 2), 0)
    np.add(x, y, out=sums)
    flags = np.zeros(6, dtype=bool)
    for k in range(20):
        np.logical_or(flags, x > k, out=flags)
        np.add.at(counts, (k % 3, places[0]), k)
    return counts, table, sums, flags


@program(VECTOR)
def methods_of_numpys_arrays(x):
    ones, order = np.arange(6), np.array([2, 0, 1])
    return ones.dot(x), ones.searchsorted(x[:3]), order.take(np.argmax(x[:3])), ones.clip(0, x[3])


@program((VECTOR, 2), (VECTOR, 0), (-VECTOR, 3))
def numbers_among_conditions(x, n):
    table = np.array([0, 3, 0, 1])
    count = 0
    if n and x[0] > 0 and table[n]:
        count = 1
    while n and (x[0] > 0 or table[n]):
        count += 1
        n = n - 1
    return count, 1.0 if not (n or x[1] > 0) else 2.0


@program(VECTOR, -VECTOR)
def branches_inside_try_and_with(x):
    try:
        if x[0] > 0:
            y = x[0]
        else:
            y = -x[0]
    finally:
        total = 1.0
    with np.errstate(all="ignore"):
        for v in x:
            if v > 0:
                total += 1 / v
    return y + total


@program(VECTOR, -VECTOR)
def names_of_one_array_through_branches(x):
    y = np.abs(x)
    w, v = y, y[1:]
    if x[0] > 0:
        w = w
        v[0] = 7.0
    else:
        v = v
        w[1] = 5.0
    y[2] = 3.0
    if x[0] > 0:
        u = y
    else:
        u = w
    u[3] = 9.0
    return w, v, y, u


@program((VECTOR, LONG[:6]), (-VECTOR, LONG[:6]))
def arrays_that_a_branch_exchanges_for_themselves(x, y):
    a, b = x + 0, y + 0
    pair = (a, b)
    if x[0] > 0:
        a, b = a, b
        b[0] = 4.0
    pair[0][1] = 8.0
    b[2] = 6.0
    return a, b, pair


@program((2.0, 3), (-1.0, 3), (0.5, 0), (0.5, 20))
def else_of_loops_that_nothing_leaves(x, n):
    total = x
    for i in range(3):
        total = total + i
    else:
        total = total * 2
    if x > 0:
        for _ in range(n):
            total = total + 0.5
        else:
            total = total - 7
    k = 0
    while k < n:
        k += 1
    else:
        total = total + k
    return total


@program(VECTOR[:3], -VECTOR[:4])
def rows_that_steps_before_have_written_to(x):
    y, total = x.copy(), 0.0
    for v, number in zip(y, [1.0, 2.0, 3.0, 4.0]):
        total = total + v * number
        y[y > total] = 0.5
    for v in y:
        total = total + v
        y[-1] = total
    return total, y
