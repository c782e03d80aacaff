"""Everything that a branch or loop body can change: as in Python afterwards, or refused.

Each kind of change is made under a traced `if`, `else`, `while` and `for`, and in a loop of known
length, with a traced value and with a plain one.
"""

from __future__ import annotations

import array
import functools
import itertools
import linecache
import random
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from weft.compiler.ir.errors import TraceError


class Slots:
    __slots__ = ("c", "held")

    def __init__(self) -> None:
        self.c: Any = 0.0
        self.held: Any = [0.0]

    def add(self, value: Any) -> None:
        self.c = self.c + value


class MoreSlots(Slots):
    __slots__ = ("d",)


class SlotsAndDict(Slots):
    pass


class Private:
    __slots__ = ("__c",)

    def __init__(self) -> None:
        self.__c: Any = 0.0

    def add(self, value: Any) -> None:
        self.__c = self.__c + value

    @property
    def c(self) -> Any:
        return self.__c


@dataclass(slots=True)
class SlotsRecord:
    c: Any = 0.0


@dataclass
class Record:
    c: Any = 0.0
    held: Any = None


class Plain:
    count: Any = 0.0

    def __init__(self) -> None:
        self.c: Any = 0.0
        self.held: Any = [0.0]
        self.items: Any = {"c": 0.0}
        self.array = np.zeros(2, int)

    def add(self, value: Any) -> None:
        self.c = self.c + value


class WithProperty:
    def __init__(self) -> None:
        self._c: Any = 0.0

    @property
    def c(self) -> Any:
        return self._c

    @c.setter
    def c(self, value: Any) -> None:
        self._c = value


class MyList(list[Any]):
    pass


class MyDict(dict[str, Any]):
    pass


class Counting:
    def __init__(self) -> None:
        self.n = 0.0

    def __iter__(self) -> Counting:
        return self

    def __next__(self) -> float:
        self.n += 1.0
        return self.n


def keeps(value: Any, held: list[Any] = [0.0]) -> Any:  # noqa: B006
    held[0] = held[0] + value
    return held[0]


def keeps_by_name(value: Any, *, held: dict[str, Any] = {"c": 0.0}) -> Any:  # noqa: B006
    held["c"] = held["c"] + value
    return held["c"]


def fresh_defaults() -> None:
    keeps.__defaults__[0][0] = 0.0  # type: ignore[index]
    keeps_by_name.__kwdefaults__["held"]["c"] = 0.0  # type: ignore[index]


GLOBAL_LIST = [0.0]
GLOBAL_ARRAY = np.zeros(2, int)
GLOBAL_NUMBER: Any = 0.0


def fresh_globals() -> None:
    global GLOBAL_NUMBER
    GLOBAL_NUMBER = 0.0
    GLOBAL_LIST[:] = [0.0]
    GLOBAL_ARRAY[:] = 0
    Plain.count = 0.0


def fresh_class() -> type[Plain]:
    fresh_globals()
    return Plain


def add_to_global_list(value: Any) -> None:
    GLOBAL_LIST[0] = GLOBAL_LIST[0] + value


def add_to_global_number(value: Any) -> None:
    global GLOBAL_NUMBER
    GLOBAL_NUMBER = GLOBAL_NUMBER + value


def add_to_array(held: Any) -> None:
    held[0] = held[0] + 1


def doubling() -> Iterator[float]:
    number = 1.0
    while True:
        yield number
        number = number * 2


def ones() -> Iterator[float]:
    while True:
        yield 1.0


def closure() -> Any:
    number, held = 0.0, [0.0]

    def add(value: Any) -> Any:
        nonlocal number
        number = number + value
        held[0] = held[0] + value
        return number

    return add, lambda: (number, held[0])


Pair = namedtuple("Pair", ["a", "b"])
SIX = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]

