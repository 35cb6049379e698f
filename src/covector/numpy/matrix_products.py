"""Products of matrices and vectors, batched over leading axes.

Each is one contraction, ``DotGeneral``, between at most a reshape and a transpose.
Which axes are batch, free and contracted is worked out once for each pair of types.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import ArrayType
from covector.errors import TypeMismatch
from covector.numpy.axes import canonical_axis, with_out_sharding
from covector.numpy.promote import promote_dtypes
from covector.numpy.reshaping import expand_dims
from covector.operations.broadcasting import move_axis
from covector.operations.complex import conj
from covector.operations.contraction import DotGeneral
from covector.operations.precision import PrecisionLike, exactness
from covector.operations.transposing import Reshape, Transpose

__all__ = ["matmul", "matvec", "vecdot", "vecmat"]


class ProductOptions(NamedTuple):
    """The precision of products, and the element type of the result."""

    precision: Any = None
    preferred: Any = None


def product_options(
    who: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> ProductOptions:
    preferred = preferred_element_type
    return ProductOptions(
        exactness(precision, who), None if preferred is None else asked_dtype(preferred)
    )


def conjugated(x: Value) -> Array:
    """The complex conjugate; of real numbers they themselves."""
    return conj(x) if dtypes.is_complex(x.type.dtype) else x


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The product ``a @ b`` of matrices, or of stacks that broadcast together.

    On accelerators products of float32 are formed with fewer bits by default;
    ``precision="highest"`` asks for all.

    Args:
      a: ``[..., m, k]``, or ``[k]`` for a row.
      b: ``[..., k, n]``, or ``[k]`` for a column.
      precision: how exactly products of floats are formed on accelerators.
      preferred_element_type: of the result, and of the sums.
      out_sharding: where the result is to be.

    Returns:
      ``[..., m, n]``, without the axis that a row or column does not have.

    Raises:
      TypeMismatch: the lengths k differ, the stacks do not broadcast, or one of the two
        is a scalar.

    >>> import covector.numpy as cnp
    >>> cnp.matmul(cnp.ones((5, 2, 3)), cnp.ones((3, 4))).shape
    (5, 2, 4)

    See also: ``dot``, ``einsum``, ``matvec``, ``linalg.multi_dot``.
    """
    x, y = promote_dtypes("matmul", a, b)
    options = product_options("matmul", precision, preferred_element_type)
    out = _product("matmul", x, y, options)
    return out if out_sharding is None else with_out_sharding(out, out_sharding)


def _product(who: str, x: Value, y: Value, options: ProductOptions) -> Array:
    before_x, before_y, contraction, after = _product_plan(who, x.type, y.type, options)
    if before_x is not None:
        x = before_x(x)
    if before_y is not None:
        y = before_y(y)
    out = contraction(x, y)
    return out if after is None else after(out)


@lru_cache(4096)
def _product_plan(who: str, x: ArrayType, y: ArrayType, options: ProductOptions) -> Any:
    """The steps of a product of matrices: before, the contraction itself, and after.

    An axis of the stacks that both have is a batch axis; one that only one of them has
    is a free axis of it. Those of length 1 against a longer one are dropped.
    """
    _check_product(who, x, y)
    matrix_x, matrix_y = min(x.ndim, 2), min(y.ndim, 2)
    stacks = x.shape[: x.ndim - matrix_x], y.shape[: y.ndim - matrix_y]
    rank = max(map(len, stacks))
    padded = [(None,) * (rank - len(s)) + s for s in stacks]
    in_x, in_y, shape_x, shape_y = [], [], [], []
    for k, (m, n) in enumerate(zip(*padded, strict=True)):
        if m is not None and (m != 1 or n in (None, 1)):
            in_x.append(k)
            shape_x.append(m)
        if n is not None and not (n == 1 and m is not None):
            in_y.append(k)
            shape_y.append(n)
    both = [k for k in in_x if k in in_y]
    numbers = (
        ((len(in_x) + matrix_x - 1,), (len(in_y),)),
        (tuple([in_x.index(k) for k in both]), tuple([in_y.index(k) for k in both])),
    )
    shape_x += x.shape[len(stacks[0]) :]
    shape_y += y.shape[len(stacks[1]) :]
    # The contraction gives: both, only x, row, only y, column.
    row, column = ["row"] * (matrix_x - 1), ["column"] * (matrix_y - 1)
    found = [*both, *[k for k in in_x if k not in both], *row]
    found += [*[k for k in in_y if k not in both], *column]
    wanted = [*range(rank), *row, *column]
    return (
        Reshape(tuple(shape_x)) if tuple(shape_x) != x.shape else None,
        Reshape(tuple(shape_y)) if tuple(shape_y) != y.shape else None,
        DotGeneral(numbers, *options),
        Transpose(tuple([found.index(k) for k in wanted])) if found != wanted else None,
    )


