"""Every graph that a test traces is verified, and reads back from its text as the same program.

Property tests search anew in every run; in CI they draw the same cases each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import guard_pages, slow_tests
from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import CompilerError
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.ir.identity import structurally_equal
from weft.compiler.ir.stages import stage
from weft.compiler.parsing import parse
from weft.frontends.tracing.trace import Trace

LARGEST = 500
# A fault of the compiler fails the test that shows it, also in processes that tests start.
os.environ.setdefault("WEFT_STRICT", "1")

if os.environ.get("WEFT_GUARD"):
    guard_pages.install(os.environ["WEFT_GUARD"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = slow_tests.listed()
    for item in items:
        module = item.nodeid.split("::")[0].removesuffix(".py").replace("/", ".")
        if slow_tests.name_of(module, item.name) in slow:
            item.add_marker(pytest.mark.slow)


# A busy machine may take any time for a case.
settings.register_profile("weft", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("weft"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "weft")


@pytest.fixture(autouse=True)
def _no_stored_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program is compiled here: what a test changed in the compiler must not be kept, and
    what an earlier run kept must not stand in for the compiler. Nor does it matter what `weft tune`
    measured.
    """
    monkeypatch.setattr("weft.frontends.driver.cache.entry.environment", lambda: None)
    monkeypatch.setattr("weft.frontends.driver.tuning.machine", lambda: "a machine for tests")


@pytest.fixture(autouse=True)
def _round_trips(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.node.get_closest_marker("counts_ops") is not None:
        yield
        return

    def graph(self: Trace, name: str, results: Iterable[Value]) -> Graph:
        made = Builder.graph(self, name, results)
        if len(made.ops) <= LARGEST:
            read = parse(made.verify().text(), made.constant_table())
            assert structurally_equal(read, made), made.text()
        return made

    monkeypatch.setattr(Trace, "graph", graph, raising=False)
    yield


@pytest.fixture(autouse=True)
def _no_faults(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test passes in which the compiler failed by a fault of its own, not even one that takes
    its error for a refusal; but for tests of faults.
    """
    if request.node.get_closest_marker("puts_faults_in") is not None:
        yield
        return
    found: list[CompilerError] = []
    failure = stage.failure

    def noted(self: stage, error: BaseException) -> CompilerError:
        found.append(failure(self, error))
        return found[-1]

    monkeypatch.setattr(stage, "failure", noted)
    yield
    if found:
        raise found[0]
