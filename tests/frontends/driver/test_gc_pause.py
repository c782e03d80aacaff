"""What is made while collecting is held back passes for old afterwards, within bounds."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from weft.frontends.driver import gc_pause
from weft.frontends.driver.gc_pause import gc_paused


class Node:
    """An object in a cycle."""

    def __init__(self) -> None:
        self.itself = self


def generation(thing: object) -> int:
    """How old an object passes for; 3 if it is frozen."""
    for number in range(3):
        if any(each is thing for each in gc.get_objects(number)):
            return number
    return 3


@pytest.fixture(autouse=True)
def after_a_full_collection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(gc_pause, "LEAST_PROMOTED", 1)
    gc.collect()
    yield
    gc.unfreeze()


def made_in_a_pause() -> Node:
    with gc_paused():
        return Node()


def test_what_is_made_in_a_pause_passes_for_old() -> None:
    assert generation(made_in_a_pause()) == 2
    assert gc.isenabled()


def test_a_full_collection_finds_what_is_garbage() -> None:
    held = weakref.ref(made_in_a_pause())
    gc.collect()
    assert held() is None


def test_what_waits_for_a_full_collection_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_pause, "MOST_PROMOTED", 1 << 12)
    kept = []
    with gc_paused():
        kept += [Node() for _ in range(1 << 11)]
    with gc_paused():
        kept += [Node() for _ in range(1 << 11)]
    assert generation(kept[0]) == 2
    assert generation(kept[-1]) < 2
    gc.collect()
    assert generation(made_in_a_pause()) == 2


def test_a_few_objects_are_left_to_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_pause, "LEAST_PROMOTED", 1 << 12)
    assert generation(made_in_a_pause()) < 2
    with gc_paused():
        kept = [Node() for _ in range(1 << 12)]
    assert generation(kept[0]) == 2


def test_garbage_waits_for_a_few_compiles_only() -> None:
    kept = [made_in_a_pause() for _ in range(gc_pause.MOST_TIMES + 1)]
    assert [generation(node) == 2 for node in kept] == [True] * gc_pause.MOST_TIMES + [False]


def test_what_the_user_froze_stays_frozen() -> None:
    frozen = Node()
    gc.freeze()
    made_in_a_pause()
    assert generation(frozen) == 3


def test_a_collector_that_the_user_switched_off_is_left_alone() -> None:
    gc.disable()
    try:
        assert generation(made_in_a_pause()) == 0
        assert not gc.isenabled()
    finally:
        gc.enable()
