"""`weft.sparse`: sparse arrays in traced functions. See `weft.frontends.sparse`."""

from weft.frontends.sparse.array import SparseArray
from weft.frontends.sparse.conversion import asarray, coo, csc, csr, from_dense

__all__ = ["SparseArray", "asarray", "coo", "csc", "csr", "from_dense"]
