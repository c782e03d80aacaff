"""LLVM IR as text, written through Python expressions.

`Function` appends instructions; `V` is an SSA value whose operators emit. IR is built as text and
not as objects because that is several times faster, and compile time is what users wait for.

    module = Module()
    f = module.function("axpy", VOID, [("n", I64), ("a", F32), ("x", PTR), ("y", PTR)])
    n, a, x, y = f.arguments
    with f.range(0, n) as i:
        at = f.element(y, F32, i)
        f.store(a * f.load(f.element(x, F32, i), F32) + f.load(at, F32), at)
    f.ret()
    print(module.text())
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from weft.compiler.lower.llvm.emit import partition as parts
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.emit.blocks import EmittedLoop, Otherwise
from weft.compiler.lower.llvm.emit.constants import constant_text
from weft.compiler.lower.llvm.emit.frame import Frame
from weft.compiler.lower.llvm.emit.types import I1, I8, I64, PTR, VOID, Type, element_type
from weft.compiler.lower.llvm.emit.value import Operand as Operand
from weft.compiler.lower.llvm.emit.value import V as V
from weft.compiler.lower.llvm.emit.value import Variable as Variable
from weft.compiler.lower.llvm.target import Target, host

_COMPARE: Final = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
}

_ARITHMETIC: Final = re.compile(r"= (?:fadd|fsub|fmul|fdiv) ")


class Function:
    """A function under construction: a list of lines, and the block that is being filled."""

    def __init__(
        self,
        module: Module,
        name: str,
        result: Type,
        parameters: Sequence[tuple[str, Type]],
        *,
        attributes: str = "",
        internal: bool = False,
        parameter_attributes: str = "",
        flags: str = "contract",
        glue: bool = False,
    ) -> None:
        """`glue` says that it does little but call others, and is not called in loops."""
        self.module = module
        self.name = name
        self.result = result
        self.parameters = list(parameters)
        self.attributes = attributes
        self.internal = internal
        self.parameter_attributes = parameter_attributes
        self.flags = flags
        self.is_glue = glue
        self.has_loops = False
        self.load_suffix = ""
        self.arguments = [V(self, f"%{name}", type) for name, type in parameters]
        self.held: list[tuple[V, V | None]] = []  # memory that was taken, see `workspace`
        self.has_exit = False  # whether it may return early
        self.frame = Frame(name)
        self._lines: list[str] = []
        self._count = 0
        self._block = "entry"

    @property
    def has_arithmetic(self) -> bool:
        """Whether it adds or multiplies floats itself."""
        return any(_ARITHMETIC.search(line) for line in self._lines)

    # --- text ---

    @property
    def length(self) -> int:
        """The number of its lines."""
        return len(self.frame.lines) + len(self._lines)

    def declaration(self) -> str:
        """How another module makes the function known."""
        types = ", ".join(type.text for _, type in self.parameters)
        return f"declare {self.result.text} @{self.name}({types})"

    def text(self, *, is_exported: bool = False) -> str:
        """The definition; one that is exported can be called from other modules."""
        pointers = f" {self.parameter_attributes}" if self.parameter_attributes else ""
        parameters = ", ".join(
            f"{type.text}{pointers if type.is_pointer else ''} %{name}"
            for name, type in self.parameters
        )
        linkage = "internal " if self.internal and not is_exported else ""
        head = f"define {linkage}{self.result.text} @{self.name}({parameters}) {self.attributes} {{"
        last = workspace.exit_lines(self)
        return "\n".join([head, "entry:", *self.frame.lines, *self._lines, *last, "}"])

    def line(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def instruction(self, text: str, type: Type) -> V:
        """Append an instruction and return its value."""
        self._count += 1
        ref = f"%.{self._count}"
        self._lines.append(f"  {ref} = {text}")
        return V(self, ref, type)

    def comment(self, text: str) -> None:
        self._lines.append(f"  ; {text}")

    # --- constants ---

    def const(self, value: Operand, type: Type) -> V:
        """A Python number as a constant of a type (in all lanes); a value stays as it is."""
        if isinstance(value, V):
            return value
        return V(self, constant_text(value, type), type)

    def like(self, value: Operand, other: V) -> V:
        return value if isinstance(value, V) else self.const(value, other.type)

    def lanes_const(self, values: Sequence[float | int], type: Type) -> V:
        """A vector constant with a number per lane; `type` is the element type."""
        items = ", ".join(f"{type.text} {constant_text(value, type)}" for value in values)
        return V(self, f"<{items}>", type.with_lanes(len(values)))

    # --- arithmetic ---

    def _pair(self, x: Operand, y: Operand) -> tuple[V, V]:
        if isinstance(x, V):
            return x, self.like(y, x)
        assert isinstance(y, V)
        return self.like(x, y), y

    def binary(self, instruction: str, x: Operand, y: Operand) -> V:
        """A named LLVM instruction on two values of one type."""
        a, b = self._pair(x, y)
        return self.instruction(f"{instruction} {a.type.text} {a.ref}, {b.ref}", a.type)

    def _arithmetic(self, name: str, x: Operand, y: Operand) -> V:
        a, b = self._pair(x, y)
        if a.type.is_float:
            name = f"f{name} {self.flags}" if self.flags else f"f{name}"
        return self.binary(name, a, b)

    def add(self, x: Operand, y: Operand) -> V:
        return self._arithmetic("add", x, y)

    def sub(self, x: Operand, y: Operand) -> V:
        return self._arithmetic("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> V:
        return self._arithmetic("mul", x, y)

    def divide(self, x: Operand, y: Operand) -> V:
        """Division; of integers towards zero, and undefined for a divisor 0."""
        a, b = self._pair(x, y)
        name = "fdiv" if a.type.is_float else "sdiv" if a.type.is_signed else "udiv"
        return self.binary(name, a, b)

    def remainder(self, x: Operand, y: Operand) -> V:
        """What `divide` leaves."""
        a, b = self._pair(x, y)
        name = "frem" if a.type.is_float else "srem" if a.type.is_signed else "urem"
        return self.binary(name, a, b)

    def neg(self, x: V) -> V:
        if x.type.is_float:
            return self.instruction(f"fneg {x.type.text} {x.ref}", x.type)
        return self.binary("sub", 0, x)

    def compare(self, how: str, x: Operand, y: Operand) -> V:
        """A comparison by name (eq, ne, lt, le, gt, ge); false beside NaN, except ne."""
        a, b = self._pair(x, y)
        ordered, signed, unsigned = _COMPARE[how]
        result = I1.with_lanes(a.type.lanes)
        if a.type.is_float:
            return self.instruction(f"fcmp {ordered} {a.type.text} {a.ref}, {b.ref}", result)
        predicate = signed if a.type.is_signed else unsigned
        return self.instruction(f"icmp {predicate} {a.type.text} {a.ref}, {b.ref}", result)

    def is_nan(self, x: V) -> V:
        return self.instruction(
            f"fcmp uno {x.type.text} {x.ref}, {x.ref}", I1.with_lanes(x.type.lanes)
        )

    def select(self, condition: V, on_true: Operand, on_false: Operand) -> V:
        a, b = self._pair(on_true, on_false)
        return self.instruction(
            f"select {condition.type.text} {condition.ref}, {a.type.text} {a.ref}, "
            f"{b.type.text} {b.ref}",
            a.type,
        )

    def minimum(self, x: Operand, y: Operand) -> V:
        """The smaller of two integers; of floats the first unless the second is smaller."""
        a, b = self._pair(x, y)
        return self.select(b.lt(a), b, a)

    def maximum(self, x: Operand, y: Operand) -> V:
        """The larger of two integers; of floats the first unless the second is larger."""
        a, b = self._pair(x, y)
        return self.select(b.gt(a), b, a)

    # --- intrinsics ---

    def intrinsic(self, name: str, *values: V, result: Type | None = None) -> V:
        """An LLVM intrinsic overloaded on the first value's type, such as `sqrt` or `fma`."""
        type = result or values[0].type
        return self.call(f"llvm.{name}.{values[0].type.suffix}", type, values)

    def fma(self, x: V, y: Operand, z: Operand) -> V:
        """x * y + z, rounded once."""
        return self.intrinsic("fma", x, self.like(y, x), self.like(z, x))

    def sqrt(self, x: V) -> V:
        return self.intrinsic("sqrt", x)

    def abs(self, x: V) -> V:
        """|x| of floats."""
        return self.intrinsic("fabs", x)

    def floor(self, x: V) -> V:
        return self.intrinsic("floor", x)

    def round(self, x: V) -> V:
        """The nearest whole number, the even one of two equally near."""
        return self.intrinsic("roundeven", x)

    def trunc(self, x: V) -> V:
        return self.intrinsic("trunc", x)

    def copysign(self, x: V, y: Operand) -> V:
        """The magnitude of a float with the sign of another, by their bits: LLVM's intrinsic may
        call a function that no process has, where the sign comes from a bfloat.
        """
        bits, sign = element_type("uint", x.type.bits), 1 << (x.type.bits - 1)
        magnitude, other = x.bits(bits) & (sign - 1), self.like(y, x).bits(bits) & sign
        return (magnitude | other).bits(x.type.element)

    # --- conversion ---

    def convert(self, x: V, type: Type) -> V:
        """To another element type: floats to integers are truncated (saturating, NaN to 0), bools
        are 0 and 1, anything to bool is x != 0.
        """
        target = type.with_lanes(x.type.lanes)
        source = x.type
        if source is target:
            return x
        if target.is_bool:
            return x.ne(0)
        return self.instruction(*self._conversion(x, source, target))

    def _conversion(self, x: V, source: Type, target: Type) -> tuple[str, Type]:
        def plain(name: str) -> tuple[str, Type]:
            return f"{name} {source.text} {x.ref} to {target.text}", target

        if source.is_float and target.is_float:
            return plain("fpext" if source.bits < target.bits else "fptrunc")
        if source.is_float:
            name = "fptosi" if target.is_signed else "fptoui"
            called = f"llvm.{name}.sat.{target.suffix}.{source.suffix}"
            self.module.declare(called, target, [source])
            return f"call {target.text} @{called}({source.text} {x.ref})", target
        if target.is_float:
            return plain("sitofp" if source.is_signed else "uitofp")
        if source.bits == target.bits:
            return plain("bitcast")
        if source.bits > target.bits:
            return plain("trunc")
        return plain("sext" if source.is_signed else "zext")

    def bitcast(self, x: V, type: Type) -> V:
        target = type.with_lanes(x.type.lanes)
        if x.type.text == target.text:
            return V(self, x.ref, target)
        return self.instruction(f"bitcast {x.type.text} {x.ref} to {target.text}", target)

    # --- vectors ---

    def splat(self, x: V, lanes: int) -> V:
        """A scalar in all lanes; a vector stays as it is."""
        if x.type.lanes or not lanes:
            return x
        type = x.type.with_lanes(lanes)
        if x.ref[0] not in "%@":
            return V(self, f"splat ({x.type.text} {x.ref})", type)
        first = self.instruction(
            f"insertelement {type.text} poison, {x.type.text} {x.ref}, i32 0", type
        )
        return self.instruction(
            f"shufflevector {type.text} {first.ref}, {type.text} poison, "
            f"<{lanes} x i32> zeroinitializer",
            type,
        )

    def shuffle(self, x: V, y: V, mask: Sequence[int]) -> V:
        """Lanes picked from two vectors laid end to end; -1: any value."""
        picks = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in mask)
        type = x.type.with_lanes(len(mask))
        text = x.type.text
        return self.instruction(
            f"shufflevector {text} {x.ref}, {text} {y.ref}, <{len(mask)} x i32> <{picks}>", type
        )

    def extract(self, x: V, lane: int) -> V:
        return self.instruction(f"extractelement {x.type.text} {x.ref}, i32 {lane}", x.type.element)

    def insert(self, x: V, lane: int, value: V) -> V:
        return self.instruction(
            f"insertelement {x.type.text} {x.ref}, {value.type.text} {value.ref}, i32 {lane}",
            x.type,
        )

    # --- memory ---

    def element(self, pointer: V, type: Type, index: Operand) -> V:
        """The address of the element at `index` (an i64) of an array of `type`; a bool is a byte
        there.
        """
        at = self.const(index, I64)
        held = "i8" if type.is_bool else type.element.text
        return self.instruction(
            f"getelementptr inbounds {held}, ptr {pointer.ref}, i64 {at.ref}", PTR
        )

    def offset(self, pointer: V, bytes: Operand) -> V:
        """The address a number of bytes further on."""
        return self.element(pointer, I8, bytes)

    def load(self, pointer: V, type: Type, *, align: int = 0, suffix: str = "") -> V:
        """The value at an address; vectors are read from consecutive elements. `align` is in bytes
        (0: that of the element).
        """
        bytes = align or type.itemsize
        suffix += self.load_suffix
        if type.is_bool:
            stored = I8.with_lanes(type.lanes)
            text = f"load {stored.text}, ptr {pointer.ref}, align 1{suffix}"
            byte = self.instruction(text, stored)
            return self.instruction(f"trunc {stored.text} {byte.ref} to {type.text}", type)
        return self.instruction(f"load {type.text}, ptr {pointer.ref}, align {bytes}{suffix}", type)

    def store(self, value: V, pointer: V, *, align: int = 0, suffix: str = "") -> None:
        """Write a value (bools as bytes 0 and 1) to an address."""
        if value.type.is_bool:
            stored = I8.with_lanes(value.type.lanes)
            value = self.instruction(f"zext {value.type.text} {value.ref} to {stored.text}", stored)
        bytes = align or value.type.itemsize
        text = f"{value.type.text} {value.ref}"
        self.line(f"store {text}, ptr {pointer.ref}, align {bytes}{suffix}")

    def stack(self, type: Type, count: int = 1, *, align: int = 0) -> V:
        """Room for as long as the function runs: on the stack, or elsewhere, see `Frame`."""
        return self.frame.elsewhere(type, count, align) or self.on_stack(type, count, align)

    def on_stack(self, type: Type, count: int = 1, align: int = 0) -> V:
        """Room on the stack, wherever the instructions before it stand."""
        self._count += 1
        ref = f"%.{self._count}"
        self.frame.take(ref, type, count, align)
        return V(self, ref, PTR)

    def pointer_slot(self) -> V:
        """Room for a pointer on the stack, null when the function is entered."""
        slot = self.on_stack(PTR)
        self.frame.lines.append(f"  store ptr null, ptr {slot.ref}, align 8")
        return slot

    def at_entry(self, text: str, type: Type) -> V:
        """An instruction at the start of the function, where only its arguments are known."""
        self._count += 1
        ref = f"%.{self._count}"
        self.frame.lines.append(f"  {ref} = {text}")
        return V(self, ref, type)

    def variable(self, initial: Operand, type: Type | None = None) -> Variable:
        """A mutable variable."""
        if type is None:
            assert isinstance(initial, V)
            type = initial.type
        result = Variable(self, self.on_stack(type), type)
        result.set(initial)
        return result

    # --- control ---

    def call(
        self,
        name: str,
        result: Type,
        values: Sequence[V],
        *,
        attributes: str = "",
        immediate: Sequence[int] = (),
    ) -> V:
        """Call a function by name; what the module does not define is declared. `immediate` counts
        the arguments that an intrinsic wants as constants.
        """
        self.module.declare(name, result, [value.type for value in values], immediate)
        self.module.calls[name] += 1
        arguments = ", ".join(f"{value.type.text} {value.ref}" for value in values)
        return self._called(f"call {result.text} @{name}({arguments}){attributes}", result)

    def call_pointer(self, pointer: V, result: Type, values: Sequence[V]) -> V:
        """Call the function at an address."""
        arguments = ", ".join(f"{value.type.text} {value.ref}" for value in values)
        return self._called(f"call {result.text} {pointer.ref}({arguments})", result)

    def _called(self, text: str, result: Type) -> V:
        if result is VOID:
            self.line(text)
            return V(self, "", VOID)
        return self.instruction(text, result)

    def label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def begin(self, label: str) -> None:
        """Start filling a block."""
        self._lines.append(f"{label}:")
        self._block = label

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, condition: V, on_true: str, on_false: str, *, likely: bool = False) -> None:
        weights = ', !prof !{!"branch_weights", i32 1, i32 2000}' if likely else ""
        self.line(f"br i1 {condition.ref}, label %{on_true}, label %{on_false}{weights}")

    def ret(self, value: V | None = None) -> None:
        self.line("ret void" if value is None else f"ret {value.type.text} {value.ref}")

    @contextmanager
    def range(self, start: Operand, stop: Operand, step: Operand = 1) -> Iterator[V]:
        """A loop whose i64 counter is given to the `with` block; upwards, as long as it is below
        `stop`.
        """
        self.has_loops = True
        first, last = self.const(start, I64), self.const(stop, I64)
        head, body, done = self.label("loop"), self.label("body"), self.label("done")
        before = self._block
        self.jump(head)
        self.begin(head)
        self._count += 1
        counter = V(self, f"%.{self._count}", I64)
        place = len(self._lines)
        self._lines.append("")
        self.branch(counter.lt(last), body, done)
        self.begin(body)
        yield counter
        following = self.instruction(f"add nsw i64 {counter.ref}, {self.const(step, I64).ref}", I64)
        origins = f"[ {first.ref}, %{before} ], [ {following.ref}, %{self._block} ]"
        self._lines[place] = f"  {counter.ref} = phi i64 {origins}"
        self.jump(head)
        self.begin(done)

    @contextmanager
    def loop_while(self, hint: str = "while") -> Iterator[EmittedLoop]:
        """A loop that goes on until `loop.stop_unless(condition)` or `loop.stop_if` ends it."""
        self.has_loops = True
        head, done = self.label(hint), self.label("end")
        self.jump(head)
        self.begin(head)
        yield EmittedLoop(self, done)
        self.jump(head)
        self.begin(done)

    @contextmanager
    def when(self, condition: V, *, seldom: bool = False) -> Iterator[None]:
        """A block that runs only if a condition holds, which it may do seldom."""
        then, done = self.label("then"), self.label("join")
        self.branch(condition, then, done, likely=seldom)
        self.begin(then)
        yield
        self.jump(done)
        self.begin(done)

    @contextmanager
    def otherwise(self, condition: V) -> Iterator[Otherwise]:
        """Two blocks: the `with` block runs if the condition holds; after `choice.otherwise()` the
        rest of it runs if not.

            with f.otherwise(x.lt(0)) as choice:
                ...            # x < 0
                choice.otherwise()
                ...            # else
        """
        then, other, done = self.label("then"), self.label("else"), self.label("join")
        self.branch(condition, then, other)
        self.begin(then)
        choice = Otherwise(self, other, done)
        yield choice
        assert choice.was_used, "call choice.otherwise() once inside the block"
        self.jump(done)
        self.begin(done)


