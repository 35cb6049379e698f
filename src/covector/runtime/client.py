"""Clients: one PJRT client per platform, made when it is first needed.

A platform is "cpu", or "gpu" where a plugin offers one. Importing this module creates
nothing; the first question about a platform makes its client, under a lock, and the
answer holds for the life of the process.

The variables ``COVECTOR_PLATFORMS`` (for which ``JAX_PLATFORMS`` stands in),
``COVECTOR_NUM_CPU_DEVICES`` and ``COVECTOR_ASYNC_CPU`` have a say in it. Without them
the default platform is the GPU if there is one, then the CPU.

The CPU runs most programs on the thread that calls them, and some on threads of its own
(``overlap``). With ``COVECTOR_ASYNC_CPU=0`` it is all of them on the thread that calls,
with 1 those that XLA would.
"""

import functools
import os
import threading
from typing import TYPE_CHECKING, Any

from jaxlib import _jax, utils
from jaxlib import xla_client as xc

from covector import variables
from covector.errors import DeviceError, SettingError
from covector.runtime import endings, memory, multi_process, plugins
from covector.runtime.multi_process import ProgramDigest

if TYPE_CHECKING:  # jaxlib has no types, and editors show these
    from covector.runtime.device_types import Device
else:
    Device = xc.Device

Client = xc.Client

_SYNONYMS = {"cuda": "gpu", "host": "cpu"}


class _Clients:
    """The clients of this process, and what was asked of them before they existed."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.made: dict[str, Client] = {}
        self.problems: dict[str, str] = {}
        self.cpu_devices: int | None = None


_clients = _Clients()


def _canonical(platform: str) -> str:
    if not isinstance(platform, str):
        raise DeviceError(
            f"a platform is named by a string, such as 'cpu' or 'gpu', but got "
            f"{platform!r}."
        )
    word = platform.strip().lower()
    return _SYNONYMS.get(word, word)


def _chosen_platforms() -> tuple[str, ...]:
    """The platforms named in the environment, the default first; empty if none is."""
    return variables.PLATFORMS.read() or variables.JAX_PLATFORMS.read()


def cpu_devices_wanted() -> int | None:
    """None leaves the number to ``XLA_FLAGS``, and so to one."""
    if _clients.cpu_devices is not None:
        return _clients.cpu_devices
    return variables.NUM_CPU_DEVICES.read()


@functools.cache
def cores() -> int:
    """The cores that this process may run on, among which XLA divides operations."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_is_asynchronous() -> bool:
    """Whether the client of the CPU has threads to run programs on.

    Not by itself where it appears as several devices: there may be fewer threads than
    devices, and then collectives wait for ever. Nor where processes work together.
    """
    chosen = variables.ASYNC_CPU.read()
    if chosen is not None:
        return chosen
    number = cpu_devices_wanted()
    if number is None and "device_count" not in os.environ.get("XLA_FLAGS", ""):
        number = 1
    return number == 1 and multi_process.session() is None


def _make_cpu_client() -> Client:
    memory.keep_memory()
    shared: dict[str, Any] = {}
    session = multi_process.session()
    # Beside other devices, every process has a CPU of its own.
    if session is not None and default_platform() == "cpu":
        member = _met(session, "cpu")
        shared = {
            "distributed_client": member.runtime_client,
            "node_id": member.rank,
            "num_nodes": member.size,
            "collectives": _jax.make_gloo_tcp_collectives(
                member.runtime_client, member.host
            ),
        }
    return xc.make_cpu_client(
        asynchronous=cpu_is_asynchronous(),
        num_devices=cpu_devices_wanted(),
        **shared,
    )


def _met(session: Any, platform: str) -> Any:
    """The membership, once all processes are about to use their devices: jaxlib makes
    the clients together, and waits without words.
    """
    what = f"the first use of its devices ({platform})"
    session.everyone.agree(ProgramDigest(what, what, lambda: what))
    return session.member


