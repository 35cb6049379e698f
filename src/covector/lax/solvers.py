"""Linear solves and roots, with derivatives by the implicit function theorem."""

from collections.abc import Callable
from typing import Any

from covector.core.annotations import PyTree
from covector.core.flat import check_functions
from covector.core.source import function_line
from covector.programs.custom_rules.implicit_diff import Vector
from covector.programs.custom_rules.linear_solve import linear_solve
from covector.programs.custom_rules.root import root

__all__ = ["custom_linear_solve", "custom_root"]


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: PyTree,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """The x with ``matvec(x) = b``, found by ``solve``, which is not differentiated.

    The derivatives are those of the equation: they solve again, with the same matrix
    forward and its transpose backward. What the functions close over is differentiated
    too.

    Args:
      matvec: a linear function of a tree like ``b``, with a result like ``b``.
      b: a tree of floating-point or complex arrays.
      solve: ``solve(matvec, b)`` gives x.
      transpose_solve: ``transpose_solve(vecmat, b)`` gives x with ``vecmat(x) = b``,
        for the transpose (not the adjoint) of ``matvec``; needed in reverse mode.
      symmetric: ``matvec`` is its own transpose, so that ``solve`` serves both.
      has_aux: the solvers return ``(x, aux)``; aux is returned beside x, and is not
        differentiated.

    Raises:
      TreeMismatch, TypeMismatch: a result is not like ``b``.
      NotDifferentiable: reverse mode was asked of an equation without
        ``transpose_solve``; or ``b`` is of integers.

    >>> import covector as cv, covector.numpy as cnp
    >>> from covector import lax
    >>> def solution(a, b):
    ...     divide = lambda matvec, b: b / a
    ...     return lax.custom_linear_solve(lambda x: a * x, b, divide, symmetric=True)
    >>> float(solution(2.0, 6.0)), float(cv.grad(solution)(2.0, 6.0))
    (3.0, -1.5)

    See also: ``custom_root``, ``covector.scipy.sparse.linalg.cg``.
    """
    check_functions("custom_linear_solve", matvec=matvec, solve=solve)
    who = f"custom_linear_solve of {function_line(matvec)}"
    if transpose_solve is not None:
        check_functions("custom_linear_solve", transpose_solve=transpose_solve)
    space, leaves = Vector.of(who, "b", b)
    return linear_solve(
        space,
        leaves,
        matvec,
        solve,
        transpose_solve,
        symmetric=bool(symmetric),
        has_aux=has_aux,
    )


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: PyTree,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> PyTree:
    """The x with ``f(x) = 0``, found by ``solve``, which is not differentiated.

    The derivatives with respect to what ``f`` closes over are those of the equation, by
    the implicit function theorem. The guess has no part in them.

    Args:
      f: a function of a tree like ``initial_guess``, with a result like it.
      initial_guess: a tree of floating-point or complex arrays.
      solve: ``solve(f, initial_guess)`` gives x.
      tangent_solve: ``tangent_solve(g, y)`` gives x with ``g(x) = y`` for the
        derivative g of ``f`` at the root. It must be linear in y. For scalars,
        ``lambda g, y: y / g(1.0)``.
      has_aux: ``solve`` returns ``(x, aux)``; aux is returned beside x, and is not
        differentiated.

    Raises:
      TreeMismatch, TypeMismatch: a result is not like ``initial_guess``.
      NotDifferentiable: ``initial_guess`` is of integers.

    >>> import covector as cv
    >>> from covector import lax
    >>> def sqrt(a):
    ...     def newton(f, x):
    ...         return lax.fori_loop(0, 20, lambda _, x: x - f(x) / (2 * x), x)
    ...     return lax.custom_root(
    ...         lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> float(sqrt(16.0)), float(cv.grad(sqrt)(16.0))
    (4.0, 0.125)

    See also: ``custom_linear_solve``, ``while_loop``.
    """
    check_functions("custom_root", f=f, solve=solve, tangent_solve=tangent_solve)
    who = f"custom_root of {function_line(f)}"
    space, leaves = Vector.of(who, "initial_guess", initial_guess)
    return root(space, leaves, f, solve, tangent_solve, has_aux=has_aux)
