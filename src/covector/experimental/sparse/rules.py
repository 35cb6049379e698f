"""Rules of ``sparsify``: what operations are on sparse arrays.

A rule takes the operation and its operands, of which one at least is sparse, and gives
the result, sparse or dense, or a list of results. A rule for a base class serves all
operations below that have none of their own.
"""

from collections.abc import Callable
from typing import Any

from covector import lax
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.convert import scalar
from covector.core.masks import select
from covector.core.primitive import Primitive
from covector.errors import TypeMismatch
from covector.experimental.sparse import bcoo_layout as layout
from covector.experimental.sparse import bcoo_products as products
from covector.experimental.sparse import bcoo_shapes as shapes
from covector.experimental.sparse import bcoo_slicing as slices
from covector.experimental.sparse.base import JAXSparse, is_sparse
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_convolution import bcoo_conv_general_dilated
from covector.experimental.sparse.bcoo_order import bcoo_sum_duplicates
from covector.experimental.sparse.bcoo_sparse_products import bcoo_multiply_sparse
from covector.experimental.sparse.sparsify import (
    RULES,
    ToDense,
    sparsify_jaxpr,
    unsupported,
)
from covector.operations import (
    arithmetic,
    broadcasting,
    casting,
    comparison,
    complex,
    contraction,
    convolution,
    dynamic_slicing,
    gathering,
    identities,
    joining,
    slicing,
    transposing,
)
from covector.operations.families import Elementwise
from covector.programs.control_flow.cond import Cond
from covector.programs.control_flow.scan import Scan
from covector.programs.control_flow.while_loop import While
from covector.programs.higher_order.call import Call, Inlined

__all__: list[str] = []

Rule = Callable[..., Any]


def _rule(*operations: type[Primitive]) -> Callable[[Rule], Rule]:
    """Enter a function in the table, for these operations."""

    def enter(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(operations, rule))
        return rule

    return enter


def _on_bcoo(*operations: type[Primitive]) -> Callable[[Rule], Rule]:
    """The same for a rule that knows BCOO only; other formats are converted."""

    def enter(rule: Rule) -> Rule:
        def convert(op: Primitive, *values: Any) -> Any:
            return rule(op, *[x.to_bcoo() if is_sparse(x) else x for x in values])

        return _rule(*operations)(convert)

    return enter


# -- one operand -----------------------------------------------------------------------


@_rule(arithmetic.Neg, complex.Real, complex.Imag, complex.Conj, identities.Identity)
def _linear(op: Primitive, x: JAXSparse) -> JAXSparse:
    return x.with_data(op(x.data))


@_rule(Elementwise)
def _elementwise(op: Primitive, *operands: Any) -> JAXSparse:
    """A function of one array, and of known numbers, that is zero where that is."""
    mask = [is_sparse(x) for x in operands]
    others = [x for x in operands if not is_sparse(x)]
    known = all([isinstance(x, ConcreteArray) and not x.shape for x in others])
    if sum(mask) != 1 or not known:
        raise unsupported(op, operands, "")
    (x,) = select(operands, mask)
    at_zero: Any = op(*[scalar(0, x.dtype) if is_sparse(x) else x for x in operands])
    if at_zero.host() != 0:
        raise unsupported(op, operands, f", which is {at_zero} where that is zero")
    x = _unique(x)
    return x.with_data(
        op(*[x.data if m else y for m, y in zip(mask, operands, strict=True)])
    )


def _unique(x: JAXSparse) -> JAXSparse:
    """The array with each element stored once: a function of their sum needs that."""
    if x.unique_indices:
        return x
    mat = x.to_bcoo()
    return bcoo_sum_duplicates(mat, mat.nse)


@_rule(casting.ConvertElementType)
def _convert(op: Any, x: JAXSparse) -> JAXSparse:
    rounds = dtypes.is_inexact(x.dtype) and not dtypes.is_inexact(op.dtype)
    x = _unique(x) if rounds or dtypes.is_bool(op.dtype) else x
    return x.with_data(op(x.data))


# -- several operands ------------------------------------------------------------------