def _make_gpu_client() -> Client:
    for plugin in plugins.found_plugins():
        if plugin.platform == "gpu" and plugin.library is not None:
            session = multi_process.session()
            member = None if session is None else _met(session, "gpu")
            return plugins.make_gpu_client(plugin.library, member)
    raise DeviceError(
        "no plugin for it is installed; for an NVIDIA GPU, "
        "pip install 'covector[cuda13]'."
    )


_MAKERS = {"cpu": _make_cpu_client, "gpu": _make_gpu_client}


def _prepare_process() -> None:
    """Prepare the process for its first client."""
    endings.devices_are_used()
    # XLA writes to stderr what it also raises, and a line for every device.
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        utils.absl_set_min_log_level(3)
    # Recording the Python stack takes up to a third of a call, and nothing reads it.
    _jax.set_tracebacks_enabled(False)


def _make(platform: str) -> Client:
    """The client of a platform, made if need be; the caller holds the lock."""
    if platform in _clients.made:
        return _clients.made[platform]
    if platform not in _clients.problems:
        _prepare_process()
        try:
            # A signal handler may have made it meanwhile.
            made = _clients.made.setdefault(platform, _MAKERS[platform]())
        except (RuntimeError, OSError, ImportError) as error:
            _clients.problems[platform] = str(error)
        else:
            return made
    raise DeviceError(
        f"Backend {platform!r} failed to initialize: {_clients.problems[platform]}"
    )


def client(platform: str | None = None) -> Client:
    """The client of a platform, or of the default one.

    Raises DeviceError for a platform that does not exist or does not work here.
    """
    name = default_platform() if platform is None else _canonical(platform)
    if name not in _MAKERS:
        raise DeviceError(
            f"Unknown backend {platform!r}: there are only {' and '.join(_MAKERS)}."
        )
    made = _clients.made.get(name)
    if made is not None:
        return made
    with _clients.lock:
        return _make(name)


def _works(platform: str) -> bool:
    try:
        client(platform)
    except DeviceError:
        return False
    return True


def backends() -> dict[str, Client]:
    """Every platform in use and its client, the default platform first.

    The CPU is always among them: values pass through it on their way between devices.
    """
    chosen = _chosen_platforms() or tuple(p for p in ("gpu",) if _works(p))
    return {p: client(p) for p in dict.fromkeys((*chosen, "cpu"))}


