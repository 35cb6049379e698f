"""Names that a public module, function or array does not have, and what to use.

Users ask for them because another library has them, an older version of the field's,
or another package here; or they misspell one. This module is imported when the first
name is missing.
"""

import contextlib
import functools
import importlib
import inspect
import re
import sys
from difflib import get_close_matches

#: by module, names of other libraries and of other versions
INSTEAD: dict[str, dict[str, str]] = {
    "covector": {
        "DeviceArray": "Array",
        "ShapedArray": "ShapeDtypeStruct",
        "Tensor": "Array",
        "Variable": "grad, of a function of arrays",
        "abstract_arrays": "typeof",
        "anomaly_mode": "debug_nans, or explain_nan",
        "array": "numpy.array",
        "autotune": "explain, which shows what a program's time goes into",
        "check_gradient": "check_gradients",
        "check_grads": "check_gradients, or test_util.check_grads",
        "checking": "debug_nans, or checking_leaks",
        "compile": "jit",
        "cost_analysis": "analysis.cost, or explain",
        "dataflow": "analysis.dependence",
        "dead_code_elimination": "analysis.dce",
        "detect_anomaly": "debug_nans, or explain_nan",
        "device_put_replicated": "device_put(x, NamedSharding(mesh, P()))",
        "device_put_sharded": "device_put(x, NamedSharding(mesh, P('data')))",
        "ds": "lax.dynamic_slice",
        "enable_checks": "experimental.checkify",
        "explain_nans": "explain_nan",
        "flops": "analysis.cost",
        "function": "jit",
        "gradcheck": "check_gradients",
        "host_callback": "pure_callback, or debug.callback",
        "host_count": "process_count",
        "host_id": "process_index",
        "host_ids": "range(process_count())",
        "interpreters": "extend",
        "mask": "numpy.where",
        "max_memory_allocated": "memory.track",
        "memory_allocated": "memory.report",
        "memory_stats": "memory.statistics",
        "memory_summary": "memory.report",
        "no_grad": "lax.stop_gradient",
        "no_tracing": "no_recompile",
        "optimize": "jit, and explain, which shows what the compiler did",
        "pipeline": "compose",
        "pjit": "jit, with in_shardings and out_shardings",
        "tensor": "numpy.array",
        "trace": "make_jaxpr, or jit(f).trace(*args)",
        "transform": "compose",
        "tree_all": "tree.all",
        "tree_flatten": "tree.flatten",
        "tree_leaves": "tree.leaves",
        "tree_map": "tree.map",
        "tree_multimap": "tree.map",
        "tree_reduce": "tree.reduce",
        "tree_structure": "tree.structure",
        "tree_transpose": "tree.transpose",
        "tree_unflatten": "tree.unflatten",
        "visualize": "explain",
        "xla_computation": "jit(f).lower(*args)",
        "xmap": "shard_map, or vmap",
    },
    "covector.experimental": {
        "array_serialization": "covector.experimental.checkpoint, for arrays in files",
        "buffer_callback": "covector.ffi, which calls functions on buffers",
        "colocated_python": "covector launch, which starts a program several times",
        "compute_on": "covector.pure_callback, which calls Python on the host",
        "control_deps": "covector.lax.optimization_barrier, which keeps order",
        "cur_qdd": "covector.new_ref: programs change references, and no other objects",
        "custom_partitioning": "covector.shard_map, to say how a function is divided",
        "jax2tf": "covector.export, which writes StableHLO, which TensorFlow reads",
        "mosaic": "covector.ffi, which calls kernels of other compilers",
        "pallas": "covector.ffi, which calls kernels of other compilers; XLA fuses "
        "elementwise operations by itself",
        "topologies": "covector.export, for devices that are not there",
        "xla_metadata": "covector.named_scope, which names operations",
    },
    "covector.lax": {
        "tie_in": "the value itself",
        "while": "while_loop",
        "for_loop": "fori_loop",
        "if_else": "cond",
        "precv": "ppermute, which sends and receives",
        "psend": "ppermute, which sends and receives",
        "softmax": "covector.nn.softmax",
        "xeinsum": "covector.numpy.einsum",
    },
    "covector.nn": {
        "Conv": "lax.conv_general_dilated, or a library of layers",
        "Dense": "x @ w + b, or a library of layers",
        "Linear": "x @ w + b, or a library of layers",
        "Module": "a dataclass under tree_util.register_dataclass",
        "ReLU": "relu",
        "cross_entropy": "-covector.nn.log_softmax(logits)[label]",
        "dropout": "covector.random.bernoulli, and where",
        "l2_normalize": "x / covector.numpy.linalg.norm(x)",
    },
    "covector.numpy": {
        "Inf": "inf",
        "Infinity": "inf",
        "NAN": "nan",
        "NINF": "-inf",
        "NaN": "nan",
        "PINF": "inf",
        "alltrue": "all",
        "asanyarray": "asarray",
        "ascontiguousarray": "asarray: arrays are contiguous",
        "asfarray": "asarray(x, float)",
        "asfortranarray": "asarray: arrays are contiguous",
        "asmatrix": "asarray, with two axes",
        "bytes_": "NumPy: arrays hold no strings",
        "copyto": "where(mask, new, x), which gives a new array",
        "cumproduct": "cumprod",
        "datetime64": "NumPy: arrays hold no dates",
        "errstate": "covector.debug_nans",
        "find_common_type": "result_type",
        "float128": "float64, under covector.enable_x64",
        "half": "float16",
        "in1d": "isin",
        "infty": "inf",
        "int1": "int2, or bool_: XLA computes with no integers of one bit",
        "intc": "int32",
        "intp": "int32, or int64 under covector.enable_x64",
        "longdouble": "float64, under covector.enable_x64",
        "ma": "where(mask, x, 0)",
        "mat": "array",
        "matrix": "array",
        "msort": "sort(x, axis=0)",
        "ndenumerate": "covector.vmap, or numpy.ndenumerate of a NumPy array",
        "nditer": "covector.vmap, or vectorize",
        "product": "prod",
        "putmask": "where(mask, values, x), which gives a new array",
        "random": "covector.random, whose functions take a key",
        "round_": "round",
        "row_stack": "vstack",
        "seterr": "covector.debug_nans",
        "sometrue": "any",
        "str_": "NumPy: arrays hold no strings",
        "timedelta64": "NumPy: arrays hold no dates",
        "trapz": "trapezoid",
        "uint1": "uint2, or bool_: XLA computes with no integers of one bit",
    },
    "covector.ops": {
        "segment_mean": "segment_sum, divided by that of ones",
    },
    "covector.sharding": {
        "auto_axes": "the function as it is: types of arrays do not say shardings, so "
        "every axis of a mesh is left to the compiler (Auto) already",
        "explicit_axes": "shard_map, which divides by hand: types of arrays do not say "
        "shardings",
    },
    "covector.random": {
        "BitGenerator": "key(seed), which every function takes",
        "Generator": "key(seed), which every function takes",
        "PCG64": "key(seed), which every function takes",
        "RandomState": "key(seed), which every function takes",
        "SeedSequence": "split(key, n), or fold_in(key, i)",
        "bytes": "bits(key, shape, 'uint8')",
        "default_rng": "key(seed), which every function takes",
        "get_state": "the key, which is all the state there is",
        "negative_binomial": "poisson(key, gamma(key, ...))",
        "rand": "uniform(key, shape)",
        "randn": "normal(key, shape)",
        "random": "uniform(key, shape)",
        "random_integers": "randint(key, shape, minval, maxval)",
        "random_sample": "uniform(key, shape)",
        "ranf": "uniform(key, shape)",
        "sample": "uniform(key, shape)",
        "seed": "key(seed), which every function takes",
        "set_state": "the key, which is all the state there is",
        "shuffle": "permutation(key, x), which gives a new array",
        "standard_cauchy": "cauchy(key, shape)",
        "standard_exponential": "exponential(key, shape)",
        "standard_gamma": "gamma(key, a, shape)",
        "standard_normal": "normal(key, shape)",
        "standard_t": "t(key, df, shape)",
        "weibull": "weibull_min(key, scale, concentration, shape)",
    },
}

