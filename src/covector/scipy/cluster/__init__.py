"""Clusters of points."""

from covector import namespaces
from covector.scipy.cluster import vq

__all__ = ["vq"]
__dir__ = namespaces.completions(globals())
