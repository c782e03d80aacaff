"""Rows of the products of arrays: dot, matmul and their relatives, tensordot, kron, einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import (
    ALL,
    BOOL,
    NUMBER,
    REAL,
    Array,
    Draw,
    an_axis,
    array,
    broadcastable,
    chance,
    choice,
    distinct_axes,
    integer,
    operand,
    options,
    shape,
)
from tests.frontends.numpy.checking import Call, Function, Known, call
from tests.frontends.numpy.row import Row, named, rows

BFLOAT16 = ("bfloat16",)

# --- vectors and matrices -------------------------------------------------------------------------


def summed(draw: Draw, last_but_one: bool) -> Call:
    """Arrays of which the last axis of the first is as long as one of the second."""
    x = array(draw, least_rank=1)
    others = list(shape(draw, most_rank=2))
    place = max(len(others) - 1, 0) if last_but_one else len(others)
    others.insert(place, x.shape[-1] if integer(draw, 0, 9) else 7)
    return call(x, known_or_traced(draw, array(draw, of=others)))


def dotted(draw: Draw) -> Call:
    return summed(draw, last_but_one=True)


def inner_product(draw: Draw) -> Call:
    return summed(draw, last_but_one=False)


def with_number(draw: Draw) -> Call:
    pair = [operand(draw), operand(draw, of=())]
    return call(*(pair[::-1] if chance(draw) else pair))


def same_size(draw: Draw) -> Call:
    x = array(draw)
    other = choice(draw, x.shape, x.shape[::-1], (x.size,), (x.size + 1,))
    return call(x, known_or_traced(draw, array(draw, of=other)))


def any_pair(draw: Draw) -> Call:
    return call(operand(draw), operand(draw))


def known_or_traced(draw: Draw, made: Array) -> Any:
    return Known(made) if integer(draw, 0, 4) == 4 else made


def tensors(draw: Draw) -> Call:
    x = array(draw)
    mine = distinct_axes(draw, x.ndim)
    sizes = list(shape(draw, most_rank=2))
    places = draw(st.permutations(range(len(sizes) + len(mine))))[: len(mine)]
    others: list[int] = [-1] * (len(sizes) + len(mine))
    for axis, place in zip(mine, places, strict=True):
        others[place] = x.shape[axis]
    rest = iter(sizes)
    y = array(draw, of=[next(rest) if size < 0 else size for size in others])
    if len(mine) == 1 and chance(draw):
        return call(x, y, axes=(mine[0], places[0]))
    return call(x, y, axes=choice(draw, (mine, tuple(places)), [list(mine), list(places)]))


def tensors_in_order(draw: Draw) -> Call:
    x = array(draw)
    count = integer(draw, 0, x.ndim)
    y = array(draw, of=(*x.shape[x.ndim - count :], *shape(draw, most_rank=2)))
    return call(x, known_or_traced(draw, y), axes=count)


def tensors_of_two(draw: Draw) -> Call:
    """Without `axes`, which then is 2."""
    x = array(draw, least_rank=1)
    return call(x, array(draw, of=(*x.shape[-2:], 2)))


# --- stacks ---------------------------------------------------------------------------------------


def stacked(draw: Draw, left: tuple[int, ...], right: tuple[int, ...]) -> Call:
    """Arrays with these last axes, below leading ones that broadcast together."""
    common = shape(draw, most_rank=2)
    stacks = [common, broadcastable(draw, common)]
    x, y = [
        array(draw, of=(*stack, *core))
        for stack, core in zip(stacks if chance(draw) else stacks[::-1], (left, right), strict=True)
    ]
    # Everything casts to complex128 safely, as NumPy wants it of its ufuncs.
    return call(x, known_or_traced(draw, y), **options(draw, dtype=st.just(np.complex128)))


def sizes(draw: Draw) -> tuple[int, int, int]:
    m, k, n = shape(draw, least_rank=3)
    return m, k, n


def matrix_products(draw: Draw) -> Call:
    m, k, n = sizes(draw)
    wrong = 7 if integer(draw, 0, 9) == 9 else k
    return stacked(draw, choice(draw, (m, k), (m, k), (k,)), choice(draw, (k, n), (wrong, n), (k,)))


def matrix_products_alone(draw: Draw) -> Call:
    """For numpy.linalg's, which has no dtype."""
    return call(*matrix_products(draw).args)


def matrix_with_number(draw: Draw) -> Call:
    return call(array(draw), operand(draw, of=()))


