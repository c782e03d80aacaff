"""The text form: golden texts, and that every text reads back as the graph it was printed from."""

from __future__ import annotations

import base64
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.ir.golden import FOLDER, assert_golden
from tests.compiler.ir.making import Array, graph, number, ops
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.ir.samples import SAMPLES, large_constants, locations, names, while_that_records
from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import TEXT
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ParseError
from weft.compiler.ir.graph import Constant, Graph
from weft.compiler.ir.identity import structurally_equal
from weft.compiler.ir.reader import Reader
from weft.compiler.ir.text import INLINE_ELEMENTS, format_constant, format_op
from weft.compiler.ir.walk import walk
from weft.compiler.parsing import parse


def assert_round_trip(original: Graph, *, locations: bool = False, embed: bool = False) -> Graph:
    """Printing, reading and printing again must change nothing."""
    text = original.text(locations=locations, embed_constants=embed)
    back = parse(text, None if embed else original.constant_table())
    assert structurally_equal(back, original)
    assert back.text(locations=locations, embed_constants=embed) == text
    assert back.symbols == original.symbols
    return back


# --- golden texts -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_graph_prints_its_golden_text(name: str) -> None:
    assert_golden(name, SAMPLES[name]().verify().text(locations=name == "locations"))


def test_graph_with_embedded_constants_prints_its_golden_text() -> None:
    assert_golden("large_constants_embedded", large_constants().text(embed_constants=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_golden_text_reads_back(name: str) -> None:
    original = SAMPLES[name]()
    text = (FOLDER / f"{name}.weft").read_text(encoding="utf-8")
    back = parse(text, original.constant_table()).verify()
    assert structurally_equal(back, original)
    assert back.text(locations=name == "locations") == text


@pytest.mark.parametrize("name", SAMPLES)
def test_graph_survives_text(name: str) -> None:
    assert_round_trip(SAMPLES[name](), locations=True).verify()


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_random_graph_survives_text(random: Graph) -> None:
    random.verify()
    assert_round_trip(random).verify()


def test_str_is_the_text_without_locations() -> None:
    assert str(locations()) == locations().text()
    assert " at " not in str(locations())


def test_text_can_be_laid_out_freely_and_hold_comments() -> None:
    text = """weft 1 # the format
    graph @g ( %x : f32 [ n , 2 ] ) {   # comment with % and }
      %a:f32[n,2]=add(%x,
                      %x)  return %a }
    # the end"""
    expected = graph({"x": "f32[n, 2]"}, lambda x: ops.add(x, x))
    assert structurally_equal(parse(text), expected)


# --- what survives ------------------------------------------------------------------------------


def test_locations_survive_text() -> None:
    original = locations()
    back = assert_round_trip(original, locations=True)
    assert [op.location for op in walk(back)] == [op.location for op in walk(original)]


def test_bounds_survive_text() -> None:
    original = SAMPLES["symbolic_sizes"]()
    back = assert_round_trip(original)
    assert [p.type for p in back.parameters] == [p.type for p in original.parameters]
    assert {repr(s) for s in back.symbols} == {
        "Symbol('n', lower=0, upper=64)",
        "Symbol('m', lower=8, upper=None)",
        "Symbol('k', lower=1, upper=None)",
    }


def test_bounds_of_sizes_that_ops_define_survive_text() -> None:
    back = assert_round_trip(while_that_records())
    assert dims.lower(back.results[1].type.shape[0]) == 0


def test_cleaned_names_are_the_names_after_reading() -> None:
    back = parse(str(names()))
    assert [p.name for p in back.parameters] == [
        "x",
        "x_1",
        "x_1_1",
        "params__w__",
        "_0",
        "_12ab",
        "layer.0.bias",
        "",
        "größe",
        "a_b",
        "a_b_1",
    ]
    assert back.name == "loss__lambda__1"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=8), st.lists(st.text(max_size=5), max_size=4))
def test_any_name_gives_text_that_reads_back(name: str, parameters: list[str]) -> None:
    types = {f"{i}{hint}": "f32[]" for i, hint in enumerate(parameters)}
    assert_round_trip(graph(types, lambda *values: values, name=name))


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=12))
def test_any_string_survives_text(string: str) -> None:
    assert TEXT.read(Reader(TEXT.format(string))) == string


def test_attributes_that_have_their_default_are_left_out() -> None:
    back = assert_round_trip(SAMPLES["defaults"]())
    assert [op.attributes for op in back.ops] == [op.attributes for op in SAMPLES["defaults"]().ops]


# --- small constants ----------------------------------------------------------------------------


