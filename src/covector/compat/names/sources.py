"""``jax._src``: private modules, as far as packages ask for their names."""

from covector.compat.names.inner import (
    AD,
    API_UTIL,
    BACKEND,
    BATCHING,
    CHECKPOINT,
    CORE,
    EFFECTS,
    LINEAR_UTIL,
    MLIR,
    PARTIAL_EVALUATION,
    RULE_PRIMITIVES,
    XLA,
)
from covector.compat.names.table import Table, from_module, module

_PRIMITIVES = "covector.compat.operations"
_INTERNALS = "covector.compat.internals"

MODULES: Table = {
    "jax._src": module(),
    "jax._src.ad_checkpoint": module("covector.ad_checkpoint", **CHECKPOINT),
    "jax._src.ad_util": module(**AD),
    "jax._src.api": module("covector"),
    "jax._src.api_util": module(**API_UTIL),
    "jax._src.array": module(ArrayImpl="covector.core.array:ConcreteArray"),
    "jax._src.checkify": module(
        "covector.experimental.checkify",
        JaxException="covector.experimental.checkify:ErrorCategory",
        Out=f"{_INTERNALS}:Out",
    ),
    "jax._src.compiler": module(
        **from_module("covector.compat.compiler", "backend_compile_and_load")
    ),
    "jax._src.config": module(config="covector.compat.config:config"),
    "jax._src.core": module(
        "covector.core", **CORE, **from_module(_INTERNALS, "safe_map safe_zip")
    ),
    "jax._src.custom_batching": module("covector.custom_batching"),
    "jax._src.custom_derivatives": module(
        "covector.custom_derivatives", **RULE_PRIMITIVES
    ),
    "jax._src.dispatch": module(wait_for_tokens="covector:effects_barrier", **XLA),
    "jax._src.dtypes": module(
        "covector.dtypes",
        DType="numpy:dtype",
        to_complex_dtype="covector.core.dtypes:complex_of",
        **from_module(_INTERNALS, "ExtendedDType supports_inf"),
    ),
    "jax._src.earray": module(),
    "jax._src.effects": module(**EFFECTS),
    "jax._src.flatten_util": module("covector.flatten_util"),
    "jax._src.image": module(),
    "jax._src.image.scale": module("covector.image"),
    "jax._src.interpreters": module(),
    "jax._src.interpreters.ad": module(**AD),
    "jax._src.interpreters.batching": module(**BATCHING),
    "jax._src.interpreters.mlir": module(**MLIR),
    "jax._src.interpreters.partial_eval": module(**PARTIAL_EVALUATION),
    "jax._src.interpreters.pxla": module(),
    "jax._src.interpreters.xla": module(**XLA),
    "jax._src.lax": module(),
    "jax._src.lax.control_flow": module("covector.lax", _PRIMITIVES),
    "jax._src.lax.lax": module("covector.lax", _PRIMITIVES),
    "jax._src.lax.linalg": module("covector.lax.linalg", _PRIMITIVES),
    "jax._src.lax.parallel": module("covector.lax", _PRIMITIVES),
    "jax._src.lax.slicing": module("covector.lax", _PRIMITIVES),
    "jax._src.lib": module(
        _jax="jaxlib._jax",
        pytree="jaxlib._jax:pytree",
        xla_client="jaxlib.xla_client",
        jaxlib_extension_version="jaxlib.xla_client:_version",
    ),
    "jax._src.linear_util": module(**LINEAR_UTIL),
    "jax._src.mesh": module("covector.sharding"),
    "jax._src.named_sharding": module("covector.sharding"),
    "jax._src.nn": module(),
    "jax._src.nn.functions": module("covector.nn"),
    "jax._src.nn.initializers": module("covector.nn.initializers"),
    "jax._src.numpy": module(),
    "jax._src.numpy.lax_numpy": module("covector.numpy"),
    "jax._src.numpy.util": module(**from_module(_INTERNALS, "promote_dtypes_inexact")),
    "jax._src.numpy.vectorize": module("covector.numpy"),
    "jax._src.partition_spec": module("covector.sharding"),
    "jax._src.pjit": module(
        "covector.experimental.pjit",
        _PRIMITIVES,
        JitWrapped="covector.stages:Wrapped",
    ),
    "jax._src.prng": module("covector.random", _PRIMITIVES),
    "jax._src.public_test_util": module("covector.test_util"),
    "jax._src.random": module("covector.random"),
    "jax._src.scipy": module(),
    "jax._src.scipy.special": module("covector.scipy.special"),
    "jax._src.sharding": module("covector.sharding"),
    "jax._src.sharding_impls": module("covector.sharding"),
    "jax._src.source_info_util": module(
        register_exclusion="covector.compat.tracebacks:register_exclusion"
    ),
    "jax._src.stages": module("covector.stages"),
    "jax._src.state": module(AbstractRef="covector.ref:AbstractRef"),
    "jax._src.state.types": module(AbstractRef="covector.ref:AbstractRef"),
    "jax._src.traceback_util": module(
        **from_module(
            "covector.compat.tracebacks",
            "api_boundary include_frame register_exclusion",
            _exclude_paths="exclude_paths",
        )
    ),
    "jax._src.tree_util": module(
        "covector.tree_util", _registry="covector.compat.internals:registered"
    ),
    "jax._src.typing": module("covector.typing"),
    "jax._src.util": module(
        **from_module(_INTERNALS, "HashablePartial canonicalize_axis safe_map safe_zip")
    ),
    "jax._src.xla_bridge": module(
        _backends="covector.runtime.client:_clients.made", **BACKEND
    ),
}
