"""Offsets in a frame: what vector operations find is what a plain search finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.compiler.ir import dims
from weft.compiler.ir.alignment import aligned
from weft.compiler.ir.graph import Parameter
from weft.compiler.ir.reader import parse_type
from weft.compiler.loops.arena import Buffer, assign_offsets

VALUE = Parameter(parse_type("f64[1]"))
LIVES_OF_MANY = st.integers(0, 30), st.integers(0, 30)
LIVES = st.tuples(st.integers(0, 400), st.integers(0, 12), st.integers(0, 12))


def buffers(lives: list[tuple[int, int, int]]) -> list[Buffer]:
    return [Buffer("temporary", -1, n, min(a, b), max(a, b), VALUE) for n, a, b in lives]


def best_fit(items: list[Buffer]) -> int:
    """Largest first, each into the smallest gap that holds it: written as one would say it."""
    placed: list[Buffer] = []
    for buffer in sorted(items, key=lambda b: (-int(b.bytes), b.first)):
        size = int(aligned(buffer.bytes))
        alive = [b for b in placed if b.first <= buffer.last and buffer.first <= b.last]
        best: tuple[int, int] | None = None
        reached = 0
        for other in sorted(alive, key=lambda b: int(b.offset)):
            gap = int(other.offset) - reached
            if gap >= size and (best is None or gap < best[0]):
                best = gap, reached
            reached = max(reached, int(other.offset) + int(aligned(other.bytes)))
        buffer.offset = reached if best is None else best[1]
        placed.append(buffer)
    return max((int(b.offset) + int(aligned(b.bytes)) for b in placed), default=0)


@given(st.lists(LIVES, max_size=30))
def test_best_fit_is_that_of_a_plain_search(lives: list[tuple[int, int, int]]) -> None:
    fast, plain = buffers(lives), buffers(lives)
    assert assign_offsets(fast) == best_fit(plain)
    assert [b.offset for b in fast] == [b.offset for b in plain]


@given(st.lists(st.tuples(st.sampled_from([400, 390, 64]), *LIVES_OF_MANY), max_size=60))
def test_buffers_of_few_sizes_are_those_of_a_plain_search(
    lives: list[tuple[int, int, int]],
) -> None:
    fast, plain = buffers(lives), buffers(lives)
    assert assign_offsets(fast) == best_fit(plain)
    assert [b.offset for b in fast] == [b.offset for b in plain]


def test_sizes_known_at_run_time_take_turns_in_slots() -> None:
    n = dims.symbol("n")
    items = [Buffer("temporary", -1, 4 * n, a, b, VALUE) for a, b in ((0, 1), (1, 2), (2, 3))]
    total = assign_offsets(items)
    assert items[0].offset == items[2].offset == 0
    assert items[1].offset == aligned(4 * n)
    assert total == aligned(4 * n) * 2
