"""Text of traced values: printed and logged when the program runs, refused for anything else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf

VECTOR = np.array([3.0, 1.0, 2.5])
LOG = logging.getLogger("tests.weft")


class Named:
    def __init__(self) -> None:
        self.number = 1

    def __str__(self) -> str:
        return f"Named {self.number}"


def formats(x: Any, w: Any, k: Any) -> None:
    print(f"{x[0]:.3f} {w!r:>6} {k:03d} {1 + 1} {k=} {'plain':>8} {x}")
    print("%g %s %d" % (x[0], w, k), "{:.2f} {b}".format(x[1], b=w))  # noqa: UP031, UP032
    print(format(x[0], ".1f"))
    print(str(x[2]) + "!", "[" + repr(w) + "]", [x[0], w], {"a": x[0]}, sep="|", end=".\n")


def formats_in_variables(x: Any, w: Any, k: Any) -> None:
    one, several = "%s and", {"line": "%(a)g %(b)r"}
    print(one % x[0], several["line"] % {"a": w, "b": x[1]}, (one + " %d") % (w, k))


def text_of_before(x: Any, w: Any, k: Any) -> None:
    named, y = Named(), x.copy()
    text = f"{named} {y} {y[0]}"
    named.number, y[0] = 2, 100.0
    print(text, named)


def in_control_flow(x: Any, w: Any, k: Any) -> None:
    for i in range(40):
        if x[0] > 2 and i > 37:
            print(f"step {i}: {x[0] * i:.1f}")


@pytest.mark.parametrize("f", [formats, formats_in_variables, text_of_before, in_control_flow])
def test_what_is_printed(f: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    f(VECTOR, 2.5, 7)
    expected = capsys.readouterr().out
    compiled = wf.jit(lambda *args: (f(*args), 0)[1], control_flow=True)
    for _ in range(2):
        compiled(VECTOR, 2.5, 7)
        assert capsys.readouterr().out == expected


def test_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def logged(x: Any) -> Any:
        LOG.warning("it is %s, %.1f", x[1], x[0])
        LOG.warning(f"{x[0]}")
        return x

    wf.jit(logged, control_flow=True)(VECTOR)
    assert [record.getMessage() for record in caplog.records] == ["it is 1.0, 3.0", "3.0"]


def test_messages_of_exceptions_have_types() -> None:
    def failing(x: Any) -> Any:
        raise KeyError(f"no {x[0]:.3f} in {x}")

    with pytest.raises(KeyError, match=r"no f64\[\] in f64\[3\]"):
        wf.jit(failing, control_flow=True)(VECTOR)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: {str(x[0]): 1.0},
        lambda x: x * len(f"{x[0]}"),
        lambda x: x if f"{x[0]}" == "3.0" else -x,
        lambda x: x * f"{x}".count("a"),
        lambda x: x * float(f"{x[0]}"),
        lambda x: ", ".join([f"{x[0]}"]),
    ],
)
def test_text_is_not_known(f: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"text of traced values|TracedText"):
        wf.jit(f, control_flow=True)(VECTOR)
