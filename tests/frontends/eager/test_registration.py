"""Whatever of Weft is used first, arrays find their functions, their namespace and what computes
them: each case runs in a process of its own, in which nothing else was loaded before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent.parent.parent / "src"

FIRST = {
    "a namespace asked for in jit, and used after it": """
import numpy as np, weft as wf
kept = []
def f(x):
    kept.append(x.__array_namespace__())
    return kept[0].sin(x)
assert float(wf.jit(f)(0.0)) == 0
assert type(kept[0].cos(np.zeros(2))) is np.ndarray
assert type(kept[0].zeros(2)) is wf.Array
assert kept[0] is wf.Array(1.0).__array_namespace__()
""",
    "a function of weft.numpy": """
import numpy as np, weft.numpy as wnp
assert type(wnp.sin(np.zeros(2))) is np.ndarray
assert type(wnp.zeros(2)).__name__ == "Array"
assert wnp.r_[np.zeros(2), 1.0].tolist() == [0, 0, 1]
""",
    "an array": """
import weft as wf
x = wf.Array([1.0, 2.0])
assert float((x + 1).sum()) == 5
assert float(x.__array_namespace__().sum(x)) == 3
""",
    "random numbers": """
import numpy as np, weft.random
assert np.shape(weft.random.normal(weft.random.key(0), (2,))) == (2,)
""",
    "a function of SciPy's": """
import numpy as np, weft.scipy.special
assert abs(float(weft.scipy.special.gammainc(1.0, np.float64(1.0))) - (1 - np.exp(-1))) < 1e-12
""",
    "a branch": """
import weft as wf
assert float(wf.cond(True, lambda x: x, lambda x: -x, 2.0)) == 2
""",
    "a sparse array of SciPy's": """
import numpy as np, scipy.sparse, weft as wf
matrix = scipy.sparse.csr_array(np.diag([1.0, 2.0]))
assert wf.jit(lambda s, x: s @ x + x @ s)(matrix, np.ones(2)).tolist() == [2, 4]
""",
    "a gradient in a vectorized function": """
import numpy as np, weft as wf
slopes = wf.numpy.vectorize(wf.grad(lambda x: x**3))
assert np.asarray(slopes(np.array([1.0, 2.0]))).tolist() == [3, 12]
""",
}


@pytest.mark.parametrize("name", FIRST)
def test_what_is_used_first_does_not_matter(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FIRST[name]],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
