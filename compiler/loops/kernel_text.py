"""Kernels as text: the readable loop form, which also tells equal kernels apart from others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from weft.compiler.ir.graph import Op
from weft.compiler.ir.index.affine import Guard, Index, Loop
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Literal,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Argument, Entry, Kernel, Load, Stage, Write


def kernel_text(kernel: Kernel) -> str:
    """The kernel as loops over expressions."""
    return _Writer(kernel).text()


class _Writer:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        loops = (*kernel.outer, *kernel.inner)
        self.loops: dict[Loop, str] = {loop: f"i{n}" for n, loop in enumerate(loops)}
        self.names: dict[Ref, str] = {}
        numbers = count()
        for ref, entry in kernel.entries.items():
            source = entry.source  # a place that is only called otherwise keeps its name
            known = self.names[source] if isinstance(source, Ref) else None
            self.names[ref] = known or f"v{next(numbers)}"

    def text(self) -> str:
        kernel = self.kernel
        arrays = [f"p{n}{' out' if w else ''}" for n, (_, w) in enumerate(kernel.arrays)]
        numbers = [f"a{n}: {v.type.dtype}" for n, v in enumerate(kernel.arguments)]
        lines = [f"kernel({', '.join([*arrays, *numbers])})"]
        if kernel.in_order:
            lines.append("in order")
        lines.append(f"for {self._loops(kernel.outer)}:" if kernel.outer else "once:")
        for entry in kernel.entries.values():
            if not isinstance(entry.source, Ref):
                lines.append(f"  {self.names[entry.ref]} = {self._entry(entry)}")
        for stage in kernel.stages:
            lines += [f"  {line}" for line in self._stage(stage)]
        return "\n".join(lines)

    def _loops(self, loops: Sequence[Loop]) -> str:
        return ", ".join(f"{self.loops[loop]} < {loop.size}" for loop in loops)

    def _stage(self, stage: Stage) -> list[str]:
        head = [f"for {self._loops(stage.loops)}:"] if stage.loops else []
        indent = "  " if head else ""
        lines = [
            f"{indent}{self.names[entry.ref]} {entry.source.kind}= "  # type: ignore[union-attr]
            f"{self.names[entry.source.body]}"  # type: ignore[union-attr]
            for entry in stage.reductions
        ]
        return [*head, *lines, *[f"{indent}{self._write(write)}" for write in stage.writes]]

    def _write(self, write: Write) -> str:
        sign = "=" if write.kind == "set" else f"{write.kind}="
        target = f"p{write.array}[{self._index(write.position)}]"
        return f"{target} {sign} {self.names[write.source]}{self._guards(write.guards)}"

    def _entry(self, entry: Entry) -> str:
        source = entry.source
        dtype = entry.ref.value.type.dtype
        if isinstance(source, Load):
            return f"{dtype} p{source.array}[{self._index(source.position)}]" + self._guards(
                source.guards
            )
        if isinstance(source, Argument):
            return f"a{source.number}"
        if isinstance(source, Reduction):
            inside = ", ".join(self.loops[loop] for loop in source.over)
            return f"{dtype} {source.kind} of {self.names[source.body]} over {inside}"
        return f"{dtype} {self._expression(source)}"

    def _expression(self, source: object) -> str:
        match source:
            case Ref():
                return self.names[source]
            case Literal():
                return str(source.array.tolist())
            case Position():
                return self._index(source.index)
            case Apply():
                operands = ", ".join(self.names[ref] for ref in source.operands)
                part = f".{source.number}" if len(source.op.results) > 1 else ""
                return f"{source.op.name}({operands}){_attributes(source.op)}{part}"
            case Combined():
                return f"{source.kind}({', '.join(self.names[ref] for ref in source.operands)})"
            case Choose():
                inside = self._expression(source.inside)
                outside = self._expression(source.outside)
                return f"({inside}{self._guards(source.guards)} else {outside})"
            case Resolved():
                where = f" at {source.op.location}" if source.mode == "raise" else ""
                inner = self.names[source.position]
                return f"{source.mode}({inner}, {source.size}, axis {source.axis}){where}"
            case Start():
                return f"start({self.names[source.position]}, {source.limit})"
            case Quotient():
                return f"({self._index(source.index)}) // {source.divisor}"
            case _:
                raise AssertionError(f"{source!r} has no text")

    def _index(self, index: Index) -> str:
        parts = [f"{size}*{self.loops[loop]}" for loop, size in index.terms]
        parts += [f"{size}*{self._expression(extra)}" for size, extra in index.extras]
        if not parts or index.constant != 0:
            parts.append(str(index.constant))
        return " + ".join(part.removeprefix("1*") for part in parts)

    def _guards(self, guards: Sequence[Guard]) -> str:
        if not guards:
            return ""
        tests = [f"{guard.low} <= {self._index(guard.index)} < {guard.high}" for guard in guards]
        return f" if {' and '.join(tests)}"


def _attributes(op: Op) -> str:
    kinds = op.definition.attributes
    shown = [f"{name}={kinds[name].format(value)}" for name, value in op.attributes.items()]
    return f" {{{', '.join(shown)}}}" if shown else ""
