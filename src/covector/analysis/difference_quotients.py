"""Difference quotients: derivatives without rules, against which rules are judged.

The quotient is the central one of fourth order,

    f′(x)·t ≈ (8 (f(x + ht) − f(x − ht)) − (f(x + 2ht) − f(x − 2ht))) / 12h,

with an error of h⁴ from the formula and of ε/h from rounding, which are alike at
h ≈ ε^⅕. It is worked out for several steps, each half of the one before. How far two in
succession are apart says how far they can be trusted, and what the values of f are
rounded by says how far at most; of each element the best is kept.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.number_info import finfo

FlatFunction = Callable[..., Sequence[Any]]


STEPS = 4


class Quotient(NamedTuple):
    """A difference quotient, and how far it may be from the derivative: infinitely far
    where no step gave a number.
    """

    value: np.ndarray
    error: np.ndarray


def wide(x: Any) -> np.ndarray:
    """An array as NumPy values in double precision."""
    values = np.asarray(x)
    return values.astype(complex if dtypes.is_complex(values.dtype) else float)


def precision(arrays: Sequence[Array]) -> float:
    """The coarsest machine epsilon among differentiable arrays."""
    return max([finfo(a.dtype).eps for a in arrays if a.type.inexact], default=1e-7)


def step_for(arrays: Sequence[Array]) -> float:
    """The step at which both errors are small."""
    return precision(arrays) ** 0.2 / 2


def quotients(
    fun: FlatFunction,
    primals: Sequence[Array],
    tangents: Sequence[Array | None],
    step: float,
) -> list[Quotient | None]:
    """The derivative of each result; None for results that have none."""
    tried = [
        _fourth_order(fun, primals, tangents, step / 2**level) for level in range(STEPS)
    ]
    return [_best(found) for found in zip(*tried, strict=True)]


def _best(found: Sequence[Quotient | None]) -> Quotient | None:
    tried = [x for x in found if x is not None]
    if not tried:
        return None
    values, rounding = (np.stack(part) for part in zip(*tried, strict=True))
    with np.errstate(all="ignore"):
        errors = np.maximum(np.abs(np.diff(values, axis=0)), rounding[1:])
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = np.argmin(errors, axis=0)[None]
    return Quotient(
        np.take_along_axis(values[1:], best, 0)[0],
        np.take_along_axis(errors, best, 0)[0],
    )


def _fourth_order(
    fun: FlatFunction,
    primals: Sequence[Array],
    tangents: Sequence[Array | None],
    h: float,
) -> list[Quotient | None]:
    """The quotients for one step, and what rounding of the results makes of them."""
    outs = {k: fun(*shifted(primals, tangents, k * h)) for k in (-2, -1, 1, 2)}
    found: list[Quotient | None] = []
    for i, out in enumerate(outs[1]):
        if not out.type.inexact:
            found.append(None)
            continue
        at = {k: wide(outs[k][i]) for k in outs}
        eps = finfo(out.dtype).eps
        with np.errstate(all="ignore"):
            value = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
            # Each value is rounded by half of eps: 8 + 8 + 1 + 1 halves, by 12 h.
            rounding = 0.75 * eps * np.abs(at[1]) / h
        found.append(Quotient(value, np.asarray(rounding)))
    return found


def shifted(
    primals: Sequence[Array], tangents: Sequence[Array | None], by: float
) -> list[Array]:
    """The primals, perturbed along the tangents."""
    return [
        p
        if t is None
        else as_array((wide(p) + by * wide(t)).astype(np.dtype(p.type.dtype)))
        for p, t in zip(primals, tangents, strict=True)
    ]


def direction(type: Any, random: np.random.Generator) -> Array | None:
    """A random tangent of a value of this type; None if it is not differentiable."""
    if not type.inexact:
        return None
    values = random.standard_normal(type.shape)
    if dtypes.is_complex(type.dtype):
        values = values + 1j * random.standard_normal(type.shape)
    return as_array(np.asarray(values).astype(np.dtype(type.dtype)))
