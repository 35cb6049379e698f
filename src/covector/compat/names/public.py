"""The public modules: most are under the same path in covector."""

from covector.compat.names.inner import CHECKPOINT, HIJAX, RULE_PRIMITIVES
from covector.compat.names.table import Table, from_module, module, same_paths

_SAME = """
    ad custom_batching debug distributed dlpack dtypes
    example_libraries.optimizers example_libraries.stax
    experimental experimental.checkify experimental.compilation_cache
    experimental.compilation_cache.compilation_cache experimental.jet
    experimental.layout experimental.mesh_utils experimental.multihost_utils
    experimental.ode experimental.pjit experimental.profiler
    experimental.serialize_executable experimental.shard_map experimental.sparse
    experimental.sparse.linalg
    export ffi flatten_util image monitoring nn nn.initializers
    numpy numpy.fft numpy.linalg ops profiler random ref
    scipy scipy.cluster scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate
    scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.sparse
    scipy.sparse.linalg scipy.spatial scipy.spatial.transform scipy.special
    scipy.stats.bernoulli scipy.stats.beta scipy.stats.betabinom scipy.stats.binom
    scipy.stats.cauchy scipy.stats.chi2 scipy.stats.dirichlet scipy.stats.expon
    scipy.stats.gamma scipy.stats.gennorm scipy.stats.geom scipy.stats.gumbel_l
    scipy.stats.gumbel_r scipy.stats.laplace scipy.stats.logistic
    scipy.stats.multinomial scipy.stats.multivariate_normal scipy.stats.nbinom
    scipy.stats.norm scipy.stats.pareto scipy.stats.poisson scipy.stats.t
    scipy.stats.truncnorm scipy.stats.uniform scipy.stats.vonmises
    scipy.stats.wrapcauchy scipy.stats
    sharding stages test_util tree tree_util typing
"""

#: options that covector does not have, or has as settings, as context managers
_BLOCKS = """
    allow_f16_reductions array_garbage_collection_guard auto_pcast debug_key_reuse
    enable_checks enable_custom_prng
    jax2tf_associative_scan_reductions legacy_prng_key no_execution no_tracing
    remove_size_one_mesh_axis_from_type softmax_custom_jvp thread_guard
"""

MODULES: Table = {
    **same_paths(_SAME.split()),
    "jax": module(
        "covector",
        __version__="covector.compat.names:API_VERSION",
        __version_info__="covector.compat.names:API_VERSION_INFO",
        config="covector.compat.config:config",
        checkpoint="covector.compat.policies:checkpoint",
        make_jaxpr="covector.compat.programs:make_jaxpr",
        remat="covector.compat.policies:checkpoint",
        host_count="covector:process_count",
        host_id="covector:process_index",
        host_ids="covector:process_indices",
        **{name: f"covector.compat.config:blocks.{name}" for name in _BLOCKS.split()},
    ),
    "jax.lax": module("covector.lax", "covector.compat.operations"),
    "jax.lax.linalg": module("covector.lax.linalg", "covector.compat.operations"),
    "jax.version": module(
        __version__="covector.compat.names:API_VERSION",
        __version_info__="covector.compat.names:API_VERSION_INFO",
    ),
    "jax.ad_checkpoint": module("covector.ad_checkpoint", **CHECKPOINT),
    "jax.custom_derivatives": module("covector.custom_derivatives", **RULE_PRIMITIVES),
    "jax.errors": module(
        **from_module(
            "covector.errors",
            """
            ConcretizationTypeError InconclusiveDimensionOperation JAXIndexError
            JAXTypeError JaxRuntimeError JaxprTypeError KeyReuseError
            NonConcreteBooleanIndexError TracerArrayConversionError
            TracerBoolConversionError TracerIntegerConversionError UnexpectedTracerError
            """,
        )
    ),
    "jax.example_libraries": module(),
    **{
        f"jax.experimental.sparse.{part}": module("covector.experimental.sparse")
        for part in ["api", "bcoo", "bcsr", "coo", "csr", "random", "transform", "util"]
    },
    "jax.experimental.hijax": module(**HIJAX),
    "jax.lib": module(__version__="jaxlib:__version__"),
}
