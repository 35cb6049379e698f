"""Operations whose parameters only have other names or other values in the field.

Those that are not here, nor in the modules beside this one, have the same names and
parameters there, or are covector's alone (``logaddexp``, ``ndtri``, ``xlogy``).
"""

from covector.compat.operation_primitives import Parameter, primitive
from covector.operations.random import THREEFRY

_FIRST = Parameter("axis", lambda axis: (axis,), lambda axes: axes[0])

primitive("argmax", axes=_FIRST)
primitive("argmin", axes=_FIRST)
primitive("broadcast_in_dim", broadcast_dimensions="axes", constant={"sharding": None})
primitive("conj", derived={"input_dtype": lambda op, types: types[0].dtype})
primitive("conv_general_dilated", constant={"out_sharding": None})
primitive(
    "convert_element_type",
    new_dtype="dtype",
    weak_type="weak",
    constant={"sharding": None},
)
primitive("custom_vmap_call", call="jaxpr")
primitive("dce_sink", ignored={"prevent_mlir_dce": False})
primitive("dot_general", constant={"out_sharding": None})
primitive("fft", fft_lengths="lengths")
primitive("igamma_grad_a", operation="igamma_derivative")
primitive("iota", constant={"sharding": None})
primitive("name", name="label")
primitive("random_bits", bit_width="width")
primitive("random_seed", constant={"impl": THREEFRY})
primitive("random_wrap", impl="kind")
primitive("reduce_sum", constant={"out_sharding": None})
for _name in ("scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"):
    primitive(_name, ignored={"update_jaxpr": None, "update_consts": ()})

# -- callbacks -------------------------------------------------------------------------

_RESULTS = {"result_avals": lambda op, types: op.function.result.types}
for _name, _hidden in (("pure_callback", ""), ("io_callback", "token")):
    primitive(
        _name,
        callback="function",
        derived=_RESULTS,
        constant={"sharding": None},
        hidden=_hidden,
    )
primitive(
    "debug_callback",
    callback="function",
    hidden="token",
    ignored={"partitioned": False},
)
primitive(
    "ffi_call",
    operation="foreign_call",
    target_name="target",
    result_avals="results",
    has_side_effect="lasts",
    input_layouts="input_orders",
    output_layouts="output_orders",
    input_output_aliases="overwritten",
    custom_call_api_version="api_version",
)
