"""Short loops as straight code, so that their steps fuse with each other and their neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weft.compiler.ir.edit import edit
from weft.compiler.ir.graph import Graph, Op, Region, Value
from weft.compiler.ops import control
from weft.compiler.ops.helpers import reshape, zeros
from weft.compiler.ops.regions import inline_here
from weft.compiler.ops.shape import concatenate, part


def unroll_scans(
    graph: Graph, fired: Counter[str] | None = None, *, most_steps: int = 4, most_ops: int = 64
) -> Graph:
    """The graph without scans of at most `most_steps` steps that have at most `most_ops` ops in
    all.
    """
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        length = op.attributes["length"]
        if not isinstance(length, int) or length > most_steps:
            return None
        if length * _count(op.regions[0]) > most_ops:
            return None
        counts[f"{length} steps"] += 1
        return _unrolled(op, length)

    return edit(graph, visit, (control.scan,))


def _count(region: Region) -> int:
    return sum(1 + sum(_count(inner) for inner in op.regions) for op in region.ops)


def _unrolled(op: Op, length: int) -> list[Value]:
    (body,) = op.regions
    n_consts, n_carry = op.attributes["n_consts"], op.attributes["n_carry"]
    consts, sequences = op.operands[:n_consts], op.operands[n_consts + n_carry :]
    carry: list[Value] = list(op.operands[n_consts : n_consts + n_carry])
    outs: list[list[Value]] = [[] for _ in body.results[n_carry:]]
    for index in reversed(range(length)) if op.attributes["reverse"] else range(length):
        steps = [_at(sequence, index) for sequence in sequences]
        results = inline_here(body, [*consts, *carry, *steps])
        carry = results[:n_carry]
        for column, out in zip(outs, results[n_carry:], strict=True):
            column.append(out)
    if op.attributes["reverse"]:
        outs = [column[::-1] for column in outs]
    stacked = [
        _stack(column) if column else zeros(result.type)
        for column, result in zip(outs, op.results[n_carry:], strict=True)
    ]
    return [*carry, *stacked]


def _at(sequence: Value, index: int) -> Value:
    taken = part(sequence, 0, index, index + 1)
    return reshape(taken, sequence.type.shape[1:])


def _stack(values: Sequence[Value]) -> Value:
    rows = [reshape(value, (1, *value.type.shape)) for value in values]
    return rows[0] if len(rows) == 1 else concatenate(*rows, axis=0)
