"""`jit`: a function that is traced and compiled when it first meets arguments of a kind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from textwrap import indent
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiler.ir.errors import CompilerError
from weft.frontends.driver import donation, write_back
from weft.frontends.driver.dispatch import Dispatcher
from weft.frontends.driver.specialisation import Specialisation
from weft.frontends.flow.api import with_control_flow
from weft.frontends.tracing.arguments import Call
from weft.frontends.tracing.conversion import converting

# The tracer and the reports are loaded when they are needed.
if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.passes.pipeline import PassLike
    from weft.frontends.inspect.profile import Profile
    from weft.frontends.inspect.report import Lowered, Memory
    from weft.frontends.tracing.function import TracedFunction


class CompiledFunction(Dispatcher):
    """A function compiled per kind of arguments: structure, dtypes, shapes and static values.

    Calls with NumPy arrays and numbers return NumPy arrays. `trace` gives the graph, `explain` a
    report, `passes` what passes did to it.
    """

    _recipe: dict[str, Any]  # what `jit` was given

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments, for reading: its loops, kernels, LLVM text, assembly."""
        from weft.frontends.inspect.report import lowered

        item = self._specialise(self.signature.take_apart(args, kwargs))
        return lowered(self._code(item))

    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """The bytes that the program for these arguments needs, and what is alive at the peak."""
        from weft.frontends.inspect.report import memory_of

        item = self._specialise(self.signature.take_apart(args, kwargs))
        code = self._code(item)
        return memory_of(item.graph, code, item.program.measured_bytes, self._threads)

    def profile(self, *args: Any, calls: int = 5, **kwargs: Any) -> Profile:
        """Where the time of a call with these arguments goes: kernel by kernel, the longest first.

        The program is compiled anew with clocks in it; donated arguments are copied.
        """
        from weft.frontends.inspect.profile import profile

        item, call = self._version(self.signature.take_apart(args, kwargs))
        donated = self._code(item).program.donated
        arrays = self._arrays(item, call)
        contiguous = [np.asarray(array, order="C") for array in arrays]

        def arguments() -> list[Any]:
            return [a.copy() if n in donated.values() else a for n, a in enumerate(contiguous)]

        return profile(item.graph, donated, arguments, calls, item.products)

    def why_retraced(self) -> str:
        """Why each compiled version was made: what differed from those before."""
        return "\n".join(self._reasons) or f"{self.signature.name} has not been compiled yet"

    def explain_cache(self) -> str:
        """For each compiled version, whether it was found on disk, kept there, or why not."""
        if not self._cache:
            return f"{self.signature.name} has not been compiled yet"
        return "\n".join(self._kept(item) for item in self._cache.values())

    def _kept(self, item: Specialisation) -> str:
        types = ", ".join(map(str, item.parameters))
        note = (
            f"the backend {self.backend} keeps nothing" if item.entry is None else item.entry.note
        )
        if item.program.failure is not None:
            note = "nothing is kept of what failed to compile"
        return f"{self.signature.name}({types}): {note or 'not compiled yet'}"

    def why_nan(self, *args: Any, **kwargs: Any) -> str:
        """Which op first makes a NaN for these arguments; for gradients, the forward op that it
        comes from.
        """
        from weft.frontends.inspect.report import why_nan

        item, call = self._version(self.signature.take_apart(args, kwargs))
        return why_nan(item.traced.graph, self._arrays(item, call))

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph for these arguments, or for specs in their place."""
        return self._specialise(self.signature.take_apart(args, kwargs)).traced.graph

    def explain(self) -> str:
        """A report on every compiled version: what it takes, which ops it has, what deserves
        attention.
        """
        if not self._cache:
            return (
                f"{self.signature.name} has not been compiled yet: call it, or trace it with specs."
            )
        return "\n".join(self._report(item) for item in self._cache.values())

    def _report(self, item: Specialisation) -> str:
        from weft.frontends.inspect.report import explanation, summary

        lines = summary(item.traced.graph, self.backend)
        lines += [
            f"  {name} = {value!r} is known to this version: other values are compiled for anew"
            for name, value in item.fixed
        ]
        lines += [indent(note, "  ") for note in item.traced.notes]
        if self.backend == "cpu":
            with suppress(CompilerError):
                lines += explanation(self._code(item), item.program.measured_bytes)
        return "\n".join([*lines, *self._failed(item)])

    def _failed(self, item: Specialisation) -> list[str]:
        """Lines on why there is no native code, if the compiler failed."""
        failure = item.program.failure
        if failure is None:
            return []
        instead = "raise this" if self._is_strict else "run on the reference evaluator"
        return [f"  it failed to compile, so calls {instead}:", indent(str(failure), "  ")]

    def passes(self) -> str:
        """A report on what passes and the steps to the loop program did to every compiled version;
        one that was found on disk took no such steps.
        """
        if not self._cache:
            return f"{self.signature.name} has not been compiled yet: call it first."
        lines: list[str] = []
        for item in self._cache.values():
            failed = self._failed(item)
            report = None if failed else item.report
            lines.append(str(report or f"{self.signature.name}: no passes ran"))
            if item.program.report is not None:
                lines.append(str(item.program.report))
            lines += failed
        return "\n".join(lines)

    @property
    def _fixes_numbers(self) -> bool:
        return super()._fixes_numbers and self._recipe["control_flow"] is None

    def _trace(self, call: Call) -> TracedFunction:
        from weft.frontends.eager.anywhere import start_trace
        from weft.frontends.tracing.function import trace_call

        donated = donation.donated_arguments(call, self._donate)
        writable = write_back.writable(call, donated)

        def traced() -> TracedFunction:
            return trace_call(self.function, self.signature.name, call, start_trace(), writable)

        if self._recipe["control_flow"] is not None:
            return traced()
        notes: list[str] = []
        made = converting(traced, notes.append)
        return replace(made, notes=tuple(map(_unconverted, notes)))

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name where its module has it, as for functions; else by the function and the options.
        Compiled versions are made anew.
        """
        name = str(getattr(self, "__qualname__", ""))  # a partial has none
        held: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            held = getattr(held, part, None)
        return name if held is self else (_restored, (self._recipe,))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled function {self.signature.name}, {len(self._cache)} versions>"