@_on_bcoo(arithmetic.Add, arithmetic.Sub)
def _add(op: Primitive, x: Any, y: Any) -> Any:
    """A sum; with a dense array of the whole shape it is dense."""
    shape = _common_shape(x, y)
    if is_sparse(x) and is_sparse(y) and x.shape == y.shape:
        x, y = layout.common_layout(x, y)
        if x.indices is y.indices:
            return x.replace(data=op(x.data, y.data))
        y = y if isinstance(op, arithmetic.Add) else y.replace(data=-y.data)
        return shapes.together(x, y)
    if any([x.shape != shape for x in (x, y) if not is_sparse(x)]):
        raise unsupported(op, (x, y), ", which would fill in its zeros")
    return op(_dense(x), _dense(y))


def _common_shape(x: Any, y: Any) -> tuple[int, ...]:
    """The shape of the result: one of two operands may be a scalar."""
    return x.shape or y.shape


@_rule(ToDense)
def _todense(op: Primitive, x: JAXSparse) -> Any:
    return x.todense()


def _dense(x: Any) -> Any:
    return x.todense() if is_sparse(x) else x


@_on_bcoo(arithmetic.Mul)
def _multiply(op: Primitive, x: Any, y: Any) -> Any:
    if is_sparse(x) and is_sparse(y):
        if x.shape == y.shape:
            return bcoo_multiply_sparse(x, y)
        x, y = (x.todense(), y) if not x.shape else (x, y.todense())
    if is_sparse(y):
        x, y = y, x
    if x.shape != _common_shape(x, y):
        return op(x.todense(), y)  # a sparse scalar
    return x.replace(data=op(*products.at_elements(x, y, "multiply")))


@_on_bcoo(arithmetic.Div)
def _divide(op: Primitive, x: Any, y: Any) -> Any:
    if is_sparse(y) or x.shape != _common_shape(x, y):
        raise unsupported(op, (x, y), ", in which zeros would divide")
    return x.replace(data=op(*products.at_elements(x, y, "divide")))


@_on_bcoo(comparison.Comparison)
def _compare(op: Primitive, x: Any, y: Any) -> Any:
    """Which elements compare so: most of them may, so the result is dense."""
    return op(_dense(x), _dense(y))


@_on_bcoo(contraction.DotGeneral)
def _dot_general(op: Any, x: Any, y: Any) -> Any:
    return products.bcoo_dot_general(
        x,
        y,
        dimension_numbers=op.dimension_numbers,
        precision=op.precision,
        preferred_element_type=op.preferred_element_type,
    )


@_on_bcoo(convolution.ConvGeneralDilated)
def _convolve(op: Any, x: Any, y: Any) -> BCOO:
    return bcoo_conv_general_dilated(x, y, **op.parameters)


# -- shapes ----------------------------------------------------------------------------


@_on_bcoo(broadcasting.ReduceSum)
def _sum(op: Any, x: BCOO) -> Any:
    out = shapes.bcoo_reduce_sum(x, axes=op.axes)
    return out if out.shape else out.todense()


@_on_bcoo(broadcasting.BroadcastInDim)
def _broadcast(op: Any, x: BCOO) -> BCOO:
    return shapes.bcoo_broadcast_in_dim(x, shape=op.shape, broadcast_dimensions=op.axes)


@_on_bcoo(transposing.Transpose)
def _transpose(op: Any, x: BCOO) -> BCOO:
    return _reordered(x, lambda x: layout.bcoo_transpose(x, permutation=op.permutation))


@_on_bcoo(transposing.Reshape)
def _reshape(op: Any, x: BCOO) -> BCOO:
    return _reordered(x, lambda x: layout.bcoo_reshape(x, new_sizes=op.shape))


def _reordered(x: BCOO, change: Callable[[BCOO], BCOO]) -> BCOO:
    """``change(x)``, with all axes sparse where it mixes axes of different kinds."""
    try:
        return change(x)
    except TypeMismatch:
        return change(layout.all_sparse(x))


@_on_bcoo(transposing.Rev)
def _reverse(op: Any, x: BCOO) -> BCOO:
    return shapes.bcoo_rev(x, op.dimensions)


@_on_bcoo(slicing.Slice)
def _slice(op: Any, x: BCOO) -> BCOO:
    start, limit = op.start_indices, op.limit_indices
    out = slices.bcoo_slice(
        x, start_indices=start, limit_indices=limit, strides=op.strides
    )
    return layout.bcoo_squeeze(out, dimensions=op.collapsed)


