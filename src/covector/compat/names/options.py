"""Options of the field that covector does not have, by their names without ``jax_``.

Those that say only how the other implementation goes about its work may have any value,
and change nothing here. Of those that mean something, the value is accepted that asks
for what covector does anyway, and any other is refused, with what to do instead.
"""

import ast
from typing import Any, NamedTuple

_IGNORED = """
# how programs are traced and differentiated
custom_vjp3=False eager_constant_folding=False remat3=False refs_to_pins=False
scan3=False softmax_custom_jvp=False use_direct_linearize=True
use_emit_pipeline_primitive=False use_simplified_jaxpr_constants=False
mutable_array_checks=True pmap_shmap_merge=True disallow_mesh_context_manager=False
remove_size_one_mesh_axis_from_type=False
# how programs are compiled
allow_f16_reductions=True bcoo_cusparse_lowering=False compiler_enable_remat_pass=True
disable_most_optimizations=False embedded_constants_max_bytes=32
exec_time_optimization_effort=0.0 experimental_unsafe_xla_runtime_errors=False
memory_fitting_effort=0.0 memory_fitting_level="O2" mosaic_allow_hlo=False
optimization_level="UNKNOWN" ragged_dot_use_ragged_dot_instruction=True
threefry_gpu_kernel_lowering=False use_magma="auto" use_shardy_partitioner=True
xla_profile_version=0 enable_pgle=False pgle_aggregation_percentile=90
pgle_profiling_runs=3
# what is kept of them
compilation_cache_check_contents=False compilation_cache_expect_pgle=False
compilation_cache_include_metadata_in_key=False compilation_cache_max_size=-1
enable_compilation_cache=True
persistent_cache_enable_xla_caches="xla_gpu_per_fusion_autotune_cache_dir"
persistent_cache_min_compile_time_secs=1.0 persistent_cache_min_entry_size_bytes=0
raise_persistent_cache_errors=False remove_custom_partitioning_ptr_from_cache_key=False
share_binary_between_hosts=False share_binary_between_hosts_timeout_ms=1200000
# what is said of them
captured_constants_report_frames=0 captured_constants_warn_bytes=2000000000
compiler_detailed_logging_min_ops=10 debug_leaked_clients_on_clear_backends=False
debug_log_modules="" distributed_debug=False hlo_source_file_canonicalization_regex=None
include_debug_info_in_dumps=True include_full_tracebacks_in_locations=True
log_checkpoint_residuals=False logging_level="NOTSET" pprint_use_color=True
send_traceback_to_runtime="off" source_url_schema=None
traceback_in_locations_limit=100 tracer_error_num_traceback_frames=5
# threads, processes, other formats
array_garbage_collection_guard=None check_proxy_envs=True cpu_enable_async_dispatch=True
cpu_get_global_topology_timeout_minutes=5 cpu_get_local_topology_timeout_minutes=2
cross_host_transfer_socket_address="" cross_host_transfer_timeout_seconds=None
cross_host_transfer_transfer_size=None cross_host_transport_addresses=""
enable_preemption_service=True enable_recoverability=False
export_calling_convention_version=10 export_ignore_forward_compatibility=False
force_dcn_cross_host_transfers=False jax2tf_associative_scan_reductions=False
jax2tf_default_native_serialization=True serialization_version=0
sort_devices_by_process_index=True thread_guard=False
"""
#: any value is taken, and read again; with their defaults
IGNORED: dict[str, Any] = {
    name: ast.literal_eval(default)
    for line in _IGNORED.splitlines()
    if not line.startswith("#")
    for name, _, default in [word.partition("=") for word in line.split()]
}


class Fixed(NamedTuple):
    """An option with one value that covector knows."""

    value: Any
    instead: str


_CHECKIFY = "covector.experimental.checkify checks for it."
_DEVICES = "Choose devices with CUDA_VISIBLE_DEVICES, and platforms with platforms."

FIXED: dict[str, Fixed] = {
    "auto_pcast": Fixed(True, "Values are made varying where that is needed."),
    "backend_target": Fixed("", _DEVICES),
    "check_static_indices": Fixed(False, _CHECKIFY),
    "check_vma": Fixed(False, "shard_map takes check_vma."),
    "cpu_collectives_implementation": Fixed("gloo", "Processes talk by gloo."),
    "cuda_visible_devices": Fixed("all", _DEVICES),
    "debug_key_reuse": Fixed(False, "Whether keys are reused is not watched for."),
    "disable_bwd_checks": Fixed(False, "What bwd returns is always checked."),
    "disable_vmap_shmap_error": Fixed(False, "vmap of shard_map is no error."),
    "dump_ir_modes": Fixed("stablehlo", "jit(f).lower(x).as_text() is the program."),
    "dump_ir_to": Fixed("", "jit(f).lower(x).as_text() is the program."),
    "dynamic_shapes": Fixed(False, "Sizes that are symbols: covector.export."),
    "enable_custom_prng": Fixed(False, "covector.random.key makes typed keys."),
    "error_checking_behavior_divide": Fixed("ignore", _CHECKIFY),
    "error_checking_behavior_nan": Fixed("ignore", _CHECKIFY),
    "error_checking_behavior_oob": Fixed("ignore", _CHECKIFY),
    "explicit_x64_dtypes": Fixed("warn", "enable_x64 gives 64-bit element types."),
    "high_dynamic_range_gumbel": Fixed(False, "gumbel has one way to draw numbers."),
    "legacy_prng_key": Fixed("allow", "covector.random.key makes typed keys."),
    "mock_gpu_topology": Fixed("", _DEVICES),
    "no_execution": Fixed(False, "covector.eval_shape runs nothing."),
    "no_tracing": Fixed(False, "covector.no_recompile(strict=True) refuses to."),
    "oneapi_visible_devices": Fixed("all", _DEVICES),
    "pjrt_client_create_options": Fixed(None, "Plugins are started as they are."),
    "random_seed_offset": Fixed(0, "Add it to the seeds."),
    "rocm_visible_devices": Fixed("all", _DEVICES),
    "xla_backend": Fixed("", _DEVICES),
}
