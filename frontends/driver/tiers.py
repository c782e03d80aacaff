"""Results at once, speed a little later: calls run on the reference evaluator until native code,
made in the background, is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiler.lower import reference
from weft.frontends.driver.cpu_program import CpuProgram
from weft.frontends.tracing.arguments import Call
from weft.runtime.program import Program

if TYPE_CHECKING:
    from weft.compiler.loops.pipeline import LoopReport
    from weft.compiler.lower.llvm.program.module import ProgramCode

Array = np.ndarray[Any, Any]


class Tiered:
    """A program on the reference evaluator that becomes native by itself.

    If compiling fails, the exception is raised by the next call.
    """

    def __init__(self, program: CpuProgram) -> None:
        self.native = program
        self._slow = Program(reference.lower(program.graph))
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._compile, name="weft-compile", daemon=True)
        self._thread.start()

    @property
    def is_native(self) -> bool:
        """Whether calls run native code by now."""
        return not self._thread.is_alive() and self._failure is None

    @property
    def code(self) -> ProgramCode:
        return self.native.code

    @property
    def report(self) -> LoopReport | None:
        return self.native.report

    def wait(self) -> None:
        """Return once native code is there."""
        self._thread.join()

    def _compile(self) -> None:
        try:
            self.native.program()
        except BaseException as error:
            self._failure = error

    def __call__(self, arguments: Sequence[Array]) -> list[Array]:
        if self._failure is not None:
            raise self._failure
        return self.native(arguments) if self.is_native else self._slow(arguments)

    def stub(self, call: Call, out_tree: Any) -> Callable[..., Any] | None:
        """A builtin for calls like this one, once native code is there."""
        return self.native.stub(call, out_tree) if self.is_native else None
