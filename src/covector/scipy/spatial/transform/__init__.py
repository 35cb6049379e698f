"""Rotations of space, and interpolation between them."""

from covector import namespaces
from covector.scipy.spatial.transform.rotation import Rotation
from covector.scipy.spatial.transform.slerp import Slerp

__all__ = ["Rotation", "Slerp"]
__dir__ = namespaces.completions(globals())
