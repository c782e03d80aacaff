"""The builder, attribute kinds, locations and errors: what a user sees of a mistake."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.compiler.ir.making import graph, number, ops, region
from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import (
    BOOL,
    DTYPE,
    HOST,
    INT,
    INTS,
    PAIRS,
    SIZE,
    TEXT,
    TYPE,
    AttributeKind,
    Choice,
    HostFunction,
    Optional,
    TupleOf,
)
from weft.compiler.ir.build import Builder, constant
from weft.compiler.ir.errors import DTypeError, ShapeError, TraceError, VerifyError, WeftError
from weft.compiler.ir.location import Location
from weft.compiler.ir.reader import Reader, parse_type
from weft.compiler.ir.types import ArrayType, format_shape, type_of

HERE = Location("model.py", 3, "x + y")

# --- emitting -----------------------------------------------------------------------------------


def test_an_op_outside_of_a_trace_is_refused() -> None:
    with pytest.raises(TraceError, match="an op was called outside of a trace"):
        ops.neg(number(1.0))


def test_builders_nest_and_the_outer_one_comes_back() -> None:
    outer, inner = Builder(), Builder()
    x, y = (b.parameter(parse_type("f32[]")) for b in (outer, inner))
    with outer.active():
        ops.neg(x)
        with pytest.raises(ZeroDivisionError), inner.active():
            ops.exp(y)
            raise ZeroDivisionError
        ops.sin(x)
    assert [op.name for op in outer.ops] == ["neg", "sin"]
    assert [op.name for op in inner.ops] == ["exp"]


def test_a_fault_names_the_op_its_operands_their_origins_and_the_line() -> None:
    builder = Builder(locate=lambda: HERE)
    x = builder.parameter(parse_type("f32[2, n]"), "w")
    with builder.active(), pytest.raises(ShapeError) as caught:
        ops.add(x, number([1, 2]))
    assert str(caught.value) == (
        "add(x: f32[2, n], y: f32[2]): operands have different shapes: (2, n) and (2,)\n"
        "  f32[2, n] is the argument w\n"
        "  f32[2] is a constant\n"
        "  at model.py:3: x + y"
    )
    assert builder.ops == []


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({}, VerifyError, "reduce_sum needs the attribute axes"),
        ({"axes": [0], "keep": True}, VerifyError, "reduce_sum has no attribute keep; it has axes"),
        ({"axes": [0.5]}, VerifyError, "expected an int, got 0.5"),
        ({"axes": [3]}, ShapeError, "axis 3 is out of range for rank 1"),
    ],
)
def test_faults_of_attributes(attributes: Any, error: type[WeftError], message: str) -> None:
    builder = Builder()
    x = builder.parameter(parse_type("f32[2]"))
    with builder.active(), pytest.raises(error) as caught:
        ops.reduce_sum(x, **attributes)
    assert str(caught.value) == f"reduce_sum(x: f32[2]): {message}"


def test_the_location_given_first_wins() -> None:
    first, second = Location("a.py", 1), Location("b.py", 2)
    builder = Builder(locate=lambda: first)
    x = builder.parameter(parse_type("f32[]"))
    builder.emit(ops.neg, [x])
    with builder.at(second):
        builder.emit(ops.neg, [x])
        builder.emit(ops.neg, [x], location=HERE)
        with builder.at(None):
            builder.emit(ops.neg, [x])
    builder.emit(ops.neg, [x])
    assert [op.location for op in builder.ops] == [first, second, HERE, first, first]


def test_one_result_is_returned_by_a_call_and_all_by_emit() -> None:
    body = region(["f32[]"], lambda x: (x, x))
    builder = Builder()
    x = builder.parameter(parse_type("f32[]"))
    with builder.active():
        assert ops.neg(x).type == x.type
        assert len(ops.call.emit(x, function="f", regions=[body])) == 2


def test_operands_are_named_in_messages() -> None:
    assert [ops.add.operand_name(i) for i in range(3)] == ["x", "y", "operand 2"]
    assert [ops.switch.operand_name(i) for i in range(3)] == [
        "index",
        "operands[0]",
        "operands[1]",
    ]


def test_constants_are_made_in_the_dtype_asked_for() -> None:
    assert constant(1, dtypes.bf16).type == parse_type("bf16")
    assert constant([1, 2]).type == parse_type("i64[2]")
    assert not constant([1, 2]).array.flags.writeable


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[::2], lambda a: as_strided(a, (2,))])
def test_constants_do_not_share_memory_that_may_change(view: Any) -> None:
    memory = bytearray(np.ones(3).tobytes())
    array = view(np.frombuffer(memory))
    array.flags.writeable = False
    made = constant(array)
    memory[:8] = np.array([5.0]).tobytes()
    assert array[0] == 5.0 and made.array[0] == 1.0


def test_constants_take_what_cannot_change_as_it_is() -> None:
    for array in (np.ones(3), np.frombuffer(np.ones(3).tobytes())):
        array.flags.writeable = False
        assert np.shares_memory(constant(array[1:]).array, array)


def test_a_graph_knows_its_parts() -> None:
    made = graph({"x": "f32[n, m]", "y": "f32[n//k]"}, lambda x, y: (ops.neg(x), number(1.0)))
    assert [symbol.name for symbol in made.symbols] == ["n", "m", "k"]
    assert made.ops[0].result is made.results[0]
    assert made.region.parameter_types == (parse_type("f32[n, m]"), parse_type("f32[n//k]"))
    assert [c.type for c in made.constants] == [parse_type("f32")]


# --- types --------------------------------------------------------------------------------------


def test_types_compare_by_dtype_and_shape() -> None:
    type = parse_type("f32[n, 3]")
    assert type == parse_type("f32[n, 3]")
    assert hash(type) == hash(parse_type("f32[n, 3]"))
    assert type != parse_type("f64[n, 3]")
    assert type != parse_type("f32[3, n]")
    assert type != "f32[n, 3]"
    assert type.rank == 2
    assert str(type.size) == "3*n"
    assert not type.is_static
    assert type.with_shape((2,)) == parse_type("f32[2]")
    assert type.with_dtype(dtypes.i8) == parse_type("i8[n, 3]")
    assert type_of(np.zeros((2, 0), ">f4")) == ArrayType(dtypes.f32, (2, 0))


def test_shapes_are_shown_as_tuples() -> None:
    assert format_shape(()) == "()"
    assert format_shape((2,)) == "(2,)"
    assert format_shape((dims.symbol("n"), 3)) == "(n, 3)"


# --- attributes ---------------------------------------------------------------------------------

N = dims.symbol("n")


@pytest.mark.parametrize(
    ("kind", "given", "kept", "text"),
    [
        (INT, np.int8(-3), -3, "-3"),
        (INT, True, 1, "1"),
        (SIZE, 2 * N + 1, 2 * N + 1, "2*n + 1"),
        (SIZE, np.int64(4), 4, "4"),
        (BOOL, 1, True, "true"),
        (BOOL, np.bool_(False), False, "false"),
        (TEXT, 'a "b"\n\\c', 'a "b"\n\\c', '"a \\"b\\"\\n\\\\c"'),
        (DTYPE, np.float32, dtypes.f32, "f32"),
        (DTYPE, dtypes.bf16, dtypes.bf16, "bf16"),
        (TYPE, parse_type("f32[n]"), parse_type("f32[n]"), "f32[n]"),
        (INTS, [1, -2], (1, -2), "[1, -2]"),
        (INTS, range(0), (), "[]"),
        (PAIRS, [[0, N], [1, 2]], ((0, N), (1, 2)), "[[0, n], [1, 2]]"),
        (TupleOf(TEXT), ["a", ","], ("a", ","), '["a", ","]'),
        (Choice(("up", "upper")), "upper", "upper", "upper"),
        (Optional(INT), None, None, "none"),
        (Optional(INT), 3, 3, "3"),
        (Optional(TEXT), "none", "none", '"none"'),
    ],
)
def test_attributes_have_one_form_that_reads_back(
    kind: AttributeKind, given: Any, kept: Any, text: str
) -> None:
    made = kind.normalise(given)
    assert made == kept
    assert type(made) is type(kept)
    assert kind.normalise(made) == made
    assert kind.format(made) == text
    reader = Reader(text)
    assert kind.read(reader) == made
    assert reader.at_end()


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (INT, 1.0, "expected an int, got 1.0"),
        (INT, "1", "expected an int, got '1'"),
        (SIZE, 1.5, "expected an int, got 1.5"),
        (TEXT, b"a", "expected a string, got b'a'"),
        (INTS, 3, "expected a sequence, got 3"),
        (INTS, ["a"], "expected an int, got 'a'"),
        (Choice(("up", "down")), "left", "expected one of up, down, got 'left'"),
        (HOST, 3, "expected a function, got 3"),
        (TYPE, "f32[2]", "expected a type such as spec('f32[2, 3]'), got 'f32[2]'"),
        (Optional(INT), "a", "expected an int, got 'a'"),
    ],
)
def test_values_of_another_kind_are_refused(kind: AttributeKind, given: Any, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        kind.normalise(given)
    assert str(caught.value) == message


def test_a_dtype_attribute_refuses_what_is_no_dtype() -> None:
    with pytest.raises(DTypeError, match="'f31' is no dtype"):
        DTYPE.normalise("f31")


def test_host_functions_get_names_that_the_text_form_can_hold() -> None:
    def named(name: str) -> HostFunction:
        def function() -> None:
            pass

        function.__name__ = name
        made = HOST.normalise(function)
        assert isinstance(made, HostFunction)
        assert made.function is function
        assert HOST.read(Reader(HOST.format(made))) == HostFunction(made.name)
        return made

    assert named("log").name == "log"
    assert named("<lambda>").name == "lambda"
    assert named("a b").name == "a_b"
    assert named("2d").name == "_2d"
    assert named("").name
    assert HOST.normalise(HostFunction("f")) == HostFunction("f")
    assert HOST.normalise(np.sin).name == "sin"


# --- locations and errors -----------------------------------------------------------------------


def location_here(*_: object) -> Location:
    frame = sys._getframe(1)
    return Location.of_instruction(frame.f_code, frame.f_lasti, frame.f_lineno)


def test_a_location_finds_the_expression_when_it_is_asked_for() -> None:
    ("ü", location := location_here())
    assert location.expression == "location_here()"
    assert location.file == __file__
    assert str(location).endswith(f"test_build.py:{location.line}: location_here()")


def test_an_expression_over_several_lines_shows_its_first() -> None:
    location = location_here(
        "an argument on a line of its own",
    )
    assert location.expression == "location_here("


def test_locations_compare_by_what_they_print() -> None:
    assert Location("a.py", 1, "x") == Location("a.py", 1, "x")
    assert hash(Location("a.py", 1, "x")) == hash(Location("a.py", 1, "x"))
    assert Location("a.py", 1, "x") != Location("a.py", 2, "x")
    assert Location("a.py", 1) != "a.py"
    assert str(Location("a.py", 1)) == "at a.py:1"
    assert repr(Location("a.py", 1, "x")) == "Location('a.py', 1, 'x')"


def test_a_location_whose_source_is_gone_has_no_expression() -> None:
    code = compile("f()", "no such file.py", "eval")
    assert Location.of_instruction(code, 0, 1).expression == ""


def test_errors_keep_what_an_inner_call_said() -> None:
    error = ShapeError("sizes differ").at(None, "add").at(HERE, "call").at(Location("b.py", 1))
    assert str(error) == "add: sizes differ\n  at model.py:3: x + y"
    assert (error.message, error.location, error.about) == ("sizes differ", HERE, "add")
    assert isinstance(error, ValueError)


def test_errors_survive_pickling_with_their_line() -> None:
    error = ShapeError("sizes differ").at(location_here(), "add")
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is ShapeError
    assert str(back) == str(error)
