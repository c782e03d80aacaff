"""LLVM's passes on functions that they cannot all take."""

from __future__ import annotations

import pytest

from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import F64, PTR, VOID
from weft.compiler.lower.llvm.machine import MOST_LOOPS, compile_text, has_many_loops


def loops_in_a_row(count: int, functions: int = 1) -> str:
    """Functions with so many loops, each of which writes to memory and reads what may have been
    written before.
    """
    module = Module()
    for number in range(functions):
        parameters = [("p", PTR), ("q", PTR)]
        f = module.function(f"f{number}", VOID, parameters, parameter_attributes="noalias")
        p, q = f.arguments
        for _ in range(count):
            with f.range(0, 100) as counter:
                at = f.element(p, F64, counter)
                f.store(f.load(at, F64) + f.load(q, F64), at)
        f.ret()
    return module.text()


@pytest.mark.parametrize("count", [MOST_LOOPS, MOST_LOOPS + 1, 400])
def test_functions_of_many_loops_compile(count: int) -> None:
    text = loops_in_a_row(count)
    assert has_many_loops(text) == (count > MOST_LOOPS)
    assert compile_text(text)


def test_many_functions_of_few_loops_are_not_many_loops() -> None:
    assert not has_many_loops(loops_in_a_row(10, functions=20))
