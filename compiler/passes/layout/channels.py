"""Where channels lie: last instead of first for convolutions of one tap, where that pays.

Convolutions have their channels first, and nearly all run fastest so (docs/decisions/layout.md).
With one tap and few pixels in each image, though, the lanes of a tile are partly empty; the pixels
of all images as rows of one product, with channels last, fill them. Such convolutions become
products here, behind which their result is transposed. Transposes then go down through all that
does not mind, like those that users write around convolutions: through elementwise ops in
`sink_views`, through pooling, padding, slices, joins and reshapes of single axes here. They vanish
where they meet their inverse, a product or a reduction. Those that would remain are counted
beforehand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.edit import Editor, edit, with_region, without_dead_ops
from weft.compiler.ir.graph import Graph, Op, Region, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import helpers
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.convolution import convolution
from weft.compiler.ops.shape import broadcast, concatenate, pad, reshape, slice_, transpose
from weft.compiler.ops.window import reduce_window
from weft.compiler.passes.layout.reshape import below_reshape
from weft.compiler.record import record
from weft.compiler.rewrite.rules_product import REDUCTIONS
from weft.compiler.rewrite.rules_shape import ELEMENTWISE, made_by

_ELEMENTWISE: Final = frozenset(ELEMENTWISE)


@record
class ChannelLimits:
    """What a layout costs; docs/decisions/layout.md has the measurements."""

    tile_bytes: int = 128  # of the columns of a tile; half of them are worth a tile of their own
    move: int = 150  # multiplications that take as long as transposing an element
    move_to_windows: int = 250  # the same where a convolution with windows reads the element
    most_pixels: int = 256  # of images whose kernels' gradients become products
    least_channels: int = 64  # of inputs and outputs of these


LIMITS: Final = ChannelLimits()
_ABSORBING: Final = frozenset((dot_general, *REDUCTIONS))  # take up a transpose


def lay_out_channels(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with convolutions of one tap as products where that pays, and transposes of images
    below what does not mind them.
    """
    counts = fired if fired is not None else Counter()
    chosen = {op for region in graph.regions() for op in _chosen(region)}
    if chosen:
        graph = with_region(graph, _with_products(graph.region, chosen, counts))
    kinds = {op.definition for region in graph.regions() for op in region.ops}
    if not kinds & {convolution, reduce_window}:
        return graph
    # An op that went before a transpose may stand behind another one now.
    while (changed := _sink(graph, counts)) is not graph:
        graph = changed
    return graph


def layout_changes(graph: Graph) -> list[Op]:
    """The transposes of a graph that move the channels of images from one end to the other."""
    changes: list[Op] = []
    for region in graph.regions():
        images = _images(region)
        changes += [
            op
            for op in region.ops
            if op.definition is transpose
            and _moves_channels(op.attributes["permutation"])
            and images.intersection((*op.operands, *op.results))
        ]
    return changes


def _moves_channels(permutation: Sequence[int]) -> bool:
    rank = len(permutation)
    last = _channels_first(rank)
    return 3 <= rank <= 5 and tuple(permutation) in (last, tuple(helpers.inverse(last)))


def _channels_first(rank: int) -> tuple[int, ...]:
    """The permutation that brings the last axis behind the first."""
    return (0, rank - 1, *range(1, rank - 1))


# --- which convolutions -------------------------------------------------------------------------


def _is_plain(op: Op) -> bool:
    """Whether windows neither skip nor add anything."""
    ones = (*op.attributes["strides"], *op.attributes["lhs_dilation"])
    known = all(isinstance(size, int) for v in op.operands for size in v.type.shape)
    return (
        known
        and op.attributes["groups"] == 1
        and all(one == 1 for one in ones)
        and all(tuple(pair) == (0, 0) for pair in op.attributes["padding"])
        and op.results[0].type.dtype in (dtypes.f32, dtypes.f64)
    )


def _elements(sizes: Sequence[Any]) -> int:
    count = 1
    for size in sizes:
        count *= int(size)
    return count


def _gain(op: Op) -> int:
    """The multiplications with empty lanes that a convolution of one tap has; 0 of others."""
    if op.definition is not convolution or not _is_plain(op):
        return 0
    (images, channels, *_), (outputs, _, *taps) = [v.type.shape for v in op.operands]
    if any(size != 1 for size in taps) or images < 2:
        return 0
    pixels = _elements(op.results[0].type.shape[2:])
    tile = LIMITS.tile_bytes // op.results[0].type.dtype.itemsize
    tile = tile // 2 if pixels <= tile // 2 else tile
    return int(images * channels * outputs * (-pixels % tile))


