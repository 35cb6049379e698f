"""Clients: one PJRT client per platform, made when it is first needed.

A platform is "cpu", or "gpu" when a plugin offers one. Importing this module creates nothing; the
first question about a platform creates its client, under a lock, and the answer stays for the
life of the process.

``COVECTOR_PLATFORMS`` (or ``JAX_PLATFORMS``), such as ``"cpu"`` or ``"gpu,cpu"``, chooses the
platforms and puts the default first; a platform named there must work. Without it the default is
the GPU when there is one. ``COVECTOR_NUM_CPU_DEVICES`` splits the host into several CPU devices.
"""

import functools
import os
import threading

from jaxlib import _jax, utils
from jaxlib import xla_client as xc

from covector.runtime import memory, plugins

Client = xc.Client
Device = xc.Device

_SYNONYMS = {"cuda": "gpu", "host": "cpu"}


class _Clients:
    """The clients of this process and what was asked of them before they existed."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.made: dict[str, Client] = {}
        self.problems: dict[str, str] = {}
        self.cpu_devices: int | None = None


_clients = _Clients()


def _canonical(platform: str) -> str:
    word = platform.strip().lower()
    return _SYNONYMS.get(word, word)


def _chosen_platforms() -> tuple[str, ...]:
    """The platforms named in the environment, default first; empty when none is."""
    for variable in ("COVECTOR_PLATFORMS", "JAX_PLATFORMS"):
        words = os.environ.get(variable, "").split(",")
        if any(words):
            return tuple(dict.fromkeys(_canonical(w) for w in words if w.strip()))
    return ()


def _prepare_process() -> None:
    """What has to hold in a process before its first client."""
    # XLA writes to stderr what it also raises, and a line per device. jaxlib read the variable
    # when it was imported; plugins are libraries of their own and read it when loaded.
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        utils.absl_set_min_log_level(3)
    # Recording the Python stack costs up to a third of a dispatch, and nothing here reads it.
    _jax.set_tracebacks_enabled(False)


def _cpu_devices_wanted() -> int | None:
    """None leaves the number to ``XLA_FLAGS``, which defaults to one."""
    if _clients.cpu_devices is not None:
        return _clients.cpu_devices
    text = os.environ.get("COVECTOR_NUM_CPU_DEVICES", "").strip()
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(
            f"COVECTOR_NUM_CPU_DEVICES needs a positive whole number, but is {text!r}."
        )
    return int(text)


def _make_cpu_client() -> Client:
    memory.keep_memory()
    return xc.make_cpu_client(num_devices=_cpu_devices_wanted())


def _make_gpu_client() -> Client:
    usable = [p for p in plugins.found_plugins() if p.platform == "gpu" and p.library]
    if not usable:
        raise RuntimeError(
            "no GPU plugin is installed; install one with pip install covector[cuda13]"
        )
    return plugins.make_gpu_client(usable[0])


_MAKERS = {"cpu": _make_cpu_client, "gpu": _make_gpu_client}


def client(platform: str | None = None) -> Client:
    """The client of a platform, or of the default one, made on first use.

    Raises ValueError for a platform that does not exist, RuntimeError for one that does not work
    on this machine.
    """
    name = default_platform() if platform is None else _canonical(platform)
    made = _clients.made.get(name)
    if made is not None:
        return made
    if name not in _MAKERS:
        raise ValueError(
            f"there is no platform {platform!r}; covector knows {', '.join(_MAKERS)}."
        )
    with _clients.lock:
        return _make(name)


def _make(name: str) -> Client:
    if name in _clients.made:
        return _clients.made[name]
    if name in _clients.problems:
        raise RuntimeError(_clients.problems[name])
    _prepare_process()
    try:
        made = _MAKERS[name]()
    except (RuntimeError, OSError) as error:
        problem = f"the platform {name!r} does not work on this machine: {error}"
        _clients.problems[name] = problem
        raise RuntimeError(problem) from error
    _clients.made[name] = made
    return made


def _works(platform: str) -> bool:
    try:
        client(platform)
    except RuntimeError:
        return False
    return True


def backends() -> dict[str, Client]:
    """Every platform in use and its client, the default platform first.

    The CPU is always among them: values on their way to and from other devices pass through it.
    """
    chosen = _chosen_platforms()
    if not chosen:
        chosen = tuple(p for p in ("gpu", "cpu") if _works(p))
    return {p: client(p) for p in dict.fromkeys((*chosen, "cpu"))}


@functools.cache
def default_platform() -> str:
    """The first platform of ``COVECTOR_PLATFORMS``; else "gpu" where one works, else "cpu"."""
    chosen = _chosen_platforms()
    if chosen:
        return chosen[0]
    return "gpu" if _works("gpu") else "cpu"


def devices(platform: str | None = None) -> list[Device]:
    """All devices of a platform, those of other processes included."""
    return client(platform).devices()


def local_devices(platform: str | None = None) -> list[Device]:
    """The devices of a platform that this process can use."""
    return client(platform).local_devices()


def device_count(platform: str | None = None) -> int:
    return client(platform).device_count()


def local_device_count(platform: str | None = None) -> int:
    return client(platform).local_device_count()


def process_index(platform: str | None = None) -> int:
    """Which of the processes that share the devices this is, from 0."""
    return client(platform).process_index()


def process_count(platform: str | None = None) -> int:
    """How many processes share the devices."""
    return len({device.process_index for device in devices(platform)})


@functools.cache
def cpu_device() -> Device:
    """The first CPU device of this process."""
    return local_devices("cpu")[0]


@functools.cache
def default_device() -> Device:
    """The first device of the default platform in this process."""
    return local_devices()[0]


def device_platform(device: Device) -> str:
    """ "cpu" or "gpu": CUDA devices call their own platform "cuda" or "gpu"."""
    return _canonical(device.platform)


def set_cpu_devices(number: int) -> None:
    """Split the host into this many CPU devices; RuntimeError once the CPU client exists."""
    if number < 1:
        raise ValueError(f"set_cpu_devices needs a positive number, but got {number}.")
    with _clients.lock:
        cpu = _clients.made.get("cpu")
        if cpu is not None and cpu.local_device_count() != number:
            raise RuntimeError(
                f"set_cpu_devices({number}) comes too late: the CPU client already exists, with "
                f"{cpu.local_device_count()} device(s). Call it before the first array is made, "
                f"or set COVECTOR_NUM_CPU_DEVICES={number} in the environment."
            )
        _clients.cpu_devices = number
