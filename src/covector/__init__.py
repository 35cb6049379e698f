"""covector: arrays, derivatives, compilation and batching over the XLA compiler.

>>> import covector as cv, covector.numpy as cnp
>>> loss = lambda w, x: cnp.sum(cnp.tanh(x @ w) ** 2)
>>> gradient = cv.jit(cv.grad(loss))
>>> gradient(cnp.ones(2), cnp.eye(2)).shape
(2,)

Every public name and the room it lives in; no logic, but for the links upwards that are
set here: arrays find their methods in ``covector.numpy``, the base trace runs
operations, and errors for want of memory say what holds it. Tracebacks that are printed
from now on show the user's lines. Modules that a program may not need are imported when
they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from covector import dtypes, errors, namespaces, numpy, tree, tree_util
from covector.configuration import (
    check_implicit_sums,
    check_tracer_leaks,
    check_vector_choice,
    checking_leaks,
    debug_infs,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_x64,
    explain_cache_misses,
    explain_recompiles,
    log_compiles,
    make_user_context,
    no_recompile,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
    warn_batched_cond,
)
from covector.core.array import Shard
from covector.core.array_like import Array, link
from covector.core.convert import ShapeDtypeStruct
from covector.core.dtypes import float0
from covector.core.references import Ref
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec as P
from covector.core.trace import install_base
from covector.core.tracebacks import install as install_tracebacks
from covector.dispatch.checkpoint import checkpoint
from covector.dispatch.checkpoint import checkpoint as remat
from covector.dispatch.jit import jit
from covector.dispatch.program_cache import clear_caches
from covector.lowering.evaluate import base
from covector.placement.device_put import device_put, reshard
from covector.placement.transfer import (
    block_until_ready,
    copy_to_host_async,
    default_backend,
    device_get,
    live_arrays,
)
from covector.programs.higher_order.named_scope import named_call, named_scope
from covector.runtime.client import (
    Device,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from covector.runtime.memory import bind_description
from covector.settings import config
from covector.transforms.derivatives import jvp, linearize, vjp
from covector.transforms.gradients import grad, value_and_grad
from covector.transforms.vmap import vmap
from covector.version import __version__

if TYPE_CHECKING:
    from covector import (
        ad,
        ad_checkpoint,
        analysis,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        environment,
        example_libraries,
        experimental,
        export,
        extend,
        ffi,
        flatten_util,
        image,
        lax,
        memory,
        monitoring,
        nn,
        ops,
        profiler,
        random,
        ref,
        scipy,
        sharding,
        stages,
        test_util,
        typing,
    )
    from covector.analysis.explain.explanation import explain
    from covector.analysis.gradients.check import check_gradients
    from covector.analysis.nans.explain_nan import explain_nan
    from covector.analysis.profile.measure import profile
    from covector.analysis.rules import check_rule
    from covector.callbacks.callback import effects_barrier, pure_callback
    from covector.core.sharding.context_mesh import set_mesh
    from covector.core.sharding.make_mesh import make_mesh
    from covector.debug.progress import progress
    from covector.dispatch.inspection import (
        closure_convert,
        ensure_compile_time_eval,
        eval_shape,
        make_jaxpr,
        typeof,
    )
    from covector.dispatch.pmap import pmap
    from covector.environment import print_environment_info
    from covector.placement.make_array import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from covector.programs.custom_rules.custom_derivative import custom_jvp, custom_vjp
    from covector.programs.custom_rules.custom_gradient import custom_gradient
    from covector.programs.remat.policies import checkpoint_policies
    from covector.programs.spmd.data_parallel import data_parallel
    from covector.programs.spmd.shard_map_api import shard_map
    from covector.programs.spmd.smap import smap
    from covector.ref import empty_ref, free_ref, freeze, new_ref
    from covector.transforms.compose import compose
    from covector.transforms.jacobian import hessian, jacfwd, jacobian, jacrev
    from covector.transforms.linear_transpose import linear_transpose

link.connect(numpy, device_put)
install_base(base)
install_tracebacks()
bind_description("covector.analysis.memory.shortage")

#: modules that are imported on first use
_MODULES = frozenset(
    {
        "ad",
        "ad_checkpoint",
        "analysis",
        "core",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "environment",
        "example_libraries",
        "experimental",
        "export",
        "extend",
        "ffi",
        "flatten_util",
        "image",
        "lax",
        "memory",
        "monitoring",
        "nn",
        "ops",
        "profiler",
        "random",
        "ref",
        "scipy",
        "sharding",
        "stages",
        "test_util",
        "typing",
    }
)

#: functions whose modules are imported on first use
_FUNCTIONS = {
    "check_gradients": "analysis.gradients.check",
    "check_rule": "analysis.rules",
    "checkpoint_policies": "programs.remat.policies",
    "closure_convert": "dispatch.inspection",
    "compose": "transforms.compose",
    "custom_gradient": "programs.custom_rules.custom_gradient",
    "custom_jvp": "programs.custom_rules.custom_derivative",
    "custom_vjp": "programs.custom_rules.custom_derivative",
    "data_parallel": "programs.spmd.data_parallel",
    "effects_barrier": "callbacks.callback",
    "empty_ref": "ref",
    "ensure_compile_time_eval": "dispatch.inspection",
    "eval_shape": "dispatch.inspection",
    "explain": "analysis.explain.explanation",
    "explain_nan": "analysis.nans.explain_nan",
    "free_ref": "ref",
    "freeze": "ref",
    "hessian": "transforms.jacobian",
    "jacfwd": "transforms.jacobian",
    "jacobian": "transforms.jacobian",
    "jacrev": "transforms.jacobian",
    "linear_transpose": "transforms.linear_transpose",
    "make_array_from_callback": "placement.make_array",
    "make_array_from_process_local_data": "placement.make_array",
    "make_array_from_single_device_arrays": "placement.make_array",
    "make_jaxpr": "dispatch.inspection",
    "make_mesh": "core.sharding.make_mesh",
    "new_ref": "ref",
    "pmap": "dispatch.pmap",
    "print_environment_info": "environment",
    "profile": "analysis.profile.measure",
    "progress": "debug.progress",
    "pure_callback": "callbacks.callback",
    "set_mesh": "core.sharding.context_mesh",
    "shard_map": "programs.spmd.shard_map_api",
    "smap": "programs.spmd.smap",
    "typeof": "dispatch.inspection",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"covector.{name}")
    if name in _FUNCTIONS:
        found = getattr(importlib.import_module(f"covector.{_FUNCTIONS[name]}"), name)
        globals()[name] = found
        return found
    raise namespaces.no_attribute("covector", name)


__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "Ref",
    "ShapeDtypeStruct",
    "Shard",
    "__version__",
    "ad",
    "ad_checkpoint",
    "analysis",
    "block_until_ready",
    "check_gradients",
    "check_implicit_sums",
    "check_rule",
    "check_tracer_leaks",
    "check_vector_choice",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "compose",
    "config",
    "copy_to_host_async",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "data_parallel",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "distributed",
    "dlpack",
    "dtypes",
    "effects_barrier",
    "empty_ref",
    "enable_x64",
    "ensure_compile_time_eval",
    "environment",
    "errors",
    "eval_shape",
    "example_libraries",
    "experimental",
    "explain",
    "explain_cache_misses",
    "explain_nan",
    "explain_recompiles",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "float0",
    "free_ref",
    "freeze",
    "grad",
    "hessian",
    "image",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "make_user_context",
    "memory",
    "monitoring",
    "named_call",
    "named_scope",
    "new_ref",
    "nn",
    "no_recompile",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "pmap",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "profile",
    "profiler",
    "progress",
    "pure_callback",
    "random",
    "ref",
    "remat",
    "reshard",
    "scipy",
    "set_mesh",
    "shard_map",
    "sharding",
    "smap",
    "stages",
    "test_util",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
    "warn_batched_cond",
]
__dir__ = namespaces.completions(globals())
