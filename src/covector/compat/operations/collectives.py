"""Operations between the participants of named axes, and about where values are."""

from typing import Any

from covector import lax
from covector.compat.operation_primitives import (
    Parameter,
    Params,
    composition,
    primitive,
)
from covector.core.trace import current
from covector.operations import all_to_all, collectives
from covector.operations.placement import ShardingConstraint
from covector.programs.placement.device_put import DevicePut

_GROUPS = {"axis_index_groups": "groups"}
for _cls in [collectives.PSum, collectives.PMax, collectives.PMin]:
    primitive(_cls.name, _cls, **_GROUPS)

#: a name stands alone, or in a tuple of one
_NAME = Parameter(
    "axis",
    lambda axis: (axis,),
    lambda name: name[0] if type(name) is tuple and len(name) == 1 else name,
)
primitive(
    "all_gather",
    collectives.AllGather,
    axis_name=_NAME,
    axis_size="size",
    all_gather_dimension="at",
    **_GROUPS,
)
primitive(
    "reduce_scatter",
    collectives.PSumScatter,
    axis_name=_NAME,
    axis_size="size",
    scatter_dimension="at",
    **_GROUPS,
)
primitive("axis_index", collectives.AxisIndex, axis_name=_NAME)
primitive("pvary", collectives.PVary, axes=Parameter("axes", taken=frozenset))


def _size(axis: Any, groups: Any = None) -> int:
    return len(groups[0]) if groups else current.trace.axes[axis]


def _size_to_exchange(params: Params) -> int:
    return _size(_NAME.taken(params["axis_name"]), params.get("axis_index_groups"))


def _names(axes: Any) -> tuple[Any, ...]:
    return axes if type(axes) is tuple else (axes,)


primitive(
    "all_to_all",
    all_to_all.AllToAll,
    axis_name=_NAME,
    split_axis="split",
    concat_axis="concat",
    implied={"size": _size_to_exchange},
    **_GROUPS,
)
primitive(
    "ppermute",
    all_to_all.PPermute,
    axis_name=Parameter("axes", taken=_names),
    perm="pairs",
    implied={"sizes": lambda params: tuple(map(_size, _names(params["axis_name"])))},
)
composition("ragged_all_to_all", lax.ragged_all_to_all)


# -- where values are ------------------------------------------------------------------

_ONE = Parameter("sharding", lambda sharding: (sharding,), lambda several: several[0])
primitive(
    "device_put",
    DevicePut,
    devices=_ONE,
    srcs=_ONE._replace(field="source"),
    ignored={"copy_semantics": ()},
).multiple_results = True
primitive(
    "sharding_constraint",
    ShardingConstraint,
    constant={"layout": None},
    ignored={"context_mesh": None, "unconstrained_dims": frozenset()},
)
