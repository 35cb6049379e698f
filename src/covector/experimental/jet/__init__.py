"""Taylor mode: all derivatives along a curve at once, up to an order."""

from covector import namespaces
from covector.experimental.jet.jet import jet

__all__ = ["jet"]
__dir__ = namespaces.completions(globals())
