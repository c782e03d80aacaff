"""Writes docs/accuracy.md: `python -m docs.ulp`. Slow: mpmath computes every value.

Not part of `docs.generate --check`, as the figures hold for the sample they were found with.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from tests.compiler.lower.llvm.math.ulp import REFERENCES, Measured, measure

PAGE = Path(__file__).parent / "accuracy.md"
COUNT = 20_000

HEAD = f"""# Accuracy

Errors of the functions that native code computes by itself, in units in the last place of the
result: 0.5 is the best there can be. Made by `python -m docs.ulp`, which compares {COUNT} arguments
of each function and dtype with mpmath: drawn over all exponents, dense where the function changes,
and at the hard places of its reduction. The results are the same bits for vectors of any length.

These are the largest errors of a sample, not bounds: more arguments find somewhat larger ones. An
independent search with another library of many digits, of every f32 for the functions of one
argument (but `sqrt` and those around gamma, which are those of f64 rounded) and of 4000 to 400000
f64 in each of several hard places, found none of f32 above 1, and of f64 only `rsqrt` (1.5),
`lgamma` (1.7, where it is small between 0 and 3) and `digamma` (1.1). The slow tests
take every 61st f32 of the functions from `exp` to `tanh` (except for `pow`) and two million f64
(except for `rsqrt`, `sigmoid` and `softplus`). `rsqrt` of f64 is 1 / sqrt(x) with two roundings, as
in NumPy.

Left of 0 `lgamma` and `digamma` have roots between the poles, where an ulp is arbitrarily small and
the terms cancel that they are the sums of. There they are computed to more digits, in code that is
passed by elsewhere, so that the error was within 1.1 ulp at the floats next to all roots tried: of
`lgamma` as far to the left as floats can tell its roots from the poles, which is -17, and of
`digamma` wherever there are fractions. `polygamma` of even orders has roots there as well, near
which its error is within 2**-52 of the largest of its terms, which are added with their rests.
`polygamma` without an order is the first.

`fmod` is exact, `remainder` rounds once where signs differ; both, and `floor_divide`, are NumPy's
to the last bit, and so are the figures of the latter, whose quotients of more digits than a float
has are not always the nearest. `logaddexp` is measured for positive operands: where its result
is nearly 0 the error is, as in NumPy, that of the larger operand. `zeta`, of which fewer arguments
are compared, and the two `logaddexp` are made of other functions.

| function | f32 | f64 |
|---|---|---|
"""


def figures(task: tuple[str, str]) -> Measured:
    name, of = task
    return measure(name, np.dtype(of), COUNT)


def page() -> str:
    tasks = list(itertools.product(REFERENCES, ("float32", "float64")))
    with ProcessPoolExecutor() as pool:
        found = {(m.name, m.dtype): m.ulps for m in pool.map(figures, tasks)}
    rows = [
        f"| `{name}` | {found[name, 'float32']:.2f} | {found[name, 'float64']:.2f} |"
        for name in REFERENCES
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
