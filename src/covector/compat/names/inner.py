"""The modules for authors of extensions: ``core``, ``extend``, ``interpreters``.

What several modules have, the private ones of ``sources`` among them, is a dictionary
of entries here.
"""

from covector.compat.names.table import Table, from_module, module

_ERRORS = from_module(
    "covector.errors", "InconclusiveDimensionOperation JaxprTypeError"
)

API_UTIL = from_module("covector.compat.internals", "safe_map")
AD: dict[str, str] = {}
BATCHING: dict[str, str] = {}
BACKEND = from_module(
    "covector.runtime.client",
    "backends",
    get_backend="client",
    get_default_device="default_device",
)
CORE = {
    **_ERRORS,
    "ensure_compile_time_eval": "covector:ensure_compile_time_eval",
    "valid_jaxtype": "covector.compat.internals:valid_jaxtype",
}
LINEAR_UTIL: dict[str, str] = {}
MLIR: dict[str, str] = {}
PARTIAL_EVALUATION: dict[str, str] = {}
PRIMITIVES: dict[str, str] = {}
XLA: dict[str, str] = {}

MODULES: Table = {
    "jax.api_util": module(**API_UTIL),
    "jax.core": module("covector.core", **CORE),
    "jax.extend": module(),
    "jax.extend.backend": module(**BACKEND),
    "jax.extend.core": module("covector.core", **CORE),
    "jax.extend.core.primitives": module(**PRIMITIVES),
    "jax.extend.linear_util": module(**LINEAR_UTIL),
    "jax.extend.random": module(),
    "jax.extend.source_info_util": module(
        register_exclusion="covector.compat.tracebacks:register_exclusion"
    ),
    "jax.interpreters": module(),
    "jax.interpreters.ad": module(**AD),
    "jax.interpreters.batching": module(**BATCHING),
    "jax.interpreters.mlir": module(**MLIR),
    "jax.interpreters.partial_eval": module(**PARTIAL_EVALUATION),
    "jax.interpreters.pxla": module(),
    "jax.interpreters.xla": module(**XLA),
}
