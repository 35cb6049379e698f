"""Rows of the operation in ``operations/fft.py``."""

import numpy as np

from covector.operations.fft import FFT, FftType
from tests.laws import Case

_rng = np.random.default_rng(0)


def _row(kind, lengths, front=(), **options):
    """A transform of a signal of these lengths, for each element of ``front``."""
    halved = kind == "irfft"
    shape = (*lengths[:-1], lengths[-1] // 2 + 1) if halved else lengths
    x = _rng.uniform(-1, 1, (*front, *shape))
    if kind != "rfft":
        x = x + 1j * _rng.uniform(-1, 1, x.shape)
    axes = tuple(range(-len(lengths), 0))
    function = getattr(np.fft, f"{kind}n")

    def reference(x):
        return function(x, lengths, axes)

    return Case(FFT(FftType[kind.upper()], lengths), (x,), reference, **options)


_KINDS = ("fft", "ifft", "rfft", "irfft")

CASES = [
    *[_row(kind, (6,), (2,)) for kind in _KINDS],
    *[_row(kind, (5,)) for kind in ("rfft", "irfft")],
    *[_row(kind, (2, 3, 4), (2,)) for kind in _KINDS],
    *[_row(kind, (3, 1)) for kind in ("rfft", "irfft")],
    _row("fft", (4,), (0,)),
    _row("irfft", (3, 4), (0,)),
]
