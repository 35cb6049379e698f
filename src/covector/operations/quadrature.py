"""Numerical integration over [0, ∞) of exponentially decaying functions.

The double exponential rule for such functions: with s = exp(t − e⁻ᵗ), ∫ f(s) ds becomes
an integral over all t of a function that falls off doubly exponentially on both sides,
for which sums at equal steps converge exponentially. (H. Takahasi and M. Mori, Double
exponential formulas for numerical integration, Publ. RIMS Kyoto 9, 1974.)
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.operations.arithmetic import mul
from covector.operations.broadcasting import BroadcastInDim, ReduceSum

#: per element type: how many nodes, and from where to where in t
_NODES = {dtypes.float32: (32, -2.8, 3.4), dtypes.float64: (72, -3.8, 4.1)}


@lru_cache
def _rule(dtype: np.dtype) -> tuple[Array, Array]:
    """Nodes s and weights, as arrays."""
    t, step = np.linspace(*_NODES[dtype][1:], _NODES[dtype][0], retstep=True)
    s = np.exp(t - np.exp(-t))
    weights = step * s * (1 + np.exp(-t))
    return from_host(s.astype(dtype)), from_host(weights.astype(dtype))


def integral(integrand: Callable[..., Any], *parameters: Value) -> Value:
    """∫₀^∞ integrand(s, *parameters) ds, for parameters of one shape or scalars.

    To be accurate, the integrand must fall off like e⁻ˢ, or faster from about s = 1 on.
    """
    dtype = parameters[0].type.dtype
    shape = max([p.type.shape for p in parameters], key=len)
    rank, count = len(shape), _NODES[dtype][0]
    along, across = (rank,), tuple(range(rank))
    nodes, weights = [BroadcastInDim((*shape, count), along)(x) for x in _rule(dtype)]
    repeated = [
        BroadcastInDim((*shape, count), across)(p) if p.type.ndim else p
        for p in parameters
    ]
    return ReduceSum(along)(mul(integrand(nodes, *repeated), weights))