# What is made, how it is changed by v, and what is read afterwards.
KINDS: dict[str, tuple[Any, str, str]] = {
    "slots": (Slots, "s.c = s.c + v", "s.c"),
    "slots by a method": (Slots, "s.add(v)", "s.c"),
    "a list in slots": (Slots, "s.held[0] = s.held[0] + v", "s.held[0]"),
    "slots of two classes": (MoreSlots, "s.c = s.c + v", "s.c"),
    "a slot without a value": (MoreSlots, "s.d = v", "getattr(s, 'd', 0.0)"),
    "slots and attributes": (SlotsAndDict, "s.c = s.c + v", "s.c"),
    "private slots": (Private, "s.add(v)", "s.c"),
    "a dataclass with slots": (SlotsRecord, "s.c = s.c + v", "s.c"),
    "a dataclass": (Record, "s.c = s.c + v", "s.c"),
    "a list in a dataclass": (lambda: Record(0.0, [0.0]), "s.held[0] = s.held[0] + v", "s.held[0]"),
    "attributes": (Plain, "s.c = s.c + v", "s.c"),
    "attributes by a method": (Plain, "s.add(v)", "s.c"),
    "setattr": (Plain, "setattr(s, 'c', s.c + v)", "s.c"),
    "__dict__": (Plain, "s.__dict__['c'] = s.c + v", "s.c"),
    "vars": (Plain, "vars(s).update(c=s.c + v)", "s.c"),
    "a dict in an object": (Plain, "s.items['c'] = s.items['c'] + v", "s.items['c']"),
    "a list in an object": (Plain, "s.held[0] = s.held[0] + v", "s.held[0]"),
    "append in an object": (Plain, "s.held.append(v)", "sum(s.held), len(s.held)"),
    "an array in an object": (Plain, "s.array[0] = s.array[0] + 1", "s.array[0]"),
    "a property": (WithProperty, "s.c = s.c + v", "s.c"),
    "an attribute of a class": (fresh_class, "s.count = s.count + v", "s.count"),
    "a subclass of list": (lambda: MyList([0.0]), "s[0] = s[0] + v", "s[0]"),
    "append to it": (lambda: MyList([0.0]), "s.append(v)", "sum(s), len(s)"),
    "a subclass of dict": (lambda: MyDict(c=0.0), "s['c'] = s['c'] + v", "s['c']"),
    "a list": (lambda: [0.0], "s[0] = s[0] + v", "s[0]"),
    "append": (lambda: [0.0], "s.append(v)", "sum(s), len(s)"),
    "pop": (lambda: [*SIX], "s.pop()", "sum(s), len(s)"),
    "extend": (lambda: [0.0], "s.extend([v, v])", "sum(s), len(s)"),
    "insert": (lambda: [0.0], "s.insert(0, v)", "sum(s), len(s), s[0]"),
    "reverse": (lambda: [0.0, 1.0], "s.reverse()", "s[0], s[1]"),
    "+=": (lambda: [0.0], "s += [v]", "sum(s), len(s)"),
    "clear": (lambda: [0.0], "s.clear()", "len(s)"),
    "a part of a list": (lambda: [0.0, 1.0], "s[0:1] = [s[0] + v]", "s[0], s[1]"),
    "a list in a list": (lambda: [[0.0]], "s[0][0] = s[0][0] + v", "s[0][0]"),
    "a list in a tuple": (lambda: ([0.0], 1), "s[0][0] = s[0][0] + v", "s[0][0]"),
    "append in a tuple": (lambda: ([0.0], 1), "s[0].append(v)", "sum(s[0]), len(s[0])"),
    "in a named tuple": (lambda: Pair([0.0], 1), "s.a[0] = s.a[0] + v", "s.a[0]"),
    "a dict": (lambda: {"c": 0.0}, "s['c'] = s['c'] + v", "s['c']"),
    "update": (lambda: {"c": 0.0}, "s.update(c=s['c'] + v)", "s['c']"),
    "setdefault": (dict, "s.setdefault('c', 1.0)", "s.get('c', 0.0)"),
    "pop from a dict": (lambda: {"c": 0.0}, "s.pop('c', None)", "len(s)"),
    "a set": (set, "s.add(1)", "len(s)"),
    "an ordered dict": (lambda: OrderedDict(c=0.0), "s['c'] = s['c'] + v", "s['c']"),
    "its order": (
        lambda: OrderedDict(c=0.0, d=1.0),
        "s.move_to_end('c')",
        "list(s.values())[0]",
    ),
    "a defaultdict": (lambda: defaultdict(float), "s['c'] = s['c'] + v", "s['c']"),
    "a deque": (lambda: deque([0.0]), "s[0] = s[0] + v", "s[0]"),
    "append to a deque": (lambda: deque([0.0]), "s.append(v)", "sum(s), len(s)"),
    "rotate": (lambda: deque([0.0, 1.0, 2.0]), "s.rotate(1)", "s[0]"),
    "a Counter": (lambda: Counter(c=0), "s['c'] += 1", "s['c']"),
    "array.array": (lambda: array.array("d", [0.0]), "s[0] = s[0] + 1.0", "s[0]"),
    "append to array.array": (lambda: array.array("d", [0.0]), "s.append(1.0)", "len(s)"),
    "a bytearray": (lambda: bytearray(2), "s[0] = s[0] + 1", "s[0]"),
    "a memoryview": (lambda: memoryview(bytearray(2)), "s[0] = s[0] + 1", "s[0]"),
    "an iterator": (lambda: iter([*SIX]), "t = t + next(s)", "sum(s)"),
    "iterator of a range": (lambda: iter(range(9)), "t = t + next(s)", "sum(s)"),
    "list of an iterator": (lambda: iter([*SIX]), "t = t + sum(list(s))", "sum(s)"),
    "for of an iterator": (lambda: iter([*SIX]), "for i in s: t = t + i", "sum(s)"),
    "itertools.count": (itertools.count, "t = t + next(s)", "next(s)"),
    "itertools.cycle": (lambda: itertools.cycle([1.0, 2.0, 3.0]), "t = t + next(s)", "next(s)"),
    "zip": (lambda: zip(SIX, SIX, strict=True), "t = t + next(s)[0]", "len(list(s))"),
    "map": (lambda: map(abs, SIX), "t = t + next(s)", "len(list(s))"),
    "enumerate": (lambda: enumerate(SIX), "t = t + next(s)[1]", "len(list(s))"),
    "a generator": (doubling, "t = t + next(s)", "next(s)"),
    "a generator of one value": (ones, "t = t + next(s)", "next(s)"),
    "__next__": (doubling, "t = t + s.__next__()", "next(s)"),
    "send": (doubling, "t = t + s.send(None)", "next(s)"),
    "an iterator of the user's": (Counting, "t = t + next(s)", "s.n"),
    "RandomState": (lambda: np.random.RandomState(0), "t = t + s.rand()", "s.rand()"),
    "default_rng": (lambda: np.random.default_rng(0), "t = t + s.random()", "s.random()"),
    "random.Random": (lambda: random.Random(0), "t = t + s.random()", "s.random()"),
    "numpy.random": (lambda: np.random.seed(0), "t = t + np.random.rand()", "np.random.rand()"),
    "random": (lambda: random.seed(0), "t = t + random.random()", "random.random()"),
    "a default": (fresh_defaults, "t = keeps(v)", "keeps(0.0)"),
    "a default by name": (fresh_defaults, "t = keeps_by_name(v)", "keeps_by_name(0.0)"),
    "a partial": (lambda: functools.partial(keeps, held=[0.0]), "t = s(v)", "s(0.0)"),
    "a global list": (fresh_globals, "GLOBAL_LIST[0] = GLOBAL_LIST[0] + v", "GLOBAL_LIST[0]"),
    "a global list elsewhere": (fresh_globals, "add_to_global_list(v)", "GLOBAL_LIST[0]"),
    "a global elsewhere": (fresh_globals, "add_to_global_number(v)", "GLOBAL_NUMBER"),
    "a global array": (fresh_globals, "add_to_array(GLOBAL_ARRAY)", "GLOBAL_ARRAY[0]"),
    "a class's attribute": (fresh_globals, "Plain.count = Plain.count + v", "Plain.count"),
    "a closure": (closure, "s[0](v)", "s[1]()"),
    "an array of integers": (lambda: np.zeros(2, int), "add_to_array(s)", "s[0]"),
    "a record array": (
        lambda: np.zeros(2, dtype=[("a", "f8")]),
        "s['a'][0] = s['a'][0] + 1.0",
        "s['a'][0]",
    ),
    "an array of objects": (lambda: np.array([0.0, None], object), "s[0] = s[0] + v", "s[0]"),
    "a conditional expression": (Slots, "t = s.add(v) or t if n > -1 else t", "s.c"),
    "the right side of and": (Slots, "t = (n > -1 and s.add(v)) or t", "s.c"),
}
FORMS = {
    "if": "if n > 1:\n        {change}",
    "else": "if n > 1:\n        t = t + 1\n    else:\n        {change}",
    "while": "i = n * 0\n    while i < n:\n        {change}\n        i = i + 1",
    "for": "for i in range(n):\n        {change}",
    "scan": "for i in wf.rolled(range(3)):\n        {change}",
}
# These have to be right: they are tracked as attributes are.
TRACKED = ("slots", "slots by a method", "private slots", "a dataclass with slots", "attributes")


