"""Convolution of sparse arrays: pairs of elements meet at one index or nowhere."""

from collections.abc import Sequence
from typing import Any

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.types import ArrayType
from covector.errors import ArgumentError
from covector.experimental.sparse.base import is_sparse
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_conversion import bcoo_fromdense
from covector.experimental.sparse.bcoo_layout import all_sparse
from covector.experimental.sparse.bcoo_order import same_size
from covector.experimental.sparse.elements import in_bounds, over_batch, padded
from covector.lax.convolution_shapes import conv_dimension_numbers, explicit_padding
from covector.numpy.promote import promote_dtypes
from covector.operations.convolution import ConvGeneralDilated

__all__ = ["bcoo_conv_general_dilated"]


def bcoo_conv_general_dilated(
    lhs: BCOO | ArrayLike,
    rhs: BCOO | ArrayLike,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> BCOO:
    """``lax.conv_general_dilated`` of sparse arrays, or of a sparse and a dense one.

    The arguments are those of ``lax.conv_general_dilated``. ``precision`` is of no
    account, since products are computed one by one, and batches have no groups.

    Returns:
      A BCOO with an element for each pair of elements, or as many as it has indices.

    Raises:
      TypeMismatch: shapes do not go together.
      ArgumentError: there are groups of batches, or a sharding.

    >>> import covector.numpy as cnp
    >>> from covector.experimental.sparse import BCOO
    >>> x = BCOO.fromdense(cnp.array([[[1.0, 0.0, 0.0, 2.0]]]))
    >>> w = BCOO.fromdense(cnp.array([[[3.0, 4.0]]]))
    >>> out = bcoo_conv_general_dilated(x, w, window_strides=(1,), padding="VALID")
    >>> out.todense().tolist()
    [[[3.0, 0.0, 8.0]]]
    """
    who = "bcoo_conv_general_dilated"
    if batch_group_count != 1 or out_sharding is not None:
        raise ArgumentError(f"{who} has neither groups of batches nor an out_sharding.")
    x, y = [all_sparse(m if is_sparse(m) else _every_element(m)) for m in (lhs, rhs)]  # type: ignore[arg-type]
    of_x, of_y = promote_dtypes(who, x.data, y.data)
    left, right = ArrayType(x.shape, of_x.dtype), ArrayType(y.shape, of_y.dtype)
    ones = (1,) * (x.ndim - 2)
    op = ConvGeneralDilated(
        tuple(window_strides),
        (),
        tuple(ones if lhs_dilation is None else lhs_dilation),
        tuple(ones if rhs_dilation is None else rhs_dilation),
        conv_dimension_numbers(x.shape, y.shape, dimension_numbers),
        int(feature_group_count),
    )
    pads = explicit_padding(who, padding, op, x.shape, y.shape)
    op = op.changed(padding=pads)
    (out,) = op.type_rule(left, right)
    wanted = of_x.dtype if preferred_element_type is None else preferred_element_type
    data, indices = over_batch(
        _pairing(op, left, right, out), 0, of_x, x.indices, of_y, y.indices
    )
    data = data.astype(dtypes.as_dtype(wanted))
    return same_size(BCOO.of_parts(data, indices, out.shape))


def _every_element(x: Any) -> BCOO:
    x = cnp.asarray(x)
    return bcoo_fromdense(x, nse=x.size)


def _pairing(op: Any, left: ArrayType, right: ArrayType, out: ArrayType) -> Any:
    """The products of all pairs, and where they are added."""
    a, b, c = op.dimension_numbers
    per_group = right.shape[b[0]] // op.feature_group_count

    def pairing(x: Value, i: Value, y: Value, j: Value) -> tuple[Array, Array]:
        mask = in_bounds(i, left.shape)[:, None] & in_bounds(j, right.shape)
        # Differences of indices may be negative, and products large.
        i, j = [x.astype(cnp.result_type(x.dtype, dtypes.int32)) for x in (i, j)]
        feature = j[:, b[0]] // max(per_group, 1) * right.shape[b[1]] + j[:, b[1]]
        mask &= i[:, None, a[1]] == feature
        count = mask.shape
        columns: dict[int, Any] = {
            c[0]: cnp.broadcast_to(i[:, None, a[0]], count),
            c[1]: cnp.broadcast_to(j[:, b[0]], count),
        }
        for window, k, m, n in zip(op.windows, a[2:], b[2:], c[2:], strict=True):
            at = i[:, None, k] * window.lhs_dilation + window.low
            at = at - j[:, m] * window.rhs_dilation
            mask &= at % window.stride == 0
            columns[n] = at // window.stride
        indices = cnp.stack([columns[k] for k in range(out.ndim)], -1)
        mask &= in_bounds(indices, out.shape)
        data = x[:, None] * y
        flat = mask.size
        return padded(
            mask.reshape(flat),
            data.reshape(flat),
            indices.reshape(flat, out.ndim),
            out.shape,
        )

    return pairing
