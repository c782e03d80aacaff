"""How far a result may be from NumPy's: as far as NumPy's own moves when every operation is rounded
differently.

The source is run several times with each inexact result of a call or operator changed by a few
units in the last place, once with arguments in row-major order. Elements that do not move must be
equal; integers and bools that move are decided by rounding or layout and prove nothing.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz.numpy_side import namespace

Array = np.ndarray[Any, Any]
RUNS = 4
# Functions that round inside, also where operands and result are short numbers.
ROUNDING = frozenset(
    "fft ifft rfft irfft fft2 ifft2 rfft2 solve inv det slogdet eigvalsh svd qr cholesky lstsq "
    "pinv matrix_power norm std var cov corrcoef interp expm1 log1p sin cos tan exp exp2 log "
    "log2 log10 tanh sinh cosh arctan arcsin arccos arcsinh arctanh hypot logaddexp arctan2 power "
    "cbrt nanstd nanvar percentile quantile median convolve correlate einsum average mean nanmean "
    "normal uniform gradient trapezoid float_power erf expit gammaln sinc logit deg2rad rad2deg "
    "cross degrees radians i0 unwrap polyval angle kron vander logspace linspace geomspace".split()
)
# Sums are rounded after every term: the more terms, the more each may be off.
SUMS = frozenset(
    "sum nansum cumsum nancumsum dot matmul tensordot inner vdot trace outer mean nanmean "
    "average einsum convolve correlate var std nanvar nanstd prod cumprod".split()
)
# Functions whose result is new, though it may be an array with another shape. Of what others return
# as a view, a copy would not see what is written to it.
NEW = frozenset("tensordot dot inner outer matmul vdot".split())


class _Wrap(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        of_ufunc = _ufunc(node) if name in ("reduce", "accumulate", "reduceat", "outer") else ""
        inside = name in ROUNDING or of_ufunc in ROUNDING
        of_sums = name in SUMS or of_ufunc in ("add", "multiply", "subtract")
        if inside or of_sums:
            change = "_term" if not inside else "_long_operand" if of_sums else "_operand"
            node.args = [_call(change, item) for item in node.args]
            if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
                node.func.value = _call(change, node.func.value)
        return _call("_all" if inside else "_some" if name in NEW else "_unless_a_view", node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            node.left, node.right = _call("_term", node.left), _call("_term", node.right)
        return _call("_all" if isinstance(node.op, ast.Pow) else "_some", node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return node


def _is_module(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("np", "wf", "special")


def _ufunc(node: ast.Call) -> str:
    """The ufunc of which a method is called."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return owner.attr if isinstance(owner, ast.Attribute) else ""


def _call(name: str, node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Starred):
        return node
    return ast.Call(ast.Name(name, ast.Load()), [node], [])


def perturbed(source: str) -> Callable[[np.random.Generator, float], Callable[..., Any]]:
    """The function of the source with other roundings, given where these come from."""
    tree = ast.fix_missing_locations(_Wrap().visit(ast.parse(source)))
    code = compile(tree, "<perturbed>", "exec")

    def make(random: np.random.Generator, units: float) -> Callable[..., Any]:
        names = namespace()
        names["_all"] = lambda value: moved(value, random, units, True)
        names["_operand"] = lambda value: moved(_copied(value), random, units, True)
        names["_term"] = lambda value: moved(_copied(value), random, _many(units, value), False)
        names["_long_operand"] = lambda value: moved(
            _copied(value), random, _many(units, value), True
        )
        names["_some"] = lambda value: moved(value, random, units, False)
        names["_unless_a_view"] = lambda value: (
            value if getattr(value, "base", None) is not None else names["_some"](value)
        )
        exec(code, names)
        return names["f"]  # type: ignore[no-any-return]

    return make


def _many(units: float, value: Any) -> float:
    """What terms are moved by, so that their sum moves as if every step had been rounded."""
    return units * math.sqrt(max(np.shape(value), default=1))


def _copied(value: Any) -> Any:
    """What is only read may be a copy."""
    return value.copy() if isinstance(value, np.ndarray) else value


def moved(value: Any, random: np.random.Generator, units: float, all: bool) -> Any:
    """The value a few units in the last place away: all floats, or those with many digits."""
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc":
        return value
    with np.errstate(all="ignore"):
        eps = float(np.finfo(value.dtype).eps) * units
        wide = value.astype("c16" if value.dtype.kind == "c" else "f8")
        size = np.abs(wide)
        change = size * random.uniform(-eps, eps, value.shape)
        if value.dtype.kind == "c":
            change = change + 1j * size * random.uniform(-eps, eps, value.shape)
        if not all:
            rounded = np.round(wide * 64) == wide * 64
            change = np.where(rounded & (size < 0.01 / float(np.finfo(value.dtype).eps)), 0, change)
        result = (wide + change).astype(value.dtype)
    return np.asarray(result) if isinstance(value, np.ndarray) else value.dtype.type(result)


def spreads(
    source: str,
    arguments: Callable[[], Sequence[Any]],
    wanted: Sequence[Array],
    seed: int,
    runs: int = RUNS,
    units: float = 3.0,
) -> list[Array]:
    """For every element of every result, how far it moved; infinite where a run failed."""
    make = perturbed(source)
    random = np.random.default_rng(seed)
    found = [np.zeros(array.shape, "f8") for array in wanted]
    for run in range(runs):
        function = make(random, units)
        inputs = arguments()
        if run == 0:  # which of several writes to an element is the last depends on the layout
            inputs = [v.copy(order="C") if isinstance(v, np.ndarray) else v for v in inputs]
        try:
            results = flat(function(*inputs))
        except Exception:
            return [np.full(array.shape, np.inf) for array in wanted]
        for spread, array, other in zip(found, wanted, results, strict=True):
            if other.shape != array.shape:
                spread[...] = np.inf
                continue
            np.maximum(spread, distance(other, array), out=spread)
    return found


def distance(made: Array, wanted: Array) -> Array:
    """The distance of each element; 0 for equal ones and NaN in both, infinite for one of them."""
    with np.errstate(all="ignore"):
        wide = "c16" if "c" in (made.dtype.kind, wanted.dtype.kind) else "f8"
        one, other = made.astype(wide), wanted.astype(wide)
        if wide == "f8" and made.dtype.kind in "iub":
            return np.where(made == wanted, 0.0, np.maximum(1.0, np.abs(one - other)))
        gap = np.abs(one - other)
        equal = (one == other) | (np.isnan(one) & np.isnan(other))
        return np.where(equal, 0.0, np.where(np.isnan(gap), np.inf, gap))


def flat(result: Any) -> list[Array]:
    """The arrays of a result: of tuples, lists and sparse arrays too."""
    if isinstance(result, tuple | list):
        return [array for item in result for array in flat(item)]
    if hasattr(result, "toarray"):
        return [np.asarray(result.toarray())]
    return [np.asarray(result)]
