"""Derivatives of functions: what is behind grad, vjp, jvp, and what is made of them.

A function is traced to a region, the region is transformed, and the result is applied; so these
compose with each other and with control flow, and work inside `jit` as well as outside.

Complex numbers: `jvp` and `vjp` are linear maps over C without conjugation. `grad` of a real
function of complex arguments is the direction of steepest ascent, d/dx + i d/dy, so that `x - rate
* grad` descends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import ArgumentError, DTypeError, ShapeError
from weft.compiler.ir.graph import Region
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.helpers import zeros
from weft.compiler.transforms import derive
from weft.frontends.driver.failures import reported
from weft.frontends.eager.anywhere import start_trace
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.regions.closures import (
    Closure,
    FlatArguments,
    apply_region,
    close,
    flatten_arguments,
)
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import describe_leaf, parameter_names
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.conversion import converting
from weft.frontends.tracing.fixing import with_values
from weft.frontends.tracing.trace import find_trace


@sealed
@reported
def differentiate(
    function: Callable[..., Any],
    args: Sequence[Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    probes: Sequence[str],
    want_value: bool,
) -> tuple[Any, Any]:
    """The value (None where a scalar is not wanted) and the gradient; see `gradients`."""
    arguments = flatten_arguments(_name(function), parameter_names(function), args)
    chosen = chosen_arguments(argnums, len(args), function)
    marked = marked_leaves(arguments, chosen, function)
    closure = _close(function, arguments)
    _require_scalar(closure, has_aux, function)
    n_results = len(closure.region.results)
    first = [True] + [False] * (n_results - 1)
    region = _stable(closure.region)
    derivative = derive.vjp(region, [False] * closure.n_captured + marked, first, tuple(probes))
    keep = [want_value] + [True] * (len(derivative.results) - 1)
    seed = np.ones((), closure.region.results[0].type.dtype.numpy)
    results = apply_region(
        derive.TRANSFORMS.prune(derivative, keep), [*closure.captured, *arguments.values, seed]
    )
    if not want_value:
        results = [None, *results]
    value = tree.unflatten(closure.out_tree, results[:n_results])
    count = sum(marked)
    gradients = _conjugated(results[n_results : n_results + count])
    structured = _gradient_tree(gradients, arguments, marked, args, argnums, chosen)
    if not probes:
        return value, structured
    return value, (structured, dict(zip(probes, results[n_results + count :], strict=True)))


def _stable(region: Region) -> Region:
    """The region with stable forms for what users write out, such as 1 / (1 + exp(-x)): their
    derivatives do not overflow where the function does not.
    """
    from weft.compiler.passes.before_derivatives import prepare_for_derivatives

    return prepare_for_derivatives(region)


def _name(function: Callable[..., Any]) -> str:
    if isinstance(function, functools.partial):
        return _name(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _close(function: Callable[..., Any], arguments: FlatArguments) -> Closure:
    leaves = arguments.leaves

    def closed(known: Collection[int]) -> Closure:
        return converting(
            lambda: close(
                start_trace(find_trace()),
                function,
                arguments.treedef,
                [leaf.type for leaf in leaves],
                [leaf.weak for leaf in leaves],
                [leaf.name for leaf in leaves],
                {number: arguments.values[number] for number in known},
            )
        )

    return with_values(arguments.values, closed)


def chosen_arguments(
    argnums: int | Sequence[int], count: int, function: Callable[..., Any]
) -> list[int]:
    """The positions that argnums names, counted from the first argument."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for number in numbers:
        if not -count <= number < count:
            raise ArgumentError(
                f"argnums names argument {number}, but {_name(function)} is called with {count} "
                "positional arguments",
                location=caller_location(),
            )
    return [number % count for number in numbers]


def marked_leaves(
    arguments: FlatArguments, chosen: Sequence[int], function: Callable[..., Any]
) -> list[bool]:
    """Which leaves to differentiate: all of the chosen arguments but constant ones. Others that
    cannot be are refused by name.
    """
    marked = [
        number in chosen and not constant
        for number, constant in zip(arguments.argument_of, arguments.constant, strict=True)
    ]
    for leaf, mark in zip(arguments.leaves, marked, strict=True):
        if mark and not leaf.type.dtype.is_inexact:
            raise DTypeError(
                f"the argument {leaf.name} of {_name(function)} is {leaf.type}; derivatives exist "
                "for "
                "floating-point arrays only: pass a float, or leave it out of argnums",
                location=caller_location(),
            )
    return marked


