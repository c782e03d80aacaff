"""Text that is no graph: each message starts with line and column and says what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.ir.samples import SAMPLES
from weft.compiler.ir.errors import ParseError, WeftError
from weft.compiler.ir.reader import parse_type
from weft.compiler.parsing import parse

HEADER = "weft 1\ngraph @g(%x: f32[n, 3]) {\n"

# bad_texts.txt holds blocks: `== body: name` or `== text: name`, the text, then its fault as
# `!! line:column message`. A body stands between the two lines of the header and a closing brace.
BLOCK = re.compile(r"^== (body|text): (.*)\n((?:.|\n)*?)\n!! (\d+):(\d+) (.*)$", re.MULTILINE)
BAD_TEXTS = Path(__file__).with_name("bad_texts.txt").read_text(encoding="utf-8")
BAD = {
    f"{kind}: {name}": (
        f"{HEADER}{text}\n}}\n" if kind == "body" else text,
        f"line {line}, column {column}: {message}",
    )
    for kind, name, text, line, column, message in BLOCK.findall(BAD_TEXTS)
}


def fault_of(text: str) -> tuple[str, list[str]]:
    with pytest.raises(ParseError) as caught:
        parse(text)
    first, *rest = str(caught.value).split("\n")
    return first, rest


def test_every_block_is_read() -> None:
    assert len(BAD) == BAD_TEXTS.count("== ")


@pytest.mark.parametrize("name", BAD)
def test_bad_text_gives_line_column_and_fault(name: str) -> None:
    text, message = BAD[name]
    first, _ = fault_of(text)
    assert first == message


def test_the_line_is_shown_with_a_caret() -> None:
    _, rest = fault_of(HEADER + "  %y: f32[n, 3] = negg(%x)\n  return %y\n}\n")
    assert rest == ["    %y: f32[n, 3] = negg(%x)", "                    ^"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32[n", "line 1, column 6: expected ',' or ']'"),
        ("f32[n] x", "line 1, column 8: expected the end of the type"),
        ("f33[n]", "line 1, column 1: 'f33' is no dtype that arrays can have"),
        ("[n]", "line 1, column 1: expected a dtype such as f32"),
        ("f32[2*n, n>=8]", "line 1, column 14: give the bounds of n where it is used first"),
        ("f32[n>=8, n>=9]", "line 1, column 15: give the bounds of n where it is used first"),
        ("f32[n>=8<=2]", "no size n is at least 8 and at most 2"),
        ("f32[-3]", "line 1, column 5: the size -3 is negative"),
        ("f32[n; m]", "line 1, column 6: expected ',' or ']'"),
    ],
)
def test_bad_spec(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_type(text)
    assert message in str(caught.value)


def test_specs_take_numpy_s_names_of_dtypes() -> None:
    assert str(parse_type("float32[2]")) == "f32[2]"
    assert str(parse_type("int8[2]")) == "i8[2]"


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_damaged_text_is_refused_or_read_but_never_breaks_the_parser(
    name: str, data: st.DataObject
) -> None:
    text = TEXTS_OF_SAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 6)))
    inserted = data.draw(st.sampled_from(["", "%", "(", "}", "0", "-1", "n", '"', ",", "^b", "="]))
    damaged = text[:start] + inserted + text[end:]
    try:
        parse(damaged, CONSTANTS)
    except WeftError as error:
        assert isinstance(error, ParseError)
        assert str(error).startswith("line ")


TEXTS_OF_SAMPLES = {name: make().text(locations=True) for name, make in SAMPLES.items()}
CONSTANTS = SAMPLES["large_constants"]().constant_table()


@pytest.mark.parametrize(
    "size",
    [str(2**63), str(2**70), "9" * 5000, "2**64", "2**99999999", f"{2**40}*{2**40}", "m**65"],
    ids=["2**63", "2**70", "digits", "power", "huge power", "product", "symbol"],
)
def test_sizes_fit_into_64_bits(size: str) -> None:
    for read in (parse_type, lambda text: parse(f"weft 1\ngraph @g(%x: {text}) {{ return %x }}")):
        with pytest.raises(ParseError):
            read(f"u8[{size}]")


@pytest.mark.parametrize("shape", [f"{2**40}, {2**40}", f"{2**62}", f"{2**62}, 0, {2**62}"])
def test_arrays_fit_into_64_bits(shape: str) -> None:
    with pytest.raises(ParseError, match="more than 2\\*\\*63 - 1 bytes"):
        parse(f"weft 1\ngraph @g(%x: f64[{shape}]) {{ return %x }}")


@pytest.mark.parametrize(
    "text",
    [
        f"weft {'1' * 5000}",
        f"weft 1\ngraph @g<n>={'1' * 5000}>(%x: f32[n]) {{ return %x }}",
        f"weft 1\ngraph @g(%x: f32[{'(' * 5000}n{')' * 5000}]) {{ return %x }}",
        f"weft 1\ngraph @g(%x: f32[{'max(' * 5000}n{', n)' * 5000}]) {{ return %x }}",
        f"{HEADER}%y: f32[3] = reduce_sum(%x) {{axes=[{'1' * 5000}]}} return %y }}",
        HEADER
        + "%y: f32[n, 3] = switch(true: bool, %x) ^a(%x: f32[n, 3]) {" * 3000
        + "return %x }" * 3000,
    ],
    ids=["version", "bound", "parentheses", "max", "attribute", "regions"],
)
def test_long_digits_and_deep_nesting_are_parse_errors(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
