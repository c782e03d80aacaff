"""Work in other threads: results, failures, and processes that are forked meanwhile."""

from __future__ import annotations

import os
import threading
import warnings

import pytest

from weft.frontends.driver.background import BackgroundCall


def test_results_and_failures() -> None:
    assert BackgroundCall(lambda: 3).result() == 3

    def fail() -> int:
        raise ValueError("no")

    failing = BackgroundCall(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            failing.result()


def test_work_goes_on_in_another_thread() -> None:
    begun, end = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        assert end.wait(60)
        return threading.get_ident()

    later = BackgroundCall(work)
    assert begun.wait(60)
    end.set()
    assert later.result() != threading.get_ident()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_processes_do_the_work_themselves() -> None:
    end = threading.Event()
    parent = os.getpid()

    def work() -> int:
        if os.getpid() == parent:
            end.wait(60)
        return os.getpid()

    later = BackgroundCall(work)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if later.result() == os.getpid() else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    end.set()
    assert status == 0 and later.result() == parent
