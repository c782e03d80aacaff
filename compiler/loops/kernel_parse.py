"""Reads the kernels of a loop program's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from weft.compiler.ir.graph import Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.expression_parse import ExpressionReader
from weft.compiler.loops.group import FusionGroup, Node
from weft.compiler.loops.kernel import Entry, Kernel, Stage, Write, derived_entry
from weft.compiler.loops.memory import Copy


class KernelReader:
    """Reads kernels; `known` has them by name, and `loops` what their loops are called."""

    def __init__(
        self,
        names: ExpressionReader,
        nodes: Mapping[str, Node],
        group_loops: Mapping[FusionGroup, dict[str, Loop]],
        buffers: Mapping[str, Buffer],
    ) -> None:
        self.names = names
        self.reader = names.reader
        self.nodes = nodes
        self.group_loops = group_loops
        self.buffers = buffers
        self.known: dict[str, Kernel] = {}
        self.loops: dict[Kernel, dict[str, Loop]] = {}

    def read(self, kernels: Kernels, copies: Mapping[str, Copy]) -> None:
        """Read the section up to its closing brace."""
        reader, names = self.reader, self.names
        while not reader.accept(r"\}"):
            name = reader.expect(r"k\d+", "a kernel such as k0")
            reader.expect(r"of\b", "'of'")
            if reader.text.startswith("copy", reader.position):
                copy = names.lookup(r"copy\d+", copies, "copy")
                kernels.of_copy[copy] = self._kernel(name, {})
                continue
            start = reader.position
            group = names.lookup(r"n\d+(?:\.\d+)?", self.nodes, "node")
            if not isinstance(group, FusionGroup):
                reader.fail("only a group has a kernel", start)
            if reader.accept(r"by rows\b"):
                rows = reader.read_list("(", ")", lambda: reader.expect(r"[ij]\d+", "a loop"))
                if reader.text.startswith("(", reader.position):
                    kernel = self._kernel(name, self.group_loops[group])
                else:
                    kernel = kernels.of_group[group]
                kernels.in_rows[group] = kernel, self._rows(kernel, rows)
            else:
                kernels.of_group[group] = self._kernel(name, self.group_loops[group])

    def _rows(self, kernel: Kernel, rows: list[str]) -> tuple[Loop, ...]:
        """The loops of a kernel that go through rows."""
        known = self.loops[kernel]
        for row in rows:
            if row not in known:
                self.reader.fail(f"the kernel has no loop {row}")
        return tuple(known[row] for row in rows)

    def _kernel(self, name: str, loops: dict[str, Loop]) -> Kernel:
        reader, names = self.reader, self.names
        names.loops, names.short = dict(loops), {}
        arrays: list[tuple[object, bool]] = []
        offsets: list[int] = []
        arguments: list[Value] = []
        reader.read_list("(", ")", lambda: self._argument(arrays, offsets, arguments))
        moved = tuple(offsets) if any(offsets) else ()
        if reader.accept(r"like\b"):
            other = names.lookup(r"k\d+", self.known, "kernel")
            kernel = replace(other, arrays=arrays, arguments=arguments, offsets=moved, like=other)
            self.known[name], self.loops[kernel] = kernel, self.loops[other]
            return kernel
        reader.expect(r"weight\b", "'weight' or 'like'")
        weight = names.integer()
        in_order = bool(reader.accept(r"in order\b"))
        reader.expect(r"\{", "'{'")
        if reader.accept(r"loops\b"):
            names.loops.update([names.declared_loop()])
            while reader.accept(","):
                names.loops.update([names.declared_loop()])
        reader.expect(r"for\b", "'for'")
        kernel = Kernel(names.loop_list(), {}, [], arrays, arguments, weight, in_order, moved)
        while reader.text.startswith("v", reader.position):
            self._entry(kernel)
        while not reader.accept(r"\}"):
            kernel.stages.append(self._stage(kernel.entries))
        self.known[name], self.loops[kernel] = kernel, names.loops
        names.short = None
        return kernel

    def _argument(
        self, arrays: list[tuple[object, bool]], offsets: list[int], arguments: list[Value]
    ) -> None:
        reader = self.reader
        if reader.accept(r"a\d+"):
            reader.expect("=", "'='")
            arguments.append(self.names.value())
            return
        reader.expect(r"p\d+", "an array such as p0, or a number such as a0")
        reader.expect("=", "'='")
        storage: object
        if reader.accept(r"slot\b"):
            storage = ("slot", self.names.value())
        else:
            storage = self.names.lookup(r"b\d+", self.buffers, "buffer")
        offsets.append(self.names.integer() if reader.accept(r"\+") else 0)
        arrays.append((storage, bool(reader.accept(r"out\b"))))

    def _entry(self, kernel: Kernel) -> None:
        reader, names = self.reader, self.names
        name = reader.expect(r"v\d+", "an entry such as v0")
        reader.expect(":", "':'")
        ref = names.full_ref()
        loops = names.loop_list() if reader.accept(r"over\b") else None
        level = names.integer() if reader.accept(r"level\b") else None
        reader.expect("=", "'over', 'level' or '='")
        entry = derived_entry(ref, names.computed(ref), kernel.entries)
        kernel.entries[ref] = Entry(
            ref,
            entry.source,
            entry.loops if loops is None else frozenset(loops),
            entry.level if level is None else level,
        )
        assert names.short is not None
        names.short[name] = ref

    def _stage(self, entries: Mapping[Ref, Entry]) -> Stage:
        reader, names = self.reader, self.names
        reader.expect(r"stage\b", "'stage'")
        level = names.integer()
        reader.expect(r"for\b", "'for'")
        stage = Stage(level, names.loop_list())
        reader.expect(r"\{", "'{'")
        while not reader.accept(r"\}"):
            if reader.accept(r"reduce\b"):
                stage.reductions.append(entries[names.ref()])
            else:
                stage.writes.append(self._write())
        return stage

    def _write(self) -> Write:
        reader = self.reader
        array, position, guards = self.names.element()
        reader.expect(":", "':'")
        dtype = reader.read_dtype()
        kind = reader.accept(r"[a-z]+\b") or "set"
        reader.expect("=", "'='")
        return Write(self.names.ref(), array, position, guards, dtype, kind)
