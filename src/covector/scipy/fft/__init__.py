"""Cosine transforms, and the Fourier transforms of ``covector.numpy.fft``."""

import typing

from covector import namespaces
from covector.numpy.fft import *
from covector.scipy.fft.cosine import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
