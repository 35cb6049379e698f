"""Random numbers: functions of a key.

    k = random.key(0)
    x = random.normal(k, (3,))        the same three numbers each time, on every device
    a, b = random.split(k)            two keys, to draw what is independent

What draws takes ``key``, one key, typed or raw, and ``shape``, that of the result; by
default it is a scalar, or has the shape that the parameters broadcast to. Most take
``out_sharding`` too: where the numbers are to be.

A draw is the encryption of counters under the key (Threefry, see
``covector.operations.threefry``),
so it is a pure function like any other: it can be compiled, batched over keys and
differentiated in the parameters of its distribution.

>>> from covector import random
>>> first, second = random.split(random.key(0))
>>> bool((random.normal(first, (3,)) == random.normal(first, (3,))).all())
True
"""

import typing

from covector import namespaces
from covector.random.bits import *
from covector.random.choosing import *
from covector.random.counts import *
from covector.random.gamma_family import *
from covector.random.gamma_numbers import *
from covector.random.generators import *
from covector.random.inversion import *
from covector.random.keys import *
from covector.random.matrices import *
from covector.random.normal import *

if not typing.TYPE_CHECKING:  # editors follow the star imports
    __all__ = namespaces.public(globals())
    __dir__ = namespaces.completions(globals())
    __getattr__ = namespaces.missing(__name__)
