"""Random programs of Python itself: numbers, lists, dicts, objects, arrays and their aliases, in
branches, loops, functions and `try`. What they compute is compared with Python by `python_side.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from textwrap import indent
from typing import Final

from tests.fuzz.case import Case

PARAMETERS: Final = ("x", "y", "n", "k", "p", "a")
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "I": ("n", "k", "i0", "i1"),
    "F": ("x", "y", "f0", "f1"),
    "B": ("p", "b0"),
    "A": ("a0", "a1"),
    "L": ("l0", "l1"),
}
HEAD: Final = """\
import math


class Box:
    def __init__(self, v):
        self.v = v
        self.n = 0
        self.held = [v, 1.0]

    def add(self, other):
        self.n += 1
        if other > self.v:
            self.v = self.v + other
        return self.v

    @property
    def twice(self):
        return self.v * 2


class Slots:
    __slots__ = ("v", "n")

    def __init__(self, v, n=1):
        self.v, self.n = v, n

    def step(self, other=0.5):
        self.v, self.n = self.v * 0.5 + other, self.n + 1
        return self


def half(v, m):
    if v > 1:
        return v - m
    return v * 0.5


def fill(target, v):
    target[0] = v
    return target


def many(v, m):
    total = 0
    for j in range(m):
        if v < 0:
            break
        total += j
        v -= 1
    return total


