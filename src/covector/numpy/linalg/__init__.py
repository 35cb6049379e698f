"""Linear algebra of matrices and of stacks of them, ``[..., m, n]``.

Operands are promoted to floating-point or complex numbers of 32 or 64 bits. What NumPy
refuses, a singular matrix for instance, is an error here too where its values are
known; under ``jit``, ``vmap`` and derivatives the results are NaN or infinite instead.
"""

import typing

from covector import namespaces
from covector.errors import LinAlgError as LinAlgError
from covector.numpy.linalg.eigenvalues import *
from covector.numpy.linalg.factorizations import *
from covector.numpy.linalg.norms import *
from covector.numpy.linalg.products import *
from covector.numpy.linalg.solutions import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
