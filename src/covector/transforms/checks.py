"""Validation of arguments, results, tangents and cotangents of derivatives.

Each check raises in the words of the function that the user called.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.flat import describe
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.core.varying import pvary_like
from covector.errors import NotDifferentiable, NotScalar, TypeMismatch

Argnums = int | Sequence[int]


def check_differentiable(
    leaves: Sequence[Any],
    holomorphic: bool,
    who: str,
    path: Callable[[int], str],
    allow_int: bool = True,
) -> None:
    """Raise where an argument has no derivative; ``path`` tells which leaf it is.

    ``allow_int`` says whether the function that was called has such an option.
    """
    for i, x in enumerate(leaves):
        good = dtypes.is_complex(x.type.dtype) if holomorphic else x.type.inexact
        if not good:
            raise _not_differentiable(x.type, holomorphic, who, path(i), allow_int)


def _not_differentiable(
    type: ArrayType, holomorphic: bool, who: str, where: str, allow_int: bool
) -> NotDifferentiable:
    if holomorphic:
        return NotDifferentiable(
            f"{who} with holomorphic=True needs complex arguments, but {where} is "
            f"{type}. Convert it with .astype(complex), or leave holomorphic out."
        )
    return NotDifferentiable(
        f"{who} needs floating-point arguments, but {where} is {type}. Convert it with "
        + (
            ".astype(float), differentiate with respect to others (argnums), or pass "
            "allow_int=True for a gradient of dtype float0."
            if allow_int
            else ".astype(float), or differentiate with respect to others (argnums)."
        )
    )


def check_scalar(
    outs: Sequence[Any], out_tree: Any, holomorphic: bool, who: str
) -> Any:
    """The one scalar that a function to be differentiated returned."""
    if len(outs) != 1 or out_tree.num_nodes != 1:
        shown = describe(out_tree.unflatten(outs))
        raise NotScalar(
            f"{who} needs a function that returns one real scalar, but it returned "
            f"{shown}. Return the loss alone, or (loss, others) with has_aux=True."
        )
    (out,) = outs
    if out.type.ndim:
        raise NotScalar(
            f"{who} needs a function that returns a real scalar, but it returned "
            f"{out.type}. To differentiate an array, use jacrev or jacfwd; to sum "
            "first, grad(f, reduce=covector.numpy.sum)."
        )
    wanted = dtypes.is_complex if holomorphic else dtypes.is_floating
    if not wanted(out.type.dtype):
        kind = "complex" if holomorphic else "real floating-point"
        raise NotScalar(
            f"{who} needs a {kind} result, but it returned {out.type}. "
            + (
                "Leave holomorphic out for real functions."
                if holomorphic
                else "For complex differentiable functions, pass holomorphic=True; "
                "an integer result has no gradient."
            )
        )
    return out


def check_sums(
    outs: Sequence[Any], primals: Sequence[Any], active: Sequence[bool], who: str
) -> None:
    """Raise, if so asked, where a derivative will be summed over devices."""
    if not options.current().check_implicit_sums:
        return
    for p, a in zip(primals, active, strict=True):
        for out in outs:
            axes = sorted(out.type.varying - p.type.varying, key=str)
            if a and axes:
                shown = ", ".join(map(repr, axes))
                raise NotDifferentiable(
                    f"{who}: its result {out.type} varies over the mesh axis {shown}, "
                    f"and what it is differentiated with respect to, {p.type}, does "
                    f"not: the gradient is summed over the devices. {out.origin()} If "
                    "that is not meant, reduce the result first (covector.lax.pmean "
                    f"over {shown}), or make the argument vary (covector.lax.pcast(x, "
                    f"{axes[0]!r}, to='varying')) for a gradient per device. This "
                    "check is the option check_implicit_sums."
                )


def check_zero_tangent(
    x: Any, type: ArrayType, who: str, what: str = "tangent"
) -> None:
    """Check the tangent of a value that is not differentiable: float0, or None."""
    if x is not None and getattr(x, "dtype", None) != dtypes.float0:
        raise TypeMismatch(
            f"{who} has a value of type {type}, which has no derivative, so its {what} "
            f"is of dtype float0: numpy.zeros({type.shape}, covector.float0). "
            f"It got {x!r}."
        )


_NUMBERS: tuple[type, ...] = (Array, np.ndarray, np.generic, int, float)


def check_zero_cotangent(x: Any, type: ArrayType, who: str) -> None:
    """Check the cotangent of a value that is not differentiable: any numbers do."""
    if not isinstance(x, _NUMBERS) or getattr(x, "shape", ()) != type.shape:
        check_zero_tangent(x, type, who, "cotangent")


def matching(x: Any, type: ArrayType, who: str, what: str) -> Any:
    """A tangent or cotangent of a value of ``type``."""
    if not isinstance(x, Array):
        x = (
            scalar(x, type.dtype)
            if isinstance(x, int | float | complex)
            else as_array(x)
        )
    if x.type.shape != type.shape or x.type.dtype != type.dtype:
        way = f"Convert it with .astype({type.dtype.name!r})."
        if x.type.shape != type.shape:
            way = "Give it that shape, for instance with covector.numpy.broadcast_to."
        raise TypeMismatch(
            f"{who} needs a {what} of type {type}, but got {x.type}. {way}"
        )
    return _varying_as(x, type, who, what) if current.trace.checked_axes else x


def _varying_as(x: Any, type: ArrayType, who: str, what: str) -> Any:
    """A tangent or cotangent that varies over the axes that the value varies over."""
    more = ", ".join([repr(a) for a in sorted(x.type.varying - type.varying, key=str)])
    if more:
        raise TypeMismatch(
            f"{who} needs a {what} of type {type}, but got {x.type}, which varies over "
            f"the mesh axis {more} where the value does not. Reduce it over {more} "
            "(covector.lax.psum or pmean), or make the value vary (covector.lax.pcast)."
        )
    return pvary_like(x, type)
