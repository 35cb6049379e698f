"""Neural-network functions: activations, softmax, attention, initializers."""

import typing

from covector import namespaces
from covector.nn import initializers as initializers
from covector.nn.activations import *
from covector.nn.attention import *
from covector.nn.normalization import *
from covector.nn.scaled_products import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals(), "initializers")
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
