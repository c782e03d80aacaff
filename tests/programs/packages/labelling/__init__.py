"""Connected components and what they measure."""

from .components import label, regionprops
from .unionfind import UnionFind

__all__ = ["UnionFind", "label", "regionprops"]
