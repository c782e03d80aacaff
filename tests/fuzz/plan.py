"""Which program is generated for an index, which checks it gets, and what counts as a failure."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import weft as wf
from tests.fuzz.case import Case
from tests.fuzz.checks import CHECKS, Expected
from tests.fuzz.generate import random_case
from tests.fuzz.outcome import Failure, Refused, Skipped
from tests.fuzz.programs import random_program
from weft.compiler.passes.pipeline import DEFAULT

KINDS = {
    "plain": 45,
    "flow": 18,
    "smooth": 14,
    "special": 5,
    "symbolic": 8,
    "large": 4,
    "sparse": 6,
}
PASSES = [None, *sorted({item.name for item in DEFAULT})]
# Checks in which Weft may refuse what NumPy does, as the documentation says; others may not.
MAY_REFUSE = ("eager", "vmap", "symbolic")
# What is documented to be refused, wherever it is met.
REFUSED = re.compile(
    r"needs the value of|which is only known when|is a NumPy array that the trace cannot write to"
    r"|has no elements to|where this condition holds and|carry . enters as"
    r"|the arrays in a list are of|the mask has shape \([^)]*\b0\b"
)


@dataclass
class Finding:
    """A case that fails, and how."""

    case: Case
    signature: str
    message: str


@dataclass
class Tally:
    """What was generated and what became of it."""

    features: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)


def signature(error: BaseException) -> str:
    """What failures of one cause have in common."""
    if isinstance(error, wf.CompilerError) and error.__cause__ is not None:
        return f"{error.stage} {error.step} {signature(error.__cause__)}"
    if isinstance(error, Failure):
        what = re.sub(r"-?\d[\d.e+-]*", "", str(error).split(":")[0])
        about = "values" if " at [" in str(error) else "types" if "NumPy's" in str(error) else ""
        return f"{what} {about}"
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "/fuzz/" not in f.filename or "weft" in f.filename
    ]
    inside = [f for f in frames if "/weft/" in f.filename or "/compiler/" in f.filename]
    where = inside[-1] if inside else None
    place = f"{where.filename.rsplit('/', 1)[-1]}:{where.name}" if where else ""
    text = re.sub(r"[\d.]+|\[.*?\]|<.*?>", "", str(error).split("\n")[0])[:60]
    return f"{type(error).__name__} {place} {text}"


def outcome(
    case: Case, tally: Tally | None = None, expected: Expected | None = None
) -> Finding | None:
    """Runs the check of a case; what it found, if anything."""
    try:
        CHECKS[case.check](case, expected)
    except (Skipped, Refused) as ended:
        if tally:
            tally.counts[f"{case.check}: {type(ended).__name__.lower()}"] += 1
        return None
    except Exception as error:
        may_refuse = case.check in MAY_REFUSE or "specs" in case.options
        is_refusal = isinstance(error, wf.WeftError) and not isinstance(error, wf.CompilerError)
        if is_refusal and (may_refuse or REFUSED.search(str(error))):
            if tally:
                tally.counts[f"{case.check}: refused"] += 1
            return None
        return Finding(
            case, f"{case.check}: {signature(error)}", f"{type(error).__name__}: {error}"
        )
    if tally:
        tally.counts[case.check] += 1
    return None


def program(seed: int, index: int, mode: str = "values") -> tuple[str, Case | None, Random]:
    """The kind, the program of an index, and where its checks are drawn from."""
    random = Random(f"{seed}:{index}")
    if mode == "programs":
        return "python", random_program(random), random
    kind = random.choices(list(KINDS), list(KINDS.values()))[0]
    return kind, random_case(random, kind), random


def cases_of(kind: str, case: Case, random: Random) -> list[Case]:
    """The program under the checks that it gets by itself; native code comes in batches."""
    if kind == "python":
        return [case]
    flow = {k: v for k, v in case.options.items() if k == "control_flow"}
    if kind == "smooth":
        native = random.random() < 0.2
        second = random.random() < 0.3
        return [case.with_check("second" if second else "gradient", native=native)]
    cases = [case.with_check("reference", **flow)]
    if random.random() < 0.35:
        cases.append(case.with_check("passes", without=random.choice(PASSES), **flow))
    writes = any("in place" in feature for feature in case.features)
    if kind not in ("sparse", "special") and random.random() < 0.12 and not writes:
        cases.append(case.with_check("vmap", **flow))
    if kind not in ("sparse", "special") and random.random() < 0.06 and not writes:
        cases.append(case.with_check("eager", **flow))
    if kind == "symbolic":
        cases.append(case.with_check("value", specs=symbolic_specs(case), **flow))
    return cases


def native_cases(cases: list[Case], random: Random) -> list[Case]:
    """Programs combined into few, since most of the time of compiling is the same for any size."""
    combined = []
    for start in range(0, len(cases), 6):
        together = combine(cases[start : start + 6])
        options: dict[str, Any] = dict(together.options)
        drawn = random.random()
        if drawn < 0.15:
            options |= {"without": random.choice(PASSES), "backend": "cpu"}
            combined.append(together.with_check("passes", **options))
        elif drawn < 0.2:
            combined.append(together.with_check("value", tiered=True, **options))
        elif drawn < 0.3:
            combined.append(together.with_check("donate", **options))
        else:
            combined.append(together.with_check("value", **options))
    return combined


def combine(cases: list[Case]) -> Case:
    """One program that calls all of these."""
    if len(cases) == 1:
        return cases[0]
    sources: list[str] = []
    parameters: list[str] = []
    calls: list[str] = []
    texts: list[str] = []
    for number, case in enumerate(cases):
        names = [f"p{number}_{n}" for n in range(len(case.arguments))]
        sources.append(case.source.replace("def f(", f"def f{number}(", 1))
        calls.append(f"f{number}({', '.join(names)})")
        parameters += names
        texts += case.arguments
    flow = {"control_flow": True} if any(c.options.get("control_flow") for c in cases) else {}
    main = f"def f({', '.join(parameters)}):\n    return {', '.join(calls)}\n"
    return replace(cases[0], source="".join(sources) + main, arguments=tuple(texts), options=flow)


def symbolic_specs(case: Case) -> tuple[str, ...]:
    """The types of the arguments with sizes above 1 as names: equal ones are the same size."""
    names: dict[int, str] = {}
    specs = []
    for value in case.values():
        sizes = [
            "1" if s == 1 else names.setdefault(s, "nmkpqrst"[len(names)]) for s in value.shape
        ]
        kind = {"f": "f", "i": "i", "u": "u", "c": "c"}.get(value.dtype.kind)
        name = "bool" if kind is None else f"{kind}{8 * value.dtype.itemsize}"
        specs.append(f"{name}[{', '.join(sizes)}]")
    return tuple(specs)
