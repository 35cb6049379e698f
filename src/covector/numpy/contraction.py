"""Products that sum: of vectors, matrices, and tensors of any rank.

Each function is one contraction, ``DotGeneral``, between at most a reshape and a
transpose. Which axes are batch, free and contracted is worked out once for each pair of
types.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.types import ArrayType
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy.axes import canonical_axes, canonical_axis, check_no_out
from covector.numpy.axis_order import moveaxis
from covector.numpy.compiled import fused
from covector.numpy.matrices import diagonal
from covector.numpy.promote import promote_dtypes
from covector.numpy.reductions import sum
from covector.numpy.reshaping import broadcast_arrays, expand_dims, ravel
from covector.numpy.types import asked_dtype
from covector.ops.broadcasting import move_axis
from covector.ops.complex import conj
from covector.ops.contraction import DotGeneral
from covector.ops.joining import Stack, Unstack
from covector.ops.precision import exactness
from covector.ops.transposing import Reshape, Transpose

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
]


class Options(NamedTuple):
    """How exactly products are formed, and in what element type the result comes."""

    precision: Any = None
    preferred: Any = None


def _options(who: str, precision: Any, preferred_element_type: Any) -> Options:
    preferred = preferred_element_type
    return Options(
        exactness(precision, who), None if preferred is None else asked_dtype(preferred)
    )


def _contract(
    who: str,
    x: Any,
    y: Any,
    axes: tuple[Sequence[int], Sequence[int]],
    options: Options,
) -> Any:
    """Products of x and y summed over pairs of axes; no batch axes."""
    ours, theirs = tuple(axes[0]), tuple(axes[1])
    lengths = [x.type.shape[a] for a in ours], [y.type.shape[a] for a in theirs]
    if lengths[0] != lengths[1]:
        raise TypeMismatch(
            f"{who} of {x.type} and {y.type} sums over axes {ours} of the first and "
            f"{theirs} of the second, which must have the same lengths."
        )
    return DotGeneral(((ours, theirs), ((), ())), *options)(x, y)


def dot(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Products summed over the last axis of ``a`` and the last but one of ``b``.

    If ``b`` has one axis, over that; if one of the two is a scalar, nothing is summed.
    The result has the other axes of ``a``, then those of ``b``. ``matmul`` treats
    stacks of matrices as such.

    Args:
      precision: how exactly products of floats are formed on accelerators.
      preferred_element_type: of the result, and of the sums.

    >>> import covector.numpy as cnp
    >>> float(cnp.dot(cnp.array([1.0, 2.0]), cnp.array([3.0, 4.0])))
    11.0
    """
    x, y = promote_dtypes("dot", a, b)
    options = _options("dot", precision, preferred_element_type)
    if not (x.type.ndim and y.type.ndim):
        return _contract("dot", x, y, ((), ()), options)
    last = (x.type.ndim - 1,), (max(y.type.ndim - 2, 0),)
    return _contract("dot", x, y, last, options)


