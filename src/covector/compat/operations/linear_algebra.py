"""Operations on matrices."""

from collections.abc import Sequence
from typing import Any

from covector.compat.operation_primitives import (
    OperationPrimitive,
    Types,
    enter,
    primitive,
)
from covector.core import dtypes
from covector.core.trace import Trace
from covector.core.types import ArrayType
from covector.operations.linear_algebra import (
    cholesky,
    eig,
    eigh,
    householder,
    lu,
    qr,
    schur,
    svd,
    triangular_solve,
    tridiagonal,
)

primitive("cholesky", cholesky.Cholesky)
primitive("hessenberg", tridiagonal.Hessenberg)
primitive("geqrf", qr.HouseholderQR, hidden="pivoting")
primitive("qr", qr.QR, ignored={"use_magma": None})
# Classes of covector that are on matrices give lists, here of one.
for _one in [
    primitive("householder_product", householder.HouseholderProduct),
    primitive("ormqr", householder.HouseholderMultiply, transpose="inverted"),
]:
    _one.multiple_results = False
primitive(
    "eigh",
    eigh.Eigh,
    hidden="vectors",
    constant={"lower": True, "subset_by_index": None},
    ignored={"sort_eigenvalues": True, "algorithm": None},
)
primitive(
    "svd",
    svd.SVD,
    compute_uv="vectors",
    constant={"subset_by_index": None},
    ignored={"algorithm": None},
    order=lambda op: (1, 0, 2) if op.vectors else (0,),
)
primitive(
    "eig",
    eig.Eig,
    compute_left_eigenvectors="left",
    compute_right_eigenvectors="right",
    ignored={"enable_eigvec_derivs": True, "implementation": None},
)
primitive(
    "schur",
    schur.Schur,
    compute_schur_vectors="vectors",
    constant={"sort_eig_vals": False, "select_callable": None},
)
primitive(
    "triangular_solve", triangular_solve.TriangularSolve, lower="lower_triangular"
)
primitive("tridiagonal", tridiagonal.Tridiagonal, lower="lower_triangular")
primitive(
    "tridiagonal_solve", tridiagonal.TridiagonalSolve, perturb_singular="perturbed"
)
primitive(
    "lu_pivots_to_permutation",
    lu.LUPivotsToPermutation,
    permutation_size="size",
)


class _LU(OperationPrimitive):
    """``lu``, which gives the order of the rows as well."""

    def results_of(self, op: Any, types: Types) -> Sequence[int | ArrayType]:
        (a,) = types
        order = ArrayType(a.shape[:-1], dtypes.int32, varying=a.varying)
        return (0, 1, order)

    def process(
        self, trace: Trace, operands: Sequence[Any], params: Any
    ) -> Sequence[Any]:
        factors, pivots = super().process(trace, operands, params)
        order = lu.LUPivotsToPermutation(operands[0].type.shape[-2])
        return (factors, pivots, *trace.process(order, [pivots]))


enter(_LU("lu", lu.LU))
