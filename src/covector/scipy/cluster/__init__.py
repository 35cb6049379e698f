"""Clusters of points."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.scipy.cluster import vq

__all__ = ["vq"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)
