"""Special functions, element by element, with SciPy's names.

Operands broadcast, and integers are promoted to floating-point numbers. Each function
says for which arguments it is defined; outside of them it is NaN.
"""

import typing

from covector import namespaces
from covector.scipy.special.bessel import *
from covector.scipy.special.beta_family import *
from covector.scipy.special.entropies import *
from covector.scipy.special.error_functions import *
from covector.scipy.special.faddeeva import *
from covector.scipy.special.gamma_family import *
from covector.scipy.special.hypergeometric import *
from covector.scipy.special.integrals import *
from covector.scipy.special.numbers import *
from covector.scipy.special.softmax import *
from covector.scipy.special.spherical import *
from covector.scipy.special.transformations import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
