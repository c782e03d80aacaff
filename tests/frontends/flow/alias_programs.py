"""Functions in which names stand for one array on some ways and for two on others.

Plain Python runs the very same functions for comparison. `REFUSED` are those that a trace refuses,
with words; all others give what Python gives.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft as wf

Function = Callable[..., Any]
PROGRAMS: dict[str, Function] = {}
REFUSED: set[str] = set()
Pair = namedtuple("Pair", ["a", "b"])


def program(function: Function) -> Function:
    PROGRAMS[function.__name__] = function
    return function


def refused(function: Function) -> Function:
    REFUSED.add(function.__name__)
    return program(function)


class Box:
    def __init__(self, a):
        self.a = a

    def swap(self, other):
        self.a, other.a = other.a, self.a

    def take(self, array, p):
        if p > 0:
            self.a = array

    def fill(self, value):
        self.a[0] = value


@dataclass
class Record:
    a: Any


def fill(array, value):
    array[1] = value


def one_of(a, b, p):
    if p > 0:
        return a
    return b


def same_or_new(a, p):
    if p > 0:
        return a
    return a + 1.0


# --- branches -------------------------------------------------------------------------------------


@program
def a_name_for_an_old_array_or_a_new_one(x, p, k):
    y = x.copy()
    w = x * 2.0
    if p > 0:
        w = y
    w[0] = 7.0
    return y, w


@program
def the_old_array_is_written_to(x, p, k):
    y = x.copy()
    w = x * 2.0
    if p > 0:
        w = y
    y[0] = 7.0
    return y, w


@program
def both_are_written_to_in_turns(x, p, k):
    y = x.copy()
    w = y if p > 0 else y + 1.0
    w[0] = 7.0
    y[1] = 8.0
    w[2] = y[1] + w[0]
    y += 1.0
    return y, w


@program
def one_of_two_old_arrays(x, p, k):
    a, b = x.copy(), x * 2.0
    if p > 0:
        w = a
    else:
        w = b
    w *= 3.0
    a[0] = 5.0
    return a, b, w


@program
def the_same_array_again(x, p, k):
    y = x.copy()
    w = y
    if p > 0:
        w = w
    y[0] = 3.0
    return y, w


@program
def elif_chain(x, p, k):
    a, b, c = x.copy(), x * 2.0, x * 3.0
    if p > 0 and k > 1:
        w = a
    elif p > 0:
        w = b
    elif k > 1:
        w = c
    else:
        w = x * 4.0
    w[1] = 9.0
    b[2] = 8.0
    return a, b, c, w


@program
def nested_branches(x, p, k):
    a, b = x.copy(), x * 2.0
    w = a
    if p > 0:
        if k > 1:
            w = b
        else:
            w = x * 5.0
    w[1] = 9.0
    a[0] = 1.0
    return a, b, w


@program
def a_chain_of_branches(x, p, k):
    a, b = x.copy(), x * 2.0
    w = a if p > 0 else b
    v = w if k > 1 else a
    v[0] = 4.0
    w[1] = 5.0
    a[2] = 6.0
    return a, b, v, w


@program
def a_write_inside_of_a_later_branch(x, p, k):
    a = x.copy()
    w = a if p > 0 else x * 2.0
    if k > 1:
        w[0] = 3.0
    else:
        a[1] = 4.0
    return a, w


@program
def a_write_before_the_end_of_the_branch(x, p, k):
    a = x.copy()
    w = x * 2.0
    if p > 0:
        w = a
        w[0] = 3.0
    else:
        a[1] = 4.0
    w[2] = 5.0
    return a, w


@program
def a_view_or_a_copy(x, p, k):
    y = x.copy()
    if p > 0:
        v = y[1:3]
    else:
        v = y[1:3].copy()
    v[0] = 7.0
    y[2] = 8.0
    return y, v


@program
def a_view_from_before_or_another(x, p, k):
    y = x.copy()
    front, back = y[:2], y[2:]
    v = front if p > 0 else back
    v *= 10.0
    return y, v, front, back


@program
def a_reversed_view_or_the_array(x, p, k):
    y = x.copy()
    w = y[::-1] if p > 0 else y
    w[0] = 9.0
    y[1] = 8.0
    return y, w


@program
def a_view_of_what_may_be_old(x, p, k):
    y = x.copy()
    w = y if p > 0 else x * 2.0
    v = w[1:]
    v[0] = 9.0
    y[2] = 8.0
    return y, w, v


@program
def a_view_of_a_matrix(x, p, k):
    m = np.stack([x, x + 1.0])
    t = m.T if p > 0 else m.T.copy()
    t[0, 1] = 9.0
    m[1] *= 2.0
    return m, t


@refused
def a_window_whose_place_is_traced(x, p, k):
    y = x.copy()
    if p > 0:
        v = y[k : k + 1]
    else:
        v = y[:1]
    v[0] = 9.0
    return y, v


@program
def two_names_for_one_new_array_in_one_branch(x, p, k):
    a, b = x.copy(), x * 2.0
    if p > 0:
        a = b = x + 1.0
    a[0] = 7.0
    b[1] = 8.0
    return a, b


@program
def two_names_for_one_new_array_in_both(x, p, k):
    if p > 0:
        a = b = x + 1.0
    else:
        a = b = x + 2.0
    a[0] = 7.0
    return a, b


@program
def a_swap(x, p, k):
    a, b = x.copy(), x * 2.0
    c, d = a, b
    if p > 0:
        a, b = b, a
    a[0] = 7.0
    d[1] = 8.0
    return a, b, c, d


@program
def a_view_and_the_new_array_that_it_is_of(x, p, k):
    a, v = x.copy(), x[:2].copy()
    if p > 0:
        a = x + 1.0
        v = a[:2]
    v[0] = 7.0
    a[1] = 8.0
    return a, v


@program
def writes_to_the_argument_or_a_copy(x, p, k):
    w = x if p > 0 else x.copy()
    w[0] = 7.0
    return w + 0.0, x.sum()


@refused
def the_callers_array_or_a_copy(x, p, k):
    w = x if p > 0 else x.copy()
    w[0] = 7.0
    return w


@program
def reads_only(x, p, k):
    w = x if p > 0 else x * 2.0
    return w + 1.0, x


# --- functions, methods, returns ------------------------------------------------------------------


@program
def what_a_function_returns(x, p, k):
    a, b = x.copy(), x * 2.0
    w = one_of(a, b, p)
    w[0] = 7.0
    return a, b, w


@program
def what_a_function_returns_or_makes(x, p, k):
    a = x.copy()
    w = same_or_new(a, p)
    a[0] = 7.0
    fill(w, 5.0)
    return a, w


@program
def a_function_that_writes(x, p, k):
    a = x.copy()
    w = a if p > 0 else x * 2.0
    fill(w, 3.0)
    return a, w


@program
def a_method_that_keeps_an_array(x, p, k):
    a, box = x.copy(), Box(x * 2.0)
    box.take(a, p)
    box.fill(9.0)
    a[1] = 8.0
    return a, box.a


@program
def objects_that_swap(x, p, k):
    one, other = Box(x.copy()), Box(x * 2.0)
    a = one.a
    if p > 0:
        one.swap(other)
    one.fill(9.0)
    return one.a, other.a, a


@program
def an_early_return(x, p, k):
    def inner(a, b):
        if p > 0:
            return a
        if k > 1:
            return b
        return a + b

    a, b = x.copy(), x * 2.0
    w = inner(a, b)
    w[0] = 7.0
    b[1] = 8.0
    return a, b, w


@program
def a_closure(x, p, k):
    a = x.copy()
    w = x * 2.0

    def choose():
        nonlocal w
        if p > 0:
            w = a

    choose()
    w[0] = 7.0
    return a, w


# --- containers -----------------------------------------------------------------------------------


@program
def a_list_of_arrays(x, p, k):
    a = x.copy()
    held = [a, x * 2.0]
    if p > 0:
        held[1] = a
    held[1][0] = 7.0
    return a, held


@program
def a_dict_of_arrays(x, p, k):
    a = x.copy()
    held = {"a": a, "b": x * 2.0}
    if p > 0:
        held["b"] = held["a"]
    held["b"][0] = 7.0
    a[1] = 6.0
    return a, held


@program
def a_tuple_of_arrays(x, p, k):
    a, b = x.copy(), x * 2.0
    pair = (a, b)
    if p > 0:
        pair = (b, a)
    pair[0][0] = 7.0
    return a, b, pair


@program
def a_named_tuple(x, p, k):
    pair = Pair(x.copy(), x * 2.0)
    first = pair.a if p > 0 else pair.b
    first[0] = 7.0
    return pair.a, pair.b, first


@refused
def one_of_two_lists(x, p, k):
    one, other = [x.copy()], [x * 2.0]
    if p > 0:
        c = one
    else:
        c = other
    c[0] = x * 3.0
    return one, other, c


@refused
def one_of_two_dicts_grows(x, p, k):
    one, other = {"a": x.copy()}, {"a": x * 2.0}
    c = one if p > 0 else other
    one["b"] = x
    return len(c), one["b"]


@refused
def one_of_two_records(x, p, k):
    one, other = Record(x.copy()), Record(x * 2.0)
    if p > 0:
        c = one
    else:
        c = other
    c.a = x * 3.0
    return one.a, other.a, c.a


@program
def lists_that_are_only_read(x, p, k):
    one, other = [x.copy()], [x * 2.0]
    if p > 0:
        c = one
    else:
        c = other
    c[0][1] = 5.0
    return one[0], other[0], c[0]


@program
def new_lists_that_are_changed(x, p, k):
    if p > 0:
        c = [x * 2.0]
    else:
        c = [x * 3.0]
    c.append(x)
    c[0] = x
    return c


@program
def a_list_stays_the_same_list(x, p, k):
    held = [x.copy(), x * 2.0]
    other = held
    if p > 0:
        held[0] = x * 5.0
    other[1] = x * 7.0
    return held, other


@refused
def a_loop_that_replaces_a_list(x, p, k):
    held = [x.copy()]
    other = held
    for _ in range(k):
        held = [held[0] + 1.0]
    held[0] = x * 5.0
    return held, other


@program
def integers_of_numpy(x, p, k):
    a, b = np.arange(4), np.arange(4) * 2
    if p > 0:
        w = a
    else:
        w = b
    w[0] = 7
    return a, b, w


@program
def new_integers_of_numpy(x, p, k):
    if p > 0:
        w = np.arange(4)
    else:
        w = np.ones(4, int)
    w[0] = 7
    return w


@refused
def an_array_of_rank_zero(x, p, k):
    y = np.zeros(())
    w = y if p > 0 else y + 1.0
    y[...] = 4.0
    return w, y


# --- loops ----------------------------------------------------------------------------------------


@program
def two_buffers_in_turns(x, p, k):
    u, un = x.copy(), np.zeros_like(x)
    for _ in range(k):
        un[:] = u
        u[1:-1] = un[1:-1] + 0.1 * (un[2:] - un[:-2])
        u, un = un, u
    return u, un


@program
def two_buffers_in_turns_for_many_steps(x, p, k):
    u, un = x.copy(), np.zeros_like(x)
    for _ in range(40):
        un[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u, un = un, u
    u[0] = 9.0
    return u, un


@program
def three_buffers(x, p, k):
    a, b, c = x.copy(), x * 2.0, x * 3.0
    i = 0
    while i < k:
        c[:] = 2.0 * b - a
        a, b, c = b, c, a
        i = i + 1
    return a, b, c


@program
def a_loop_that_replaces_its_array(x, p, k):
    y = x.copy()
    w = y
    for _ in wf.rolled(range(3)):
        w = w + 1.0
    w[0] = 7.0
    return y, w


@refused
def another_name_for_a_buffer(x, p, k):
    u, un = x.copy(), x * 2.0
    first = u
    for _ in range(k):
        un[:] = u + 1.0
        u, un = un, u
    return u, first


@refused
def a_loop_that_may_have_no_step(x, p, k):
    y = x.copy()
    w = y
    for _ in range(k):
        w = w + 1.0
    w[0] = 7.0
    return y


@refused
def the_best_so_far(x, p, k):
    y = x.copy()
    best = y
    for _ in range(k):
        y[0] = y[0] - 1.0
        if y[0] > p:
            best = y
        y = y * 0.5
    y[1] = 3.0
    best[1] = 4.0
    return y, best


@program
def the_best_so_far_is_a_copy(x, p, k):
    y = x.copy()
    best = y.copy()
    for _ in range(k):
        y[0] = y[0] - 1.0
        if y[0] > p:
            best = y.copy()
    return y, best


@program
def a_branch_in_a_loop(x, p, k):
    u = x.copy()
    for _ in wf.rolled(range(4)):
        w = u if p > 0 else u * 2.0
        w[0] = w[0] + 1.0
    return u


@program
def break_after_a_new_name(x, p, k):
    u, v = x.copy(), x * 2.0
    for i in wf.rolled(range(6)):
        w = u if i > k else v
        w[1] += 1.0
        if w[1] > 3.0:
            break
    return u, v


@program
def a_list_of_buffers(x, p, k):
    held = [x.copy(), x * 2.0]
    for _ in range(k):
        held[1][:] = held[0] + 1.0
        held[0], held[1] = held[1], held[0]
    return held


@program
def attributes_in_turns(x, p, k):
    one, other = Box(x.copy()), Box(x * 2.0)
    for _ in range(k):
        other.a[:] = one.a + 1.0
        one.swap(other)
    return one.a, other.a


@program
def a_state_of_which_a_part_stays(x, p, k):
    fixed = x.copy()
    state = {"x": x * 2.0, "fixed": fixed}
    for _ in range(k):
        state = {"x": state["x"] + state["fixed"], "fixed": state["fixed"]}
    fixed[0] = 7.0
    return state["x"], state["fixed"]


@refused
def rows_of_what_the_loop_writes_to(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0])
    s = x * 0.0
    for row in wf.rolled(y):
        y[2, 0] = 50.0
        s = s + row
    return s, y


@program
def rows_that_are_views(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0])
    s = x * 0.0
    for row in y:
        y[2, 0] = 50.0
        s = s + row
    return s, y


@program
def masked_writes(x, p, k):
    y = x.copy()
    w = y if p > 0 else x * 2.0
    w[w < 0.0] = 0.0
    np.add.at(y, [0, 0], 1.0)
    return y, w


@program
def a_row_at_a_place_that_is_traced(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0, x * 4.0])
    row = y[k]
    row -= row.mean()
    y[0] = y[0] + 1.0
    return y, row


@program
def rows_centred_in_a_loop(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0])
    for i in range(k):
        row = y[i]
        row -= row.mean()
        row[0] = p
    return y


@program
def a_part_of_a_row_of_a_loop_that_counts(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0])
    i = 0
    while i < k:
        part = y[i, 1:]
        part[...] = part[::-1] * p
        i += 1
    return y


@program
def a_row_that_one_branch_takes(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0, x * 4.0])
    if p > 0:
        row = y[k]
        row *= 2.0
    else:
        row = y[0]
    y += 1.0
    return row * 1.0, y


@refused
def the_last_row_of_a_loop(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0])
    row = y[0]
    for i in range(k):
        row = y[i]
    row += 1.0
    return y


@program
def an_element_is_no_view(x, p, k):
    y = x * 2.0
    one = y[k]
    y += 1.0
    one += 5.0
    return y, one


@program
def an_array_from_a_list(x, p, k):
    b = [x.copy(), x * 2.0, x * 3.0, x * 4.0]
    b[k][0] = 1.0
    d = b[k]
    d += 1.0
    b[0][1] = 7.0
    return b[0], b[1], b[3], d


@program
def buffers_that_take_turns(x, p, k):
    buffers = [x.copy(), np.zeros(4)]
    for i in range(k):
        source, target = buffers[i % 2], buffers[1 - i % 2]
        target[:] = source * 0.5 + p
    return buffers[0], buffers[1]


@program
def views_in_a_list(x, p, k):
    y = x.copy()
    rows = [y[0:1], y[1:2], y[2:3], y[3:]]
    rows[k][0] = 4.0
    y[0] *= 2.0
    return y, rows[k]


@program
def a_tuple_by_a_helper(x, p, k):
    pair = (x.copy(), x * 2.0)

    def pick(i):
        return pair[i]

    pick(k % 2)[1:] *= 3.0
    return pair[0], pair[1], pick(-1 - k % 2)


@program
def a_view_of_a_view_in_a_branch(x, p, k):
    y = np.stack([x, x * 2.0, x * 3.0])
    if p > 0:
        z = y.T
        w = z[::-1]
        w[0] = 1.0
    for i in range(k):
        for row in y[:, 1:]:
            row += i
    return y
