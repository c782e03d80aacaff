"""The verifier finds what is wrong with a loop program, names the step and shows the line.

Every fault is a change of a golden text, which by itself is right.
"""

from __future__ import annotations

import pytest

from tests.compiler.loops.samples import SAMPLES
from tests.compiler.loops.test_text import FOLDER
from weft.compiler.ir.errors import VerifyError
from weft.compiler.loops.parse import parse_program
from weft.compiler.loops.pipeline import COLUMN, lower_to_loops
from weft.compiler.loops.program import LoopProgram

# The step, the sample, what is changed into what, and the message.
FAULTS = {
    "store left out": (
        *("fuse", "elementwise_chain", "      store %3[i0, i1]\n", ""),
        "no node writes the result <result 0 of sub: f32[8, 16]>",
    ),
    "index left out": (
        *("fuse", "elementwise_chain", "mul(%x[i0, i1],", "mul(%x[i0],"),
        "n0: has 1 indices for <parameter x: f32[8, 16]>",
    ),
    "computed from itself": (
        *("fuse", "elementwise_chain", "mul(%x[i0, i1],", "mul(%2[i0, i1],"),
        "n0: computes a value from itself",
    ),
    "read and not written": (
        *("fuse", "refusal", "      store %1[i0, i1]\n", ""),
        "n0: reads <result 0 of exp: f32[32, 16]>, which no node writes",
    ),
    "written twice": (
        *("fuse", "refusal", "      store %2[i0]\n", "      store %2[i0]\n store %1[i1, i0]\n"),
        "has two homes",
    ),
    "alias of itself": (
        *("fuse", "alias_through_reshape", "alias %1 = %0", "alias %1 = %1"),
        "is an alias of itself",
    ),
    "effect left out": (
        *("fuse", "call_to_the_host", "    n0 = op !0\n", ""),
        "has an effect and no node",
    ),
    "outer loop of another space": (
        *("fuse", "column_reduction_in_tiles", "for (i0) outer (i0)", "for (i0) outer (i1)"),
        "n0: has outer loops that are not among its loops",
    ),
    "read before it is made": (
        *("order", "refusal", "run n1, n0", "run n0, n1"),
        "n0: runs before a node that it reads from",
    ),
    "left out of the order": (
        *("order", "refusal", "run n1, n0", "run n1"),
        "does not have each node once",
    ),
    "consumer that is elsewhere": (
        *("order", "pooling_chain", "feeds n1, n2", "feeds n2, n1"),
        "does not come right behind",
    ),
    "overlap": (
        *("plan_memory", "strided_parameter_with_copy", "bytes at 960", "bytes at 64"),
        "b5, b4: overlaps another buffer while both are alive",
    ),
    "not aligned": (
        *("plan_memory", "strided_parameter_with_copy", "bytes at 960", "bytes at 968"),
        "b4: lies at 968, which is not aligned to 64 bytes",
    ),
    "behind the frame": (
        *("plan_memory", "strided_parameter_with_copy", "r0 1152 bytes", "r0 1088 bytes"),
        "b4: ends behind the frame of 1088 bytes",
    ),
    "dead too early": (
        *("plan_memory", "refusal", "bytes at 0, live 0 to 1", "bytes at 0, live 0 to 0"),
        "b2, n0: is not alive at position 1",
    ),
    "written over too early": (
        *("plan_memory", "small_arrays_on_the_stack", "holds %2\n", "holds %2, %5\n"),
        "held elsewhere",
    ),
    "result elsewhere": (
        *("plan_memory", "refusal", "b3 = result 0", "b3 = result 5"),
        "result 0 is neither where it belongs nor copied there",
    ),
    "too little memory": (
        *("plan_memory", "carry_with_spare", "frame at 1600, ", "frame at 3200, "),
        "n0: has too little memory for its regions",
    ),
    "outside of the array": (
        *("build_kernels", "elementwise_chain", "load p0[j0]", "load p0[2*j0]"),
        "k0: reads or writes elements from 0 to 254 of p0, which has 128",
    ),
    "behind the array": (
        *("build_kernels", "concatenate_in_pieces", "b2 + 128 out", "b2 + 144 out"),
        "k2: reads or writes elements from 36 to 43 of p1, which has 40",
    ),
    "before the array": (
        *("build_kernels", "elementwise_chain", "p2[j0]:", "p2[j0 + -1]:"),
        "k0: reads or writes elements from -1 to 126 of p2",
    ),
    "array of another region": (
        *("build_kernels", "parallel_map", "(p0 = b4, p1 = slot", "(p0 = b0, p1 = slot"),
        "k0: has an array that is not in the plan of its region",
    ),
    "written and not to be": (
        *("build_kernels", "elementwise_chain", "p2 = b2 out", "p2 = b2"),
        "k0: writes to p2, which is not written",
    ),
    "written before it is reduced": (
        *("build_kernels", "softmax", "stage 2 for (i1)", "stage 0 for (i1)"),
        "k0: writes a value before it is reduced",
    ),
    "reduction left out": (
        *("build_kernels", "argmax", "      reduce v1\n", ""),
        "k0: does not reduce each of its reductions in one stage",
    ),
    "below what it reads": (
        *("build_kernels", "softmax", "] = exp(v", "] level 0 = exp(v"),
        "at a level below what it reads",
    ),
    "kernel that does not run": (
        *("schedule", "switch_in_place", "  inline k2\n", ""),
        "k2: is not either called or in line",
    ),
    "lanes along another loop": (
        *("schedule", "elementwise_chain", "outer j0", "outer i0"),
        "k0: has lanes along a loop that is not one of its outer ones",
    ),
    "one lane": (
        *("schedule", "elementwise_chain", "lanes 16", "lanes 1"),
        "k0: has 1 lanes in blocks of 4096",
    ),
    "part left out": (
        *("schedule", "full_reduction_in_parts", "parts 64", "parts 63"),
        "k0: has parts that leave out the end of a loop",
    ),
    "reduced loop left out": (
        *("schedule", "column_reduction_in_tiles", "order (i1, i0)", "order (i0)"),
        "k0: does not go through all that it reduces",
    ),
    "consumer in no chain": (
        *("schedule", "pooling_chain", "rows (i0, i1)\n    n2\n", "rows (i0, i1)\n"),
        "n2: runs by rows and is in no chain",
    ),
    "other rows": (
        *("schedule", "pooling_chain", "feeds in 16 rows", "feeds in 8 rows"),
        "n0: feeds other rows than the order says",
    ),
    "another kernel's code": (
        *("schedule", "strided_parameter_with_copy", "k3 as kernel1", "k3 as kernel2"),
        "k3: is called as kernel2, which computes something else",
    ),
    "too little to work in": (
        *("schedule", "softmax", "\n  workspace ", "\n  workspace 1 // 2 * "),
        "and the program has 0",
    ),
    "a kernel with too little to work in": (
        *("schedule", "full_reduction_in_parts", "n0 works in ", "n0 works in 1 // 2 * "),
        "which is not what its kernel needs",
    ),
    "steps that carry at once": (
        *("schedule", "carry_in_place", "schedule {\n", "schedule {\n  parallel %0 by 2\n"),
        "runs its steps at once and carries something",
    ),
}


