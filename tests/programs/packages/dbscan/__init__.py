"""Density based clustering by growing regions."""

from .cluster import DBSCAN, dbscan

__all__ = ["DBSCAN", "dbscan"]
