"""``minimize``, SciPy's interface to methods of minimization."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.errors import ArgumentError, AxisError, DTypeKindError
from covector.numpy.promote import inexact
from covector.scipy.optimize.quasi_newton import (
    CONVERGED,
    Dense,
    Limited,
    Limits,
    descend,
)
from covector.transforms.gradients import value_and_grad

__all__ = ["OptimizeResults", "minimize"]

_UNLIMITED = 2**31 - 1


class OptimizeResults(NamedTuple):
    """The result of a minimization; all but ``hess_inv`` are arrays.

    ``status``: 0 converged; 1 the steps ran out, 2 the calls of the function; 3
    there was no lower value along the direction, as far as rounding shows; 5 trials
    along it ran out before one was lower.

    ``hess_inv`` is the estimate of the inverse Hessian that BFGS made, else None.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of ``fun(x, *args)``, from ``x0`` on downwards.

    Args:
      fun: a function of a vector that gives a real number, and can be differentiated.
      x0: ``[n]``; integers are promoted.
      method: ``"BFGS"``, or ``"L-BFGS"`` (in JAX
        ``"l-bfgs-experimental-do-not-rely-on-this"``) for many variables: it keeps
        ``maxcor`` vectors in place of a matrix. Each step is found by a line search for
        the strong Wolfe conditions.
      tol: the same as ``gtol``.
      options: ``gtol`` (1e-5), the norm of the gradient at which the search ends, and
        ``norm`` (inf), which one; ``maxiter`` (200 n), the number of steps;
        ``line_search_maxiter`` (10) trials in each. For L-BFGS also ``maxcor`` (10);
        ``ftol`` (2.2e-9), the relative decrease in one step at which the search ends;
        ``maxfun`` and ``maxgrad`` (15000) calls; and ``maxls`` (20) trials.

    Returns:
      An ``OptimizeResults``. The search runs under ``jit`` and ``vmap``.

    Raises:
      ArgumentError: an unknown method or option, or ``args`` is not a tuple.
      AxisError: ``x0`` is not a vector. DTypeKindError: it is complex.
      NotScalar: ``fun`` does not give a real scalar.

    >>> import covector.numpy as cnp
    >>> found = minimize(lambda x: cnp.sum((x - 2) ** 4), cnp.zeros(3), method="BFGS")
    >>> bool(found.success), found.x.round(1).tolist()
    (True, [2.0, 2.0, 2.0])
    """
    if not isinstance(args, tuple):
        raise ArgumentError(
            f"minimize needs a tuple of further arguments, but args is {args!r}. For "
            "one write args=(value,)."
        )
    x = inexact("minimize", x0)
    if x.ndim != 1:
        raise AxisError(
            f"minimize needs a vector to start from, but got {x.type}. Trees and "
            "arrays become vectors by covector.flatten_util.ravel_pytree."
        )
    if dtypes.is_complex(x.type.dtype):
        raise DTypeKindError(
            f"minimize needs real variables, but got {x.type}. Use the real and "
            "imaginary parts as variables."
        )
    memory, limits = _plan(method, x.size, tol, dict(options or {}))
    differentiate = value_and_grad(fun)
    found = descend(lambda x: differentiate(x, *args), x, memory, limits)
    inverse = found.memory[0] if isinstance(memory, Dense) else None
    success = found.status == CONVERGED
    counts = found.calls, found.calls, found.steps
    return OptimizeResults(
        found.x, success, found.status, found.value, found.gradient, inverse, *counts
    )


def _plan(
    method: str, n: int, tol: float | None, given: dict[str, Any]
) -> tuple[Dense | Limited, Limits]:
    """The memory of a method, and its limits."""
    known = {"gtol": 1e-5, "norm": np.inf, "maxiter": 200 * n}
    name = str(method).lower()
    if name == "bfgs":
        known |= {"line_search_maxiter": 10}
    elif name in ("l-bfgs", "l-bfgs-experimental-do-not-rely-on-this"):
        known |= {"maxcor": 10, "ftol": 2.220446049250313e-09, "maxls": 20}
        known |= {"maxfun": 15000, "maxgrad": 15000}
    else:
        raise ArgumentError(
            f"minimize: method must be 'BFGS' or 'L-BFGS', but got {method!r}."
        )
    unknown = given.keys() - known.keys()
    if unknown:
        raise ArgumentError(
            f"minimize: {method} has the options {tuple(known)}, but got "
            f"{tuple(sorted(unknown))}."
        )
    if tol is not None:
        known["gtol"] = tol
    known |= {k: v for k, v in given.items() if v is not None}
    limits = Limits(
        steps=known["maxiter"],
        calls=min(known.get("maxfun", _UNLIMITED), known.get("maxgrad", _UNLIMITED)),
        trials=known.get("maxls") or known["line_search_maxiter"],
        gradient=known["gtol"],
        decrease=known.get("ftol", 0.0),
        norm=known["norm"],
    )
    memory = Dense() if name == "bfgs" else Limited(known["maxcor"])
    return memory, limits