#: of arrays of NumPy and tensors of PyTorch, for an array x
MEMBERS: dict[str, str] = {
    "append": "covector.numpy.append(x, values), which gives a new array",
    "backward": "covector.grad, of a function of arrays",
    "base": "numpy.asarray(x).base",
    "cpu": "covector.device_get(x)",
    "ctypes": "numpy.asarray(x).ctypes",
    "cuda": "covector.device_put(x, device)",
    "data": "numpy.asarray(x).data",
    "detach": "covector.lax.stop_gradient(x)",
    "dump": "numpy.asarray(x).dump(file)",
    "dumps": "numpy.asarray(x).dumps()",
    "expand": "covector.numpy.broadcast_to(x, shape)",
    "fill": "covector.numpy.full_like(x, value), which gives a new array",
    "flags": "numpy.asarray(x).flags",
    "float": "x.astype(float)",
    "grad": "covector.grad, of a function of arrays",
    "index_add": "x.at[indices].add(values)",
    "masked_fill": "covector.numpy.where(mask, value, x)",
    "matmul": "x @ y",
    "numpy": "numpy.asarray(x)",
    "partition": "covector.numpy.partition(x, kth), which gives a new array",
    "permute": "x.transpose(axes)",
    "put": "x.at[indices].set(values), which gives a new array",
    "requires_grad": "covector.grad, of a function of arrays",
    "resize": "covector.numpy.resize(x, shape), which gives a new array",
    "setflags": "numpy.array(x), a copy that can be written to",
    "strides": "numpy.asarray(x).strides",
    "to": "x.astype(dtype), or covector.device_put(x, device)",
    "tofile": "numpy.asarray(x).tofile(file)",
    "unsqueeze": "covector.numpy.expand_dims(x, axis)",
}

