"""The first half of a call: taking Python arguments apart by the instructions of a descriptor.

Every instruction is a function (shared, frame, code) that returns how many words it had, or 0 if
the arguments are not of the kind that the program was made for. What is found inside an argument is
held from then on: a comparison of keys can run Python code that takes it out again. Arrays that
have to be copied are noted, see `support.copies`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from weft.compiler.abi import (
    ALIGNED,
    EQUAL,
    NOTES_AT,
    SCALAR_VALUE,
    SIZE_STACK,
    ArrayField,
    Check,
    Extent,
    Same,
    Scalar,
    Shared,
    Size,
    Store,
    Stub,
    Take,
    Taken,
)
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import F32, F64, I32, I64, PTR, U8
from weft.compiler.lower.llvm.support.python import (
    INLINE,
    array_number,
    array_pointer,
    drop,
    dtype_number,
    is_a,
    is_native,
    keep,
    pointer,
    put,
    saturating_product,
    switch,
    type_of,
    word,
)

TAKE: Final = "weft_stub_take"
SIZE: Final = "weft_stub_size"
_MASKED_KINDS: Final = 64  # numbers of dtypes that a mask can hold


def emit_arguments(module: Module) -> None:
    """weft_stub_take(descriptor, frame): whether the objects in the frame match; fills it."""
    _emit_same(module)
    _emit_tuple(module)
    _emit_list(module)
    _emit_dict(module)
    _emit_scalar(module)
    _emit_numpy_scalar(module)
    _emit_array(module)
    _emit_stride(module)
    _emit_given(module)
    _emit_fields(module)
    _emit_held(module)
    _emit_size(module)
    _emit_checks(module)
    _emit_take(module)


def _name(instruction: Take) -> str:
    return f"weft_stub_take_{instruction.name.lower()}"


def _instruction(module: Module, instruction: Take) -> tuple[Function, V, V, V]:
    parameters = [("shared", PTR), ("frame", PTR), ("code", PTR)]
    f = module.function(_name(instruction), I64, parameters, **INLINE)
    shared, frame, code = f.arguments
    return f, shared, frame, code


def _object(f: Function, frame: V, code: V, operand: int = 1) -> V:
    """The object in the slot that an operand names."""
    return pointer(f, frame, word(f, code, operand))


def _miss_unless(f: Function, condition: V) -> None:
    """Return 0 unless a condition holds."""
    matches, misses = f.label("match"), f.label("miss")
    f.branch(condition, matches, misses)
    f.begin(misses)
    f.ret(f.const(0, I64))
    f.begin(matches)


def _emit_same(module: Module) -> None:
    """Only numbers, text and the like are compared, which runs no code of a user."""
    f, _, frame, code = _instruction(module, Take.SAME)
    thing, expected, how = _object(f, frame, code), pointer(f, code, 2), word(f, code, 3)
    is_same = f.variable(thing.eq(expected).to(I64))

    def compare() -> None:
        values = [thing, expected, f.const(EQUAL, I32)]
        is_same.set(f.call("PyObject_RichCompareBool", I32, values).eq(1).to(I64))

    def compare_bits() -> None:
        numbers = [f.call("PyFloat_AsDouble", F64, [x]) for x in (thing, expected)]
        left, right = [f.bitcast(number, I64) for number in numbers]
        is_same.set(left.eq(right).to(I64))

    with f.when(is_same.get().eq(0)):
        _miss_unless(f, type_of(f, thing).eq(type_of(f, expected)))
        switch(f, how, {Same.EQUAL: compare, Same.FLOAT: compare_bits})
    _miss_unless(f, is_same.get().ne(0))
    f.ret(f.const(4, I64))


def _emit_tuple(module: Module) -> None:
    """The type may be a subclass, as long as items are found in it as in a tuple."""
    f, _, frame, code = _instruction(module, Take.TUPLE)
    thing, length, first = _object(f, frame, code), word(f, code, 3), word(f, code, 4)
    _miss_unless(f, type_of(f, thing).eq(pointer(f, code, 2)))
    _miss_unless(f, f.call("PyTuple_Size", I64, [thing]).eq(length))
    with f.range(0, length) as i:
        put(f, keep(f, f.call("PyTuple_GetItem", PTR, [thing, i])), frame, first + i)
    f.ret(f.const(5, I64))


def _emit_list(module: Module) -> None:
    f, shared, frame, code = _instruction(module, Take.LIST)
    thing, length, first = _object(f, frame, code), word(f, code, 2), word(f, code, 3)
    _miss_unless(f, is_a(f, thing, shared, Shared.LIST))
    _miss_unless(f, f.call("PyList_Size", I64, [thing]).eq(length))
    with f.range(0, length) as i:
        put(f, keep(f, f.call("PyList_GetItem", PTR, [thing, i])), frame, first + i)
    f.ret(f.const(4, I64))


def _emit_dict(module: Module) -> None:
    """The keys in their order, on which results may depend. Comparing keys that are other objects
    can fail in Python code, but then the slow path finds out.
    """
    f, shared, frame, code = _instruction(module, Take.DICT)
    thing, length = _object(f, frame, code), word(f, code, 2)
    _miss_unless(f, is_a(f, thing, shared, Shared.DICT))
    _miss_unless(f, f.call("PyDict_Size", I64, [thing]).eq(length))
    place, key, value = f.variable(0, I64), f.variable(0, PTR), f.variable(0, PTR)
    with f.range(0, length) as i:
        outs = [place.pointer, key.pointer, value.pointer]
        _miss_unless(f, f.call("PyDict_Next", I32, [thing, *outs]).ne(0))
        put(f, keep(f, value.get()), frame, f.load(f.element(code, I64, i * 2 + 4), I64))
        expected = f.load(f.element(code, I64, i * 2 + 3), PTR)
        with f.when(key.get().ne(expected)):
            values = [key.get(), expected, f.const(EQUAL, I32)]
            _miss_unless(f, f.call("PyObject_RichCompareBool", I32, values).eq(1))
    f.ret(length * 2 + 3)


def _emit_scalar(module: Module) -> None:
    f, shared, frame, code = _instruction(module, Take.SCALAR)
    thing, kind, bits = _object(f, frame, code), word(f, code, 2), word(f, code, 4)
    place = f.element(frame, I64, word(f, code, 6))
    type = f.variable(0, PTR)
    whole, real, imaginary = f.variable(0, I64), f.variable(0.0, F64), f.variable(0.0, F64)
    overflow = f.variable(0, I32)
    types = {Scalar.FLOAT: Shared.FLOAT, Scalar.INT: Shared.INT, Scalar.BOOL: Shared.BOOL}
    types[Scalar.COMPLEX] = Shared.COMPLEX
    for scalar, place_of_type in types.items():
        with f.when(kind.eq(scalar)):
            type.set(pointer(f, shared, place_of_type))
    _miss_unless(f, type_of(f, thing).eq(type.get()))

    def read_int() -> None:
        values = [thing, overflow.pointer]
        whole.set(f.call("PyLong_AsLongLongAndOverflow", I64, values))
        real.set(whole.get().to(F64))

    def read_bool() -> None:
        whole.set(thing.eq(pointer(f, shared, Shared.TRUE)).to(I64))
        real.set(whole.get().to(F64))

    def read_complex() -> None:
        real.set(f.call("PyComplex_RealAsDouble", F64, [thing]))
        imaginary.set(f.call("PyComplex_ImagAsDouble", F64, [thing]))

    readers = {
        Scalar.FLOAT: lambda: real.set(f.call("PyFloat_AsDouble", F64, [thing])),
        Scalar.INT: read_int,
        Scalar.BOOL: read_bool,
        Scalar.COMPLEX: read_complex,
    }
    switch(f, kind, readers)
    _miss_unless(f, overflow.get().eq(0))
    fits = _store_number(
        f, word(f, code, 3), bits, place, whole.get(), (real.get(), imaginary.get())
    )
    _miss_unless(f, fits)
    put(f, place, frame, word(f, code, 5))
    f.ret(f.const(7, I64))


def _store_number(f: Function, how: V, bits: V, place: V, whole: V, parts: tuple[V, V]) -> V:
    """Store a number in one of the forms; whether it fits."""
    fits = f.variable(True, U8)
    shift = 64 - bits

    def store_float(number: int, part: V) -> None:
        with f.otherwise(bits.eq(64)) as choice:
            f.store(part, f.element(place, F64, number))
            choice.otherwise()
            f.store(part.to(F32), f.element(place, F32, number))

    def store_signed() -> None:
        fits.set(((whole << shift) >> shift).eq(whole).to(U8))
        f.store(whole, place)

    def store_unsigned() -> None:
        most = f.binary("lshr", f.const(-1, I64), shift)
        fits.set((whole.ge(0) & (bits.eq(64) | whole.le(most))).to(U8))
        f.store(whole, place)

    def store_complex() -> None:
        for number, part in enumerate(parts):
            store_float(number, part)

    forms = {
        Store.FLOAT: lambda: store_float(0, parts[0]),
        Store.SIGNED: store_signed,
        Store.UNSIGNED: store_unsigned,
        Store.COMPLEX: store_complex,
    }
    switch(f, how, forms)
    return fits.get().ne(0)


def _emit_numpy_scalar(module: Module) -> None:
    f, _, frame, code = _instruction(module, Take.NUMPY_SCALAR)
    thing = _object(f, frame, code)
    _miss_unless(f, type_of(f, thing).eq(pointer(f, code, 2)))
    put(f, f.offset(thing, SCALAR_VALUE), frame, word(f, code, 3))
    f.ret(f.const(4, I64))


def _emit_array(module: Module) -> None:
    f, shared, frame, code = _instruction(module, Take.ARRAY)
    array = _object(f, frame, code, Taken.SLOT)
    rank = word(f, code, Taken.RANK)
    _miss_unless(f, is_a(f, array, shared, Shared.ARRAY))
    dtype = array_pointer(f, array, ArrayField.DTYPE)
    expected = pointer(f, code, Taken.DTYPE)
    _check_dtype(f, dtype, expected, word(f, code, Taken.KINDS))
    _miss_unless(f, array_number(f, array, ArrayField.RANK).to(I64).eq(rank))
    dims = array_pointer(f, array, ArrayField.DIMS)
    with f.range(0, rank) as axis:
        kind, value = (word(f, code, axis * 2 + Taken.AXES + i) for i in range(2))
        _check_extent(f, frame, word(f, dims, axis), kind, value)
    flags = array_number(f, array, ArrayField.FLAGS).to(I64)
    avoided = word(f, code, Taken.AVOIDED)
    with f.when(avoided.ne(0)):
        _miss_unless(f, (flags & avoided).eq(0))
        _miss_unless(f, _array_bytes(f, array, code).gt(word(f, code, Taken.LEAST)))
    required = word(f, code, Taken.REQUIRED)
    in_order = dtype.eq(expected) | is_native(f, dtype)
    data_at = word(f, code, Taken.DATA_AT)
    with f.otherwise(in_order & (flags & required).eq(required)) as choice:
        put(f, array_pointer(f, array, ArrayField.DATA), frame, data_at)
        choice.otherwise()
        is_odd = ~in_order | (flags & ALIGNED).eq(0)
        most = f.select(is_odd, word(f, code, Taken.COPIED_ODD), word(f, code, Taken.COPIED))
        _miss_unless(f, _array_bytes(f, array, code).le(most))
        put(f, f.const(0, PTR), frame, data_at)
        note = f.element(frame, I64, word(f, code, Taken.NOTE_AT))
        put(f, pointer(f, frame, NOTES_AT), note, 0)
        put(f, code, note, 1)
        put(f, note, frame, NOTES_AT)
    f.ret(rank * 2 + Taken.AXES)


def _array_bytes(f: Function, array: V, code: V) -> V:
    """How many bytes the elements of an array have when they are apart."""
    bytes = f.variable(word(f, code, Taken.ITEM))
    dims = array_pointer(f, array, ArrayField.DIMS)
    with f.range(0, word(f, code, Taken.RANK)) as axis:
        bytes.set(saturating_product(f, bytes.get(), word(f, dims, axis)))
    return bytes.get()


def _emit_stride(module: Module) -> None:
    f, _, frame, code = _instruction(module, Take.STRIDE)
    strides = array_pointer(f, _object(f, frame, code), ArrayField.STRIDES)
    step, item = word(f, strides, word(f, code, 2)), word(f, code, 3)
    _miss_unless(f, f.remainder(step, item).eq(0))
    with f.when(word(f, code, 5).ne(0)):
        _miss_unless(f, step.ne(0) & step.ne(item))
    put(f, f.divide(step, item), frame, word(f, code, 4))
    f.ret(f.const(6, I64))


def _emit_fields(module: Module) -> None:
    f, _, frame, code = _instruction(module, Take.FIELDS)
    thing, count, first = _object(f, frame, code), word(f, code, 3), word(f, code, 4)
    _miss_unless(f, type_of(f, thing).eq(pointer(f, code, 2)))
    with f.range(0, count) as i:
        value = f.call("PyObject_GetAttr", PTR, [thing, pointer(f, code, i + 5)])
        _miss_unless(f, value.ne(0))
        put(f, value, frame, first + i)
    f.ret(count + 5)


def _emit_held(module: Module) -> None:
    """An array that waits for its value computes it when the attribute is asked for."""
    f, shared, frame, code = _instruction(module, Take.HELD)
    thing = _object(f, frame, code)
    _miss_unless(f, type_of(f, thing).eq(pointer(f, code, 2)))
    place = f.offset(thing, word(f, code, 3))
    none = pointer(f, shared, Shared.NONE)
    with f.when(_is_no_array(f, place, none)):
        found = f.call("PyObject_GetAttr", PTR, [thing, pointer(f, code, 4)])
        _miss_unless(f, found.ne(0))
        drop(f, found)
    _miss_unless(f, ~_is_no_array(f, place, none))
    put(f, keep(f, f.load(place, PTR)), frame, word(f, code, 5))
    f.ret(f.const(6, I64))


def _is_no_array(f: Function, place: V, none: V) -> V:
    """Whether there is null or None at a place that holds an array otherwise."""
    held = f.load(place, PTR)
    return held.eq(0) | held.eq(none)


def _emit_given(module: Module) -> None:
    f, _, frame, code = _instruction(module, Take.GIVEN)
    place, count = word(f, code, 1), word(f, code, 2)
    with f.range(0, count) as i:
        put(f, word(f, code, i + 3), frame, place + i)
    f.ret(count + 3)


def _check_dtype(f: Function, found: V, expected: V, kinds: V) -> None:
    """The dtype itself, or another object of the same kind, in any order of bytes."""
    other, same = f.label("other"), f.label("same")
    f.branch(found.eq(expected), same, other)
    f.begin(other)
    number = dtype_number(f, found)
    _miss_unless(f, number.ge(0) & number.lt(_MASKED_KINDS))
    _miss_unless(f, (f.binary("lshr", kinds, number) & 1).ne(0))
    f.jump(same)
    f.begin(same)


def _check_extent(f: Function, frame: V, found: V, kind: V, value: V) -> None:
    expected = f.variable(found)
    switch(
        f,
        kind,
        {
            Extent.EQUAL: lambda: expected.set(value),
            Extent.BIND: lambda: put(f, found, frame, value),
            Extent.MATCH: lambda: expected.set(word(f, frame, value)),
        },
    )
    _miss_unless(f, expected.get().eq(found))


def _emit_size(module: Module) -> None:
    """weft_stub_size(frame, code): the value of a size."""
    f = module.function(SIZE, I64, [("frame", PTR), ("code", PTR)], internal=True)
    frame, code = f.arguments
    stack = f.stack(I64, SIZE_STACK, align=8)
    top = f.variable(0, I64)  # how many values are below the last one
    last = f.variable(0, I64)

    def push(value: V) -> None:
        put(f, last.get(), stack, top.get())
        top.set(top.get() + 1)
        last.set(value)

    def combine(value: V) -> None:
        top.set(top.get() - 1)
        last.set(value)

    with f.range(0, word(f, code, 0)) as i:
        instruction, operand = word(f, code, i * 2 + 1), word(f, code, i * 2 + 2)
        left = word(f, stack, f.maximum(top.get() - 1, 0))
        right = last.get()
        cases = {
            Size.CONSTANT: lambda: push(operand),
            Size.NUMBER: lambda: push(word(f, frame, operand)),
            Size.ADD: lambda: combine(left + right),
            Size.MULTIPLY: lambda: combine(left * right),
            Size.DIVIDE: lambda: combine(_floor_divide(f, left, right)),
            Size.MAXIMUM: lambda: combine(f.maximum(left, right)),
        }
        switch(f, instruction, cases)
    f.ret(last.get())


def _floor_divide(f: Function, left: V, right: V) -> V:
    """Rounded down. A divisor that is not positive counts as 1: sizes never have one."""
    divisor = f.maximum(right, 1)
    rest = f.remainder(left, divisor)
    return f.divide(left, divisor) - rest.lt(0).to(I64)


def _emit_checks(module: Module) -> None:
    """weft_stub_check(frame, code): whether the checks that need all symbols hold."""
    f = module.function("weft_stub_check", I64, [("frame", PTR), ("code", PTR)], **INLINE)
    frame, start = f.arguments
    place = f.variable(start)

    def check_bounds() -> None:
        code = place.get()
        value = word(f, frame, word(f, code, 1))
        _miss_unless(f, value.ge(word(f, code, 2)) & value.le(word(f, code, 3)))
        place.set(f.element(code, I64, 4))

    def check_extent() -> None:
        code = place.get()
        dims = array_pointer(f, _object(f, frame, code), ArrayField.DIMS)
        size = f.element(code, I64, 3)
        expected = f.call(SIZE, I64, [frame, size])
        _miss_unless(f, word(f, dims, word(f, code, 2)).eq(expected))
        place.set(f.element(size, I64, word(f, size, 0) * 2 + 1))

    def check_stride() -> None:
        code = place.get()
        array, axis = _object(f, frame, code), word(f, code, 2)
        size = word(f, array_pointer(f, array, ArrayField.DIMS), axis)
        step = word(f, array_pointer(f, array, ArrayField.STRIDES), axis)
        _miss_unless(f, size.lt(2) | step.eq(word(f, code, 3)))
        place.set(f.element(code, I64, 4))

    cases = {Check.BOUNDS: check_bounds, Check.EXTENT: check_extent, Check.STRIDE: check_stride}
    with f.loop_while() as loop:
        instruction = word(f, place.get(), 0)
        loop.stop_if(instruction.eq(Check.DONE))
        switch(f, instruction, cases)
    f.ret(f.const(1, I64))


def _emit_take(module: Module) -> None:
    f = module.function(TAKE, I64, [("descriptor", PTR), ("frame", PTR)], **INLINE)
    descriptor, frame = f.arguments
    shared = pointer(f, descriptor, Stub.SHARED)
    place = f.variable(f.element(descriptor, I64, Stub.ARGUMENT_CODE))
    length = f.variable(0, I64)

    def run(instruction: Take) -> None:
        length.set(f.call(_name(instruction), I64, [shared, frame, place.get()]))

    with f.loop_while() as loop:
        instruction = word(f, place.get(), 0)
        loop.stop_if(instruction.eq(Take.DONE))
        length.set(0)
        cases = {take: partial(run, take) for take in Take if take is not Take.DONE}
        switch(f, instruction, cases)
        _miss_unless(f, length.get().ne(0))
        place.set(f.element(place.get(), I64, length.get()))
    checks = f.element(descriptor, I64, word(f, descriptor, Stub.CHECK_CODE))
    f.ret(f.call("weft_stub_check", I64, [frame, checks]))
