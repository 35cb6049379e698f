"""PJRT plugins: compilers for other devices, loaded without importing jax.

A plugin is a package that names itself under the entry-point group ``jax_plugins`` or
lies in the namespace package ``jax_plugins``. Its Python module imports jax, so it is
only located, never imported; the shared library beside it is loaded directly. covector
does this for NVIDIA's plugin.
"""

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import os
import pkgutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxlib import _jax, _profiler
from jaxlib import xla_client as xc

_CUDA_LIBRARY = "xla_cuda_plugin.so"
_CUDA_EXTENSIONS = ("jax_cuda13_plugin", "jax_cuda12_plugin")
_CUDA_KERNELS = ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse")
_CUDA_KERNELS_REGISTERED_BY_IMPORT = ("gpu_rnn", "gpu_triton")

# Packages of the `nvidia-*` wheels and their libraries, each after those that it needs.
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


@dataclass(frozen=True)
class Plugin:
    """A plugin package that is installed here.

    ``problem`` says why it cannot be loaded, and is None where it can be tried; whether
    the machine then has such a device only ``client.client(plugin.platform)`` can tell.
    """

    name: str
    module: str
    platform: str | None
    library: Path | None
    problem: str | None = None


@functools.cache
def found_plugins() -> tuple[Plugin, ...]:
    """Every installed PJRT plugin, of use or not; nothing is loaded to find them."""
    names = _entry_points("jax_plugins")
    namespace = importlib.util.find_spec("jax_plugins")
    if namespace is not None and namespace.submodule_search_locations:
        for found in pkgutil.iter_modules(namespace.submodule_search_locations):
            names.setdefault(f"jax_plugins.{found.name}", found.name)
    return tuple(_located(name, module) for module, name in sorted(names.items()))


def _entry_points(group: str) -> dict[str, str]:
    """The entry points of a group that installed packages declare: names by module.

    ``importlib.metadata`` reads the same files, but loads 40 modules to do so, which
    every process would pay for.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        for file in Path(folder).glob("*.*-info/entry_points.txt"):
            with contextlib.suppress(OSError):
                found |= _declared(file.read_text("utf-8", "replace"), group)
    return found


def _declared(text: str, group: str) -> dict[str, str]:
    """The entry points of a group, from a file of ``name = module:object`` lines."""
    found, section = {}, ""
    for line in map(str.strip, text.splitlines()):
        name, _, value = line.partition("=")
        if line.startswith("["):
            section = line.strip("[]")
        elif value and section == group and not line.startswith(("#", ";")):
            found[value.partition(":")[0].strip()] = name.strip()
    return found


def _located(name: str, module: str) -> Plugin:
    """The plugin of a package that is installed, or was once."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        return Plugin(name, module, None, None, f"it cannot be found: {error}")
    if spec is None or spec.origin is None:
        return Plugin(name, module, None, None, "its package has no files")
    if "cuda" not in module:
        return Plugin(name, module, None, None, "covector loads only NVIDIA's plugin")
    library = Path(spec.origin).parent / _CUDA_LIBRARY
    if not library.exists():
        return Plugin(name, module, "gpu", None, f"its {_CUDA_LIBRARY} is missing")
    return Plugin(name, module, "gpu", library)


def make_gpu_client(library: Path, member: Any = None) -> xc.Client:
    """A client for the NVIDIA GPUs of this machine; jaxlib's error if there is none.

    As a member of several processes it knows the GPUs of all of them, and programs
    communicate through NCCL.
    """
    # XLA writes to stderr what it also raises. The plugin is a library of its own, with
    # its own logger, which reads this variable when it is loaded.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if not _jax.pjrt_plugin_loaded("cuda"):
        _preload_nvidia_libraries()
        c_api = xc.load_pjrt_plugin_dynamically("cuda", str(library))
        xc.initialize_pjrt_plugin("cuda")
        _profiler.register_plugin_profiler(c_api)
        _register_cuda_kernels(c_api)
    options = xc.generate_pjrt_gpu_plugin_options()
    # XLA's default takes most of the device's memory at once, from other programs too.
    if "XLA_PYTHON_CLIENT_PREALLOCATE" not in os.environ:
        options["preallocate"] = False
    if member is None:
        return xc.make_c_api_client("cuda", options, None)
    options |= gpu_options(member)
    return xc.make_c_api_client("cuda", options, member.runtime_client)


def gpu_options(member: Any) -> dict[str, Any]:
    """The options of a client about its process and the others."""
    options: dict[str, Any] = {"node_id": member.rank, "num_nodes": member.size}
    if member.settings.local_device_ids is not None:
        options["visible_devices"] = list(member.settings.local_device_ids)
    return options


def _preload_nvidia_libraries() -> None:
    """Load NVIDIA's libraries from their wheels, where the loader does not look.

    One that cannot be loaded may not be needed; if it is, the plugin says so.
    """
    for package, library in _NVIDIA_LIBRARIES:
        try:
            spec = importlib.util.find_spec(f"nvidia.{package}")
        except ModuleNotFoundError:
            continue
        for root in (spec.submodule_search_locations or ()) if spec else ():
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(Path(root) / "lib" / library))


def _register_cuda_kernels(c_api: Any) -> None:
    """Make the custom calls of the kernel wheel known to the plugin."""
    extension = _cuda_extension()
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
    for room in _CUDA_KERNELS_REGISTERED_BY_IMPORT:
        importlib.import_module(f"jaxlib.{room}")


def _cuda_extension() -> ModuleType | None:
    for package in _CUDA_EXTENSIONS:
        if importlib.util.find_spec(package) is not None:
            return importlib.import_module(f"{package}.cuda_plugin_extension")
    return None