#: where a name may be that was looked for in another module
_PACKAGES = (
    "covector.numpy",
    "covector.lax",
    "covector.nn",
    "covector.tree",
    "covector.numpy.linalg",
    "covector.random",
    "covector.scipy.special",
)


@functools.cache
def way_out(module: str, name: str) -> str:
    """The name to use instead of a missing one, to follow a message; or nothing.

    >>> way_out("covector.numpy", "trapz"), way_out("covector", "einsum")
    (': use trapezoid', ': use covector.numpy.einsum')
    >>> way_out("covector.numpy", "concatanate")
    ". Did you mean 'concatenate'?"
    """
    if name.startswith("_"):
        return ""
    instead = INSTEAD.get(module, {})
    if name in instead:
        return f": use {instead[name]}"
    known = [n for n in dir(sys.modules[module]) if not n.startswith("_")]
    if name.endswith("_p") and name[:-2] in known:
        return f": use {name[:-2]}; operations of your own begin at covector.extend"
    for package in _PACKAGES:
        there = getattr(sys.modules.get(package), "__all__", ())
        if package != module and name in there:
            return f": use {package}.{name}"
    near = get_close_matches(name, known, 1, 0.75)
    if near:
        return f". Did you mean {near[0]!r}?"
    other = module.removeprefix("covector.")
    if module == "covector.numpy" or module.startswith("covector.scipy."):
        with contextlib.suppress(ImportError):  # SciPy may not be installed
            if hasattr(importlib.import_module(other), name):
                return (
                    f": use {other}.{name}, outside of functions that are transformed"
                )
    return ""


_UNKNOWN_KEYWORD = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")


def keyword_way_out(message: str) -> str:
    """The part that Python's message of an unknown keyword leaves out; or nothing.

    It names a function and no module, so it may be about one of the user's.

    >>> keyword_way_out("grad() got an unexpected keyword argument 'reduce_fn'")
    'covector.grad has reduce='
    """
    found = _UNKNOWN_KEYWORD.match(message)
    if found is None:
        return ""
    for package in ("covector", *_PACKAGES):
        function = getattr(sys.modules.get(package), found[1], None)
        if not callable(function):
            continue
        known = inspect.signature(function).parameters
        near = get_close_matches(found[2], known, 1)
        if near and found[2] not in known:
            return f"{package}.{found[1]} has {near[0]}="
    return ""


_UNKNOWN_MEMBER = re.compile(
    r"(?:'Array' object|a traced array \(.*\)) has no (?:attribute )?['`](\w+)['`]$"
)


def member_way_out(message: str) -> str:
    """The expression that stands for a member that arrays do not have; or nothing.

    >>> member_way_out("'Array' object has no attribute 'unsqueeze'")
    'of an array x, use covector.numpy.expand_dims(x, axis)'
    """
    found = _UNKNOWN_MEMBER.match(message)
    if found is None:
        return ""
    name = found[1]
    if name in MEMBERS:
        return f"of an array x, use {MEMBERS[name]}"
    if name in getattr(sys.modules.get("covector.numpy"), "__all__", ()):
        return f"of an array x, use covector.numpy.{name}(x)"
    return ""
