"""Inner, outer and tensor products: ``dot``, ``vdot``, ``tensordot`` and the like.

Each function is one contraction, ``DotGeneral``, between at most a reshape and a
transpose. Which axes are batch, free and contracted is worked out once for each pair of
types.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import (
    ArrayLike,
    Axes,
    DTypeLike,
    Value,
    with_parameters_of,
)
from covector.core.array_like import Array
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError, AxisError, TypeMismatch
from covector.numpy.axes import (
    as_integer,
    canonical_axes,
    canonical_axis,
    check_no_out,
    with_out_sharding,
)
from covector.numpy.axis_order import moveaxis
from covector.numpy.matrices import diagonal
from covector.numpy.matrix_products import (
    ProductOptions,
    conjugated,
    matmul,
    product_options,
)
from covector.numpy.promote import promote_dtypes
from covector.numpy.reductions import sum
from covector.numpy.reshaping import ravel
from covector.numpy.xp_function import XpArray, xp_function
from covector.operations.contraction import DotGeneral
from covector.operations.precision import PrecisionLike
from covector.operations.transposing import Reshape, Transpose

__all__ = ["cross", "dot", "inner", "kron", "outer", "tensordot", "trace", "vdot"]


def _contract(
    who: str,
    x: Value,
    y: Value,
    axes: tuple[Sequence[int], Sequence[int]],
    options: ProductOptions,
) -> Array:
    """Products of x and y summed over pairs of axes; no batch axes."""
    ours, theirs = tuple(axes[0]), tuple(axes[1])
    lengths = [x.type.shape[a] for a in ours], [y.type.shape[a] for a in theirs]
    if lengths[0] != lengths[1]:
        raise TypeMismatch(
            f"{who} of {x.type} and {y.type} sums over axes {ours} of the first and "
            f"{theirs} of the second, which must have the same lengths."
        )
    return DotGeneral(((ours, theirs), ((), ())), *options)(x, y)


@with_parameters_of(matmul)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    out_sharding: ShardingLike | None = None,
    **exactness: Any,
) -> Array:
    """Products summed over the last axis of ``a`` and the last but one of ``b``.

    If ``b`` has one axis, over that; if one of the two is a scalar, nothing is summed.
    The result has the other axes of ``a``, then those of ``b``: stacks ``[n, i, k]``
    and ``[n, k, j]`` give ``[n, i, n, j]``, each matrix with each. ``matmul``
    multiplies them pair by pair, and has the same other arguments. Complex numbers are
    not conjugated.

    Args:
      a, b: arrays or numbers.
      precision, preferred_element_type, out_sharding: as for ``matmul``.

    Returns:
      An array of the dtype to which both promote.

    Raises:
      TypeMismatch: the two axes have different lengths.

    >>> import covector.numpy as cnp
    >>> float(cnp.dot(cnp.array([1.0, 2.0]), cnp.array([3.0, 4.0])))
    11.0

    See also: ``matmul``, ``vdot``, ``einsum``, ``tensordot``.
    """
    x, y = promote_dtypes("dot", a, b)
    options = product_options("dot", **exactness)
    if not (x.type.ndim and y.type.ndim):
        return with_out_sharding(
            _contract("dot", x, y, ((), ()), options), out_sharding
        )
    last = (x.type.ndim - 1,), (max(y.type.ndim - 2, 0),)
    return with_out_sharding(_contract("dot", x, y, last, options), out_sharding)


def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Products summed over the last axes of both; of a scalar and an array, products.

    ``[..., k]`` and ``[n, k]`` give ``[..., n]``: each row with each row. Complex
    numbers are not conjugated.

    Raises:
      TypeMismatch: the last axes have different lengths.

    >>> import covector.numpy as cnp
    >>> cnp.inner(cnp.ones((2, 3)), cnp.ones((4, 3))).shape
    (2, 4)

    See also: ``vecdot`` (row by row), ``vdot``, ``matmul``, ``einsum``.
    """
    x, y = promote_dtypes("inner", a, b)
    options = product_options("inner", precision, preferred_element_type)
    if not (x.type.ndim and y.type.ndim):
        return _contract("inner", x, y, ((), ()), options)
    return _contract("inner", x, y, ((x.type.ndim - 1,), (y.type.ndim - 1,)), options)