def matrix_vector(draw: Draw) -> Call:
    m, k, _ = sizes(draw)
    return stacked(draw, (m, k), choice(draw, (k,), (k,), (k + 1,)))


def vector_matrix(draw: Draw) -> Call:
    _, k, n = sizes(draw)
    return stacked(draw, choice(draw, (k,), (k,), (k + 1,)), (k, n))


def vectors(draw: Draw) -> Call:
    k = sizes(draw)[0]
    return stacked(draw, (k,), (k,))


def vectors_along(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    y = array(draw, of=x.shape)
    return call(x, y, **options(draw, axis=st.just(an_axis(draw, x.ndim))))


def matvec(x: Any, y: Any, **kwargs: Any) -> Any:
    """NumPy's, for versions before 2.2."""
    return np.matmul(x, y[..., np.newaxis], **kwargs)[..., 0]


def vecmat(x: Any, y: Any, **kwargs: Any) -> Any:
    """NumPy's, for versions before 2.2."""
    return np.matmul(np.conj(x)[..., np.newaxis, :], y, **kwargs)[..., 0, :]


# --- kron and cross -------------------------------------------------------------------------------


def of_components(draw: Draw, counts: tuple[int, int], *places: str) -> Call:
    """Vectors along drawn axes, in stacks that broadcast together."""
    common = shape(draw, most_rank=2)
    axes = {place: integer(draw, -len(common) - 1, len(common)) for place in places}
    made = []
    for count, place in zip(counts, ("axisa", "axisb"), strict=True):
        full = list(common) if chance(draw) else [choice(draw, s, 1) for s in common]
        at = axes.get(place, axes.get("axis", -1)) % (len(common) + 1)
        made.append(array(draw, (*NUMBER, *BOOL), [*full[:at], count, *full[at:]]))
    return call(*made, **axes)


def crossed(draw: Draw) -> Call:
    places = choice(draw, (), ("axis",), ("axisa", "axisb", "axisc"))
    return of_components(draw, choice(draw, (3, 3), (3, 3), (3, 4)), *places)


def crossed_in_last(draw: Draw) -> Call:
    """For numpy.linalg's, of 3 components only."""
    return of_components(draw, choice(draw, (3, 3), (3, 3), (3, 2)), *choice(draw, (), ("axis",)))


def crossed_planes(draw: Draw) -> Call:
    x, y = [array(draw, REAL, (2, 2), values="finite") for _ in range(2)]
    counts = choice(draw, (2, 2), (2, 3), (3, 2))
    spatial = array(draw, REAL, (2, 3), values="finite")
    pairs = {(2, 2): (x, y), (2, 3): (x, spatial), (3, 2): (spatial, y)}
    return call(*pairs[counts])


def cross_in_space(x: Array, y: Array) -> Array:
    """With a third component of 0 added, where NumPy warns, and will refuse, for lack of one."""
    left, right = [np.pad(v, [(0, 0), (0, 3 - v.shape[-1])]) for v in (x, y)]
    found: Array = np.cross(left, right)
    both_flat = x.shape[-1] == y.shape[-1] == 2
    return np.asarray(found[..., 2]) if both_flat else found


# --- einsum ---------------------------------------------------------------------------------------

EQUATIONS = (
    "i->",
    "ii",
    "ii->i",
    "iij->ji",
    "ij->ji",
    "ij",
    "ba",
    "i,i",
    "i,i->i",
    "i,j",
    "ij,jk",
    "ij,jk->ki",
    "ij,j -> i",
    "bij,bjk->bik",
    "ij,ij->",
    "ijk,kj->i",
    "ii,ij->j",
    "ij,kl->l",
    "ij,jk,kl->il",
    "i,i,i->",
    "ij,jk,ki",
    "a,ab,abc->c",
    ",ij->ij",
    ",",
)
WITH_ELLIPSIS = (
    "...i->...",
    "...ii->...i",
    "i...->...i",
    "...ij,...jk->...ik",
    "...i,i",
    "...,...",
    "i...j,j->i...",
    "...i,...i,...i->...",
)


def letters(draw: Draw, equation: str) -> list[Any]:
    """Arrays for the subscripts; once in a while one size is 1, or wrong."""
    dtypes = choice(draw, ALL, REAL, ("float32",))
    by_letter: dict[str, int] = {}
    made = []
    for part in equation.replace(" ", "").partition("->")[0].split(","):
        start, dots, end = part.partition("...")
        for letter in start + end:
            by_letter.setdefault(letter, choice(draw, 2, 3, 2, 1, 0))
        middle = broadcastable(draw, (2, 3)) if dots else ()
        target = [*map(by_letter.get, start), *middle, *map(by_letter.get, end)]
        if target and integer(draw, 0, 11) == 11 and len(set(part)) == len(part):
            target[0] = choice(draw, 1, 7)
        made.append(array(draw, dtypes, [size or 0 for size in target], values="finite"))
    return [known_or_traced(draw, x) for x in made]


def labelled(draw: Draw) -> Call:
    equation = choice(draw, *EQUATIONS, *WITH_ELLIPSIS)
    chosen = options(draw, optimize=st.sampled_from((True, False, "greedy", "optimal")))
    # NumPy forgets the dtype where it returns a view of its only operand.
    if "," in equation:
        chosen |= options(draw, dtype=st.just(np.complex128))
    return call(equation, *letters(draw, equation), **chosen)


def listed(draw: Draw) -> Call:
    """The other notation: each operand followed by a list of numbers."""
    equation = choice(draw, "ij,jk->ik", "ii->i", "i,j->ji", "...i,i->...", "ij,jk->")
    inputs, _, output = equation.partition("->")
    given: list[Any] = []
    for x, part in zip(letters(draw, equation), inputs.split(","), strict=True):
        given += [x, numbered(part)]
    return call(*given, *([numbered(output)] if chance(draw) or "..." in output else []))


def numbered(subscripts: str) -> list[Any]:
    start, dots, end = subscripts.partition("...")
    middle = [...] if dots else []
    return [*[ord(s) - ord("a") for s in start], *middle, *[ord(s) - ord("a") for s in end]]


def in_given_order(draw: Draw) -> Call:
    """With a path, as einsum_path gives it."""
    steps: tuple[Any, ...] = ([(0, 1), (0, 1)], [(1, 2), (0, 1)], [(0, 1, 2)])
    path = ["einsum_path", *choice(draw, *steps)]
    x, y, z = letters(draw, "ij,jk,kl->il")
    return call("ij,jk,kl->il", x, y, z, optimize=path)


def bad_subscripts(draw: Draw) -> Call:
    x = array(draw, of=(2, 2))
    text = choice(draw, "ijk", "i", "ij,jk", "ij->ijj", "ij->k", "i.j", "i1", "...ij->ij->")
    return call(text, x)


# --- bfloat16, which NumPy itself has few loops for -----------------------------------------------


def in_single(name: str) -> Function:
    """NumPy's function on bfloat16 by way of float32."""

    def computed(*args: Any, **kwargs: Any) -> Any:
        wide = [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in args]
        return named(np, name)(*wide, **kwargs).astype(np.dtype("bfloat16"))

    return computed


def brief_matrices(draw: Draw) -> Call:
    m, k, n = sizes(draw)
    return call(*[array(draw, BFLOAT16, of, values="finite") for of in ((m, k), (k, n))])


def brief_vectors(draw: Draw) -> Call:
    k = sizes(draw)[0]
    return call(*[array(draw, BFLOAT16, (k,), values="finite") for _ in range(2)])


def brief_labelled(draw: Draw) -> Call:
    return call("ij,jk->ki", *brief_matrices(draw).args)


ROWS: list[Row] = [
    Row("dot", dotted),
    Row("inner", inner_product),
    *rows("dot inner", with_number),
    Row("vdot", same_size),
    *rows("outer kron", any_pair),
    Row("tensordot", tensors),
    Row("tensordot", tensors_in_order),
    Row("tensordot", tensors_of_two),
    Row("matmul", matrix_products),
    *rows("matmul vecdot", matrix_with_number),
    Row("vecdot", vectors),
    Row("vecdot", vectors_along),
    Row("matvec", matrix_vector, oracle=None if hasattr(np, "matvec") else matvec),
    Row("vecmat", vector_matrix, oracle=None if hasattr(np, "vecmat") else vecmat),
    Row("cross", crossed),
    Row("cross", crossed_planes, oracle=cross_in_space),
    Row("einsum", labelled, tolerance=64.0),
    Row("einsum", listed, tolerance=64.0),
    Row("einsum", in_given_order, tolerance=64.0),
    Row("einsum", bad_subscripts),
    *[Row(name, brief_matrices, oracle=in_single(name)) for name in ("dot", "matmul", "kron")],
    *[Row(name, brief_vectors, oracle=in_single(name)) for name in ("vdot", "inner", "outer")],
    Row("einsum", brief_labelled, oracle=in_single("einsum")),
]