"""
START: Final = (
    "i0, i1, f0, f1, b0 = 2, -1, 0.5, -2.0, False",
    "a0, a1 = a.copy(), np.zeros(4)",
    "l0, l1 = [x, 2.0, y], [0.25]",
    'd, e = {"a": 1.0, "b": x}, {}',
    "o, s = Box(y), Slots(x)",
    "t = (x, n, [y, 1.5])",
)
RESULT: Final = (
    "return (i0, i1, n, k), (f0, f1, x, y), (b0, p), a0, a1, list(l0), list(l1), list(d.values()), "
    "list(e.values()), (o.v, o.n, list(o.held)), (s.v, s.n), (t[0], t[1], list(t[2]))"
)

# What stands in braces is drawn: {I}, {F}, {B} expressions, {i}, {f}, {b} variables of that kind,
# {A} an array, {L} a list, {c} a constant int, {q} a constant float, {z} an int that is not 0.
INTS: Final = (
    *("{i}", "{i}", "{i}", "{c}", "{c}", "o.n", "s.n", "t[1]"),
    *("{I} + {I}", "{I} - {I}", "{I} * {I} % 17", "{I} // {z}", "{I} % {z}", "-{I}", "abs({I})"),
    *("{I} & {I}", "{I} | {c}", "{I} ^ {c}", "~{I}", "{I} >> {c}", "{I} << 2", "({I} % 5) ** 2"),
    *("2 ** ({I} % 5)", "int({F})", "len({L})", "{B} + {B}", "{B} * 3", "min({I}, {I})"),
    *("max({I}, {c}, {I})", "({I} if {B} else {I})", "round({F})", "sum([{B}, {B}, {B}])"),
    *("divmod({I}, {z})[1]", "math.floor({F})", "many({F}, 3)", "[3, 1, 4, 1][{I} % 4]"),
    *("int({A}[{c}] > 0)", "({I} and {I})", "({I} or {c})", "-{B}", "({I}).real", "math.gcd({I}, 12)"),
    *("int({A}.argmax())", "many({F}, {I} % 5)", "range(5)[{I} % 5]", "(1, 2, 3).index(2)"),
)  # fmt: skip
FLOATS: Final = (
    *("{f}", "{f}", "{f}", "{q}", "o.v", "s.v", 'd["a"]', "t[0]", "o.twice", "{A}[{c}]"),
    *("{F} + {F}", "{F} - {F}", "{F} * {q}", "{F} / 4", "{F} / (1.0 + abs({F}))", "{F} + {I}"),
    *("{F} // 0.75", "{F} % 2.5", "abs({F})", "-{F}", "min({F}, {F})", "max({F}, {q})"),
    *("({F} if {B} else {F})", "float({I})", "{I} / 4", "round({F}, 2)", "{L}[{c}]", "{L}[-1]"),
    *("float({A}[{I} % 4])", "{A}.sum()", "float({A}.max())", "math.sqrt(abs({F}))", "half({F}, {q})"),
    *("sum({L})", "max({L})", "o.held[0]", "t[2][1]", "{F} * {B}", "{I} * 0.5", "half({F}, {I})"),
    *("sum(v * 0.5 for v in {L})", "(lambda v: v + {q})({F})", 'd.get("b", {q})', 'd.get("zz", {q})'),
    *("{A}[{I} % 4]", "({F} or {q})", "({B} and {F})", "np.minimum({F}, {q})", "{A} @ {A}"),
    *("[{F}, {F}][{I} % 2]", "(abs({F}) + 0.5) ** 2", "np.float64({F})", "o.add({F})", "s.step().v"),
    *("{F} / {i}", "{F} % {f}", "1 / {f}", "{I} // {i}", "{A}[{i}]", "{L}[{i}]", "math.sqrt({F})"),
)  # fmt: skip
BOOLS: Final = (
    *("{F} > {F}", "{F} < {q}", "{I} == {I}", "{I} % 2 == 0", "{b}", "not {B}", "{I} > {c}"),
    *("{q} < {F} <= {F}", "{F} > 0 and {I} > 1", "{I} > 2 or {F} < {F}", "{I} in (1, 3, 5)"),
    *("{A}[{c}] > {q}", "isinstance({F}, float)", "isinstance({I}, int)", "{I} not in [0, 2]"),
    *("any(v > 1 for v in {L})", "all([{B}, {F} > 0])", "bool({I})", "{b} is True", "({B}) != {B}"),
    *("{I}", "{F}", "{A} is {A}", "{L} is {L}", "({A} > 0).any()", "np.all({A} < 9)", "{b} & ({F} > 0)"),
    *("math.isnan({F})", "np.isscalar({F})", 'hasattr(o, "held")', '"b" in d', "{F} == {F}", "len({L}) > 2"),
)  # fmt: skip
SIMPLE: Final = (
    *("{i} = {I} % 97", "{i} = {I} % 97", "{f} = {F}", "{f} = {F}", "{f} = {F}", "{b} = {B}"),
    *("{i} += 1", "{i} -= {c}", "{f} += {F}", "{f} *= 0.5", "{f} -= {I}", "{i} = {i} * 3 % 11"),
    *("{i}, {i} = {i}, {I} % 7", "{f}, {f} = {f}, {f}", "({f}, {i}) = ({F}, {I} % 9)"),
    *("{L}.append({F})", "{L}.append({F})", "{L}[0] = {F}", "{L}[-1] += {q}", "{L}.pop()"),
    *("{L}.insert(0, {F})", "{L}.extend([{F}, {q}])", "{L}.reverse()", "{L} = {L}", "{L} = [{F}, {F}]"),
    *("{L} = {L} + [{F}]", "{L} = [v + {F} for v in {L}]", "{L}[{I} % 2] = {F}", "{L} = list({L})"),
    *('d["a"] = {F}', 'd["b"] += {q}', 'd["c"] = {F}', 'e["n"] = {F}', "d.update(a={F})"),
    *('d.pop("c", None)', 'd.setdefault("m", {q})', 'e["a"] = d["a"]', "d, e = e, d", "e = dict(d)"),
    *("o.v = {F}", "o.v += {q}", "o.n = {I} % 13", "o.held.append({F})", "o.held[0] = {F}"),
    *("o.add({F})", "s.v = {F}", "s.n += 1", "s.step({F})", "s = Slots({F}, 2)", "o = Box({F})"),
    *("t = (t[0] + {F}, {I} % 5, t[2])", "t[2][0] = {F}", "t[2].append({F})", "(*_, {f}) = {L}"),
    *("{A}[{c}] = {F}", "{A}[{I} % 4] = {F}", "{A}[1:3] = {F}", "{A} += {F}", "{A}[::2] *= {q}"),
    *("{A} = {A}", "{A} = {A}.copy()", "{A} = {A} * {q}", "{A} = {A}[::-1]", "{A}[{A} > 1] = {q}"),
    *("fill({A}, {F})", "fill({A}[1:], {F})", "fill({L}, {F})", "{A}[:2] = {A}[2:]", "{A}.fill({F})"),
    *("v = {A}[1:3]\nv[0] = {F}\nv += {q}", "{A} = np.array([{F}, {F}, {q}, {F}])", "{A} -= {A}"),
    *("{A} = np.where({A} > {F}, {A}, {q})", "{A}.sort()", "np.add.at({A}, [0, 1, 1], {F})"),
    *("{A} = np.asarray({A})", "{A}[:] = {L}[0]", "for v in {L}:\n    {f} += v", "{A}[{i}] = {F}"),
    *("{f} = {A}[{c}]\n{A}[{c}] += 1", "{L} = [{f}] * 3", "{L} = [0.0] * {i}", "o.held = {L}"),
    *("def inner(v):\n    nonlocal_ = v * 2\n    return nonlocal_ + {f}\n{f} = inner({F})",),
    *("assert {B}", "if {B}:\n    raise ValueError('found')", "o.held, {L} = {L}, o.held"),
)  # fmt: skip
BLOCKS: Final[tuple[tuple[str, ...], ...]] = (
    ("if {B}:",),
    ("if {B}:",),
    ("if {B}:", "else:"),
    ("if {B}:", "else:"),
    ("if {B}:", "elif {B}:", "else:"),
    ("for {v} in range({c}):",),
    ("for {v} in range({m}):",),
    ("for {v} in range({I} % 6):",),
    ("for {v} in range({i}):",),
    ("for {v} in list({L}):",),  # which a body may let grow for ever
    ("for {v}, w in enumerate(tuple({L})):",),
    ("for {v} in {A}:",),
    ("for {v}, w in zip({A}, {L}):",),
    ("for {v} in range({m}):", "else:"),
    ("while {v} < {m} and ({B}):",),
    ("while {v} < 4:",),
    ("while {v} < 3:", "else:"),
    ("try:", "except ValueError:"),
    ("try:", "except (ZeroDivisionError, IndexError):"),
    ("try:", "except Exception as error:", "finally:"),
)
JUMPS: Final = ("break", "continue", "if {B}:\n    break", "if {B}:\n    continue")


class Writer:
    """Writes one program, line by line."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.budget = random.randint(3, 12)
        self.count = 0
        self.features: set[str] = set()

    def program(self) -> str:
        lines = [*START, *self.block(0, False), *self.block(0, False), RESULT]
        return f"{HEAD}def f({', '.join(PARAMETERS)}):\n" + indent("\n".join(lines), "    ") + "\n"

    def block(self, depth: int, in_loop: bool) -> list[str]:
        return [
            line
            for _ in range(self.random.randint(1, 3))
            for line in self.statement(depth, in_loop)
        ]

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        self.budget -= 1
        drawn = self.random.random()
        if in_loop and drawn < 0.1:
            return self.filled(self.random.choice(JUMPS)).splitlines()
        if depth and drawn < 0.13:
            return [self.filled("if {B}:"), "    " + RESULT]
        if depth < 3 and self.budget > 0 and drawn < 0.55:
            return self.compound(depth, in_loop)
        return self.filled(self.random.choice(SIMPLE)).splitlines()

    def compound(self, depth: int, in_loop: bool) -> list[str]:
        self.count += 1
        heads = self.random.choice(BLOCKS)
        self.features.add(heads[0].split()[0].rstrip(":"))
        loops = heads[0].startswith(("for", "while"))
        variable = f"c{self.count}" if heads[0].startswith("while") else f"v{self.count}"
        lines = [f"{variable} = 0"] if heads[0].startswith("while") else []
        for head in heads:
            lines.append(self.filled(head.replace("{v}", variable)))
            inside = self.block(depth + 1, in_loop or (loops and head is heads[0]))
            if heads[0].startswith("while") and head is heads[0]:
                inside = [f"{variable} += 1", *inside]
            elif loops and head is heads[0] and self.random.random() < 0.5:
                inside = [f"f0 += {variable}", *inside]
            lines += ["    " + line for line in inside]
        return lines

    def filled(self, template: str, depth: int = 0) -> str:
        """The template with what stands in braces drawn, expressions nested up to a depth."""
        made, rest = "", template
        while "{" in rest and rest.index("{") + 2 < len(rest) and rest[rest.index("{") + 2] == "}":
            place = rest.index("{")
            made += rest[:place] + self.slot(rest[place + 1], depth)
            rest = rest[place + 3 :]
        return made + rest

    def slot(self, kind: str, depth: int) -> str:
        random = self.random
        table = {"I": INTS, "F": FLOATS, "B": BOOLS}.get(kind)
        if table is not None:
            if depth >= 2 and kind != "B":
                return random.choice(NAMES[kind])
            template = random.choice(table)
            text = self.filled(template, depth + 1)
            return (
                text
                if depth == 0 or template.startswith("{") and len(template) == 3
                else f"({text})"
            )
        makers: dict[str, Callable[[], str]] = {
            "i": lambda: random.choice(NAMES["I"]),
            "f": lambda: random.choice(NAMES["F"]),
            "b": lambda: random.choice(NAMES["B"]),
            "A": lambda: random.choice(NAMES["A"]),
            "L": lambda: random.choice(NAMES["L"]),
            "c": lambda: str(random.choice((0, 1, 2, 3))),
            "m": lambda: str(random.choice((2, 3, 5, 18, 40))),
            "q": lambda: str(random.choice((0.5, 1.5, 2.0, -0.25, 0.0))),
            "z": lambda: str(random.choice((2, 3, 7, -3))),
        }
        return makers[kind]()


def random_program(random: Random) -> Case:
    """A program and arguments for it."""
    writer = Writer(random)
    arguments = (
        repr(random.choice((0.0, 0.5, 1.0, -1.5, 2.75))),
        repr(random.choice((0.25, -0.5, 3.0, 10.0))),
        repr(random.choice((0, 1, 2, 3, 5, -2))),
        repr(random.choice((1, 4, 7))),
        repr(random.random() < 0.5),
        "np.array([0.5, -1.0, 2.0, 0.75])",
    )
    source = writer.program()
    backend = "cpu" if random.random() < 0.04 else "reference"
    return Case(source, arguments, "python", {"backend": backend}, tuple(sorted(writer.features)))