def require_whole(
    arguments: FlatArguments, chosen: Sequence[int], function: Callable[..., Any]
) -> None:
    """Refuse to differentiate arguments with constant leaves, where each is to have axes of its
    own in the result.
    """
    for leaf, number, constant in zip(
        arguments.leaves, arguments.argument_of, arguments.constant, strict=True
    ):
        if constant and number in chosen:
            raise ArgumentError(
                f"a Jacobian has an axis for each axis of its argument, which {leaf.name} of "
                f"{_name(function)} does not fit: write the function in terms of the entries, as "
                "an array",
                location=caller_location(),
            )


def _require_scalar(closure: Closure, has_aux: bool, function: Callable[..., Any]) -> None:
    results = closure.region.results
    shape = closure.out_tree
    if has_aux:
        if shape.type is not tuple or shape.num_children != 2 or not shape.children()[0].is_leaf():
            raise ArgumentError(
                f"with has_aux, {_name(function)} must return (value, aux); it returns {shape}",
                location=caller_location(),
            )
    elif not shape.is_leaf():
        raise ArgumentError(
            f"grad needs a function that returns one scalar; {_name(function)} returns {shape}; "
            "for "
            "further results use has_aux=True, for several outputs jacobian or vjp",
            location=caller_location(),
        )
    value = results[0].type
    if value.shape:
        raise ShapeError(
            f"grad needs a scalar result, but {_name(function)} returns {value}; sum it, or use "
            "jacobian or vjp",
            location=caller_location(),
        )
    if not value.dtype.is_float:
        raise DTypeError(
            f"grad needs a real floating-point result, but {_name(function)} returns {value}",
            location=caller_location(),
        )


def _conjugated(gradients: Sequence[Any]) -> list[Any]:
    return [
        _conjugate(gradient) if np.issubdtype(gradient.dtype, np.complexfloating) else gradient
        for gradient in gradients
    ]


def _conjugate(array: Any) -> Any:
    return apply_ufunc(np.conjugate, array) if find_trace() is not None else np.conjugate(array)


def _gradient_tree(
    gradients: Sequence[Any],
    arguments: FlatArguments,
    marked: Sequence[bool],
    args: Sequence[Any],
    argnums: int | Sequence[int],
    chosen: Sequence[int],
) -> Any:
    """The gradients in the structure of the arguments they belong to, constant leaves as they
    are.
    """
    remaining = iter(gradients)
    by_leaf = [
        next(remaining) if mark else value
        for mark, value in zip(marked, arguments.values, strict=True)
    ]
    structured = []
    for number in chosen:
        own = [g for g, n in zip(by_leaf, arguments.argument_of, strict=True) if n == number]
        structured.append(tree.unflatten(tree.flatten(args[number])[1], own))
    return structured[0] if isinstance(argnums, int) else tuple(structured)


# --- vjp, jvp, linearize --------------------------------------------------------------------------


