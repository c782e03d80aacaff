"""The contenders: Weft and its peers, how each is set up as its own documentation recommends, and
how a workload becomes a call of it that waits for its results.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.trees import filled, leaves, tree_map
from benchmarks.workload import Function, Size, Unsupported, Workload

Run = Callable[[], Any]


@dataclass(frozen=True)
class Peer:
    """A contender: the package that it needs, and how it prepares a call. `caches` are variables of
    the environment that name the folder where it keeps compiled code between processes. One that
    `loads_late` loads most of itself in the first call instead of when it is imported; one that has
    `only_own` runs only what is written for it. One that compiles so slowly that a run of all
    workloads could not wait for it takes part there at the first size of each, and has its first
    calls measured in those of `first_calls`.
    """

    name: str
    package: str
    prepare: Callable[[Workload, Size, tuple[Any, ...]], Run]
    caches: tuple[str, ...] = ()
    loads_late: bool = False
    only_own: bool = False
    first_calls: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None

    def starts_with(self, workload: Workload, brief: bool) -> bool:
        """Whether its first calls of this workload are measured."""
        return not brief or not self.first_calls or workload.name in self.first_calls

    def reason_against(
        self, workload: Workload, label: str | None = None, brief: bool = False
    ) -> str | None:
        """Why it does not take part, if so; `brief` is a run of all workloads."""
        reasons = [workload.without.get(name) for name in (self.name, self.package)]
        if any(reasons):
            return next(reason for reason in reasons if reason)
        if self.only_own and self.name not in workload.own:
            return "not written for it"
        others = list(workload.sizes)[1:]
        if brief and self.first_calls and label in others:
            return "compiles for seconds, so one size of each unless workloads are named"
        return None


def prepared(name: str, workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    """A call of a contender on these inputs, which blocks until the results are there."""
    return PEERS[name].prepare(workload, size, inputs)


def threads() -> int:
    """How many threads every contender may use."""
    return int(os.environ.get("OMP_NUM_THREADS", "0")) or len(os.sched_getaffinity(0))


def _whole(function: Function) -> Function:
    return function


def compiles_itself(function: Function) -> Function:
    """Marks a program that ends in something which its library does not compile."""
    function.compiles_itself = True  # type: ignore[attr-defined]
    return function


def _compiled(program: Function, jit: Callable[[Function], Function]) -> Function:
    return program if hasattr(program, "compiles_itself") else jit(program)


# --- setting up and calling each ------------------------------------------------------------------


def _weft(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    import weft as wf
    from benchmarks.namespaces import weft as xp

    wf.set_num_threads(threads())
    compiled = _compiled(workload.program("weft", xp, size, _whole), wf.jit)

    def call() -> Any:
        return compiled(*inputs)

    call.compiled = compiled  # type: ignore[attr-defined]
    return call


def _numpy(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    from benchmarks.namespaces import numpy as xp

    program = workload.program("numpy", xp, size, _whole)
    return lambda: program(*inputs)


def _jax(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    from benchmarks.namespaces import jax as xp

    compiled = _compiled(workload.program("jax", xp, size, _whole), jax.jit)
    placed = jax.tree.map(jax.numpy.asarray, inputs)
    return lambda: jax.block_until_ready(compiled(*placed))


def _torch(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    return _torch_call("torch", workload, size, inputs, _whole)


def _torch_compile(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    import torch

    torch._dynamo.reset()

    def part(function: Function) -> Function:
        compiled: Function = torch.compile(function, dynamic=False)
        return compiled

    return _torch_call("torch.compile", workload, size, inputs, part)


def _torch_call(
    name: str,
    workload: Workload,
    size: Size,
    inputs: tuple[Any, ...],
    part: Callable[[Function], Function],
) -> Run:
    import torch

    torch.set_num_threads(threads())
    from benchmarks.namespaces import torch as xp

    program = workload.program(name, xp, size, part)
    tensors = tree_map(lambda x: torch.from_numpy(np.array(x)), list(inputs))
    if workload.form.numbers:
        return lambda: program(*tensors)

    def call() -> Any:
        with torch.no_grad():
            return program(*tensors)

    return call


def _numba(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    import numba

    numba.set_num_threads(threads())
    program = workload.program("numba", np, size, _whole)
    return lambda: program(*inputs)


def _pytensor(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    import pytensor
    import pytensor.tensor as pt

    from benchmarks.namespaces import pytensor as xp

    flat = [np.asarray(leaf) for leaf in leaves(inputs)]
    symbols = [pt.tensor(dtype=leaf.dtype.name, shape=leaf.shape) for leaf in flat]
    results = workload.program("pytensor", xp, size, _whole)(*filled(inputs, iter(symbols)))
    compiled = pytensor.function(symbols, leaves(results), on_unused_input="ignore")
    return lambda: compiled(*flat)


def _onnxruntime(workload: Workload, size: Size, inputs: tuple[Any, ...]) -> Run:
    program = workload.program("onnxruntime", np, size, _whole)
    return lambda: program(*inputs)


PEERS: Final[Mapping[str, Peer]] = {
    peer.name: peer
    for peer in (
        Peer("weft", "weft", _weft, ("WEFT_CACHE_DIR",), loads_late=True),
        Peer("numpy", "numpy", _numpy),
        Peer("jax", "jax", _jax, ("JAX_COMPILATION_CACHE_DIR",)),
        Peer("torch", "torch", _torch),
        Peer(
            "torch.compile",
            "torch",
            _torch_compile,
            ("TORCHINDUCTOR_CACHE_DIR",),
            loads_late=True,
            first_calls=("tiny-call", "black-scholes", "mlp", "gpt", "resnet18"),
        ),
        Peer("numba", "numba", _numba, only_own=True),
        Peer("pytensor", "pytensor", _pytensor, ("PYTENSOR_COMPILEDIR",)),
        Peer("onnxruntime", "onnxruntime", _onnxruntime, only_own=True),
    )
}
DEFAULT: Final = ("numpy", "jax", "torch", "torch.compile")
QUICK: Final = ("numpy", "jax", "torch")


def installed(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The contenders that are there, Weft first, and those that are not."""
    wanted = ["weft", *[name for name in names if name != "weft"]]
    unknown = [name for name in wanted if name not in PEERS]
    if unknown:
        raise ValueError(f"no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    there = [name for name in wanted if PEERS[name].is_installed]
    return there, [name for name in wanted if name not in there]


HINT: Final = (
    "To compare with all peers: pip install torch==2.13.0, then pip install .[bench]; "
    "nothing is installed by this program."
)

__all__ = ["DEFAULT", "HINT", "PEERS", "QUICK", "Peer", "Run", "Unsupported", "installed"]
