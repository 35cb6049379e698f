"""Numerical integration over [0, ∞) and over [0, 1].

The double exponential rule is for functions over [0, ∞) that fall off exponentially:
with s = exp(t − e⁻ᵗ), ∫ f(s) ds becomes an integral over all t of a function that falls
off doubly exponentially on both sides, for which sums at equal steps converge
exponentially. (H. Takahasi and M. Mori, Double exponential formulas for numerical
integration, Publ. RIMS Kyoto 9, 1974.) Smooth functions over [0, 1] take Gauss's rule.
"""

from collections.abc import Callable, Sequence
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
#: how many nodes for smooth functions over [0, 1]
_NODES_OF_UNIT = {dtypes.float32: 14, dtypes.float64: 24}


@lru_cache
def _rule(dtype: np.dtype) -> tuple[Array, Array]:
    """Nodes s and weights, as arrays."""
    t, step = np.linspace(*_NODES[dtype][1:], _NODES[dtype][0], retstep=True)
    s = np.exp(t - np.exp(-t))
    weights = step * s * (1 + np.exp(-t))
    return from_host(s.astype(dtype)), from_host(weights.astype(dtype))


@lru_cache
def _rule_of_unit(dtype: np.dtype) -> tuple[Array, Array]:
    """Gauss and Legendre's nodes and weights for [0, 1], as arrays."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_OF_UNIT[dtype])
    rule = (0.5 * (nodes + 1), 0.5 * weights)
    return from_host(rule[0].astype(dtype)), from_host(rule[1].astype(dtype))


def integral(integrand: Callable[..., Any], *parameters: Value) -> Value:
    """∫₀^∞ integrand(s, *parameters) ds, for parameters of one shape or scalars.

    To be accurate, the integrand must fall off like e⁻ˢ, or faster from about s = 1 on.
    """
    return _weighted_sum(_rule(parameters[0].type.dtype), integrand, parameters)


def integral_of_unit(integrand: Callable[..., Any], *parameters: Value) -> Value:
    """∫₀¹ integrand(s, *parameters) ds, for parameters of one shape or scalars.

    To be accurate, the integrand must be smooth: Gauss and Legendre's rule.
    """
    return _weighted_sum(_rule_of_unit(parameters[0].type.dtype), integrand, parameters)


def _weighted_sum(
    rule: tuple[Array, Array],
    integrand: Callable[..., Any],
    parameters: Sequence[Value],
) -> Value:
    shape = max([p.type.shape for p in parameters], key=len)
    rank, count = len(shape), rule[0].type.size
    along, across = (rank,), tuple(range(rank))
    nodes, weights = [BroadcastInDim((*shape, count), along)(x) for x in rule]
    repeated = [
        BroadcastInDim((*shape, count), across)(p) if p.type.ndim else p
        for p in parameters
    ]
    return ReduceSum(along)(mul(integrand(nodes, *repeated), weights))