@functools.cache
def default_platform() -> str:
    """The first platform chosen in the environment, or "gpu" if it works, or "cpu"."""
    chosen = _chosen_platforms()
    if chosen:
        return chosen[0]
    return "gpu" if _works("gpu") else "cpu"


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform, those of other processes included.

    Args:
      backend: ``"cpu"`` or ``"gpu"``; by default the platform where programs run.

    Returns:
      A list of devices.

    Raises:
      DeviceError: there is no such platform.

    >>> len(devices()) == device_count()
    True

    See also: ``local_devices``, ``device_put``, ``make_mesh``.
    """
    return client(backend).devices()


def local_devices(
    process_index: int | None = None, backend: str | None = None
) -> list[Device]:
    """The devices of a platform that belong to this process, or to the one asked for.

    Args:
      process_index: the process; by default this one.
      backend: ``"cpu"`` or ``"gpu"``; by default the platform where programs run.

    Returns:
      A list of devices.

    Raises:
      DeviceError: there is no such platform, or no such process.

    >>> len(local_devices()) == local_device_count()
    True

    See also: ``devices``, ``process_index``.
    """
    if process_index is None:
        return client(backend).local_devices()
    found = [d for d in devices(backend) if d.process_index == process_index]
    if not found:
        raise DeviceError(
            f"local_devices: there is no process {process_index!r}, only "
            f"{', '.join(map(str, process_indices(backend)))}."
        )
    return found


def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform, in all processes together.

    Args:
      backend: ``"cpu"`` or ``"gpu"``; by default the platform where programs run.

    Returns:
      A Python integer.

    Raises:
      DeviceError: there is no such platform.

    >>> device_count() >= local_device_count()
    True

    See also: ``local_device_count``, ``devices``.
    """
    return client(backend).device_count()


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of a platform that belong to this process.

    Args:
      backend: ``"cpu"`` or ``"gpu"``; by default the platform where programs run.

    Returns:
      A Python integer.

    Raises:
      DeviceError: there is no such platform.

    >>> local_device_count() == len(local_devices())
    True

    See also: ``device_count``, ``local_devices``.
    """
    return client(backend).local_device_count()


def process_index(backend: str | None = None) -> int:
    """The index of this process among those that share the devices: 0 of a single one.

    Args:
      backend: ``"cpu"`` or ``"gpu"``; by default the platform where programs run.

    Returns:
      A Python integer.

    Raises:
      DeviceError: there is no such platform.

    >>> process_index() < process_count()
    True

    See also: ``process_count``, ``local_devices``.
    """
    return client(backend).process_index()


def process_indices(backend: str | None = None) -> list[int]:
    """The indices of the processes that share the devices."""
    return sorted({device.process_index for device in devices(backend)})


def process_count(backend: str | None = None) -> int:
    """The number of processes that share the devices: 1 if there is only this one.

    Args:
      backend: ``"cpu"`` or ``"gpu"``; by default the platform where programs run.

    Returns:
      A Python integer.

    Raises:
      DeviceError: there is no such platform.

    >>> process_count() >= 1
    True

    See also: ``process_index``, ``covector.distributed``.
    """
    return len(process_indices(backend))


@functools.cache
def cpu_device() -> Device:
    """The first CPU device of this process."""
    return local_devices(backend="cpu")[0]


@functools.cache
def default_device() -> Device:
    """The first device of the default platform in this process."""
    return local_devices()[0]


def platforms_in_use() -> tuple[str, ...]:
    """The platforms whose clients exist."""
    return tuple(_clients.made)


def is_local(device: Device) -> bool:
    """Whether a device belongs to this process."""
    return device.process_index == device.client.process_index()


def device_platform(device: Device) -> str:
    """The platform of a device: "cpu", or "gpu", also where it calls itself "cuda"."""
    name: str = device.platform
    return _SYNONYMS.get(name, name)


def set_cpu_devices(number: int) -> None:
    """Make the CPU appear as this many devices, before the first array is made.

    Raises DeviceError if the CPU client already exists with another number.
    """
    if not 0 < number <= variables.MOST_CPU_DEVICES:
        raise SettingError(
            f"set_cpu_devices needs a whole number from 1 to "
            f"{variables.MOST_CPU_DEVICES}, but got {number}."
        )
    with _clients.lock:
        cpu = _clients.made.get("cpu")
        if cpu is not None and cpu.local_device_count() != number:
            raise DeviceError(
                f"set_cpu_devices({number}) comes too late: the CPU is already in use "
                f"as {cpu.local_device_count()} device(s). Call it before the first "
                f"array is made, or set COVECTOR_NUM_CPU_DEVICES={number} in the "
                "environment."
            )
        _clients.cpu_devices = number


def set_platforms(names: str | None) -> None:
    """Choose the platforms by name, such as ``"cpu"`` or ``"gpu,cpu"``, the default
    first. Once devices are in use, these may be chosen that are the ones in use.

    Raises:
      SettingError: there is no such platform, or others are in use already.
    """
    wanted = {variables.PLATFORMS.name: names or ""}
    chosen = variables.PLATFORMS.read(wanted)
    with _clients.lock:
        if _clients.made:
            if chosen and chosen[0] == default_platform():
                return
            raise SettingError(
                f"the platforms cannot be chosen any more: {', '.join(_clients.made)} "
                "is in use. Choose them before the first array is put on a device, or "
                "in the environment: COVECTOR_PLATFORMS=cpu."
            )
        os.environ.update(wanted)
