"""Operations one by one: strictly typed functions, control flow, and named axes.

Operands have one dtype, and one shape unless they are scalars; ``covector.numpy``
promotes and broadcasts.
"""

import typing

from covector import namespaces
from covector.lax import linalg as linalg
from covector.lax.arithmetic import *
from covector.lax.bitwise import *
from covector.lax.casting import *
from covector.lax.comparison import *
from covector.lax.complex import *
from covector.lax.composites import *
from covector.lax.contraction import *
from covector.lax.control_flow import *
from covector.lax.convolution import *
from covector.lax.convolution_shapes import *
from covector.lax.creation import *
from covector.lax.cumulative import *
from covector.lax.element_loops import *
from covector.lax.fft import *
from covector.lax.gathering import *
from covector.lax.generators import *
from covector.lax.identities import *
from covector.lax.parallel import *
from covector.lax.placement import *
from covector.lax.platforms import *
from covector.lax.powers import *
from covector.lax.ragged import *
from covector.lax.ragged_exchange import *
from covector.lax.reductions import *
from covector.lax.rounding import *
from covector.lax.selection import *
from covector.lax.shapes import *
from covector.lax.slicing import *
from covector.lax.solvers import *
from covector.lax.sorting import *
from covector.lax.special import *
from covector.lax.transcendental import *
from covector.lax.windows import *
from covector.operations.accuracy import AccuracyMode as AccuracyMode
from covector.operations.accuracy import Tolerance as Tolerance

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals(), "linalg")
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
