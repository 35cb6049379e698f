"""Operations that move, choose and join elements, and need code to be translated."""

from typing import Any

from covector.compat.operation_primitives import (
    OF_CLASS,
    PRIMITIVES,
    OperationPrimitive,
    Parameter,
    Params,
    Types,
    primitive,
)
from covector.core import dtypes
from covector.core import primitive as core
from covector.core.types import Shape
from covector.errors import ArgumentError
from covector.numpy.updating import fill_text
from covector.operations.gathering import FILL_OR_DROP
from covector.operations.transposing import Reshape
from covector.operations.windows import default_fill

# -- shapes ----------------------------------------------------------------------------


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
        left = {d % x.ndim for d in gone}
        shape = tuple([n for k, n in enumerate(x.shape) if k not in left])
        return self.operation_class(shape)


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


_reshape = primitive("reshape new_sizes=shape dimensions:None sharding:None")
_squeeze = primitive("squeeze(reshape)", _Squeeze)


def _reshape_or_squeeze(op: Any, types: Types) -> OperationPrimitive:
    return _reshape if _removed(types[0].shape, op.shape) is None else _squeeze


OF_CLASS[Reshape] = _reshape_or_squeeze


# -- gather and scatter ----------------------------------------------------------------


class _Gather(OperationPrimitive):
    """``gather``, whose fill value is a number, which it has wherever it fills."""

    def params_of(self, op: Any, types: Types) -> Params:
        shown, (x, *_) = super().params_of(op, types), types
        if op.mode is FILL_OR_DROP and not dtypes.is_key(x.dtype):
            shown["fill_value"] = op.fill(x.dtype)
        return shown

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        value, dtype = params.get("fill_value"), types[0].dtype
        if not dtypes.is_key(dtype):
            value = fill_text(value, dtype)
            value = None if value == fill_text(default_fill(dtype), dtype) else value
        return super().operation(params | {"fill_value": value}, types)


primitive("gather", _Gather)


# -- windows ---------------------------------------------------------------------------

_DILATIONS = ("base_dilation", "window_dilation")


class _SelectAndScatterAdd(OperationPrimitive):
    """``select_and_scatter_add``, which has dilations only where there are some."""

    def params_of(self, op: Any, types: Types) -> Params:
        shown = super().params_of(op, types)
        ones = (1,) * types[1].ndim
        return {k: v for k, v in shown.items() if k not in _DILATIONS or v != ones}

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        ones = dict.fromkeys(_DILATIONS, (1,) * types[1].ndim)
        return super().operation(ones | params, types)


_compare = Parameter("select", PRIMITIVES.__getitem__, lambda compare: compare.name)
_select = {"select_prim": _compare}
primitive("select_and_gather_add", parameters=_select)
primitive("select_and_scatter_add", _SelectAndScatterAdd, parameters=_select)
