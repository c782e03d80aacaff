"""What is a fault of the compiler, and what its failures tell."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.errors import CompilerError
from weft.compiler.ir.graph import Op
from weft.compiler.ir.stages import (
    DERIVATIVE,
    LLVM,
    LOWERING,
    PARSER,
    PASS,
    Stage,
    nearest_op,
    signature,
    stage,
)
from weft.compiler.loops.group import OpaqueNode

pytestmark = pytest.mark.puts_faults_in

SINH, ADD = wf.trace(lambda x: np.sinh(x) + 1)(wf.spec("f32[3]")).ops


def failing(of: Stage, error: BaseException, step: str = "step") -> Any:
    with stage(of, step):
        raise error


FAULTS = [
    IndexError("x"),
    KeyError("x"),
    AssertionError(),
    TypeError("x"),
    ValueError("x"),
    AttributeError("x"),
    ZeroDivisionError("x"),
    RecursionError("x"),
    RuntimeError("x"),
    NotImplementedError("x"),
    np.linalg.LinAlgError("x"),
    wf.VerifyError("x"),
]
REFUSALS = [wf.LoweringError("x", SINH), wf.BoundsError("x"), wf.EvaluationError("x")]
CIRCUMSTANCES = [
    MemoryError(),
    wf.OutOfMemoryError("x"),
    OSError(28, "no space"),
    ImportError("x"),
    RuntimeError("can't start new thread"),
    UserWarning("x"),
    KeyboardInterrupt(),
    SystemExit(1),
    GeneratorExit(),
    CompilerError("inner"),
]
OF_USERS = [wf.TraceError("x"), wf.ShapeError("x"), wf.DTypeError("x"), wf.ArgumentError("x")]


@pytest.mark.parametrize("of", [PASS, LOWERING, DERIVATIVE])
@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_faults_become_compiler_errors(of: Stage, error: Exception) -> None:
    with pytest.raises(CompilerError) as caught:
        failing(of, error)
    assert caught.value.__cause__ is error
    assert caught.value.stage == of.name
    assert type(error).__name__ in str(caught.value)


@pytest.mark.parametrize("of", [PASS, LOWERING, DERIVATIVE])
@pytest.mark.parametrize("error", [*REFUSALS, *CIRCUMSTANCES], ids=repr)
def test_refusals_and_circumstances_pass(of: Stage, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        failing(of, error)
    assert caught.value is error


@pytest.mark.parametrize("error", OF_USERS, ids=repr)
def test_only_stages_that_hear_users_may_refuse_their_programs(error: Exception) -> None:
    with pytest.raises(type(error)) as passed:
        failing(DERIVATIVE, error)
    assert passed.value is error
    with pytest.raises(CompilerError) as caught:
        failing(PASS, error)
    assert caught.value.__cause__ is error


def test_the_innermost_stage_tells() -> None:
    with (
        pytest.raises(CompilerError, match="the pass inner failed") as caught,
        stage(PASS, "outer"),
    ):
        failing(PASS, KeyError("x"), "inner")
    assert caught.value.step == "inner"


def raised(run: Callable[[], Any]) -> CompilerError:
    with pytest.raises(CompilerError) as caught, stage(LOWERING):
        run()
    return caught.value


def test_the_nearest_op_is_that_of_the_innermost_function_that_has_one() -> None:
    def inner(number: int) -> None:
        raise KeyError(number)

    def middle(op: Op) -> None:
        inner(3)

    def outer(op: Op, other: Op) -> None:
        middle(other)

    failure = raised(lambda: outer(ADD, SINH))
    assert failure.op is SINH
    assert failure.location == SINH.location
    assert "the lowering of sinh failed with KeyError: 3" in str(failure)
    assert "sinh(x: f32[3])" in str(failure)


def test_nodes_and_results_tell_their_ops() -> None:
    def of_node(node: OpaqueNode) -> None:
        raise KeyError(1)

    def of_value(value: Any) -> None:
        raise KeyError(1)

    assert raised(lambda: of_node(OpaqueNode(SINH))).op is SINH
    assert raised(lambda: of_value(SINH.result)).op is SINH


def test_objects_of_others_are_not_touched() -> None:
    class Delicate:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("touched")

    def function(delicate: Delicate) -> None:
        raise KeyError("of ours")

    assert raised(lambda: function(Delicate())).op is None
    assert nearest_op(None) is None


def test_signatures_tell_places_but_not_programs_apart() -> None:
    def one(number: int) -> None:
        raise KeyError(number)

    def other(number: int) -> None:
        raise KeyError(number)

    first, second = raised(lambda: one(1)), raised(lambda: one(2))
    assert str(first) != str(second)
    assert signature(first).place[1] == signature(second).place[1]
    assert signature(first) != signature(raised(lambda: other(1)))


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("LLVM IR parsing error\n<string>:71:9: error: use of undefined value '%y12'", True),
        ("LLVM IR parsing error\n<string>:7:9: error: expected instruction opcode", False),
        ("LLVM cannot select", False),
    ],
)
def test_signatures_of_llvm_are_its_words_without_names_and_numbers(
    text: str, is_same: bool
) -> None:
    said = "LLVM IR parsing error\n<string>:7:3: error: use of undefined value '%x1'"

    def failure(message: str) -> CompilerError:
        with pytest.raises(CompilerError) as caught:
            failing(LLVM, RuntimeError(message), PARSER)
        return caught.value

    assert (signature(failure(said)) == signature(failure(text))) is is_same


def test_failures_pickle_without_their_graphs() -> None:
    graph = wf.trace(np.sinh)(wf.spec("f32[3]"))
    with pytest.raises(CompilerError) as caught, stage(PASS, "simplify", graph, graph.ops[0]):
        raise KeyError("x")
    assert caught.value.graph is graph
    caught.value.notes.append("a note")
    copied = pickle.loads(pickle.dumps(caught.value))
    assert str(copied) == str(caught.value)
    assert (copied.stage, copied.step, copied.graph, copied.op) == ("pass", "simplify", None, None)
