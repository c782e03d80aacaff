"""What is asserted of a program: each check runs it another way and compares the results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import weft as wf
from tests.fuzz.case import Case
from tests.fuzz.derivatives import check_gradient, check_second
from tests.fuzz.outcome import Failure, Refused, Skipped
from tests.fuzz.python_side import check_python
from tests.fuzz.tolerance import distance, flat, spreads

Array = np.ndarray[Any, Any]
CONFIRMING_RUNS = 40


class Expected:
    """NumPy's results of a case, and how far they move by rounding."""

    def __init__(self, case: Case) -> None:
        self.case = case
        try:
            with np.errstate(all="ignore"):
                self.results = [np.array(r) for r in flat(case.plain()(*case.values()))]
        except Exception as error:
            raise Skipped(f"NumPy: {error!r}") from error
        self._spreads: list[Array] | None = None

    def spreads(self, confirm: bool = False) -> list[Array]:
        if self._spreads is None or confirm:
            runs, units = (CONFIRMING_RUNS, 6.0) if confirm else (4, 3.0)
            with np.errstate(all="ignore"):
                self._spreads = spreads(
                    self.case.source, self.case.values, self.results, 1, runs, units
                )
        return self._spreads

    def compare(self, made: Sequence[Array], what: str) -> None:
        """Raises a Failure where results are not NumPy's, within what rounding explains."""
        if len(made) != len(self.results):
            raise Failure(f"{what}: {len(made)} results, NumPy has {len(self.results)}")
        for number, (array, wanted) in enumerate(zip(made, self.results, strict=True)):
            if array.dtype != wanted.dtype or array.shape != wanted.shape:
                raise Failure(
                    f"{what}: result {number} is {array.dtype}{list(array.shape)}, "
                    f"NumPy's {wanted.dtype}{list(wanted.shape)}"
                )
            self._compare_values(number, array, wanted, what)

    def _compare_values(self, number: int, array: Array, wanted: Array, what: str) -> None:
        gap = distance(array, wanted)
        if not np.any(gap):
            return
        if not np.any(gap > allowed(self.spreads()[number], wanted)):
            return
        # Before anybody is told: more and larger changes, as rounding may decide seldom.
        wrong = gap > allowed(self.spreads(confirm=True)[number], wanted)
        if np.any(wrong):
            place = np.unravel_index(int(np.argmax(np.where(wrong, gap, -1))), gap.shape)
            where = [int(i) for i in place]
            raise Failure(
                f"{what}: result {number} at {where} is {array[place]}, NumPy's {wanted[place]}, "
                f"which rounding moves by {self.spreads()[number][place]:.3g}"
            )


def allowed(spread: Array, wanted: Array) -> Array:
    """The distance that is explained by rounding: several times what other roundings did, or one
    place of the dtype.
    """
    if wanted.dtype.kind not in "fc":
        return np.where(spread > 0, np.inf, 0.0)
    eps = float(np.finfo(wanted.dtype).eps)
    with np.errstate(all="ignore"):
        size = np.abs(wanted.astype("c16" if wanted.dtype.kind == "c" else "f8"))
        tiny = float(np.finfo(wanted.dtype).smallest_normal)
        limits = 8 * spread + 4 * eps * np.where(np.isfinite(size), size, 0.0) + tiny
    # A zero among results that moved is a difference that cancelled.
    return limits + eps * 8 * float(
        np.max(np.where(np.isfinite(spread) & (spread > 0), size, 0), initial=0)
    )


def compiled(case: Case, **options: Any) -> Callable[..., Any]:
    """The function of a case under `jit`."""
    function = case.traced()
    chosen = {name: value for name, value in case.options.items() if name in JIT_OPTIONS}
    return wf.jit(function, **{**chosen, **options})  # type: ignore[no-any-return]


JIT_OPTIONS = ("control_flow", "donate", "specs", "tiered", "products")


