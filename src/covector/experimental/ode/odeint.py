"""``odeint``: systems of ordinary differential equations that are not stiff."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import numpy as cnp
from covector import tree
from covector.core import dtypes
from covector.core.annotations import ArrayLike, PyTree
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import FlatFunction, arrays, who_of
from covector.core.jaxpr import Jaxpr
from covector.core.masks import in_groups, merge, select
from covector.core.staging import Staged, stage
from covector.core.types import ArrayType, show_types
from covector.errors import ArgumentError, TreeMismatch, TypeMismatch
from covector.experimental.ode.dormand_prince import State, Tolerances
from covector.experimental.ode.solution import Field, solution
from covector.numpy.promote import inexact, standard_promotion
from covector.programs.higher_order.call import call


def odeint(  # noqa: PLR0913  the names of the field
    func: Callable[..., Any],
    y0: PyTree,
    t: ArrayLike,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> PyTree:
    """The solution of y′ = ``func(y, t, *args)`` with y = ``y0`` at the time ``t[0]``.

    The method of Dormand and Prince of order 5, with steps of a size that keeps the
    error of each below ``atol + rtol |y|`` (as a root mean square over all elements).
    It suits problems that are not stiff.

    Derivatives with respect to ``y0``, ``t``, ``args`` and what ``func`` closes over
    are solutions of the variational equation (forward) and of the adjoint equation
    (reverse), computed to the same tolerances; ``func`` needs a derivative. Reverse
    mode keeps the outputs alone, and solves back from one to the one before; so where
    a solution forgets fast how it began, more times in ``t`` make gradients better.

    Args:
      func: the field: gives a tree like ``y0``. It is traced, once.
      y0: a tree of real or complex arrays; integers become floats, and real states
        become complex where the field is.
      t: ``[n]``, times that increase or that decrease. No others are asked of ``func``.
      args: trees of arrays.
      rtol, atol: tolerances; where a dtype cannot resolve ``rtol``, the least that
        it can is used.
      mxstep: the most steps from one output to the next.
      hmax: the longest step.

    Returns:
      The tree of states at the times ``t``: leaves ``[n, ...]``. States that cannot be
      reached are NaN: where the steps do not suffice or become too short, the field is
      not finite, or traced times do not go one way.

    Raises:
      TreeMismatch, TypeMismatch: what ``func`` returns is not like ``y0``, or ``t`` is
        not ``[n]`` with n ≥ 1.
      ArgumentError: times do not go one way, or tolerances are not positive.

    >>> import covector.numpy as cnp
    >>> oscillator = lambda y, t, w: (y[1], -w * y[0])
    >>> x, _ = odeint(oscillator, (1.0, 0.0), cnp.array([0.0, 1.0, 2.0]), 4.0)
    >>> x.round(3)
    Array([ 1.   , -0.416, -0.654], dtype=float32)
    """
    who = who_of("odeint", func)
    tolerances = _tolerances(who, rtol, atol, mxstep, hmax)
    times = _times(who, t)
    leaves, y_tree = tree.flatten(y0)
    given = arrays(tree.leaves(args), who)
    in_tree = tree.structure(((y0, 0.0, *args), {}))
    flat = FlatFunction(func, in_tree, who)
    leaves = [inexact(who, x) for x in arrays(leaves, who)]
    y = [x.astype(_at_least_float32(x.dtype)) for x in leaves]
    times = times.astype(_time_dtype(times, y))
    staged = _staged(flat, y, times, given)
    _check_field(who, flat.out_tree, y_tree, staged.jaxpr, y)
    wider = _widened(y, staged.jaxpr)
    grown = [a.dtype != b.dtype for a, b in zip(y, wider, strict=True)]
    if any(grown):
        y, times = wider, times.astype(_time_dtype(times, wider))
        staged = _staged(flat, y, times, given)
    forward = times[-1] >= times[0]
    times = cnp.where(forward, times, -times)
    field = _in_increasing_time(staged.jaxpr, len(staged.captured))
    consts = [forward, *staged.captured, *given]
    ys = solution(field, tolerances, y, times, consts)
    wanted = [x.dtype for x in merge(select(y, grown), grown, leaves)]
    pairs = zip(ys, wanted, strict=True)
    return y_tree.unflatten([x.astype(dtype) for x, dtype in pairs])


def _in_increasing_time(program: Jaxpr, captured: int) -> Field:
    """The field in a time that increases: t, or −t where the first const is False."""

    @standard_promotion
    def field(y: State, t: Array, consts: Sequence[Array]) -> list[Array]:
        forward, *given = consts
        held, given = in_groups(given, captured)
        slopes = call(program)(*held, *y, cnp.where(forward, t, -t), *given)
        slopes = [f.astype(x.dtype) for f, x in zip(slopes, y, strict=True)]
        return [cnp.where(forward, f, -f) for f in slopes]

    return field


# -- arguments -------------------------------------------------------------------------


def _tolerances(who: str, *given: Any) -> Tolerances:
    """The checked tolerances: numbers above zero."""
    names = ("rtol", "atol", "mxstep", "hmax")
    for name, value in zip(names, given, strict=True):
        least = 0 if name == "atol" else None
        try:
            known = float(value)
        except TypeError:
            known = math.nan
        if not (known > 0 or known == least):
            raise ArgumentError(
                f"{who}: {name} must be a known number above zero, but got {value!r}."
            )
    return Tolerances(*map(float, given))


def _times(who: str, t: ArrayLike) -> Array:
    """The times, as floating-point numbers."""
    times = inexact(who, as_array(t, who))
    if times.ndim != 1 or not times.size or dtypes.is_complex(times.dtype):
        raise TypeMismatch(
            f"{who} needs real times t of shape [n], the first of which is that of y0, "
            f"but got {times.type}."
        )
    if type(times) is ConcreteArray:
        steps = np.diff(np.asarray(times.host(), np.float64))
        if not ((steps >= 0).all() or (steps <= 0).all()):
            raise ArgumentError(
                f"{who} needs times t that increase, or that decrease, but got "
                f"{np.array2string(np.asarray(times.host()), threshold=8)}."
            )
    return times


@standard_promotion
def _at_least_float32(*dtypes: Any) -> Any:
    """The dtype in which they meet; in narrower ones small steps would be lost."""
    return cnp.result_type(*dtypes, np.float32)


def _time_dtype(times: Array, y: Sequence[Array]) -> Any:
    """The dtype of time: as precise as the state."""
    return _at_least_float32(times.dtype, *[cnp.abs(x).dtype for x in y])


@standard_promotion
def _widened(y: Sequence[Array], field: Jaxpr) -> list[Array]:
    """The state in dtypes that hold what the field gives."""
    pairs = zip(y, field.out_types, strict=True)
    return [x.astype(cnp.result_type(x.dtype, o.dtype)) for x, o in pairs]


def _staged(
    flat: FlatFunction, y: Sequence[Array], times: Array, given: Sequence[Array]
) -> Staged:
    """The program of the field: (captured, state, time, args) → slopes."""
    types = [*[x.type.strong() for x in y], ArrayType((), times.dtype)]
    return stage(flat, [*types, *[x.type for x in given]], "field")


def _check_field(
    who: str, out_tree: Any, y_tree: Any, field: Jaxpr, y: Sequence[Array]
) -> None:
    """Raise where slopes are not like the state."""
    if out_tree != y_tree:
        raise TreeMismatch(
            f"{who} needs a function that returns slopes in the structure of y0, "
            f"{y_tree}, but it returned {out_tree}."
        )
    shapes = [o.shape for o in field.out_types]
    numbers = all([dtypes.is_numeric(o.dtype) for o in field.out_types])
    if shapes != [x.shape for x in y] or not numbers:
        raise TypeMismatch(
            f"{who} needs a function that returns slopes like y0, "
            f"{show_types([x.type for x in y])}, but it returned "
            f"{show_types(field.out_types)}."
        )
