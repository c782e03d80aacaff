"""The operations of sparse arrays put together, as traces hand them to these."""

from __future__ import annotations

from typing import Any, Final

from weft.frontends.numpy.sparse import conversion, elementwise, products, reductions
from weft.frontends.tracing import tree
from weft.frontends.tracing.sparse_array import Operations


def _binary(function: str, left: Any, right: Any) -> Any:
    left, right = tree.as_sparse_array(left), tree.as_sparse_array(right)
    if function == "matmul":
        return products.matmul(left, right)
    return elementwise.binary(function, left, right)


OPERATIONS: Final = Operations(
    unary=elementwise.unary,
    binary=_binary,
    todense=conversion.todense,
    astype=conversion.astype,
    compressed=conversion.compressed,
    total=reductions.total,
    mean=reductions.mean,
    extreme=reductions.extreme,
    diagonal=reductions.diagonal,
    element=reductions.element,
)
