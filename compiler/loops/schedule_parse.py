"""Reads the schedule of a loop program's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.ir.attributes import TEXT
from weft.compiler.ir.index.affine import Loop
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.expression_parse import ExpressionReader
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode
from weft.compiler.loops.kernel import Kernel, Stage
from weft.compiler.loops.reduction_tiling import ReductionPlan
from weft.compiler.loops.schedule import KernelCase, Schedule, Task, TaskChain
from weft.compiler.loops.vectorise import VectorPlan


class ScheduleReader:
    """Reads a schedule, whose kernels have these names."""

    def __init__(
        self,
        names: ExpressionReader,
        nodes: Mapping[str, Node],
        buffers: Mapping[str, Buffer],
        kernels: Mapping[str, Kernel],
    ) -> None:
        self.names = names
        self.reader = names.reader
        self.nodes = nodes
        self.buffers = buffers
        self.kernels = kernels
        self.loops: Mapping[Kernel, dict[str, Loop]] = {}
        self.schedule = Schedule()

    def read(self, loops: Mapping[Kernel, dict[str, Loop]]) -> Schedule:
        """Read the section up to its closing brace; `loops` has those of each kernel by name."""
        self.loops = loops
        while not self.reader.accept(r"\}"):
            self._line()
        return self.schedule

    def _line(self) -> None:
        reader, names, schedule = self.reader, self.names, self.schedule
        if reader.text.startswith("kernel", reader.position):
            self._case()
        elif reader.text.startswith("k", reader.position):
            kernel = self._kernel()
            self._word("as")
            schedule.case_of[kernel] = names.lookup(r"kernel\d+", schedule.cases, "kernel")
        elif reader.accept(r"inline\b"):
            schedule.inlined.add(self._kernel())
            while reader.accept(","):
                schedule.inlined.add(self._kernel())
        elif reader.accept(r"stack\b"):
            schedule.stack.add(names.lookup(r"b\d+", self.buffers, "buffer"))
            while reader.accept(","):
                schedule.stack.add(names.lookup(r"b\d+", self.buffers, "buffer"))
        elif reader.accept(r"carry\b"):
            number = names.integer()
            self._word("of")
            schedule.stack_carries.add((names.op(), number))
            reader.expect(r"on stack\b", "'on stack'")
        elif reader.accept(r"parallel\b"):
            op = names.op()
            self._word("by")
            schedule.parallel[op] = names.integer()
        elif reader.accept(r"loop\b"):
            op = names.op()
            reader.expect(r"polls every\b", "'polls every'")
            schedule.asking[op] = names.integer()
        elif reader.accept(r"workspace\b"):
            schedule.workspace_bytes = reader.read_size()
        elif reader.accept(r"numbers\b"):
            schedule.number_bytes = names.integer()
        else:
            self._node_line()

    def _word(self, word: str) -> None:
        self.reader.expect(rf"{word}\b", repr(word))

    def _kernel(self) -> Kernel:
        return self.names.lookup(r"k\d+", self.kernels, "kernel")

    def _node(self) -> Node:
        return self.names.lookup(r"n\d+(?:\.\d+)?", self.nodes, "node")

    def _node_line(self) -> None:
        reader = self.reader
        start = reader.position
        node = self._node()
        if reader.accept(r"runs\b"):
            self.schedule.by_rows[node] = TEXT.read(reader)
            return
        if reader.accept(r"works in\b"):
            self.schedule.workspace[node] = reader.read_size()
            return
        if reader.accept(r"polls after\b"):
            self.schedule.polls[node] = reader.read_size()
            return
        reader.expect(r"feeds\b", "'runs', 'feeds', 'polls after' or 'works in'")
        rows, parts = self.names.rows()
        if not isinstance(node, OpaqueNode):
            reader.fail("only an op feeds rows to others", start)
        reader.expect(r"\{", "'{'")
        tasks: list[Task] = []
        while not reader.accept(r"\}"):
            tasks.append(self._task())
        self.schedule.chains[node] = TaskChain(rows, parts, tuple(tasks))

    def _task(self) -> Task:
        start = self.reader.position
        node = self._node()
        if not isinstance(node, FusionGroup | OpaqueNode):
            self.reader.fail("only a group or an op consumes rows", start)
        if not self.reader.accept(r"by\b"):
            return Task(node, None, None)
        kernel = self._kernel()
        self._word("rows")
        self.names.loops = self.loops[kernel]
        if kernel not in self.schedule.case_of:
            self.reader.fail("a kernel that consumes rows has to be called", start)
        return Task(node, kernel, self.schedule.case_of[kernel], self.names.loop_list())

    # --- how a kernel runs ---

    def _case(self) -> None:
        reader, names = self.reader, self.names
        name = reader.expect(r"kernel\d+", "a kernel such as kernel0")
        reader.expect("=", "'='")
        kernel = self._kernel()
        names.loops = self.loops[kernel]
        self._word("lanes")
        lanes = names.integer()
        self._word("block")
        block = names.integer()
        reader.expect(r"\{", "'{'")
        outer = names.loop() if reader.accept(r"outer\b") else None
        along: dict[Stage | None, Loop] = {}
        while reader.accept(r"stage\b"):
            stage = self._stage(kernel.stages)
            self._word("along")
            along[stage] = names.loop()
        tile = names.loop() if reader.accept(r"tile\b") else None
        squares = bool(reader.accept(r"by squares\b"))
        tiling = self._tiling(kernel.stages) if reader.accept(r"tiling of stage\b") else None
        reader.expect(r"\}", "'}'")
        vectors = VectorPlan(along, outer, lanes, block, tile, squares, tiling)
        case = KernelCase(name, kernel, vectors)
        self.schedule.cases[name] = self.schedule.case_of[kernel] = case

    def _stage(self, stages: Sequence[Stage]) -> Stage:
        start = self.reader.position
        number = self.names.integer()
        if not 0 <= number < len(stages):
            self.reader.fail(f"the kernel has {len(stages)} stages", start)
        return stages[number]

    def _tiling(self, stages: Sequence[Stage]) -> ReductionPlan:
        reader, names = self.reader, self.names
        stage = self._stage(stages)
        self._word("order")
        order = names.loop_list()
        self._word("kept")
        kept = names.loop_list()
        self._word("tile")
        tile = names.integer()
        self._word("together")
        together = names.integer()
        split = names.loop() if reader.accept(r"split\b") else None
        self._word("parts")
        parts = reader.read_size()
        self._word("each")
        return ReductionPlan(stage, order, kept, tile, together, split, parts, reader.read_size())
