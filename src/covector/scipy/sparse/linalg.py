"""Iterative solvers of A x = b, for an A given by its matrix-vector product.

    cg         A Hermitian and positive definite
    bicgstab   any A; four products a step, and memory for a few vectors
    gmres      any A; one product a step, and memory for ``restart`` vectors

A and the preconditioner M are functions of trees like b, or matrices. Derivatives are
those of the equation (``lax.custom_linear_solve``): they solve again with the same
method, and do not depend on how many steps the first solution took.
"""

from collections.abc import Callable
from typing import Any

from covector import namespaces, tree
from covector import numpy as cnp
from covector.core.annotations import PyTree, Value, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import arrays
from covector.errors import ArgumentError, TreeMismatch, TypeMismatch
from covector.lax.solvers import custom_linear_solve
from covector.operations.casting import convert
from covector.operations.identities import stop_gradient
from covector.scipy.sparse import krylov
from covector.transforms.linear_transpose import linear_transpose

__all__ = ["bicgstab", "cg", "gmres"]
__dir__ = namespaces.completions(globals())

Operator = Callable[[Any], Any]


def cg(
    A: Value,
    b: PyTree,
    x0: PyTree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The x with A x = b by conjugate gradients, for a Hermitian positive definite A.

    Hestenes and Stiefel (1952); preconditioned as in Saad, *Iterative Methods for
    Sparse Linear Systems* (2003), algorithm 9.1.

    Args:
      A: a linear function of a tree like ``b``, or a matrix ``[n, n]``.
      b: a tree of arrays.
      x0: where to start; zeros by default.
      tol, atol: it stops when the norm of b − A x is at most max(tol ‖b‖, atol).
      maxiter: … or after so many steps; ten times the size of ``b`` by default.
      M: the preconditioner, about the inverse of A, and like it in kind.

    Returns:
      ``(x, None)``; the second is for information that is not given yet.

    Raises:
      TreeMismatch, TypeMismatch: ``x0`` or A x is not like ``b``.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.sparse.linalg import cg
    >>> x, _ = cg(cnp.array([[4.0, 1.0], [1.0, 3.0]]), cnp.array([1.0, 2.0]))
    >>> print(cnp.round(x, 4))
    [0.0909 0.6364]
    """
    given = _Given("cg", A, b, x0, tol=tol, atol=atol, maxiter=maxiter, M=M)

    def solve(matvec: Operator, b: PyTree) -> Array:
        return krylov.cg(matvec, b, given.x0, given.M, given.bound(b), given.steps)

    # The transpose of a complex A is its conjugate: positive definite as well.
    return given.solution(solve, given.is_real, lambda: solve)


@with_parameters_of(cg)
def bicgstab(*args: Any, **options: Any) -> tuple[Any, None]:
    """The x with A x = b by stabilised biconjugate gradients, for any A.

    Van der Vorst (1992); preconditioned as in Barrett and others, *Templates for the
    Solution of Linear Systems* (1994), figure 2.10.

    The arguments, and what is returned, are those of ``cg``; the derivative in reverse
    mode uses the transpose of M.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.sparse.linalg import bicgstab
    >>> x, _ = bicgstab(cnp.array([[4.0, 1.0], [-1.0, 3.0]]), cnp.array([1.0, 2.0]))
    >>> print(cnp.round(x, 4))
    [0.0769 0.6923]
    """
    given = _Given("bicgstab", *args, **options)

    def by(M: Operator) -> Any:
        return lambda matvec, b: krylov.bicgstab(
            matvec, b, given.x0, M, given.bound(b), given.steps
        )

    return given.solution(by(given.M), False, lambda: by(given.transposed_M()))


def gmres(
    A: Value,
    b: PyTree,
    x0: PyTree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Array | None, Array | None]:
    """The x with A x = b by generalised minimal residuals, for any A.

    Saad and Schultz (1986), preconditioned from the right, so that the norm which is
    watched is that of b − A x.

    The arguments are those of ``cg``, and

    Args:
      restart: how many vectors to keep; then it starts again from where it is.
      maxiter: how often to start, ten times the size of ``b`` by default.
      solve_method: "batched" takes all ``restart`` steps before it looks whether the
        solution is good enough, "incremental" looks after each step.

    Returns:
      ``(x, info)``; info is 0 where the norm of b − A x is at most ``tol`` times that
      of b or ``atol``, and -1 where it is not: x is then the best that was found.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.sparse.linalg import gmres
    >>> x, _ = gmres(cnp.array([[4.0, 1.0], [-1.0, 3.0]]), cnp.array([1.0, 2.0]))
    >>> print(cnp.round(x, 4))
    [0.0769 0.6923]
    """
    if solve_method not in ("batched", "incremental"):
        raise ArgumentError(
            "gmres knows the solve_methods 'batched' and 'incremental', but got "
            f"{solve_method!r}."
        )
    if restart < 1:
        raise ArgumentError(f"gmres: restart must be at least 1, but is {restart}.")
    given = _Given("gmres", A, b, x0, tol=tol, atol=atol, maxiter=maxiter, M=M)
    kept = min(restart, given.size)
    early = solve_method == "incremental"

    def by(M: Operator) -> Any:
        return lambda matvec, b: krylov.gmres(
            matvec, b, given.x0, M, given.bound(b), given.steps, kept, early
        )

    x, _ = given.solution(by(given.M), False, lambda: by(given.transposed_M()))
    left = krylov.norm(krylov.plus(given.b, -1.0, given.A(x)))
    return x, cnp.where(left <= given.bound(given.b), 0, -1)


class _Given:
    """The arguments of a solver, brought to one form."""

    def __init__(
        self,
        who: str,
        A: Value,
        b: PyTree,
        x0: PyTree = None,
        *,
        tol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
    ) -> None:
        self.who = who
        self.tol, self.atol = tol, atol
        self.b = tree.map(lambda x: as_array(x, who), b)
        leaves = tree.leaves(self.b)
        self.size = max(sum([x.type.size for x in leaves]), 1)
        self.steps = self.size * 10 if maxiter is None else maxiter
        self.is_real = not any([cnp.iscomplexobj(x) for x in leaves])
        self.A = _operator(who, "A", A)
        self.M = (lambda x: x) if M is None else _operator(who, "M", M)
        self.x0 = self._start(x0)

    def _start(self, x0: PyTree) -> Array:
        if x0 is None:
            return tree.map(cnp.zeros_like, self.b)
        if tree.structure(x0) != tree.structure(self.b):
            difference = tree.describe_difference(self.b, x0, ("b", "x0"))
            raise TreeMismatch(f"{self.who} needs an x0 like b, but {difference}.")
        wanted = tree.leaves(self.b)
        starts = arrays(tree.leaves(x0), self.who)
        for x, y in zip(starts, wanted, strict=True):
            if x.type.shape != y.type.shape:
                raise TypeMismatch(
                    f"{self.who} needs an x0 like b, but has {x.type} for {y.type}."
                )
        starts = [
            stop_gradient(x.astype(y.dtype))
            for x, y in zip(starts, wanted, strict=True)
        ]
        return tree.structure(self.b).unflatten(starts)

    def bound(self, b: PyTree) -> Array:
        """The norm of b − A x at which it is good enough."""
        return cnp.maximum(self.tol * krylov.norm(b), self.atol)

    def transposed_M(self) -> Operator:
        pull = linear_transpose(self.M, self.b)
        return lambda x: pull(x)[0]

    def solution(
        self, solve: Any, symmetric: bool, transposed: Callable[[], Any]
    ) -> tuple[Any, None]:
        x = custom_linear_solve(
            self.A, self.b, solve, None if symmetric else transposed(), symmetric
        )
        # A solution gives way to other dtypes where the right-hand side does.
        weak = [b.type.weak for b in tree.leaves(self.b)]
        leaves, structure = tree.flatten(x)
        found = [convert(x, x.type.dtype, w) for x, w in zip(leaves, weak, strict=True)]
        return structure.unflatten(found), None


def _operator(who: str, name: str, A: Value) -> Operator:
    """The matrix-vector product of a matrix or a function."""
    if callable(A):
        return A
    if hasattr(A, "__matmul__") and not hasattr(A, "__array__"):
        return lambda x: A @ x
    matrix = as_array(A, who)
    if matrix.type.ndim != 2 or matrix.type.shape[0] != matrix.type.shape[1]:
        raise TypeMismatch(
            f"{who} needs {name} as a function or as a square matrix, but got "
            f"{matrix.type}."
        )
    return lambda x: matrix @ x