def bits_of(d: DType) -> st.SearchStrategy[bytes]:
    """The bytes of one element: any at all, but often those of NaNs, infinities and subnormals."""
    if d.is_bool:
        return st.sampled_from([b"\x00", b"\x01"])
    word = d.real.itemsize
    part = st.binary(min_size=word, max_size=word)
    if d.is_inexact:
        edges = [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0]
        known = [np.array(edge).astype(d.real.numpy).tobytes() for edge in edges]
        smallest = (1).to_bytes(word, "little")
        odd_nans = [smallest[:1] + known[0][1:], smallest[:1] + known[2][1:]]
        part = st.sampled_from([*known, smallest, *odd_nans]) | part
    return st.lists(part, min_size=d.itemsize // word, max_size=d.itemsize // word).map(b"".join)


@pytest.mark.parametrize("d", dtypes.ALL, ids=repr)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_small_constants_keep_every_bit(d: DType, data: st.DataObject) -> None:
    elements = data.draw(st.lists(bits_of(d), max_size=4))
    array = np.frombuffer(b"".join(elements), d.numpy) if elements else np.zeros(0, d.numpy)
    if len(elements) == 1:
        array = array.reshape(())
    back = Reader(format_constant(Constant(array))).read_constant()
    assert back.type == Constant(array).type
    assert back.array.tobytes() == array.tobytes()
    assert not back.array.flags.writeable


def test_constants_of_up_to_16_elements_stand_inline() -> None:
    assert INLINE_ELEMENTS == 16
    fits, too_large = Constant(np.zeros((4, 4))), Constant(np.zeros(17))
    original = graph({}, lambda: (fits, too_large))
    assert "constant @c0: f64[17]" in str(original)
    assert "@c1" not in str(original)
    assert list(original.constant_table()) == ["c0"]


def test_rank_0_brackets_may_be_left_out() -> None:
    original = graph({"x": "f32[]"}, lambda x: ops.add(x, number(0.5)))
    shorter = str(original).replace("f32[]", "f32")
    assert structurally_equal(parse(shorter), original)


# --- large constants ----------------------------------------------------------------------------


@pytest.mark.parametrize("d", dtypes.ALL, ids=repr)
def test_large_constants_survive_text(d: DType) -> None:
    array = np.arange(36).reshape(4, 9).T.astype(d.numpy)
    original = graph({}, lambda: Constant(array))
    for embed in (False, True):
        back = assert_round_trip(original, embed=embed)
        (constant,) = back.constants
        assert constant.array.dtype == array.dtype
        assert constant.array.tobytes() == array.tobytes()


def test_one_large_constant_used_twice_is_written_once() -> None:
    original = large_constants()
    assert len(re.findall(r"^constant", str(original), re.MULTILINE)) == 2
    back = assert_round_trip(original, embed=True)
    assert len(back.constants) == 3
    assert back.ops[0].operands[1] is back.ops[1].operands[1]


def given_constants() -> dict[str, Array]:
    return dict(large_constants().constant_table())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: table.pop("c1"),
            "line 3, column 10: the data of constant @c1 is not in the text; pass "
            "constants=graph.constant_table(), or print with embed_constants=True",
        ),
        (
            lambda table: table.update(c0=table["c0"] + 1),
            "line 2, column 10: the array given for constant @c0 has other contents than the "
            "graph's",
        ),
        (
            lambda table: table.update(c0=table["c0"].T),
            "line 2, column 10: constant @c0 is declared f32[4, 5] but its data is f32[5, 4]",
        ),
        (
            lambda table: table.update(c0=table["c0"].astype(float)),
            "line 2, column 10: constant @c0 is declared f32[4, 5] but its data is f64[4, 5]",
        ),
    ],
)
def test_wrong_data_for_a_large_constant_is_refused(change: object, message: str) -> None:
    table = given_constants()
    assert callable(change)
    change(table)
    with pytest.raises(ParseError) as caught:
        parse(str(large_constants()), table)
    assert str(caught.value).startswith(message + "\n")


def test_data_in_another_byte_order_or_layout_is_the_same_data() -> None:
    table = given_constants()
    table["c0"] = np.asfortranarray(table["c0"].astype(">f4"))
    assert structurally_equal(parse(str(large_constants()), table), large_constants())


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\0" * 76, "cannot reshape array of size 19 into shape"),
        (b"\0" * 78, "buffer size must be a multiple of element size"),
        (None, ""),
    ],
)
def test_embedded_data_must_fit(data: bytes | None, fault: str) -> None:
    coded = "not base64!" if data is None else base64.b64encode(data).decode()
    text = large_constants().text(embed_constants=True)
    broken = re.sub(r'(@c0.*base64 ").*"', rf'\g<1>{coded}"', text)
    with pytest.raises(ParseError) as caught:
        parse(broken)
    expected = "line 2, column 10: the data of the constant does not fit f32[4, 5]: "
    assert str(caught.value).startswith(expected + fault)


# --- pieces -------------------------------------------------------------------------------------


def test_an_op_alone_shows_types_and_small_constants() -> None:
    ops_of = SAMPLES["defaults"]().ops
    assert format_op(ops_of[2]) == "argmax(f32[2, 3]) {axis=1, dtype=i32} -> i32[2]"
    made = graph({"x": "f32[2]"}, lambda x: ops.add(x, number(2.0)))
    assert format_op(made.ops[0]) == "add(f32[2], 2.0: f32) -> f32[2]"


def test_reprs_are_short() -> None:
    made = graph({"x": "f32[2]"}, lambda x: ops.add(x, number(2.0)), name="twice")
    assert repr(made) == "<graph twice: 1 ops>"
    assert repr(made.ops[0]) == "<op add -> f32[2]>"
    assert repr(made.parameters[0]) == "<parameter x: f32[2]>"
    assert repr(made.results[0]) == "<result 0 of add: f32[2]>"
    assert repr(made.constants[0]) == "<constant f32[]>"
    assert repr(ops.add) == "<op add>"


def test_constants_do_not_change_with_the_array_they_came_from() -> None:
    source = np.zeros(3, np.float32)
    view = source[::-1]
    view.setflags(write=False)
    constants = [Constant(source), Constant(view), Constant(np.broadcast_to(source, (2, 3)))]
    source[:] = 7
    for constant in constants:
        assert not constant.array.any()
        assert not constant.array.flags.writeable
