"""Views on their way down: how often a graph is gone through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.edit import edit
from weft.compiler.ir.graph import Graph
from weft.compiler.passes.layout.sink_views import sink_views


def turned(x: Any) -> Any:
    return x.T


def reshaped(x: Any) -> Any:
    return x.reshape(-1, 2) if x.shape[0] == x.shape[1] else x.reshape(8, 8)


@pytest.mark.parametrize("view", [turned, reshaped])
def test_chain_of_views_is_gone_through_a_few_times(
    view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chain(x: Any) -> Any:
        for step in range(40):
            x = np.sin(view(x)) * step
        return x

    edits = 0

    def counted(*given: Any) -> Graph:
        nonlocal edits
        edits += 1
        return edit(*given)

    monkeypatch.setattr("weft.compiler.passes.layout.sink_views.edit", counted)
    graph = wf.trace(chain)(wf.spec("f64[8, 8]"))
    after = sink_views(graph).verify()
    assert edits <= 4
    assert sum(op.name in ("transpose", "reshape") for op in after.region.ops) <= 1
