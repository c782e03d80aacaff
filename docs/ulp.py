"""Writes docs/accuracy.md: `python -m docs.ulp`. Slow: mpmath computes every value.

Not part of `docs.generate --check`, as the figures hold for the sample they were found with.
"""

from __future__ import annotations

from pathlib import Path

from tests.lower.ulp import measured

PAGE = Path(__file__).parent / "accuracy.md"
COUNT = 20_000

HEAD = f"""# Accuracy

Errors of the functions that native code computes by itself, in units in the last place of the
result: 0.5 is the best there can be. Made by `python -m docs.ulp`, which compares {COUNT} arguments
of each function and dtype with mpmath: drawn over all exponents, dense where the function changes,
and at the hard places of its reduction. The results are the same bits for vectors of any length.

These are the largest errors of a sample, not bounds: more arguments find somewhat larger ones. For
the functions from `exp` to `tanh` the slow tests take every 61st f32 (except for `pow`) and two
million f64 (except for `rsqrt`, `sigmoid` and `softplus`), and none is off by more than 1. `rsqrt`
of f64 is 1 / sqrt(x) with two roundings, as in NumPy.

Left of 0 `lgamma` and `digamma` have roots between the poles, where an ulp is arbitrarily small.
Near them they are expanded about the root, which keeps the error within 2.25 ulp in tests around
each: those of `lgamma` as far to the left as floats can tell them from the poles, of `digamma` down
to -20. Further to the left the error of `digamma` near a root is within 2**-52 of the terms
that cancel there. `polygamma` is measured for order 1.

| function | f32 | f64 |
|---|---|---|
"""


def page() -> str:
    found = {(m.name, m.dtype): m.ulps for m in measured(COUNT)}
    names = dict.fromkeys(name for name, _ in found)
    rows = [
        f"| `{name}` | {found[name, 'float32']:.2f} | {found[name, 'float64']:.2f} |"
        for name in names
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
