"""Operations between the participants of named axes, and about where values are."""

from typing import Any

from covector.compat.operation_primitives import Parameter, Params, primitive
from covector.core.trace import current

#: a name stands alone, or in a tuple of one
_NAME = Parameter(
    "axis",
    lambda axis: (axis,),
    lambda name: name[0] if type(name) is tuple and len(name) == 1 else name,
)
_GROUPS: dict[str, Any] = {"axis_index_groups": "groups"}
_GROUPS_OF_ONE_AXIS: dict[str, Any] = {
    "axis_name": _NAME,
    "axis_size": "size",
    **_GROUPS,
}


def _size(axis: Any, groups: Any = None) -> int:
    return len(groups[0]) if groups else current.trace.axes[axis]


def _size_to_exchange(params: Params) -> int:
    return _size(_NAME.taken(params["axis_name"]), params.get("axis_index_groups"))


def _names(axes: Any) -> tuple[Any, ...]:
    return axes if type(axes) is tuple else (axes,)


for _reduction in ("psum", "pmax", "pmin"):
    primitive(_reduction, **_GROUPS)
primitive("all_gather", all_gather_dimension="at", **_GROUPS_OF_ONE_AXIS)
primitive(
    "reduce_scatter",
    operation="p_sum_scatter",
    scatter_dimension="at",
    **_GROUPS_OF_ONE_AXIS,
)
primitive("axis_index", axis_name=_NAME)
primitive("pvary", axes=Parameter("axes", taken=frozenset))
primitive(
    "all_to_all",
    axis_name=_NAME,
    split_axis="split",
    concat_axis="concat",
    implied={"size": _size_to_exchange},
    **_GROUPS,
)
primitive(
    "ppermute",
    axis_name=Parameter("axes", taken=_names),
    perm="pairs",
    implied={"sizes": lambda params: tuple(map(_size, _names(params["axis_name"])))},
)

# -- where values are ------------------------------------------------------------------

_ONE = Parameter("sharding", lambda sharding: (sharding,), lambda several: several[0])
primitive(
    "device_put",
    devices=_ONE,
    srcs=_ONE._replace(field="source"),
    ignored={"copy_semantics": ()},
).multiple_results = True
primitive(
    "sharding_constraint",
    constant={"layout": None},
    ignored={"context_mesh": None, "unconstrained_dims": frozenset()},
)