def _check_product(who: str, x: ArrayType, y: ArrayType) -> None:
    if not (x.ndim and y.ndim):
        raise TypeMismatch(
            f"{who} needs vectors or matrices, but got {x} and {y}. To scale by a "
            "number, use multiply."
        )
    last = y.shape[max(y.ndim - 2, 0)]
    if x.shape[-1] != last:
        raise TypeMismatch(
            f"{who} of {x} and {y}: the axes that it sums over have lengths "
            f"{x.shape[-1]} and {last}. They must be equal: the last axis of the "
            f"first, and the {'last but one' if y.ndim > 1 else 'only one'} of the "
            "second.",
            page="shapes",
        )
    pairs = zip(x.shape[-3::-1], y.shape[-3::-1], strict=False)
    if any([m != n and 1 not in (m, n) for m, n in pairs]):
        raise TypeMismatch(
            f"{who} of {x} and {y}: the axes before the last two must broadcast "
            "together."
        )


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Products of vectors along ``axis``, those of ``x1`` conjugated, summed.

    >>> import covector.numpy as cnp
    >>> print(cnp.vecdot(cnp.array([[1, 2], [3, 4]]), cnp.array([1, 10])))
    [21 43]
    """
    x, y = promote_dtypes("vecdot", x1, x2)
    _check_vectors("vecdot", x, y)
    x = move_axis(x, canonical_axis("vecdot", axis, x.type.ndim), x.type.ndim - 1)
    y = move_axis(y, canonical_axis("vecdot", axis, y.type.ndim), y.type.ndim - 1)
    options = product_options("vecdot", precision, preferred_element_type)
    out = _product(
        "vecdot", expand_dims(conjugated(x), -2), expand_dims(y, -1), options
    )
    return Reshape(out.type.shape[:-2])(out)


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of matrices ``[..., m, n]`` and vectors ``[..., n]``.

    >>> import covector.numpy as cnp
    >>> print(cnp.matvec(cnp.array([[1, 2], [3, 4]]), cnp.array([1, 10])))
    [21 43]
    """
    x, y = promote_dtypes("matvec", x1, x2)
    _check_vectors("matvec", x, y)
    out = _product(
        "matvec", x, expand_dims(y, -1), product_options("matvec", None, None)
    )
    return Reshape(out.type.shape[:-1])(out)


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of vectors ``[..., n]``, conjugated, and matrices ``[..., n, m]``.

    >>> import covector.numpy as cnp
    >>> print(cnp.vecmat(cnp.array([1, 10]), cnp.array([[1, 2], [3, 4]])))
    [31 42]
    """
    x, y = promote_dtypes("vecmat", x1, x2)
    _check_vectors("vecmat", x, y)
    x = expand_dims(conjugated(x), -2)
    out = _product("vecmat", x, y, product_options("vecmat", None, None))
    shape = out.type.shape
    return Reshape((*shape[:-2], shape[-1]))(out)


def _check_vectors(who: str, x: Value, y: Value) -> None:
    if not (x.type.ndim and y.type.ndim):
        raise TypeMismatch(f"{who} needs vectors, but got {x.type} and {y.type}.")
