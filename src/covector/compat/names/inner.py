"""The modules for authors of extensions: ``core``, ``extend``, ``interpreters``.

What several modules have, the private ones of ``sources`` among them, is a dictionary
of entries here.
"""

from covector.compat.names.table import Table, from_module, module

_ERRORS = from_module(
    "covector.errors", "InconclusiveDimensionOperation JaxprTypeError"
)

_INTERNALS = "covector.compat.internals"

API_UTIL = from_module(
    "covector.compat.api_util",
    """
    _ensure_index argnums_partial check_callable debug_info flatten_axes
    flatten_fun flatten_fun_nokwargs infer_argnums_and_argnames safe_map
    shaped_abstractify
    """,
)
AD = from_module(
    "covector.compat.interpreters.ad",
    """
    CustomVJPException JVPTrace JVPTracer SymbolicZero UndefinedPrimal Zero add_jaxvals
    add_tangents defbilinear defjvp defjvp2 defjvp_zero deflinear deflinear2
    get_primitive_transpose instantiate_zeros is_undefined_primal linear_jvp
    primitive_jvps primitive_transposes zeros_like_aval
    """,
) | from_module("covector.compat.operations", "add_jaxvals_p stop_gradient_p")
BATCHING = from_module(
    "covector.compat.interpreters.batching",
    """
    AxisData axis_primitive_batchers bdim_at_front broadcast defbroadcasting defreducer
    defvectorized fancy_primitive_batchers is_vmappable moveaxis not_mapped
    primitive_batchers
    """,
)
BACKEND = from_module(
    "covector.runtime.client",
    "backends",
    get_backend="client",
    get_default_device="default_device",
) | {"clear_in_memory_compilation_cache": "covector.runtime.compilation_cache:clear"}
CORE = {
    **_ERRORS,
    **from_module(
        "covector.compat.programs",
        """
        Atom ClosedJaxpr DebugInfo DropVar Jaxpr JaxprEqn Literal Var eval_jaxpr gensym
        jaxpr_as_fun jaxprs_in_params new_jaxpr_eqn subjaxprs
        """,
    ),
    **from_module("covector.compat.operations", "call_p closed_call_p"),
    "ensure_compile_time_eval": "covector:ensure_compile_time_eval",
    **from_module(
        _INTERNALS, "Value concrete_or_error pytype_aval_mappings valid_jaxtype"
    ),
    **from_module("builtins", "", max_dim="max", min_dim="min"),
    "Trace": "covector.compat.custom_traces:Trace",
    "eval_context": "covector.compat.traces:take_current_trace",
    "Primitive": "covector.compat.primitives:Primitive",
    **from_module(
        "covector.compat.avals", "AbstractValue ShapedArray mapped_aval unmapped_aval"
    ),
    **from_module(
        "covector.compat.traces",
        """
        TraceTag Tracer find_top_trace full_lower get_aval get_opaque_trace_state
        get_referent set_current_trace take_current_trace trace_state_clean
        """,
    ),
}
CHECKPOINT = from_module("covector.compat.operations", "name_p remat_p") | from_module(
    "covector.compat.policies", "checkpoint", remat="checkpoint"
)
RULE_PRIMITIVES = from_module(
    "covector.compat.operations", "custom_jvp_call_p custom_vjp_call_p linear_call_p"
)
EFFECTS = from_module("covector.compat.hijax", "Effect")
HIJAX = {
    **from_module(
        "covector.compat.hijax",
        """
        AvalMutableQDD AvalQDD HiPrimitive HiType MutableHiType aval_method
        aval_property control_flow_allowed_effects register_hitype
        """,
    ),
    **from_module("covector.compat.avals", "AbstractValue ShapedArray"),
    **from_module(
        "covector.compat.interpreters.ad", "Zero instantiate_zeros is_undefined_primal"
    ),
    "AbstractRef": "covector.ref:AbstractRef",
}
LINEAR_UTIL = from_module(
    "covector.compat.linear_util",
    """
    Store StoreException WrappedFun cache merge_linear_aux transformation
    transformation2 transformation_with_aux transformation_with_aux2 wrap_init
    """,
)
PARTIAL_EVALUATION = from_module(
    "covector.compat.partial_evaluation",
    """
    PartialVal close_jaxpr convert_constvars_jaxpr dce_jaxpr
    trace_to_jaxpr_dynamic trace_to_jaxpr_nounits
    """,
    JaxprTrace="PartialTrace",
) | {
    "DynamicJaxprTrace": "covector.core.staging:StagingTrace",
    "DynamicJaxprTracer": "covector.core.staging:StagedTracer",
    "JaxprTracer": "covector.core.staging:StagedTracer",
    "Jaxpr": "covector.compat.programs:Jaxpr",
}
MLIR = {
    "hlo": "jaxlib.mlir.dialects.stablehlo",
    "func_dialect": "jaxlib.mlir.dialects.func",
    **from_module(
        "covector.compat.interpreters.mlir",
        """
        LoweringRule LoweringRuleContext ModuleContext aval_to_ir_type aval_to_ir_types
        dense_int_array dense_int_elements dtype_to_ir_type emit_python_callback
        flatten_ir_values i32_attr i64_attr ir ir_constant ir_constants lower_fun
        register_lowering
        """,
    ),
}
XLA = {
    "apply_primitive": "covector.compat.primitives:apply_primitive",
    "canonicalize_dtype_handlers": f"{_INTERNALS}:canonicalize_dtype_handlers",
}

MODULES: Table = {
    "jax.api_util": module(**API_UTIL),
    "jax.core": module("covector.core", **CORE),
    "jax.extend": module(),
    "jax.extend.backend": module(**BACKEND),
    "jax.extend.core": module("covector.core", **CORE, **EFFECTS),
    "jax.extend.core.primitives": module("covector.compat.operations"),
    "jax.extend.linear_util": module(**LINEAR_UTIL),
    "jax.extend.random": module(
        define_prng_impl=f"{_INTERNALS}:define_prng_impl",
        rbg_prng_impl="covector.random.generators:RBG",
        threefry_prng_impl="covector.operations.random:THREEFRY",
        unsafe_rbg_prng_impl="covector.random.generators:UNSAFE_RBG",
    ),
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
