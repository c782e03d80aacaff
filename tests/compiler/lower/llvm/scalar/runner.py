"""Runs elementwise ops natively on arrays, many in one module, and says what they should give."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.compiler.lower.harness import shared_mathematics
from weft.compiler.ir.dtypes import DType, dtype
from weft.compiler.ir.graph import Op, Parameter
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.machine import compile_text
from weft.runtime.native import Library

NDArray = np.ndarray[Any, Any]


@dataclass
class Case:
    """An op on 1-D arrays of equal length."""

    op: OpDef
    arrays: tuple[NDArray, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def dtypes(self) -> list[DType]:
        return [dtype(array.dtype) for array in self.arrays]

    @property
    def result(self) -> DType:
        made = self.op.infer(*[ArrayType(d, ()) for d in self.dtypes], **self.attributes)
        assert isinstance(made, ArrayType)
        return made.dtype

    def __str__(self) -> str:
        given = ", ".join(
            [*map(str, self.dtypes), *[f"{k}={v}" for k, v in self.attributes.items()]]
        )
        return f"{self.op.name}({given})"

    def expected(self) -> NDArray:
        """What the reference says, in the result's dtype as the evaluator rounds it."""
        with np.errstate(all="ignore"):
            made = np.asarray(self.op.reference(*self.arrays, **self.attributes))
            return made.astype(self.result.numpy)


def apply(f: Function, case: Case, operands: Sequence[Element]) -> Element:
    """The op's element, from those of its operands."""
    types = [ArrayType(d, ()) for d in case.dtypes]
    op = Op(
        case.op,
        tuple(Parameter(type) for type in types),
        case.attributes,
        (),
        (ArrayType(case.result, ()),),
        None,
    )
    (made,) = scalar.lower(f, op, operands)
    return made


def run(cases: Sequence[Case], lanes: int) -> list[tuple[NDArray, NDArray]]:
    """The results of each case, computed in vectors of `lanes` and one by one."""
    module = Module()
    for number, case in enumerate(cases):
        emit_loop(module, f"case{number}", case, lanes)
    names = [f"case{number}" for number in range(len(cases))]
    library = Library(compile_text(module.text()), names, shared_mathematics(module))
    found = []
    for name, case in zip(names, cases, strict=True):
        whole = len(case.arrays[0]) // lanes * lanes
        address = library.address(name)
        found.append((_call(address, case, whole), _call(address, case, 0)))
    library.close()
    return found


def emit_loop(module: Module, name: str, case: Case, lanes: int) -> None:
    """A loop over vectors up to `whole`, and one over single elements from there; complex arrays
    come as one array for each part.
    """
    parts = [_part_count(d) for d in (*case.dtypes, case.result)]
    pointers = [(f"p{i}", PTR) for i in range(sum(parts))]
    f = module.function(name, VOID, [("n", I64), ("whole", I64), *pointers])
    n, whole, *addresses = f.arguments

    def step(i: V, width: int) -> None:
        places = list(addresses)
        operands = [_load(f, places, d, i, width) for d in case.dtypes]
        made = apply(f, case, operands)
        for value, place in zip(made if isinstance(made, tuple) else (made,), places, strict=True):
            assert value.type is of_dtype(case.result).with_lanes(width), case
            f.store(value, f.element(place, value.type, i))

    with f.range(0, whole, lanes) as i:
        step(i, lanes)
    with f.range(whole, n) as i:
        step(i, 0)
    f.ret()


def _part_count(of: DType) -> int:
    return 2 if of.is_complex else 1


def _load(f: Function, places: list[V], of: DType, i: V, width: int) -> Element:
    type = of_dtype(of)
    values = [
        f.load(f.element(places.pop(0), type, i), type.with_lanes(width))
        for _ in range(_part_count(of))
    ]
    return (values[0], values[1]) if of.is_complex else values[0]


def _call(address: int, case: Case, whole: int) -> NDArray:
    held = [np.ascontiguousarray(p) for array in case.arrays for p in _parts(array)]
    n = len(case.arrays[0])
    results = [np.empty(n, case.result.real.numpy) for _ in range(_part_count(case.result))]
    pointers = [array.ctypes.data for array in (*held, *results)]
    kinds = [ctypes.c_int64] * 2 + [ctypes.c_void_p] * len(pointers)
    ctypes.CFUNCTYPE(None, *kinds)(address)(n, whole, *pointers)
    if not case.result.is_complex:
        return results[0]
    made = np.empty(n, case.result.numpy)
    made.real, made.imag = results
    return made


def _parts(array: NDArray) -> tuple[NDArray, ...]:
    return (array.real, array.imag) if np.iscomplexobj(array) else (array,)