class Module:
    """Functions, declarations and constant data that are compiled together."""

    def __init__(self, target: Target | None = None) -> None:
        """For a machine; for this one unless told."""
        self._target = target
        self.functions: dict[str, Function] = {}
        self._declarations: dict[str, str] = {}
        self._data: dict[bytes, str] = {}
        self._globals: list[str] = []
        self.calls: Counter[str] = Counter()

    @property
    def target(self) -> Target:
        """The machine that the code is for."""
        return self._target or host()

    def function(
        self, name: str, result: Type, parameters: Sequence[tuple[str, Type]], **options: Any
    ) -> Function:
        """Start a function; see `Function` for the options."""
        assert name not in self.functions, f"{name} is defined twice"
        built = Function(self, name, result, parameters, **options)
        self.functions[name] = built
        return built

    def declare(
        self, name: str, result: Type, parameters: Sequence[Type], immediate: Sequence[int] = ()
    ) -> None:
        """Make an outside function known; for one that the module defines this does nothing."""
        if name not in self._declarations:
            types = ", ".join(
                f"{type.text} immarg" if number in immediate else type.text
                for number, type in enumerate(parameters)
            )
            self._declarations[name] = f"declare {result.text} @{name}({types})"

    def declare_text(self, name: str, text: str) -> None:
        """Make a function known whose declaration needs more than types."""
        self._declarations.setdefault(name, text)

    def data(self, array: np.ndarray[Any, Any]) -> str:
        """The symbol of constant bytes in the module, shared between equal ones; `@name` is its
        address.
        """
        raw = np.ascontiguousarray(array).tobytes()
        if raw not in self._data:
            name = f"data.{len(self._data)}"
            escaped = "".join(f"\\{byte:02X}" for byte in raw)
            self._globals.append(
                f'@{name} = internal constant [{len(raw)} x i8] c"{escaped}", align 64'
            )
            self._data[raw] = name
        return self._data[raw]

    def external(self, name: str) -> None:
        """Make memory known that is linked in under a name."""
        self._declarations.setdefault(name, f"@{name} = external global i8")

    def outside(self, prefix: str) -> list[str]:
        """The functions and the memory of others whose names begin so."""
        return [name for name in self._declarations if name.startswith(prefix)]

    def zeros(self) -> None:
        """Make `@weft.zeros` known: a few zero bytes that may be read in place of anything."""
        line = "@weft.zeros = internal constant [64 x i8] zeroinitializer, align 64"
        if line not in self._globals:
            self._globals.append(line)

    def text(self) -> str:
        """Everything, as LLVM reads it."""
        return self.texts(1)[0]

    def texts(self, most: int) -> list[str]:
        """The module in up to `most` parts, which can be compiled at the same time and are linked
        together.
        """
        parts.settle(self.functions, self.calls)
        outside = {n: text for n, text in self._declarations.items() if n not in self.functions}
        return parts.texts(list(self.functions.values()), outside, self._globals, most)