def check_value(case: Case, expected: Expected | None = None) -> None:
    """Native code gives NumPy's results, with the same bits in each call and for any threads.

    The first calls of a tiered function are the reference evaluator's, whose bits are its own.
    """
    expected = expected or Expected(case)
    function = compiled(case, threads=case.options.get("threads"))
    arguments = case.values()
    made = flat(function(*arguments))
    expected.compare(made, "native")
    again = flat(function(*case.values()))
    if case.options.get("tiered"):
        expected.compare(again, "the second call")
        return
    same_bits(made, again, "the second call")
    with wf.threads(1):
        same_bits(made, flat(function(*case.values())), "one thread")


def check_donate(case: Case, expected: Expected | None = None) -> None:
    """Results may be written over arguments."""
    expected = expected or Expected(case)
    values = case.values()
    arrays = tuple(n for n, value in enumerate(values) if isinstance(value, np.ndarray))
    function = compiled(case, donate=arrays)
    for _ in range(2):
        own = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        expected.compare(flat(function(*own)), "donated")


def check_reference(case: Case, expected: Expected | None = None) -> None:
    """The reference evaluator gives NumPy's results."""
    expected = expected or Expected(case)
    expected.compare(flat(compiled(case, backend="reference")(*case.values())), "reference")


def check_passes(case: Case, expected: Expected | None = None) -> None:
    """The passes, but for the one of the option `without`, keep the results."""
    from weft.compiler.passes.pipeline import DEFAULT

    expected = expected or Expected(case)
    column = [item for item in DEFAULT if item.name != case.options.get("without")]
    backend = case.options.get("backend", "reference")
    function = compiled(case, backend=backend, optimise=False, passes=column)
    made = flat(function(*case.values()))
    expected.compare(made, f"passes without {case.options.get('without')} on {backend}")


def check_eager(case: Case, expected: Expected | None = None) -> None:
    """The same source on arrays of Weft, outside of `jit`."""
    expected = expected or Expected(case)
    arguments = [wf.numpy.asarray(v) if isinstance(v, np.ndarray) else v for v in case.values()]
    expected.compare(flat(case.traced()(*arguments)), "eager")


def check_vmap(case: Case, expected: Expected | None = None) -> None:
    """`vmap` of the function is the function of each element."""
    function = wf.vmap(case.traced(), control_flow=case.options.get("control_flow"))
    values = case.values()
    is_large = (
        max(map(np.size, values), default=0) > 1000
    )  # the evaluator keeps what native code fuses
    backend = case.options.get("backend", "cpu" if is_large else "reference")
    batch = [
        np.stack([v, v[..., ::-1] if np.ndim(v) else -v]) if _is_float(v) else np.stack([v, v])
        for v in map(np.asarray, values)
    ]
    made = flat(wf.jit(function, backend=backend)(*batch))
    for n in range(2):
        one = Case(case.source, tuple(f"rows[{i}][{n}]" for i in range(len(batch))))
        object.__setattr__(one, "values", lambda n=n: [row[n].copy() for row in batch])
        Expected(one).compare([row[n] for row in made], f"vmap, element {n}")


def _is_float(value: Array) -> bool:
    return bool(value.dtype.kind == "f")


def same_bits(one: Sequence[Array], other: Sequence[Array], what: str) -> None:
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            if a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True):
                continue  # NaN have many forms
            raise Failure(f"{what}: result {number} has other bits: {a!r} and {b!r}"[:400])


CHECKS: dict[str, Callable[..., None]] = {
    "value": check_value,
    "donate": check_donate,
    "reference": check_reference,
    "passes": check_passes,
    "eager": check_eager,
    "vmap": check_vmap,
    "gradient": check_gradient,
    "second": check_second,
    "python": check_python,
}


def assert_holds(case: Case) -> None:
    """Runs the check of a case; a program that NumPy refuses is an error of the test."""
    with contextlib.suppress(Refused):
        CHECKS[case.check](case)
