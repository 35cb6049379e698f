"""Operations that move, join, choose and count elements."""

from collections.abc import Callable
from typing import Any

from covector.compat.operation_primitives import (
    EXPANSIONS,
    OperationPrimitive,
    Params,
    Types,
    choose,
    composition,
    enter,
    primitive,
)
from covector.core import dtypes
from covector.core import primitive as core
from covector.core.types import Shape
from covector.errors import ArgumentError
from covector.lax import scatter_sub, squeeze, tile
from covector.numpy.updating import fill_text
from covector.operations import (
    barrier,
    broadcasting,
    creation,
    dynamic_slicing,
    gathering,
    identities,
    joining,
    scattering,
    slicing,
    sorting,
    transposing,
)
from covector.operations.slicing import insert
from covector.operations.windows import default_fill

for _cls in [
    *[transposing.Transpose, slicing.Pad, slicing.Rev, joining.Concatenate],
    *[joining.Split, joining.Stack, joining.Unstack, sorting.Sort, sorting.TopK],
    *[identities.StopGradient, identities.Copy, barrier.OptimizationBarrier],
]:
    primitive(_cls.name, _cls)

primitive(
    "broadcast_in_dim",
    broadcasting.BroadcastInDim,
    broadcast_dimensions="axes",
    constant={"sharding": None},
)
primitive("dce_sink", barrier.DceSink, ignored={"prevent_mlir_dce": False})
primitive("iota", creation.Iota, constant={"sharding": None})


# -- shapes ----------------------------------------------------------------------------


def _without(shape: Shape, dimensions: Any, ndim: int) -> Shape:
    gone = {d % ndim for d in dimensions}
    return tuple([n for k, n in enumerate(shape) if k not in gone])


class _Reshape(OperationPrimitive):
    """``reshape``, which may transpose first."""

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        order = params.get("dimensions")
        if order is not None and [*order] != sorted(order):
            raise ArgumentError(
                f"reshape_p with dimensions={order} is two operations: bind "
                "transpose_p first."
            )
        return super().operation(params, types)


class _Squeeze(OperationPrimitive):
    """``squeeze``: a ``Reshape`` that leaves out axes of length 1."""

    def params_of(self, op: Any, types: Types) -> Params:
        return {"dimensions": _removed(types[0].shape, op.shape)}

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        x, gone = types[0], params["dimensions"]
        if any([x.shape[d] != 1 for d in gone]):
            raise ArgumentError(
                f"squeeze_p leaves out axes of length 1, but was given {x} and "
                f"dimensions={gone}."
            )
        return self.operation_class(_without(x.shape, gone, x.ndim))


def _removed(shape: Shape, left: Shape) -> tuple[int, ...] | None:
    """The axes of length 1 to leave out of a shape for another; None if that is not all
    there is between them.
    """
    gone, rest = [], list(left)
    for k, n in enumerate(shape):
        if rest and n == rest[0]:
            rest.pop(0)
        elif n == 1:
            gone.append(k)
        else:
            return None
    return tuple(gone) if gone and not rest else None


_reshape = enter(
    _Reshape(
        "reshape",
        transposing.Reshape,
        {"new_sizes": "shape"},
        constant={"sharding": None},
        ignored={"dimensions": None},
    )
)
_squeeze = enter(_Squeeze("squeeze", transposing.Reshape))


def _reshape_or_squeeze(op: Any, types: Types) -> OperationPrimitive:
    return _reshape if _removed(types[0].shape, op.shape) is None else _squeeze


choose(transposing.Reshape, _reshape_or_squeeze)
composition("tile", tile)


# -- slices ----------------------------------------------------------------------------

primitive("slice", slicing.Slice, hidden="collapsed")
primitive("dynamic_slice", dynamic_slicing.DynamicSlice, hidden="collapsed")
primitive("dynamic_update_slice", dynamic_slicing.DynamicUpdateSlice, hidden="inserted")


def _slice_then_squeeze(op: Any, types: Types) -> Callable[..., Any] | None:
    if not op.collapsed:
        return None
    whole = op.replace(collapsed=())
    return lambda *args: [squeeze(whole(*args), op.collapsed)]


def _expand_then_update(op: Any, types: Types) -> Callable[..., Any] | None:
    if not op.inserted:
        return None

    def updated(x: Any, update: Any, *starts: Any) -> list[Any]:
        shape = update.type.shape
        for axis in sorted(op.inserted):
            shape = insert(shape, axis, 1)
        window = transposing.Reshape(shape)(update)
        return [op.replace(inserted=())(x, window, *starts)]

    return updated


EXPANSIONS[slicing.Slice] = _slice_then_squeeze
EXPANSIONS[dynamic_slicing.DynamicSlice] = _slice_then_squeeze
EXPANSIONS[dynamic_slicing.DynamicUpdateSlice] = _expand_then_update


# -- gather and scatter ----------------------------------------------------------------


class _Gather(OperationPrimitive):
    """``gather``, whose fill value is a number, which it has wherever it fills."""

    def params_of(self, op: Any, types: Types) -> Params:
        shown, (x, *_) = super().params_of(op, types), types
        if op.mode is gathering.FILL_OR_DROP and not dtypes.is_key(x.dtype):
            shown["fill_value"] = op.fill(x.dtype)
        return shown

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        value, dtype = params.get("fill_value"), types[0].dtype
        if not dtypes.is_key(dtype):
            value = fill_text(value, dtype)
            value = None if value == fill_text(default_fill(dtype), dtype) else value
        return super().operation(params | {"fill_value": value}, types)


enter(_Gather("gather", gathering.Gather))
for _cls in [
    *[scattering.Scatter, gathering.ScatterAdd, scattering.ScatterMul],
    *[scattering.ScatterMin, scattering.ScatterMax],
]:
    primitive(_cls.name, _cls, ignored={"update_jaxpr": None, "update_consts": ()})


def _scatter_sub(
    x: Any,
    indices: Any,
    updates: Any,
    update_jaxpr: Any = None,
    update_consts: Any = (),
    **params: Any,
) -> Any:
    return scatter_sub(x, indices, updates, **params)


composition("scatter-sub", _scatter_sub)
