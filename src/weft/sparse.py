"""`weft.sparse`: sparse arrays in traced functions. See `weft.frontends.sparse`."""

from weft.frontends.sparse.creation import asarray, coo, csc, csr, from_dense
from weft.frontends.tracing.sparse_array import SparseArray

__all__ = ["SparseArray", "asarray", "coo", "csc", "csr", "from_dense"]
