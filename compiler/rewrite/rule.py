"""Rewrite rules: what they replace by what, how exact they are, and why they may.

A rule without a proof cannot be made; `tests/compiler/rewrite` runs every proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import CodeType
from typing import Any, TypeAlias

from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import helpers
from weft.compiler.record import record
from weft.compiler.rewrite.pattern import (
    Application,
    Maker,
    PatternBuilder,
    Placeholder,
    match,
    may_match,
)


class Exactness(Enum):
    """What a rule does to the bits of a result."""

    EXACT = "the same bits, NaN for NaN; out of a cast's range any integer"
    STABLE = "other rounding, no less accurate, and finite where the old form overflowed"


@record
class Exhaustive:
    """Proof by running both sides on edge values of these dtypes, all combinations of operands.

    `of` gives the dtypes of placeholders that have another one than the rest.
    """

    dtypes: tuple[str, ...]
    of: Mapping[str, str] = field(default_factory=dict)


@record
class Identity:
    """Proof by SymPy: both sides are one expression on the domain, an open interval for each
    placeholder. They are also compared in numbers with mpmath there.

    `shape` is that of the operands, for patterns that reduce.
    """

    domain: Mapping[str, tuple[float, float]]
    shape: str = ""


@record
class Examples:
    """Proof by running graphs on which the rule must fire, before and after, on random arrays with
    edge values. A graph is given by the types of its parameters and a function that emits it.
    """

    cases: tuple[tuple[tuple[str, ...], Callable[..., Value]], ...]


def example(*case: Any) -> tuple[tuple[str, ...], Callable[..., Value]]:
    """A case of `Examples`: `example("f32[2]", "f32[2]", lambda x, y: add(x, y))`."""
    *types, write = case
    return tuple(types), write


Proof: TypeAlias = Exhaustive | Identity | Examples

# (the op on the values as they are) -> what stands for its one result, or None.
Apply = Callable[[Op], "Value | None"]
Fits = Callable[[tuple[Maker, ...]], bool]


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """A named rewrite of ops of certain kinds. One without a pattern may say by `fits` by what
    operands are made wherever it fires.
    """

    name: str
    roots: tuple[OpDef, ...]
    apply: Apply
    exactness: Exactness
    proof: Proof | None  # None: a user's own, who vouches for it
    pattern: Application | None = None
    fits: Fits | None = None

    def may_fire(self, makers: tuple[Maker, ...]) -> bool:
        """Whether it may fire where the operands are made so."""
        if self.pattern is not None:
            return may_match(self.pattern, makers)
        return self.fits is None or self.fits(makers)

    def __call__(self, op: Op) -> Value | None:
        """What stands for the op's result, stretched to its shape; None if the rule says nothing
        of it.
        """
        result = self.apply(op)
        if result is None:
            return None
        wanted = op.results[0].type
        return result if result.type == wanted else helpers.stretch(result, wanted.shape)

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


def rule(
    name: str,
    pattern: Callable[..., Value],
    replacement: Callable[..., Value | None],
    *,
    proof: Proof | None,
    exactness: Exactness = Exactness.EXACT,
    where: Mapping[str, Callable[[Value], bool]] | None = None,
    when: Callable[..., bool] | None = None,
) -> Rule:
    """A rule from two functions: `pattern` of placeholders, `replacement` of what they stand for.

    The names of the parameters of `pattern` are the placeholders, those of `replacement` and
    `when` the ones that they need (`result` is the value to be replaced); an op may be given as the
    replacement by operands of these names. `where` restricts single placeholders. `replacement`
    may return None to decline.
    """
    accepts = where or {}
    names = _parameter_names(pattern)
    with PatternBuilder().active():
        root = pattern(*[Placeholder(n, accepts.get(n)) for n in names])
    if not isinstance(root, Application):
        raise VerifyError(f"the pattern of {name} is no op")
    build, check = _by_name(replacement), _by_name(when) if when is not None else None

    def apply(op: Op) -> Value | None:
        bindings = match(root, op)
        if bindings is None:
            return None
        arguments = {**bindings, "result": op.results[0]}
        if check is not None and not check(arguments):
            return None
        result: Value | None = build(arguments)
        return result

    return Rule(name, (root.definition,), apply, exactness, proof, root)


def _by_name(function: Callable[..., Any]) -> Callable[[Mapping[str, Value]], Any]:
    """The function called with what it asks for by the names of its parameters."""
    names = _parameter_names(function)
    return lambda given: function(*[given[name] for name in names])


def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, read off its code: `inspect` takes ten times as long,
    and the rules are made when Weft is imported.
    """
    if isinstance(function, OpDef):
        return function.operands
    code: CodeType = function.__code__
    return code.co_varnames[: code.co_argcount]
