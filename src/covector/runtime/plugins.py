"""PJRT plugins: where compilers for other devices come from, loaded without importing jax.

A plugin is a package that names itself under the entry-point group ``jax_plugins`` or lies in the
namespace package ``jax_plugins``. Its Python module imports jax, so it is only located, never
imported; the shared library beside it is loaded directly. Today that is done for NVIDIA's plugin.
"""

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxlib import xla_client as xc

# The NVIDIA libraries of the wheels `nvidia-*`, in an order in which each finds what it needs.
_NVIDIA_LIBRARIES = (
    ("cu13", "libcudart.so.13"),
    ("cu13", "libnvrtc.so.13"),
    ("cu13", "libcublasLt.so.13"),
    ("cu13", "libcublas.so.13"),
    ("nccl", "libnccl.so.2"),
    ("cu13", "libcupti.so.13"),
    ("cu13", "libcusparse.so.12"),
    ("cu13", "libcusolver.so.12"),
    ("cu13", "libcufft.so.12"),
    ("nvshmem", "libnvshmem_host.so.3"),
    ("cudnn", "libcudnn.so.9"),
    ("cuda_runtime", "libcudart.so.12"),
    ("cuda_nvrtc", "libnvrtc.so.12"),
    ("cublas", "libcublasLt.so.12"),
    ("cublas", "libcublas.so.12"),
    ("cuda_cupti", "libcupti.so.12"),
    ("cusparse", "libcusparse.so.12"),
    ("cusolver", "libcusolver.so.11"),
    ("cufft", "libcufft.so.11"),
)
_CUDA_EXTENSIONS = ("jax_cuda13_plugin", "jax_cuda12_plugin")
_CUDA_KERNELS = ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse")
_CUDA_KERNELS_ON_IMPORT = ("gpu_rnn", "gpu_triton")


@dataclass(frozen=True)
class Plugin:
    """A plugin package that is installed here.

    ``platform`` is None, and ``problem`` says why, when covector cannot load it.
    """

    name: str
    module: str
    platform: str | None
    library: Path | None
    problem: str | None = None


def _locate(name: str, module: str) -> Plugin:
    """Describe the plugin package `module`, without importing it."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        return Plugin(name, module, None, None, f"cannot be located: {error}")
    if spec is None or spec.origin is None:
        return Plugin(name, module, None, None, "the package has no files")
    if "cuda" not in name:
        problem = "covector loads NVIDIA's plugin only"
        return Plugin(name, module, None, None, problem)
    library = Path(spec.origin).parent / "xla_cuda_plugin.so"
    if not library.exists():
        return Plugin(name, module, "gpu", None, f"{library.name} is missing in it")
    return Plugin(name, module, "gpu", library)


@functools.cache
def found_plugins() -> tuple[Plugin, ...]:
    """Every installed PJRT plugin, usable or not; finding them loads nothing."""
    modules: dict[str, str] = {}
    for entry in importlib.metadata.entry_points(group="jax_plugins"):
        modules[entry.module] = entry.name
    namespace = importlib.util.find_spec("jax_plugins")
    if namespace is not None and namespace.submodule_search_locations:
        for found in pkgutil.iter_modules(namespace.submodule_search_locations):
            modules.setdefault(f"jax_plugins.{found.name}", found.name)
    return tuple(_locate(name, module) for module, name in sorted(modules.items()))


def _preload_nvidia_libraries() -> None:
    """Load NVIDIA's libraries from their wheels, where the dynamic loader does not look."""
    for package, library in _NVIDIA_LIBRARIES:
        try:
            spec = importlib.util.find_spec(f"nvidia.{package}")
        except ModuleNotFoundError:
            continue
        for root in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(root) / "lib" / library
            if path.exists():
                ctypes.CDLL(str(path))


def _import_cuda_extension() -> ModuleType | None:
    for package in _CUDA_EXTENSIONS:
        if importlib.util.find_spec(package) is not None:
            return importlib.import_module(f"{package}.cuda_plugin_extension")
    return None


def _register_cuda_kernels(c_api: Any) -> None:
    """Make the custom calls of the kernel wheel known to the plugin's registry."""
    extension = _import_cuda_extension()
    if extension is None:
        return
    target = functools.partial(extension.register_custom_call_target, c_api)
    kind = functools.partial(extension.register_custom_type, c_api)
    xc.register_custom_call_handler("CUDA", target)
    xc.register_custom_type_handler("CUDA", kind)
    for name, value in extension.ffi_types().items():
        xc.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        xc.register_custom_call_target(name, value, platform="CUDA", api_version=1)
    for room in _CUDA_KERNELS:
        kernels = importlib.import_module(f"jaxlib.{room}")
        for name, value, version in kernels.registrations().get("CUDA", []):
            xc.register_custom_call_target(
                name, value, platform="CUDA", api_version=version
            )
        for name in getattr(kernels, "batch_partitionable_targets", list)():
            xc.register_custom_call_as_batch_partitionable(name, c_api)
    for room in _CUDA_KERNELS_ON_IMPORT:
        importlib.import_module(f"jaxlib.{room}")


def _load_cuda(library: Path) -> None:
    """Load NVIDIA's plugin into this process; a second call does nothing."""
    if xc.pjrt_plugin_initialized("cuda"):
        return
    _preload_nvidia_libraries()
    c_api = xc.load_pjrt_plugin_dynamically("cuda", str(library))
    xc.initialize_pjrt_plugin("cuda")
    _register_cuda_kernels(c_api)


def make_gpu_client(plugin: Plugin) -> xc.Client:
    """A client for the GPUs of this machine; RuntimeError when there is none."""
    _load_cuda(plugin.library)
    # Taking most of the device's memory at the start is a surprise to other programs.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    return xc.make_c_api_client("cuda", xc.generate_pjrt_gpu_plugin_options(), None)