def _chosen(region: Region) -> set[Op]:
    """The convolutions of one tap that are worth it, with all transposes that remain."""
    gains = {op: gain for op in region.ops if (gain := _gain(op)) > 0}
    readers: dict[Value, list[Op]] = {}
    for op in region.ops if gains else ():
        for operand in op.operands:
            readers.setdefault(operand, []).append(op)
    while gains:
        lost = _not_worth_it(region, gains, readers)
        if not lost:
            break
        for op in lost:
            del gains[op]
    kernels = {op for op in region.ops if gains and _is_kernel_gradient(op)}
    return kernels.union(gains)


def _not_worth_it(
    region: Region, gains: Mapping[Op, int], readers: Mapping[Value, list[Op]]
) -> list[Op]:
    """The convolutions of those chains with channels last whose transposes cost more than they
    gain.
    """
    chains: dict[Value, int] = {}
    worth: Counter[int] = Counter()
    results = set(region.results)
    for op in region.ops:
        if op in gains:
            chains[op.results[0]] = len(chains)
            worth[chains[op.results[0]]] += gains[op]
        elif op.definition in _ELEMENTWISE:
            _join(op, chains, worth)
    for value, chain in chains.items():
        if _elements(value.type.shape[2:]) > 1:
            left = [
                reader
                for reader in readers.get(value, ())
                if reader.results[0] not in chains
                and not (reader in gains and reader.operands[0] is value)
                and reader.definition not in _ABSORBING
            ]
            into_windows = any(reader.definition is convolution for reader in left)
            remains = value in results or bool(left)
            moving = LIMITS.move if remains else 0
            cost = LIMITS.move_to_windows if into_windows else moving
            worth[chain] -= cost * _elements(value.type.shape)
    return [op for op in gains if worth[chains[op.results[0]]] <= 0]


def _join(op: Op, chains: dict[Value, int], worth: Counter[int]) -> None:
    """Let the result of an elementwise op be part of a chain if all of its operands can be."""
    met = sorted({chains[v] for v in op.operands if v in chains})
    others = [v for v in op.operands if v.type.rank and v not in chains]
    if not met or any(made_by(v, broadcast) is None for v in others):
        return
    first, *rest = met
    for chain in rest:
        worth[first] += worth.pop(chain)
        for value in [v for v, number in chains.items() if number == chain]:
            chains[value] = first
    chains[op.results[0]] = first


def _is_kernel_gradient(op: Op) -> bool:
    """Whether a convolution has one window, of few pixels and many channels of both sides."""
    if op.definition is not convolution or not _is_plain(op):
        return False
    (inputs, _, *_), (outputs, _, *taps) = [v.type.shape for v in op.operands]
    is_single = all(size == 1 for size in op.results[0].type.shape[2:])
    is_plain = all(one == 1 for one in op.attributes["rhs_dilation"])
    is_wide = min(inputs, outputs) >= LIMITS.least_channels
    return is_single and is_plain and is_wide and 1 < _elements(taps) <= LIMITS.most_pixels


# --- products -----------------------------------------------------------------------------------


def _with_products(region: Region, chosen: set[Op], counts: Counter[str]) -> Region:
    editor = Editor(region)
    with editor.builder.active():
        for op in region.ops:
            inner = [_with_products(nested, chosen, counts) for nested in op.regions]
            current = editor.current(op, inner)
            editor.builder.location = op.location
            if op not in chosen:
                editor.keep(op, current)
            elif _is_kernel_gradient(op):
                editor.replace(op, (_over_pixels(current),))
                counts["kernel gradient as product"] += 1
            else:
                editor.replace(op, (_of_pixels(current),))
                counts["channels last for one tap"] += 1
    rebuilt = editor.builder.region([editor.value(v) for v in region.results])
    same = len(rebuilt.ops) == len(region.ops) and all(map(_is, rebuilt.ops, region.ops))
    return region if same else without_dead_ops(rebuilt)


def _is(left: object, right: object) -> bool:
    return left is right


