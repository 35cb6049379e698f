"""Linear algebra of stacks of matrices, as operations have it.

Operands are of one element type: float32, float64, complex64 or complex128. A matrix
that has no such factorization gives NaN; ``covector.numpy.linalg`` promotes operands,
and raises where values are known.
"""

import typing

from covector import namespaces
from covector.lax.linalg.condensed import *
from covector.lax.linalg.orthogonal import *
from covector.lax.linalg.spectral import *
from covector.lax.linalg.triangular import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