def function(kind: str, form: str, value: str) -> Any:
    _, change, read = KINDS[kind]
    body = FORMS[form].format(change=change)
    source = f"def f(s, x, n):\n    t, v = x * 0, {value}\n    {body}\n    return {read}, t\n"
    name = f"<{kind}, {form}, {value}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = globals()
    exec(compile(source, name, "exec"), names)
    return names["f"]


def outcome(kind: str, form: str, value: str) -> bool:
    """Whether it was not refused; an answer that differs from Python's is an error."""
    plain, make = function(kind, form, value), KINDS[kind][0]
    expected = {n: optree.tree_leaves(plain(make(), 2.0, n)) for n in (0, 3)}
    state = make()
    compiled = wf.jit(lambda x, n: plain(state, x, n), control_flow=True, backend="reference")
    for n in (0, 3):
        try:
            found = optree.tree_leaves(compiled(np.float64(2.0), np.int64(n)))
        except TraceError:
            return False
        assert len(found) == len(expected[n])
        for one, other in zip(found, expected[n], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=f"{form}, {value}, {n}")
    return True


@pytest.fixture(autouse=True)
def kept_globals() -> Iterator[None]:
    drawn, theirs = random.getstate(), np.random.get_state()
    yield
    fresh_globals()
    fresh_defaults()
    random.setstate(drawn)
    np.random.set_state(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_as_in_python_or_refused(kind: str) -> None:
    for form in FORMS:
        for value in ("x", "2.0"):
            assert outcome(kind, form, value) or kind not in TRACKED, (form, value)


def test_what_is_refused_is_put_back() -> None:
    held, draws, counted = deque([1.0]), random.Random(3), Counter(a=1)
    before = draws.getstate()

    def changes(x: Any) -> Any:
        if x > 0:
            held.append(2.0)
            counted["a"] += 1
            draws.random()
        return x

    with pytest.raises(TraceError, match="is changed by one branch"):
        wf.trace(changes, control_flow=True)(1.0)
    assert list(held) == [1.0] and counted == {"a": 1} and draws.getstate() == before


def test_iterators_that_a_branch_makes_are_its_own() -> None:
    def first(x: Any) -> Any:
        y = x
        if x > 0:
            numbers = iter([1.0, 2.0])
            draws = np.random.RandomState(0)
            y = x + next(numbers) + next(numbers) + draws.rand() + sum(v for v in [1.0, 2.0])
        return y

    compiled = wf.jit(first, control_flow=True, backend="reference")
    for x in (1.0, -1.0):
        assert compiled(np.float64(x)) == pytest.approx(first(x), rel=1e-14)


def test_what_cannot_be_looked_through_is_refused() -> None:
    held = [[number] for number in range(30_000)]

    def reads(x: Any) -> Any:
        y = x
        if x > 0:
            y = x + held[3][0]
        return y

    with pytest.raises(TraceError, match="more than 20,000 Python objects"):
        wf.trace(reads, control_flow=True)(1.0)
