"""Which variables are still read after a statement, for functions whose jumps are lowered.

A variable that a loop or branch assigns is part of its results only if something reads it later;
others are temporaries and may be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.frontends.flow import names


@dataclass
class Liveness:
    """What is read after each `if` and loop, and before each further step of a loop."""

    always: frozenset[str] = frozenset()
    after: dict[ast.stmt, set[str]] = field(default_factory=dict)

    def block(self, block: Sequence[ast.stmt], out: set[str]) -> set[str]:
        """The names live before a block, given those after it."""
        live = out
        for statement in reversed(block):
            live = self.statement(statement, live)
        return live

    def statement(self, statement: ast.stmt, out: set[str]) -> set[str]:
        """The names live before a statement, given those after it."""
        if isinstance(statement, ast.If):
            self._note(statement, out)
            branches = self.block(statement.body, out) | self.block(statement.orelse, out)
            return branches | names.read(statement.test)
        if isinstance(statement, ast.While):
            return self._loop(statement, out, names.read(statement.test), set())
        if isinstance(statement, ast.For):
            more = getattr(statement, "more", None)
            tested = set() if more is None else names.read(more)
            targets = names.rebound(statement.target)
            head = self._loop(statement, out, tested | names.read(statement.target), targets)
            return head | names.read(statement.iter)
        if isinstance(statement, ast.Try | ast.With | ast.Match | ast.TryStar):
            return self._opaque(statement, out)
        killed = set() if names.has_walrus(statement) else names.rebound(statement)
        return (out - killed) | names.read(statement) | names.changed(statement)

    def _loop(
        self, loop: ast.While | ast.For, out: set[str], tested: set[str], targets: set[str]
    ) -> set[str]:
        head = out | tested
        while True:
            again = head | (self.block(loop.body, head) - targets)
            if again == head:
                break
            head = again
        self._note(loop, head)
        return head

    def _opaque(self, statement: ast.stmt, out: set[str]) -> set[str]:
        """A statement whose parts may run or not, or end in between: it kills nothing."""
        self._note(statement, out)
        live = out | names.read(statement) | names.changed(statement)
        for field_name in ("body", "orelse", "finalbody"):
            self.block(getattr(statement, field_name, None) or [], live)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            self.block(part.body, live)
        return live

    def _note(self, statement: ast.stmt, live: set[str]) -> None:
        self.after[statement] = self.after.get(statement, set()) | live | self.always
