"""k-means with k-means++ and several starts."""

from .estimator import KMeans, cluster

__all__ = ["KMeans", "cluster"]
