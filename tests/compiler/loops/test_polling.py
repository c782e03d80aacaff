"""Programs ask whether to stop after long work, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as wf
from weft.compiler.ir.dims import Size
from weft.compiler.loops.parse import parse_program
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.polling import MUCH, STEPS
from weft.compiler.loops.program import LoopProgram


def lowered(function: Any, *specs: str) -> LoopProgram:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return lower_to_loops(graph, 32, verify=True)[0]


def polls(function: Any, *specs: str) -> list[Size]:
    return list(lowered(function, *specs).scheduled.polls.values())


def chain(x: Any) -> Any:
    for _ in range(6):
        x = wf.fence(np.sin(x) + 1)
    return x


def test_work_is_added_up() -> None:
    assert polls(chain, "f32[100]") == []
    large = polls(chain, "f32[1000000]")
    assert len(large) == 5 and all(isinstance(work, int) and work >= MUCH for work in large)
    each = large[0]
    assert isinstance(each, int)
    size = 1_000_000 * MUCH // (2 * each) + 1000  # of which two kernels are as much
    assert len(polls(chain, f"f32[{size}]")) == 2


def test_products_and_other_routines() -> None:
    assert len(polls(lambda x: wf.fence(x @ x) @ x, "f32[300, 300]")) == 1
    assert polls(lambda x: wf.fence(x @ x) @ x, "f32[20, 20]") == []
    assert len(polls(lambda x: np.sort(np.sort(x)[::-1] + 1), "f64[1000000]")) >= 1
    assert len(polls(lambda x: np.linalg.inv(np.linalg.inv(x)), "f64[400, 400]")) >= 1


def test_long_steps_of_loops_ask_for_themselves() -> None:
    def loop(x: Any) -> Any:
        return wf.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, chain(c[1])), (0, x))[1]

    assert polls(loop, "f32[100]") == []
    assert len(polls(loop, "f32[1000000]")) == 6


def test_unknown_work_is_asked_about_now_and_then() -> None:
    (work,) = polls(chain, "f32[n]")
    assert str(work).endswith("*n")


def test_what_consumes_rows_does_not_ask() -> None:
    def layers(x: Any, w: Any) -> Any:
        for _ in range(3):
            x = np.tanh(x @ w + 1)
        return x

    program = lowered(layers, "f32[512, 512]", "f32[512, 512]").scheduled
    assert program.polls and not set(program.polls) & set(program.by_rows)


def test_polls_survive_text() -> None:
    for specs in ("f32[1000000]", "f32[n]"):
        program = lowered(chain, specs)
        assert " polls after " in program.text()
        again = parse_program(program.text())
        assert again.text() == program.text()
        assert list(map(str, again.scheduled.polls.values())) == list(
            map(str, program.scheduled.polls.values())
        )


def asking(program: LoopProgram) -> list[int]:
    return list(program.scheduled.asking.values())


def filtered(x: Any) -> Any:
    return wf.scan(lambda carry, row: ((new := 0.5 * carry + row), new), 0.0, x)[1]


def test_short_loops_do_not_ask_and_long_ones_now_and_then() -> None:
    assert asking(lowered(filtered, "f64[1000]")) == []
    (every,) = asking(lowered(filtered, "f64[10000000]"))
    assert every > STEPS and every & (every - 1) == 0
    assert asking(lowered(filtered, "f64[n]")) == [every]


def test_loops_around_loops_that_ask_do_so_too() -> None:
    def nested(x: Any) -> Any:
        return wf.scan(lambda carry, row: (carry + filtered(row)[-1], carry), 0.0, x)[0]

    assert asking(lowered(nested, "f64[100, 100]")) == []
    inner, outer = asking(lowered(nested, "f64[4, 10000000]"))
    assert outer == STEPS and inner > STEPS
    long = lowered(nested, "f64[10000, 10000]").scheduled
    assert len(long.asking) == 1  # of the outer loop: a row is short


def test_loops_of_unknown_length_ask() -> None:
    def loop(x: Any) -> Any:
        return wf.while_loop(lambda c: c < 9.0, lambda c: c + np.cos(c), x)

    assert len(asking(lowered(loop, "f64[]"))) == 1


def test_asking_survives_text() -> None:
    program = lowered(filtered, "f64[10000000]")
    assert " polls every " in program.text()
    again = parse_program(program.text())
    assert again.text() == program.text()
    assert asking(again) == asking(program)