def changed(sample: str, old: str, new: str, until: str = "") -> LoopProgram:
    """The program of a golden text that was changed once; up to a section, if it is to be."""
    text = (FOLDER / f"{sample}.loops").read_text(encoding="utf-8")
    text = text.split(f"\n{until} {{\n")[0] if until else text
    assert old in text
    table = SAMPLES[sample].start().graph.constant_table()
    return parse_program(text.replace(old, new, 1), table)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    step, sample, old, new, message = FAULTS[name]
    program = changed(sample, old, new, "order" if step == "fuse" else "")
    with pytest.raises(VerifyError) as caught:
        program.verify()
    assert str(caught.value).startswith(f"after {step}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_golden_texts_are_right(name: str) -> None:
    changed(name, "", "").verify()


def test_message_shows_the_line() -> None:
    program = changed("refusal", "bytes at 0, live 0 to 1", "bytes at 0, live 0 to 0")
    with pytest.raises(VerifyError) as caught:
        program.verify()
    marked = [line for line in str(caught.value).splitlines() if line.startswith("> ")]
    assert marked == [
        ">     b2 = temporary: 2048 bytes at 0, live 0 to 0, holds %1",
        ">     n0 = group(i0 < 16, i1 < 32) for (i0) outer (i0) weight 1 {",
    ]


def test_array_that_is_written_over_is_found() -> None:
    program = changed("small_arrays_on_the_stack", "", "")
    plan = program.plan.controls[program.graph.ops[0]].bodies[0]
    carry, new = plan.region.parameters[0], plan.region.results[0]
    plan.holders[new].held.remove(new)
    plan.holders[new] = plan.holders[carry]
    plan.holders[carry].held.append(new)
    with pytest.raises(VerifyError, match="written over before it is read last"):
        program.verify("plan_memory")


def test_steps_are_verified_as_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str | None] = []
    monkeypatch.setattr(LoopProgram, "verify", lambda self, step=None: checked.append(step))
    start = SAMPLES["softmax"].start()
    lower_to_loops(start.graph, 32, verify=True)
    assert checked == [step.name for step in COLUMN]
