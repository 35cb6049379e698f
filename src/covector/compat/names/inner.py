"""The modules for authors of extensions: ``core``, ``extend``, ``interpreters``."""

from covector.compat.names.table import Table, module

MODULES: Table = {
    "jax.api_util": module(),
    "jax.core": module(
        "covector.core",
        ensure_compile_time_eval="covector:ensure_compile_time_eval",
        InconclusiveDimensionOperation="covector.errors:InconclusiveDimensionOperation",
        JaxprTypeError="covector.errors:JaxprTypeError",
    ),
    "jax.extend": module(),
    "jax.extend.backend": module(),
    "jax.extend.core": module(
        "covector.core",
        InconclusiveDimensionOperation="covector.errors:InconclusiveDimensionOperation",
        JaxprTypeError="covector.errors:JaxprTypeError",
    ),
    "jax.extend.core.primitives": module(),
    "jax.extend.linear_util": module(),
    "jax.extend.random": module(),
    "jax.extend.source_info_util": module(),
    "jax.interpreters": module(),
    "jax.interpreters.ad": module(),
    "jax.interpreters.batching": module(),
    "jax.interpreters.mlir": module(),
    "jax.interpreters.partial_eval": module(),
    "jax.interpreters.pxla": module(),
    "jax.interpreters.xla": module(),
}
