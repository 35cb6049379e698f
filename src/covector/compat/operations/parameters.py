"""Operations with parameters or results that ``names/operations.txt`` cannot say."""

from collections.abc import Sequence
from typing import Any

from covector.compat.operation_primitives import (
    OperationPrimitive,
    Parameter,
    Params,
    Types,
    one,
    primitive,
)
from covector.core import dtypes
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.operations.linear_algebra.lu import LUPivotsToPermutation
from covector.operations.random import THREEFRY

primitive("conj", derived={"input_dtype": lambda op, types: types[0].dtype})
primitive("random_seed", constant={"impl": THREEFRY})
primitive(
    "sharding_constraint layout:None context_mesh~None",
    ignored={"unconstrained_dims": frozenset()},
)
_results = {"result_avals": lambda op, types: op.function.result.types}
primitive("pure_callback callback=function sharding:None", derived=_results)
primitive("io_callback callback=function sharding:None -token", derived=_results)

# -- between the participants of named axes --------------------------------------------


def _names(axes: Any) -> tuple[Any, ...]:
    return axes if type(axes) is tuple else (axes,)


def _size(axis: Any) -> int:
    return current.trace.axes[axis]


def _size_to_exchange(params: Params) -> int:
    groups = params.get("axis_index_groups")
    return len(groups[0]) if groups else _size(one("axis").taken(params["axis_name"]))


primitive(
    "all_to_all axis_name=(axis) split_axis=split concat_axis=concat "
    "axis_index_groups=groups",
    implied={"size": _size_to_exchange},
)
primitive(
    "ppermute perm=pairs",
    parameters={"axis_name": Parameter("axes", taken=_names)},
    implied={"sizes": lambda params: tuple(map(_size, _names(params["axis_name"])))},
)
primitive("pvary", parameters={"axes": Parameter("axes", taken=frozenset)})

# -- on matrices -----------------------------------------------------------------------

primitive(
    "svd compute_uv=vectors subset_by_index:None algorithm~None",
    order=lambda op: (1, 0, 2) if op.vectors else (0,),
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
        order = LUPivotsToPermutation(operands[0].type.shape[-2])
        return (factors, pivots, *trace.process(order, [pivots]))


primitive("lu", kind=_LU)
