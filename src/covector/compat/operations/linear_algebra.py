"""Operations on matrices."""

from collections.abc import Sequence
from typing import Any

from covector.compat.operation_primitives import OperationPrimitive, Types, primitive
from covector.core import dtypes
from covector.core.trace import Trace
from covector.core.types import ArrayType
from covector.operations.linear_algebra.lu import LUPivotsToPermutation

primitive("geqrf", hidden="pivoting")
primitive("qr", ignored={"use_magma": None})
primitive(
    "eigh",
    hidden="vectors",
    constant={"lower": True, "subset_by_index": None},
    ignored={"sort_eigenvalues": True, "algorithm": None},
)
primitive(
    "svd",
    compute_uv="vectors",
    constant={"subset_by_index": None},
    ignored={"algorithm": None},
    order=lambda op: (1, 0, 2) if op.vectors else (0,),
)
primitive(
    "eig",
    compute_left_eigenvectors="left",
    compute_right_eigenvectors="right",
    ignored={"enable_eigvec_derivs": True, "implementation": None},
)
primitive(
    "schur",
    compute_schur_vectors="vectors",
    constant={"sort_eig_vals": False, "select_callable": None},
)
primitive("triangular_solve", lower="lower_triangular")
primitive("tridiagonal", lower="lower_triangular")
primitive("tridiagonal_solve", perturb_singular="perturbed")
primitive("lu_pivots_to_permutation", permutation_size="size")
# Classes of covector that are on matrices give lists, here of one.
primitive("householder_product").multiple_results = False
primitive("ormqr", transpose="inverted").multiple_results = False


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
        order = LUPivotsToPermutation(operands[0].type.shape[-2])
        return (factors, pivots, *trace.process(order, [pivots]))


primitive("lu", kind=_LU)