def inner(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Products summed over the last axes of both; of a scalar and an array, products.

    >>> import covector.numpy as cnp
    >>> cnp.inner(cnp.ones((2, 3)), cnp.ones((4, 3))).shape
    (2, 4)
    """
    x, y = promote_dtypes("inner", a, b)
    options = _options("inner", precision, preferred_element_type)
    if not (x.type.ndim and y.type.ndim):
        return _contract("inner", x, y, ((), ()), options)
    return _contract("inner", x, y, ((x.type.ndim - 1,), (y.type.ndim - 1,)), options)


def vdot(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """Products of all elements, those of ``a`` conjugated, summed.

    >>> import covector.numpy as cnp
    >>> complex(cnp.vdot(cnp.array([1j]), cnp.array([1j])))
    (1+0j)
    """
    x, y = promote_dtypes("vdot", a, b)
    options = _options("vdot", precision, preferred_element_type)
    return _contract("vdot", ravel(_conjugate(x)), ravel(y), ((0,), (0,)), options)


def _conjugate(x: Any) -> Any:
    return conj(x) if dtypes.is_complex(x.type.dtype) else x


def outer(a: Any, b: Any, out: None = None) -> Array:
    """The product of each element of ``a`` with each of ``b``, both raveled.

    >>> import covector.numpy as cnp
    >>> cnp.outer(cnp.array([1, 2]), cnp.array([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    check_no_out("outer", out)
    x, y = promote_dtypes("outer", a, b)
    return _contract(
        "outer", ravel(x), ravel(y), ((), ()), _options("outer", None, None)
    )


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Products summed over pairs of axes.

    Args:
      axes: how many of the last axes of ``a`` to pair with the first of ``b``, in
        order; or an axis, or several, of ``a``, and as many of ``b``.

    >>> import covector.numpy as cnp
    >>> cnp.tensordot(cnp.ones((2, 3, 4)), cnp.ones((4, 3, 5)), ([1, 2], [1, 0])).shape
    (2, 5)
    """
    x, y = promote_dtypes("tensordot", a, b)
    options = _options("tensordot", precision, preferred_element_type)
    if isinstance(axes, list | tuple):
        if len(axes) != 2:
            raise ArgumentError(
                f"tensordot needs axes for each of two operands, but got {axes}."
            )
        ours = canonical_axes("tensordot", axes[0], x.type.ndim, "axes")
        theirs = canonical_axes("tensordot", axes[1], y.type.ndim, "axes")
    else:
        count = canonical_axis(
            "tensordot", axes, min(x.type.ndim, y.type.ndim) + 1, "axes"
        )
        ours = tuple(range(x.type.ndim - count, x.type.ndim))
        theirs = tuple(range(count))
    return _contract("tensordot", x, y, (ours, theirs), options)


def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: ``a`` with each element replaced by its product with
    ``b``.

    >>> import covector.numpy as cnp
    >>> cnp.kron(cnp.array([1, 10]), cnp.array([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    x, y = promote_dtypes("kron", a, b)
    ndim = max(x.type.ndim, y.type.ndim)
    lengths, others = [(1,) * (ndim - z.type.ndim) + z.type.shape for z in (x, y)]
    products = _contract(
        "kron",
        Reshape(lengths)(x),
        Reshape(others)(y),
        ((), ()),
        _options("kron", None, None),
    )
    pairs = [a for k in range(ndim) for a in (k, ndim + k)]
    shape = tuple([m * n for m, n in zip(lengths, others, strict=True)])
    return Reshape(shape)(Transpose(tuple(pairs))(products))


# -- stacks of matrices ----------------------------------------------------------------


def matmul(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The product of matrices, or of stacks of them, which broadcast together.

    Args:
      a: ``[..., m, k]``, or ``[k]`` for a row.
      b: ``[..., k, n]``, or ``[k]`` for a column.
      precision: how exactly products of floats are formed on accelerators.
      preferred_element_type: of the result, and of the sums.

    Returns:
      ``[..., m, n]``, without the axis that a row or column does not have.

    >>> import covector.numpy as cnp
    >>> cnp.matmul(cnp.ones((5, 2, 3)), cnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    x, y = promote_dtypes("matmul", a, b)
    options = _options("matmul", precision, preferred_element_type)
    return _product("matmul", x, y, options)


def _product(who: str, x: Any, y: Any, options: Options) -> Any:
    before_x, before_y, contraction, after = _product_plan(who, x.type, y.type, options)
    if before_x is not None:
        x = before_x(x)
    if before_y is not None:
        y = before_y(y)
    out = contraction(x, y)
    return out if after is None else after(out)


@lru_cache(4096)
def _product_plan(who: str, x: ArrayType, y: ArrayType, options: Options) -> Any:
    """What to do before, the contraction, and what after, for a product of matrices.

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
            f"{who} of {x} and {y} sums over the last axis of the first, of length "
            f"{x.shape[-1]}, and the {'last but one' if y.ndim > 1 else 'only'} of the "
            f"second, of length {last}: they must be the same."
        )
    pairs = zip(x.shape[-3::-1], y.shape[-3::-1], strict=False)
    if any([m != n and 1 not in (m, n) for m, n in pairs]):
        raise TypeMismatch(
            f"{who} of {x} and {y}: the axes before the last two must broadcast "
            "together."
        )


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
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
    options = _options("vecdot", precision, preferred_element_type)
    out = _product(
        "vecdot", expand_dims(_conjugate(x), -2), expand_dims(y, -1), options
    )
    return Reshape(out.type.shape[:-2])(out)


def matvec(x1: Any, x2: Any, /) -> Array:
    """Products of matrices ``[..., m, n]`` and vectors ``[..., n]``.

    >>> import covector.numpy as cnp
    >>> print(cnp.matvec(cnp.array([[1, 2], [3, 4]]), cnp.array([1, 10])))
    [21 43]
    """
    x, y = promote_dtypes("matvec", x1, x2)
    _check_vectors("matvec", x, y)
    out = _product("matvec", x, expand_dims(y, -1), _options("matvec", None, None))
    return Reshape(out.type.shape[:-1])(out)


def vecmat(x1: Any, x2: Any, /) -> Array:
    """Products of vectors ``[..., n]``, conjugated, and matrices ``[..., n, m]``.

    >>> import covector.numpy as cnp
    >>> print(cnp.vecmat(cnp.array([1, 10]), cnp.array([[1, 2], [3, 4]])))
    [31 42]
    """
    x, y = promote_dtypes("vecmat", x1, x2)
    _check_vectors("vecmat", x, y)
    x = expand_dims(_conjugate(x), -2)
    out = _product("vecmat", x, y, _options("vecmat", None, None))
    shape = out.type.shape
    return Reshape((*shape[:-2], shape[-1]))(out)


def _check_vectors(who: str, x: Any, y: Any) -> None:
    if not (x.type.ndim and y.type.ndim):
        raise TypeMismatch(f"{who} needs vectors, but got {x.type} and {y.type}.")


def trace(
    a: Any,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: None = None,
) -> Array:
    """The sum of a diagonal: of matrices along two axes, with the others as a stack.

    Args:
      offset: which diagonal: positive ones lie above the main one.
      dtype: of the sum; by default as for ``sum``.

    >>> import covector.numpy as cnp
    >>> print(cnp.trace(cnp.array([[1, 2], [3, 4]])))
    5
    """
    check_no_out("trace", out)
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


# -- cross products --------------------------------------------------------------------


def cross(
    a: Any,
    b: Any,
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


@fused()
def _cross(x: Any, y: Any, *, axes: tuple[int, int]) -> Any:
    """The components of the cross product, along a new last axis where there are
    three.
    """
    x0, x1, *x2 = Unstack(axes[0])(x)
    y0, y1, *y2 = Unstack(axes[1])(y)
    third = x0 * y1 - x1 * y0
    if not (x2 or y2):
        return third
    first, second = 0, 0
    if y2:
        first, second = x1 * y2[0], -(x0 * y2[0])
    if x2:
        first, second = first - x2[0] * y1, second + x2[0] * y0
    return Stack(third.type.ndim)(*broadcast_arrays(first, second, third))