def jit(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "cpu",
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    specs: Sequence[Any] | None = None,
    passes: Sequence[PassLike] | None = None,
    optimise: bool | None = None,
    donate: int | str | Iterable[int | str] = (),
    tiered: bool = False,
    threads: int | None = None,
    products: str = "auto",
    control_flow: bool | None = None,
    check: str = "warn",
) -> Any:
    """Compile a function of arrays; usable as a decorator, with or without options.

    `static_argnums` and `static_argnames` name arguments that are Python values, each value
    compiled for. `specs` declares the types of the array arguments, so that one version serves all
    values of symbolic sizes. `passes` are your own passes over the traced graph: functions from
    graph to graph, and rules made by `rewrite`; `optimise` says whether the default ones run too
    (None: on the CPU backend, but not on the reference). `donate` gives the numbers or names of
    arguments whose arrays may be written over by results. `tiered` runs calls on the reference
    while native code is made in the background. `threads` limits the threads of each call.
    `products` says what multiplies matrices of floats: "generated" code, "blas" (on several
    threads, on which the last bits depend), or "auto": BLAS where `python -m weft tune` measured it
    to be faster on this machine. `control_flow` (True, False) says that Python's `if`, `while`, ...
    must or must not become branches and loops; None: where that works (docs/control_flow.md).

    It is traced again when globals, closures and attributes that it reads have changed; draws,
    clocks and the like are warned of. `check="strict"` makes them errors, "off" does neither.

    >>> import numpy as np, weft as wf
    >>> @wf.jit
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    options: dict[str, Any] = {
        "backend": backend,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "specs": specs,
        "passes": passes,
        "optimise": optimise,
        "donate": donate,
        "tiered": tiered,
        "threads": threads,
        "products": products,
        "check": check,
    }

    def compiled(decorated: Callable[..., Any]) -> CompiledFunction:
        result = CompiledFunction(with_control_flow(decorated, control_flow), **options)
        result._recipe = {"function": decorated, "control_flow": control_flow, **options}
        return result

    return compiled if function is None else compiled(function)


def _unconverted(reason: str) -> str:
    return "traced without its control flow converted, which failed:\n" + indent(reason, "  ")


def _restored(recipe: dict[str, Any]) -> Any:
    return jit(**recipe)
