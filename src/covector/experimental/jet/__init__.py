"""Taylor mode: all derivatives along a curve at once, up to an order."""

from covector.experimental.jet.jet import jet

__all__ = ["jet"]