@sealed
@reported
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(value, pull): `pull(cotangents)` gives the cotangents of the arguments, a tuple as long as
    they are.

    >>> import numpy as np, weft as wf
    >>> y, pull = wf.vjp(np.sin, 0.0)
    >>> float(pull(2.0)[0])
    2.0
    """
    arguments = flatten_arguments(_name(function), parameter_names(function), primals)
    marked = _varying(arguments)
    closure, aux = _split_aux(function, arguments, has_aux)
    n_results = len(closure.region.results)
    linearised = derive.TRANSFORMS.split(
        closure.region, [False] * closure.n_captured + marked, [False] * n_results
    )
    results = apply_region(linearised.known, [*closure.captured, *arguments.values])
    residuals = results[n_results:]
    n_aux = aux.num_leaves if aux is not None else 0
    n_value = n_results - n_aux
    types = [result.type for result in closure.region.results[:n_value]]
    value_tree = closure.out_tree.children()[0] if has_aux else closure.out_tree

    @sealed
    @reported
    def pull(cotangents: Any) -> Any:
        leaves = _check_structure(cotangents, value_tree, types, "cotangent", function)
        has = linearised.has[:n_value]
        marks = [mark for mark, present in zip([True] * n_value, has, strict=True) if present]
        linear = [False] * len(residuals) + [True] * sum(marked)
        keep = [*marks, *[False] * (sum(linearised.has) - len(marks))]
        derived = derive.TRANSFORMS.transpose(linearised.linear, linear, keep)
        used = [c for c, present in zip(leaves, has, strict=True) if present]
        outs = iter(apply_region(derived.region, [*residuals, *used]))
        made_here = [next(outs) if present else None for present in derived.has]
        return _cotangent_tree(arguments, marked, made_here)

    value = tree.unflatten(value_tree, results[:n_value])
    if not has_aux:
        return value, pull
    assert aux is not None
    return value, pull, tree.unflatten(aux, results[n_value:n_results])


def _split_aux(
    function: Callable[..., Any], arguments: FlatArguments, has_aux: bool
) -> tuple[Closure, tree.TreeDef | None]:
    closure = _close(function, arguments)
    if not has_aux:
        return closure, None
    if closure.out_tree.type is not tuple or closure.out_tree.num_children != 2:
        raise ArgumentError(
            f"with has_aux, {_name(function)} must return (value, aux); it returns "
            f"{closure.out_tree}",
            location=caller_location(),
        )
    return closure, closure.out_tree.children()[1]


@sealed
@reported
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """The value of a function and its derivative along tangents of the arguments.

    >>> import numpy as np, weft as wf
    >>> y, dy = wf.jvp(np.sin, (0.0,), (2.0,))
    >>> float(dy)
    2.0
    """
    arguments, marked, closure = _prepare(function, primals)
    tangent_leaves = _tangent_leaves(tangents, arguments, function)
    derivative = derive.jvp(_stable(closure.region), [False] * closure.n_captured + marked)
    results = apply_region(derivative, [*closure.captured, *arguments.values, *tangent_leaves])
    count = len(closure.region.results)
    outs = iter(results[count:])
    out_tangents = [
        next(outs) if result.type.dtype.is_inexact else zeros_of(result.type)
        for result in closure.region.results
    ]
    value = tree.unflatten(closure.out_tree, results[:count])
    return value, _tangent_tree(closure.out_tree, results[:count], out_tangents)


@sealed
@reported
def linearize(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(value, push): `push(*tangents)` is the derivative along tangents, the value not computed
    again.
    """
    arguments, marked, closure = _prepare(function, primals)
    results_of = closure.region.results
    count = len(results_of)
    linearised = derive.TRANSFORMS.split(
        closure.region, [False] * closure.n_captured + marked, [True] * count
    )
    results = apply_region(linearised.known, [*closure.captured, *arguments.values])

    @sealed
    @reported
    def push(*tangents: Any) -> Any:
        tangent_leaves = _tangent_leaves(tangents, arguments, function)
        outs = iter(apply_region(linearised.linear, [*results[count:], *tangent_leaves]))
        leaves = [
            next(outs) if has else zeros_of(result.type)
            for result, has in zip(results_of, linearised.has, strict=True)
        ]
        return _tangent_tree(closure.out_tree, results[:count], leaves)

    return tree.unflatten(closure.out_tree, results[:count]), push


