"""The axes of a ``dot_general`` by labels."""

from typing import Any, NamedTuple, TypeAlias

from covector.errors import TypeMismatch
from covector.experimental.sparse.base import JAXSparse
from covector.operations.contraction import DotDimensionNumbers

#: the axes of an array; those of several arrays with equal labels are one
Labels: TypeAlias = tuple[int, ...]


class Contraction(NamedTuple):
    """The axes of the operands and the result of a ``dot_general``."""

    lhs: Labels
    rhs: Labels
    out: Labels


def contraction(
    who: str, lhs: Any, rhs: Any, dimension_numbers: DotDimensionNumbers
) -> Contraction:
    """The labels of a product; lhs and rhs have a shape.

    Raises:
      TypeMismatch: the axes do not exist, or their lengths differ.
    """
    (lhs_sum, rhs_sum), (lhs_batch, rhs_batch) = [
        tuple([tuple([int(a) for a in axes]) for axes in pair])
        for pair in dimension_numbers
    ]
    left, right = lhs_batch + lhs_sum, rhs_batch + rhs_sum
    fits = len(lhs_sum) == len(rhs_sum) and len(lhs_batch) == len(rhs_batch)
    for axes, ndim in ((left, lhs.ndim), (right, rhs.ndim)):
        fits = fits and len({*axes}) == len(axes) and {*axes} <= {*range(ndim)}
    if not fits or any(
        [lhs.shape[a] != rhs.shape[b] for a, b in zip(left, right, strict=True)]
    ):
        raise TypeMismatch(
            f"{who} of {_shown(lhs)} and {_shown(rhs)}: the axes {lhs_sum} and "
            f"{rhs_sum} that are contracted, and {lhs_batch} and {rhs_batch} that are "
            "paired, must be axes of the same lengths."
        )
    partner = dict(zip(right, left, strict=True))
    of_lhs = tuple(range(lhs.ndim))
    of_rhs = tuple(
        [partner[b] if b in partner else lhs.ndim + b for b in range(rhs.ndim)]
    )
    free = [a for a in of_lhs if a not in left]
    out = (*lhs_batch, *free, *[b for b in of_rhs if b >= lhs.ndim])
    return Contraction(of_lhs, of_rhs, out)


def _shown(x: Any) -> str:
    return str(x) if isinstance(x, JAXSparse) else str(x.type)
