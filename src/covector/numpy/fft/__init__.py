"""Discrete Fourier transforms along one axis or several, of any length.

Operands are promoted to complex (or, for ``rfft``, real) numbers of 32-bit or 64-bit
parts: float32 and what is narrower gives complex64, float64 complex128.
"""

import typing

from covector import namespaces
from covector.numpy.fft.frequencies import *
from covector.numpy.fft.one_axis import *
from covector.numpy.fft.several_axes import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