@_on_bcoo(dynamic_slicing.DynamicSlice)
def _dynamic_slice(op: Any, x: BCOO, *starts: Any) -> BCOO:
    if not is_sparse(x):
        raise unsupported(op, (x, *starts), ": indices are dense")
    out = slices.bcoo_dynamic_slice(x, starts, op.slice_sizes)
    return layout.bcoo_squeeze(out, dimensions=op.collapsed)


@_on_bcoo(gathering.Gather)
def _gather(op: Any, x: BCOO, indices: Any) -> BCOO:
    if not is_sparse(x):
        raise unsupported(op, (x, indices), ": indices are dense")
    return slices.bcoo_gather(
        x, indices, op.dimension_numbers, op.slice_sizes, mode=op.mode
    )


@_on_bcoo(joining.Concatenate)
def _concatenate(op: Any, *xs: Any) -> BCOO:
    return shapes.bcoo_concatenate(_alike(op, xs), dimension=op.dimension)


@_on_bcoo(joining.Stack)
def _stack(op: Any, *xs: Any) -> BCOO:
    axis = op.axis
    alike = [layout.all_sparse(x) for x in _alike(op, xs)]
    shape = alike[0].shape
    one = (*shape[:axis], 1, *shape[axis:])
    alike = [layout.bcoo_reshape(x, new_sizes=one) for x in alike]
    return shapes.bcoo_concatenate(alike, dimension=axis)


def _alike(op: Any, xs: Any) -> list[BCOO]:
    """Operands with the same axes batch and dense."""
    if not all(map(is_sparse, xs)):
        raise unsupported(op, xs, ", of which some are dense")
    n_batch, n_dense = min([x.n_batch for x in xs]), min([x.n_dense for x in xs])
    return [layout.bcoo_update_layout(x, n_batch=n_batch, n_dense=n_dense) for x in xs]


@_on_bcoo(joining.Split)
def _split(op: Any, x: BCOO) -> list[BCOO]:
    at, parts = 0, []
    for size in op.sizes:
        start, limit = [0] * x.ndim, list(x.shape)
        start[op.axis], limit[op.axis] = at, at + size
        parts.append(slices.bcoo_slice(x, start_indices=start, limit_indices=limit))
        at += size
    return parts


# -- operations that carry programs ----------------------------------------------------


@_rule(Call)
def _call(op: Any, *args: Any) -> list[Any]:
    return sparsify_jaxpr(op.jaxpr, args)


@_rule(Inlined)
def _inlined(op: Any, *args: Any) -> list[Any]:
    return sparsify_jaxpr(op.program, args)


@_rule(Cond)
def _cond(op: Any, index: Any, *args: Any) -> list[Any]:
    branches = [lambda *xs, b=b: sparsify_jaxpr(b, xs) for b in op.branches]
    if is_sparse(index):
        index = index.todense()
    return lax.switch(index.astype(dtypes.int32), branches, *args)


@_rule(While)
def _while(op: Any, *args: Any) -> list[Any]:
    of_test, of_body, carry = op.split(args)
    return lax.while_loop(
        lambda carry: sparsify_jaxpr(op.cond_jaxpr, [*of_test, *carry])[0],
        lambda carry: sparsify_jaxpr(op.body_jaxpr, [*of_body, *carry]),
        carry,
    )


@_rule(Scan)
def _scan(op: Any, *args: Any) -> list[Any]:
    consts, carry, xs = op.split(args)

    def step(carry: Any, xs: Any) -> Any:
        outs = sparsify_jaxpr(op.jaxpr, [*consts, *carry, *xs])
        return outs[: op.num_carry], outs[op.num_carry :]

    rows = [_rows(x.to_bcoo()) if is_sparse(x) else x for x in xs]
    carry, ys = lax.scan(
        step, carry, rows, op.length, reverse=op.reverse, unroll=op.unroll
    )
    return [*carry, *ys]


def _rows(x: BCOO) -> BCOO:
    """The array with its first axis a batch axis, of which nothing is shared."""
    x = layout.bcoo_update_layout(x, n_batch=max(x.n_batch, 1))
    data, indices = layout.whole_batch(x)
    return x.replace(data=data, indices=indices)
