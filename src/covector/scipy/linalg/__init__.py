"""Linear algebra with SciPy's names, of matrices and of stacks of them.

Operands are promoted to floating-point or complex numbers of 32 or 64 bits. What SciPy
refuses, a singular matrix for instance, is an error here too where its values are
known; under ``jit``, ``vmap`` and derivatives the results are NaN or infinite instead.

``overwrite_…``, ``check_finite`` and other keywords that tell SciPy how to go about its
work are accepted, and of no consequence: arrays are not overwritten, and NaN leads to
NaN.
"""

import typing

from covector import namespaces
from covector.errors import LinAlgError as LinAlgError
from covector.scipy.linalg.eigenvalues import *
from covector.scipy.linalg.factorizations import *
from covector.scipy.linalg.matrix_functions import *
from covector.scipy.linalg.named_matrices import *
from covector.scipy.linalg.similarity import *
from covector.scipy.linalg.solutions import *
from covector.scipy.linalg.structured_matrices import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
