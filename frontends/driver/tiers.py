"""Results at once, speed a little later: calls run on the reference evaluator until native code,
made in the background, is there.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiler.lower import reference
from weft.frontends.driver.fallback import Fallback
from weft.frontends.tracing.arguments import Call
from weft.runtime import headroom
from weft.runtime.program import Program

if TYPE_CHECKING:
    from weft.compiler.ir.errors import CompilerError
    from weft.compiler.loops.pipeline import LoopReport
    from weft.compiler.lower.llvm.program.module import ProgramCode
    from weft.frontends.driver.cpu_program import Layout

Array = np.ndarray[Any, Any]


class Tiered:
    """A program on the reference evaluator that becomes native by itself, or stays there if the
    compiler fails by a fault of its own.

    If compiling ends with another exception, that is raised by the next call.
    """

    def __init__(self, program: Fallback) -> None:
        self.native = program
        self._slow = Program(reference.lower(program.graph))
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._compile, name="weft-compile", daemon=True)
        headroom.start(self._thread)

    @property
    def is_native(self) -> bool:
        """Whether calls run native code by now."""
        is_over = not self._thread.is_alive()
        return is_over and self._failure is None and self.native.failure is None

    @property
    def has_code(self) -> bool:
        return self.is_native

    @property
    def failure(self) -> CompilerError | None:
        """The fault of the compiler that keeps it from becoming native, if there is one."""
        return self.native.failure

    @property
    def code(self) -> ProgramCode:
        return self.native.code

    @property
    def report(self) -> LoopReport | None:
        return self.native.report

    def measured_bytes(self, threads: int) -> dict[str, int]:
        """See `Fallback.measured_bytes`."""
        return self.native.measured_bytes(threads)

    def wait(self) -> None:
        """Return once native code is there, or cannot be made."""
        self._thread.join()

    def _compile(self) -> None:
        try:
            self.native.compile()
        except BaseException as error:
            self._failure = error

    def prepared(self, arguments: Sequence[Array]) -> Callable[[], list[Array]]:
        """The call with these arguments, on the fastest that is there."""
        if self._thread.is_alive():
            return functools.partial(self._slow, arguments)
        if self._failure is not None:
            raise self._failure
        return self.native.prepared(arguments)

    def layout(self, arguments: Sequence[Array]) -> Layout:
        return self.native.layout(arguments)

    def stub(
        self, call: Call, out_tree: Any, layout: Layout, donated: Sequence[int]
    ) -> Callable[..., Any] | None:
        """A builtin for calls like this one, once native code is there."""
        return self.native.stub(call, out_tree, layout, donated) if self.is_native else None

    def flat_stub(
        self, call: Call, layout: Layout, donated: Sequence[int]
    ) -> Callable[..., Any] | None:
        """The same for calls that are taken apart in Python."""
        return self.native.flat_stub(call, layout, donated) if self.is_native else None
