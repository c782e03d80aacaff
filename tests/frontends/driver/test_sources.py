"""Tests of the digest of Weft's own source files."""

import sys
import threading
from collections.abc import Iterator
from types import ModuleType

import pytest

from weft.frontends.driver.cache import sources


@pytest.fixture
def importing_thread() -> Iterator[None]:
    """Another thread that loads modules all the time."""
    stop = threading.Event()

    def load() -> None:
        while not stop.is_set():
            names = [f"weft.loaded{number}" for number in range(500)]
            for name in names:
                sys.modules[name] = ModuleType(name)
            for name in names:
                del sys.modules[name]

    thread = threading.Thread(target=load)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    yield
    stop.set()
    thread.join()
    sys.setswitchinterval(interval)


def test_modules_are_looked_at_while_another_thread_imports(importing_thread: None) -> None:
    for _ in range(1000):
        assert sources.are_unchanged()
