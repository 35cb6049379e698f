"""The Faddeeva function, exp(−z²) erfc(−iz) of complex numbers."""

import math

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact
from covector.operations.error_functions import dawsn, erfcx

__all__ = ["wofz"]

# The expansion in powers of (L + iz) / (L − iz), with the L that is best for 40 of
# them, in 40 digits. (J. Weideman, Computation of the complex error function, SIAM J.
# Numer. Anal. 31, 1994.)
_SCALE = 5.3182958969449885
_POWERS = (
    2.8996245093897053, 2.61605415276186, 2.201513794878312, 1.7253830848179779,
    1.2563815675765133, 0.8472174576593818, 0.5266528988277086, 0.29989437996150065,
    0.15504263802479495, 0.07182361779074337, 0.029202916471241867,
    0.010048186242783424, 0.0027054056330737914, 0.0004398070159869668,
    -3.939363145489569e-05, -5.591309264248318e-05, -1.8007447144750956e-05,
    -1.0660138984947143e-06, 1.483566113220078e-06, 5.912136951899494e-07,
    1.4198642399935674e-08, -6.35177348504429e-08, -1.8315616783040462e-08,
    3.2497465180436973e-09, 3.0177805400090707e-09, 2.1086006347066517e-10,
    -3.5632339865976533e-10, -9.055124450928292e-11, 3.47272670930455e-11,
    1.7714495214011192e-11, -2.7276023158200452e-12, -2.907688342182867e-12,
    1.2031458219387989e-13, 4.5329666782606727e-13, 1.37256205867155e-14,
    -7.074086260286855e-14, -5.409310282882142e-15, 1.1357687198999241e-14,
    1.128073562364402e-15, -1.899694947394927e-15,
)  # fmt: skip


def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function w(z) = exp(−z²) erfc(−iz) of real or complex numbers.

    It is accurate relative to |w(z)|; below the real line it overflows as exp(−z²).

    Returns:
      Complex numbers, of real z too.

    >>> from covector.scipy.special import wofz
    >>> complex(wofz(0.0))
    (1+0j)
    """
    z = inexact("wofz", z)
    return _wofz(z if cnp.iscomplexobj(z) else z + 0j)


@fuse()
def _wofz(z: Value) -> Array:
    below = cnp.imag(z) < 0
    upper = cnp.where(below, -z, z)
    value = _above(upper)
    # On the axes it is a real function, whose parts are accurate one by one. The
    # derivative is that of the analytic function.
    x, y = cnp.real(upper), cnp.imag(upper)
    flat = lax.complex(cnp.exp(-x * x), 2 / math.sqrt(math.pi) * dawsn(x))
    upright = lax.complex(erfcx(y), cnp.zeros_like(y))
    exact = cnp.where(y == 0, flat, cnp.where(x == 0, upright, value))
    value = value + lax.stop_gradient(cnp.where((x == 0) | (y == 0), exact - value, 0))
    mirrored = cnp.where(below, z, 0)
    return cnp.where(below, 2 * cnp.exp(-mirrored * mirrored) - value, value)


def _above(z: Value) -> Array:
    """The value for Im z ≥ 0."""
    divisor = _SCALE - 1j * z
    ratio = (_SCALE + 1j * z) / divisor
    total = cnp.full_like(z, _POWERS[-1])
    for power in _POWERS[-2::-1]:
        total = total * ratio + power
    return (2 * total / divisor + 1 / math.sqrt(math.pi)) / divisor
