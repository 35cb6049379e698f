"""Clusters of points."""

from covector.scipy.cluster import vq

__all__ = ["vq"]