@with_parameters_of(inner)
def vdot(a: ArrayLike, b: ArrayLike, **exactness: Any) -> Array:
    """The inner product: products of all elements, those of ``a`` conjugated, summed.

    Both are raveled first; the other arguments are those of ``matmul``.

    >>> import covector.numpy as cnp
    >>> complex(cnp.vdot(cnp.array([1j]), cnp.array([1j])))
    (1+0j)

    See also: ``vecdot`` (along an axis), ``dot``, ``inner``, ``linalg.norm``.
    """
    x, y = promote_dtypes("vdot", a, b)
    options = product_options("vdot", **exactness)
    return _contract("vdot", ravel(conjugated(x)), ravel(y), ((0,), (0,)), options)


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The product of each element of ``a`` with each of ``b``, as a matrix.

    Both are raveled first; complex numbers are not conjugated.

    Args:
      a, b: arrays or numbers, of any shapes.
      out: must be None.

    Returns:
      A matrix ``[a.size, b.size]``, of the dtype to which both promote.

    Raises:
      DTypeError: one of the two is not an array or a number.

    >>> import covector.numpy as cnp
    >>> cnp.outer(cnp.array([1, 2]), cnp.array([3, 4])).tolist()
    [[3, 4], [6, 8]]

    See also: ``einsum``, ``tensordot``, ``kron``, ``multiply``.
    """
    check_no_out("outer", out)
    x, y = promote_dtypes("outer", a, b)
    return _contract(
        "outer", ravel(x), ravel(y), ((), ()), product_options("outer", None, None)
    )


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Axes = 2,
    *,
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Products summed over pairs of axes.

    The result has the other axes, those of ``a`` first.

    Args:
      axes: how many of the last axes of ``a`` to pair with the first of ``b``, in
        order; or an axis, or several, of ``a``, and as many of ``b``.
      precision, preferred_element_type, out_sharding: as for ``matmul``.

    Returns:
      An array of the dtype to which both promote; a scalar if no axis is left.

    Raises:
      TypeMismatch: axes of a pair have different lengths.

    >>> import covector.numpy as cnp
    >>> cnp.tensordot(cnp.ones((2, 3, 4)), cnp.ones((4, 3, 5)), ([1, 2], [1, 0])).shape
    (2, 5)

    See also: ``einsum``, ``dot``, ``matmul``.
    """
    x, y = promote_dtypes("tensordot", a, b)
    options = product_options("tensordot", precision, preferred_element_type)
    if isinstance(axes, list | tuple):
        if len(axes) != 2:
            raise ArgumentError(
                f"tensordot needs axes for each of two operands, but got {axes}."
            )
        ours = canonical_axes("tensordot", axes[0], x.type.ndim, "axes")
        theirs = canonical_axes("tensordot", axes[1], y.type.ndim, "axes")
    else:
        count = as_integer("tensordot", axes, "axes")
        if not 0 <= count <= min(x.type.ndim, y.type.ndim):
            raise AxisError(
                f"tensordot of {x.type} and {y.type} sums over axes that both have, "
                f"but got axes={count}."
            )
        ours = tuple(range(x.type.ndim - count, x.type.ndim))
        theirs = tuple(range(count))
    return with_out_sharding(
        _contract("tensordot", x, y, (ours, theirs), options), out_sharding
    )


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: each element of ``a`` replaced by its product with ``b``.

    >>> import covector.numpy as cnp
    >>> cnp.kron(cnp.array([1, 10]), cnp.array([1, 2])).tolist()
    [1, 2, 10, 20]

    See also: ``outer``, ``tensordot``, ``tile``.
    """
    x, y = promote_dtypes("kron", a, b)
    ndim = max(x.type.ndim, y.type.ndim)
    lengths, others = [(1,) * (ndim - z.type.ndim) + z.type.shape for z in (x, y)]
    products = _contract(
        "kron",
        Reshape(lengths)(x),
        Reshape(others)(y),
        ((), ()),
        product_options("kron", None, None),
    )
    pairs = [a for k in range(ndim) for a in (k, ndim + k)]
    shape = tuple([m * n for m, n in zip(lengths, others, strict=True)])
    return Reshape(shape)(Transpose(tuple(pairs))(products))


def trace(
    a: ArrayLike,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """The sum of a diagonal: of matrices along two axes, with the others as a stack.

    Args:
      offset: which diagonal: positive ones lie above the main one.
      axis1, axis2: the axes of the matrices, by default the first two; for stacks
        ``[..., n, n]`` pass −2 and −1.
      dtype: of the sum; by default as for ``sum``.
      out: must be None.

    Returns:
      A scalar for a matrix; for a stack, an array without the two axes.

    Raises:
      AxisError: the array has not these two axes.

    >>> import covector.numpy as cnp
    >>> print(cnp.trace(cnp.array([[1, 2], [3, 4]])))
    5

    See also: ``linalg.trace`` (of the last two axes), ``diagonal``, ``diag``.
    """
    check_no_out("trace", out)
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Cross products of vectors with two or three components.

    Args:
      axisa, axisb, axisc: the axis along which the components lie, in a, b and the
        result.
      axis: all three of them.

    Returns:
      Vectors of three components; if both have two, their third component alone.

    >>> import covector.numpy as cnp
    >>> print(cnp.cross(cnp.array([1, 0, 0]), cnp.array([0, 1, 0])))
    [0 0 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote_dtypes("cross", a, b)
    k = canonical_axis("cross", axisa, x.type.ndim, "axisa")
    m = canonical_axis("cross", axisb, y.type.ndim, "axisb")
    if not {x.type.shape[k], y.type.shape[m]} <= {2, 3}:
        raise ArgumentError(
            f"cross of {x.type} along axis {k} and {y.type} along axis {m}: vectors "
            "must have two or three components."
        )
    out = _cross(x, y, axes=(k, m))
    if x.type.shape[k] == y.type.shape[m] == 2:
        return out
    return moveaxis(out, -1, axisc)


@xp_function
def _cross(xp: Any, x: XpArray, y: XpArray, *, axes: tuple[int, int]) -> XpArray:
    """The components of the cross product, along a new last axis if there are three."""
    x, y = xp.moveaxis(x, axes[0], -1), xp.moveaxis(y, axes[1], -1)
    (x0, x1, *x2), (y0, y1, *y2) = [
        [z[..., k] for k in range(z.shape[-1])] for z in (x, y)
    ]
    third = x0 * y1 - x1 * y0
    if not (x2 or y2):
        return third
    first = second = xp.zeros_like(third)
    if y2:
        first, second = first + x1 * y2[0], second - x0 * y2[0]
    if x2:
        first, second = first - x2[0] * y1, second + x2[0] * y0
    return xp.stack([first, second, third], axis=-1)