def _of_pixels(op: Op) -> Value:
    """A convolution of one tap as a product of pixels [N, *spatial, C] and kernels, transposed."""
    lhs, rhs = op.operands
    kernels = helpers.reshape(rhs, rhs.type.shape[:2])
    product = dot_general(lhs, kernels, lhs_contract=(1,), rhs_contract=(1,))
    return transpose(product, permutation=_channels_first(product.type.rank))


def _over_pixels(op: Op) -> Value:
    """A convolution with one window as a product over channels and pixels."""
    lhs, rhs = op.operands
    axes = tuple(range(1, lhs.type.rank))
    product = dot_general(lhs, rhs, lhs_contract=axes, rhs_contract=axes)
    return helpers.reshape(product, op.results[0].type.shape)


# --- transposes ---------------------------------------------------------------------------------


def _images(region: Region) -> set[Value]:
    """The values that convolutions make or read, and what is made of them at the same places."""
    images: set[Value] = set()
    products: set[Value] = set()  # with more than one axis before the last, and what is made of it
    for op in region.ops:
        if op.definition is convolution:
            images.update((op.operands[0], *op.results))
        elif op.definition is dot_general and op.results[0].type.rank > 2:
            products.update(op.results)
        elif op.definition in _TRANSPARENT or op.definition in _ELEMENTWISE:
            if any(operand in images for operand in op.operands):
                images.update(op.results)
            elif op.definition is not transpose and products.intersection(op.operands):
                products.update(op.results)
            elif products.intersection(op.operands) and _brings_channels_first(op):
                images.update(op.results)
    return images


def _brings_channels_first(op: Op) -> bool:
    permutation = tuple(op.attributes["permutation"])
    return permutation == _channels_first(len(permutation))


def _sink(graph: Graph, counts: Counter[str]) -> Graph:
    """Transposes of images below ops that do not mind."""
    images = {value for region in graph.regions() for value in _images(region)}

    def visit(op: Op) -> Sequence[Value] | None:
        below = _BELOW.get(op.definition)
        if below is None:
            return None
        inner = made_by(op.operands[0], transpose)
        if inner is None or not _is_image(op.operands[0], images):
            return None
        sunk = below(op, inner)
        if sunk is None:
            return None
        images.add(sunk)
        counts[f"transpose below {op.name}"] += 1
        return (sunk,)

    return edit(graph, visit)


def _is_image(value: Value, images: set[Value]) -> bool:
    while value not in images and isinstance(value, Result) and value.op.definition in _TRANSPARENT:
        value = value.op.operands[0]
    return value in images


def _before(entries: Sequence[Any], permutation: Sequence[int]) -> tuple[Any, ...]:
    """Entries of the axes after a transpose, in the order of the axes before it."""
    return tuple(entries[axis] for axis in helpers.inverse(permutation))


def _with_entries(names: tuple[str, ...]) -> Callable[[Op, Op], Value]:
    """An op with an entry for each axis in these attributes, before a transpose."""

    def below(op: Op, inner: Op) -> Value:
        permutation = inner.attributes["permutation"]
        moved = {name: _before(op.attributes[name], permutation) for name in names}
        operands = (inner.operands[0], *op.operands[1:])
        result = op.definition(*operands, **{**op.attributes, **moved})
        return transpose(result, permutation=permutation)

    return below


def _below_concatenate(op: Op, inner: Op) -> Value | None:
    permutation = inner.attributes["permutation"]
    sources = list(_sources(op, permutation))
    if len(sources) != len(op.operands):
        return None
    joined = concatenate(*sources, axis=permutation[op.attributes["axis"]])
    return transpose(joined, permutation=permutation)


def _sources(op: Op, permutation: Sequence[int]) -> Iterator[Value]:
    for operand in op.operands:
        inner = made_by(operand, transpose)
        if inner is not None and inner.attributes["permutation"] == permutation:
            yield inner.operands[0]


_BELOW: Final[Mapping[OpDef, Callable[[Op, Op], Value | None]]] = {
    reduce_window: _with_entries(
        ("window", "strides", "padding", "base_dilation", "window_dilation")
    ),
    pad: _with_entries(("low", "high", "interior")),
    slice_: _with_entries(("starts", "limits", "strides")),
    concatenate: _below_concatenate,
    reshape: below_reshape,
}
_TRANSPARENT: Final = frozenset({*_BELOW, transpose})
