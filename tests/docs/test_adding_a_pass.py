"""The rule of docs/adding_a_pass.md has a proof that holds; test_docs.py runs the page itself."""

from __future__ import annotations

import doctest
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.rewrite import test_proofs
from weft.compiler.rewrite.rule import Exhaustive

PAGE = Path(__file__).parent.parent.parent / "docs" / "adding_a_pass.md"


@cache
def page() -> dict[str, Any]:
    """The names that the page defines."""
    namespace: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        if not example.source.startswith("print"):
            exec(compile(example.source, str(PAGE), "exec"), namespace)
    return namespace


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_proof_of_the_rule(dtype: str) -> None:
    rule = page()["floor_of_negative"]
    assert isinstance(rule.proof, Exhaustive) and dtype in rule.proof.dtypes
    test_proofs.test_both_sides_have_the_same_bits(rule, dtype)
