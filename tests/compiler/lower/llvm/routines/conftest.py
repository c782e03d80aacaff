"""Memory in which what routines write outside of their own is noticed."""

from __future__ import annotations

import pytest

from tests.compiler.lower import harness
from tests.compiler.lower.llvm.routines.guarding import GUARD
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def workspace(self: Env, f: Function, bytes: Operand) -> V:
        return f.call("guard_take", PTR, [f.const(bytes, I64)])

    def free(self: Env, f: Function, pointer: V) -> None:
        f.call("guard_give_back", VOID, [pointer])

    monkeypatch.setattr(Env, "workspace", workspace)
    monkeypatch.setattr(Env, "free", free)
    monkeypatch.setattr(harness, "_garbage", GUARD.result)
