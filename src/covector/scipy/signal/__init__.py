"""Signals: convolution, correlation, trends, and spectra that change with time."""

import typing

from covector import namespaces
from covector.scipy.signal.convolution import *
from covector.scipy.signal.densities import *
from covector.scipy.signal.spectra import *
from covector.scipy.signal.trends import *
from covector.scipy.signal.windows import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