@sealed
@reported
def linear_transpose(function: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """The transpose of a linear function of arguments like the examples (arrays or specs).

    >>> import numpy as np, weft as wf
    >>> wf.linear_transpose(lambda x: 3 * x, wf.spec("f64[2]"))(np.array([1.0, 2.0]))[0]
    array([3., 6.])
    """
    arguments, marked, closure = _prepare(function, examples)
    types = [result.type for result in closure.region.results]

    @sealed
    @reported
    def transposed(cotangents: Any) -> Any:
        leaves = _check_structure(cotangents, closure.out_tree, types, "cotangent", function)
        linear = [False] * closure.n_captured + marked
        derived = derive.TRANSFORMS.transpose(closure.region, linear, [True] * len(types))
        outs = iter(apply_region(derived.region, [*closure.captured, *leaves]))
        cotangents_of = [next(outs) if present else None for present in derived.has]
        return _cotangent_tree(arguments, marked, cotangents_of)

    return transposed


def _prepare(
    function: Callable[..., Any], primals: Sequence[Any]
) -> tuple[FlatArguments, list[bool], Closure]:
    if not isinstance(primals, tuple | list):
        raise ArgumentError(
            f"primals must be a tuple of arguments, got {type(primals).__name__}",
            location=caller_location(),
        )
    arguments = flatten_arguments(_name(function), parameter_names(function), primals)
    return arguments, _varying(arguments), _close(function, arguments)


def _varying(arguments: FlatArguments) -> list[bool]:
    """Which leaves have derivatives: floating-point ones that are not constant."""
    return [
        leaf.type.dtype.is_inexact and not constant
        for leaf, constant in zip(arguments.leaves, arguments.constant, strict=True)
    ]


def _cotangent_tree(
    arguments: FlatArguments, marked: Sequence[bool], computed: Sequence[Any]
) -> Any:
    """Cotangents in the structure of arguments: constant leaves as they are, zeros where there is
    none.
    """
    remaining = iter(computed)
    leaves = []
    for leaf, value, mark, constant in zip(
        arguments.leaves, arguments.values, marked, arguments.constant, strict=True
    ):
        cotangent = next(remaining) if mark else None
        if constant:
            leaves.append(value)
        else:
            leaves.append(zeros_of(leaf.type) if cotangent is None else cotangent)
    return tree.unflatten(arguments.treedef, leaves)


def _tangent_tree(treedef: tree.TreeDef, values: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Tangents in the structure of results, whose constant leaves are as they are."""
    constant = tree.constant_leaves(treedef)
    leaves = [
        value if is_constant else tangent
        for value, tangent, is_constant in zip(values, tangents, constant, strict=True)
    ]
    return tree.unflatten(treedef, leaves)


def _tangent_leaves(
    tangents: Sequence[Any], arguments: FlatArguments, function: Callable[..., Any]
) -> list[Any]:
    """The tangents of the floating-point leaves, checked against the arguments."""
    types = [leaf.type for leaf in arguments.leaves]
    names = [leaf.name for leaf in arguments.leaves]
    leaves = _check_structure(tuple(tangents), arguments.treedef, types, "tangent", function, names)
    _require_same_constants(leaves, arguments, function)
    return [t for t, mark in zip(leaves, _varying(arguments), strict=True) if mark]


def _require_same_constants(
    tangents: Sequence[Any], arguments: FlatArguments, function: Callable[..., Any]
) -> None:
    """A tangent has the constant leaves of its argument, as far as both are known."""
    for leaf, value, tangent, constant in zip(
        arguments.leaves, arguments.values, tangents, arguments.constant, strict=True
    ):
        is_known = isinstance(value, np.ndarray) and isinstance(tangent, np.ndarray)
        if constant and is_known and not np.array_equal(value, tangent):
            raise ArgumentError(
                f"the tangent of {_name(function)} has another {leaf.name} than the argument; "
                "derivatives keep it as it is",
                location=caller_location(),
            )


def _check_structure(
    values: Any,
    treedef: tree.TreeDef,
    types: Sequence[ArrayType],
    what: str,
    function: Callable[..., Any],
    names: Sequence[str] | None = None,
) -> list[Any]:
    """The leaves of tangents or cotangents, which must match values in structure and type."""
    leaves, own = tree.flatten(values)
    if not tree.is_alike(own, treedef):
        raise ArgumentError(
            f"the {what} of {_name(function)} has the structure {own}, expected {treedef}",
            location=caller_location(),
        )
    labels = names or [f"result {i}" if len(types) > 1 else "the result" for i in range(len(types))]
    for leaf, type, label in zip(leaves, types, labels, strict=True):
        if not type.dtype.is_inexact:
            continue
        actual = describe_leaf(label, leaf, _name(function))
        same_kind = actual.type == type or (actual.weak and actual.type.shape == type.shape)
        if not same_kind:
            raise ShapeError(
                f"the {what} of {label} of {_name(function)} is {actual.type}, expected {type}",
                location=caller_location(),
            )
    return leaves


def zeros_of(type: ArrayType) -> Any:
    """Zeros, traced or computed now."""
    trace = find_trace()
    if trace is None:
        return np.zeros([int(size) for size in type.shape], type.dtype.numpy)
    return trace.wrap(zeros(type))
