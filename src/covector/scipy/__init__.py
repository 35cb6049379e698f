"""Parts of SciPy, for arrays that are differentiated, batched and compiled."""

from covector.scipy import sparse

__all__ = ["sparse"]
