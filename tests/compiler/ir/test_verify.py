"""The verifier on graphs broken by hand: each fault names the op, the operand and the user's line.

The builder cannot make these graphs, so ops and regions are put together directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.compiler.ir.making import graph, number, ops, region
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.ir.samples import SAMPLES
from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.reader import parse_type

LINE = Location("model.py", 12, "h @ w")
F32 = ("f32[2]",)


def op(
    definition: OpDef,
    operands: Sequence[Value],
    types: Sequence[str] = ("f32[2]",),
    regions: Sequence[Region] = (),
    /,
    **attributes: Any,
) -> Op:
    """An op that nobody checked."""
    made = tuple(parse_type(type) for type in types)
    return Op(definition, tuple(operands), attributes, tuple(regions), made, LINE)


def broken(
    parameters: Sequence[Parameter], body: Sequence[Op], results: Sequence[Value] = ()
) -> Graph:
    return Graph("broken", Region(tuple(parameters), tuple(body), tuple(results)))


def parameter(type: str = "f32[2]", name: str = "x") -> Parameter:
    return Parameter(parse_type(type), name)


def fault(graph: Graph) -> VerifyError:
    with pytest.raises(VerifyError) as caught:
        graph.verify()
    return caught.value


def assert_fault(graph: Graph, message: str) -> None:
    """The verifier's message, which ends with the user's line."""
    assert str(fault(graph)) == f"{message}\n  at model.py:12: h @ w"


# --- valid graphs -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_valid_graph_is_returned_as_it_is(name: str) -> None:
    made = SAMPLES[name]()
    assert made.verify() is made


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_what_the_builder_makes_is_valid(random: Graph) -> None:
    assert random.verify() is random


def test_constants_may_be_used_in_any_region() -> None:
    shared = Constant(np.ones(2, np.float32))
    body = region(["f32[2]"], lambda x: ops.add(x, shared))
    made = graph(
        {"x": "f32[2]"},
        lambda x: (ops.mul(*ops.call.emit(x, function="f", regions=[body]), shared), shared),
    )
    assert made.verify() is made


# --- values -------------------------------------------------------------------------------------


def test_use_before_definition() -> None:
    x = parameter()
    first = op(ops.neg, [x])
    second = op(ops.add, [x, first.result])
    assert_fault(
        broken([x], [second, first], [second.result]),
        "add: y uses <result 0 of neg: f32[2]>, which is not made before it in the same region",
    )


def test_use_of_an_own_result() -> None:
    x = parameter()
    one = op(ops.neg, [x])
    two = op(ops.neg, [one.result])
    assert_fault(
        broken([x], [two]),
        "neg: x uses <result 0 of neg: f32[2]>, which is not made before it in the same region",
    )


def test_use_of_an_outer_value_in_a_region() -> None:
    x, inner = parameter(), parameter(name="")
    add = op(ops.add, [inner, x])
    body = Region((inner,), (add,), (add.result,))
    call = op(ops.call, [x], F32, [body], function="f")
    assert_fault(
        broken([x], [call], [call.result]),
        "add: y uses <parameter x: f32[2]>, which is not made before it in the same region",
    )


def test_use_of_an_inner_value_outside() -> None:
    x, inner = parameter(), parameter(name="")
    neg = op(ops.neg, [inner])
    call = op(ops.call, [x], F32, [Region((inner,), (neg,), (neg.result,))], function="f")
    use = op(ops.sub, [neg.result, call.result])
    assert_fault(
        broken([x], [call, use], [use.result]),
        "sub: x uses <result 0 of neg: f32[2]>, which is not made before it in the same region",
    )


def test_use_of_another_graph_s_parameter() -> None:
    stranger = parameter(name="stranger")
    assert_fault(
        broken([parameter()], [op(ops.concatenate, [number([1, 2]), stranger], axis=0)]),
        "concatenate: operands[1] uses <parameter stranger: f32[2]>, which is not made before it "
        "in the same region",
    )


def test_result_that_is_not_made_in_the_region() -> None:
    stranger = op(ops.neg, [parameter()])
    message = str(fault(broken([parameter()], [], [number(1.0), stranger.result])))
    assert message == "result 1 of a region is not made in it: <result 0 of neg: f32[2]>"


def test_outer_value_as_the_result_of_an_inner_region() -> None:
    x = parameter()
    call = op(ops.call, [x], F32, [Region((parameter(name=""),), (), (x,))], function="f")
    message = str(fault(broken([x], [call], [call.result])))
    assert "result 0 of a region is not made in it: <parameter x: f32[2]>" in message


def test_one_parameter_twice() -> None:
    x = parameter()
    assert str(fault(broken([x, x], []))) == "<parameter x: f32[2]> is defined twice"


def test_one_op_twice() -> None:
    x = parameter()
    neg = op(ops.neg, [x])
    assert_fault(
        broken([x], [neg, neg], [neg.result]), "<result 0 of neg: f32[2]> is defined twice"
    )


# --- types and attributes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "shown"),
    [
        (["f32[3]"], "(f32[3])"),
        (["f64[2]"], "(f64[2])"),
        ([], "()"),
        (["f32[2]", "f32[2]"], "(f32[2], f32[2])"),
    ],
)
def test_results_that_the_type_rule_does_not_give(results: list[str], shown: str) -> None:
    x = parameter()
    assert_fault(
        broken([x], [op(ops.neg, [x], results)]),
        f"neg(x: f32[2]): results are {shown} but the type rule gives (f32[2])",
    )


def test_operands_that_do_not_fit() -> None:
    x, y = parameter(), parameter("f32[3]", "y")
    assert_fault(
        broken([x, y], [op(ops.add, [x, y])]),
        "add(x: f32[2], y: f32[3]): operands have different shapes: (2,) and (3,)",
    )


def test_number_of_operands() -> None:
    x = parameter()
    assert_fault(broken([x], [op(ops.add, [x])]), "add(x: f32[2]): add takes x, y; got 1 operands")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "reduce_sum needs the attribute axes"),
        ({"axes": ("a",)}, "expected an int, got 'a'"),
        ({"axes": 0}, "expected a sequence, got 0"),
        ({"axes": (1,)}, "axis 1 is out of range for rank 1"),
        ({"axes": (0,), "axis": 1}, "reduce_sum has no attribute axis; it has axes"),
    ],
)
def test_bad_attributes(attributes: dict[str, Any], message: str) -> None:
    x = parameter()
    made = op(ops.reduce_sum, [x], ["f32[]"], **attributes)
    assert_fault(broken([x], [made]), f"reduce_sum(x: f32[2]): {message}")


@pytest.mark.parametrize(
    ("definition", "attributes", "message"),
    [
        ("probe", {"name": 3}, "expected a string, got 3"),
        ("checkpoint", {"policy": "all"}, "expected one of nothing, everything, dots, names"),
        ("checkpoint", {"names": (1,)}, "expected a string, got 1"),
        ("host_call", {"function": "log"}, "expected a function, got 'log'"),
        ("host_call", {"function": print, "results": ("f32",)}, "expected a type such as"),
        ("cast", {"dtype": "f31"}, "'f31' is no dtype that arrays can have"),
        ("neg", {"axis": 1}, "neg has no attribute axis; it has none"),
    ],
)
def test_attributes_of_another_kind(
    definition: str, attributes: dict[str, Any], message: str
) -> None:
    x = parameter()
    error = fault(broken([x], [op(getattr(ops, definition), [x], **attributes)]))
    assert message in str(error)
    assert str(error).startswith(f"{definition}(")
    assert error.location == LINE


@pytest.mark.parametrize(
    "attributes",
    [{"axis": 0, "dtype": np.int32}, {"axis": 0}],
    ids=["not in their one form", "defaults left out"],
)
def test_attributes_that_nobody_checked(attributes: dict[str, Any]) -> None:
    x = parameter()
    made = op(ops.argmax, [x], ["i32[]" if "dtype" in attributes else "i64[]"], **attributes)
    error = fault(broken([x], [made]))
    assert str(error).startswith("argmax(x: f32[2]): attributes are {")
    assert error.location == LINE


# --- regions ------------------------------------------------------------------------------------

CONDITION = region(F32, lambda x: Constant(np.array(True)))
SAME = region(F32, lambda x: x)
NONE = region(F32, lambda x: ())
OTHER_TYPE = region(["f32[3]"], lambda x: x)
OTHER_RESULT = region(F32, lambda x: ops.reduce_sum(x, axes=(0,)))


@pytest.mark.parametrize(
    ("definition", "regions", "attributes", "message"),
    [
        ("call", [OTHER_TYPE], {"function": "f"}, "the called region takes (f32[3]) but is given"),
        ("call", [], {"function": "f"}, "call has the regions body; got 0 regions"),
        ("call", [SAME, SAME], {"function": "f"}, "call has the regions body; got 2 regions"),
        ("neg", [SAME], {}, "neg takes no regions"),
        (
            "while",
            [CONDITION, OTHER_TYPE],
            {"n_consts": 0, "trips": 0},
            "body takes (f32[3]) but is given (f32[2])",
        ),
        (
            "while",
            [CONDITION, OTHER_RESULT],
            {"n_consts": 0, "trips": 0},
            "body returns the carry (f32[]) instead of (f32[2])",
        ),
        (
            "while",
            [SAME, SAME],
            {"n_consts": 0, "trips": 0},
            "condition returns (f32[2]) instead of (bool[])",
        ),
        ("while", [SAME], {"n_consts": 0, "trips": 0}, "while has the regions condition, body"),
        (
            "scan",
            [SAME],
            {"n_consts": 0, "n_carry": 0, "length": 3, "reverse": False},
            "sequence 0 is f32[2], but the scan runs 3 steps",
        ),
        (
            "scan",
            [SAME],
            {"n_consts": 0, "n_carry": 2, "length": 2, "reverse": False},
            "scan has 1 operands for 0 consts and 2 carries",
        ),
        (
            "scan",
            [OTHER_RESULT],
            {"n_consts": 0, "n_carry": 1, "length": 2, "reverse": False},
            "body returns the carry (f32[]) instead of (f32[2])",
        ),
        (
            "custom_jvp",
            [SAME, SAME],
            {},
            "the jvp rule takes (f32[2]) but is given (f32[2], f32[2], f32[2])",
        ),
        ("custom_vjp", [SAME, NONE, SAME], {}, "the forward rule must return (f32[2])"),
        (
            "custom_vjp",
            [SAME, SAME, OTHER_RESULT],
            {},
            "the backward rule returns (f32[]) instead of (f32[2])",
        ),
    ],
)
def test_region_of_the_wrong_signature(
    definition: str, regions: list[Region], attributes: dict[str, Any], message: str
) -> None:
    x = parameter()
    made = op(getattr(ops, definition), [x], F32, regions, **attributes)
    error = fault(broken([x], [made]))
    assert message in str(error)
    assert str(error).startswith(f"{definition}(")
    assert error.location == LINE


@pytest.mark.parametrize(
    ("index", "regions", "message"),
    [
        ("bool[]", [SAME], "a bool index chooses between 2 branches, got 1"),
        ("i32[]", [], "switch needs at least one branch"),
        ("i32[]", [SAME, OTHER_RESULT], "branch 1 returns (f32[]) instead of (f32[2])"),
        ("i32[]", [SAME, OTHER_TYPE], "branch 1 takes (f32[3]) but is given (f32[2])"),
        ("f32[]", [SAME], "index must be a rank-0 integer or bool, got f32[]"),
        ("i32[1]", [SAME], "index must be a rank-0 integer or bool, got i32[1]"),
    ],
)
def test_branches_of_the_wrong_signature(index: str, regions: list[Region], message: str) -> None:
    i, x = parameter(index, "i"), parameter()
    error = fault(broken([i, x], [op(ops.switch, [i, x], F32, regions)]))
    assert str(error).startswith(f"switch(index: {index}, operands[0]: f32[2]): {message}")
    assert error.location == LINE


def test_faults_inside_nested_regions_are_found() -> None:
    inner, outer, x = parameter(name=""), parameter(name=""), parameter()
    bad = Region((inner,), (op(ops.exp, [inner], ["f32[7]"]),), (inner,))
    call = op(ops.call, [outer], F32, [bad], function="inner")
    body = Region((outer,), (call,), (call.result,))
    assert_fault(
        broken([x], [op(ops.call, [x], F32, [body], function="outer")]),
        "exp(x: f32[2]): results are (f32[7]) but the type rule gives (f32[2])",
    )


# --- symbols ------------------------------------------------------------------------------------


def test_symbol_that_no_parameter_has_in_a_result() -> None:
    made = op(ops.iota, [], ["i32[m]"], dtype=dtypes.i32, shape=(dims.symbol("m"),), axis=0)
    assert_fault(
        broken([parameter("f32[n]")], [made]),
        "iota makes i32[m], but no parameter has the size Symbol('m', lower=1, upper=None)",
    )


def test_symbol_that_no_parameter_has_in_an_attribute() -> None:
    made = op(ops.dim_value, [], ["i64[]"], dim=2 * dims.symbol("m"))
    assert_fault(
        broken([parameter("f32[n]")], [made]),
        "dim_value has dim=2*m, but no parameter has the size Symbol('m', lower=1, upper=None)",
    )


def test_symbol_with_other_bounds_than_the_parameter_s() -> None:
    made = op(ops.dim_value, [], ["i64[]"], dim=dims.symbol("n", lower=4))
    assert "no parameter has the size Symbol('n', lower=4, upper=None)" in str(
        fault(broken([parameter("f32[n]")], [made]))
    )


@pytest.mark.parametrize("other", ["f32[n>=8]", "f32[2, n<=3]", "f32[m, (n>=2)//2]"])
def test_symbol_with_two_sets_of_bounds(other: str) -> None:
    bad = broken([parameter("f32[n]"), parameter(other, "y")], [])
    assert str(fault(bad)) == "the symbol n has two sets of bounds"


def test_size_that_two_ops_of_a_region_define() -> None:
    x = parameter("f32[]")
    loop = SAMPLES["while_that_records"]().ops[0]
    types = tuple(result.type for result in loop.results)
    twice = [Op(ops.while_, (x,), loop.attributes, loop.regions, types, LINE) for _ in range(2)]
    assert_fault(broken([x], twice), "while defines the size t again")
