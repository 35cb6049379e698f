"""``initialize`` and ``shutdown`` of a multi-process run."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from covector.distributed import clusters
from covector.errors import ArgumentError, DistributedError
from covector.runtime import client, lockstep
from covector.runtime.membership import ProcessSettings
from covector.runtime.rendezvous import Address


def initialize(  # noqa: PLR0913, PLR0917  names and order are the field's
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: float = 300,
    heartbeat_timeout_seconds: float = 100,
    shutdown_timeout_seconds: float = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Make this process one of several that run one program; call it first.

    What is not given is taken from ``COVECTOR_COORDINATOR_ADDRESS``,
    ``COVECTOR_NUM_PROCESSES`` and ``COVECTOR_PROCESS_ID``, then from SLURM, Open MPI or
    Kubernetes. It returns when all processes are there.

    Args:
      coordinator_address: ``host:port`` of process 0, on which it will listen.
      num_processes: how many there are.
      process_id: which of them this one is, from 0.
      local_device_ids: the GPUs that this process uses; all that it sees by default, or
        the one of its number where a scheduler starts several on a machine.
      cluster_detection_method: the one scheduler to ask: "slurm", "ompi", "k8s", or
        "deactivate" for none.
      initialization_timeout: seconds to wait for all processes.
      heartbeat_timeout_seconds: a process of which nothing is heard for so long is
        taken to be gone.
      shutdown_timeout_seconds: how long process 0, when it is done, waits for the
        others, who need what it serves.
      coordinator_bind_address: where process 0 listens, where that is another address.
      slice_index, partition_index: of machines of TPUs; accepted and not used.

    Raises:
      ArgumentError: something is missing, or no number of a process.
      DistributedError: this process has joined already, or has used a device already;
        or the processes do not fit together.
      PeerLost: not all came within the time.
    """
    _check_first_use()
    found = clusters.detect(os.environ, cluster_detection_method)
    given = {
        "coordinator_address": coordinator_address,
        "num_processes": num_processes,
        "process_id": process_id,
    }
    for name, value in given.items():
        if value is None:
            given[name] = getattr(found, name)
    _check_given(given)
    size, rank = int(given["num_processes"]), int(given["process_id"])  # type: ignore[call-overload]
    _check_numbers(size, rank)
    bind = coordinator_bind_address
    lockstep.start(
        ProcessSettings(
            _address(given["coordinator_address"], "coordinator_address"),
            size,
            rank,
            _seconds(initialization_timeout, "initialization_timeout"),
            _seconds(heartbeat_timeout_seconds, "heartbeat_timeout_seconds"),
            _seconds(shutdown_timeout_seconds, "shutdown_timeout_seconds"),
            None if bind is None else _address(bind, "coordinator_bind_address"),
            _device_ids(local_device_ids, found.local_id, os.environ),
        )
    )


def shutdown() -> None:
    """Leave the other processes; without them, nothing. At its end a process does so by
    itself. Arrays over several processes cannot be used afterwards.
    """
    lockstep.stop()


def is_initialized() -> bool:
    """Whether this is a multi-process run that ``initialize`` joined.

    >>> is_initialized()
    False
    """
    return lockstep.session() is not None


def _check_first_use() -> None:
    if is_initialized():
        return  # joining again has its own words
    used = client.platforms_in_use()
    if used:
        raise DistributedError(
            f"initialize comes too late: this process uses the devices of {used[0]} "
            "already, alone. Call it at the beginning of the program, before the first "
            "array is put on a device and before devices() is asked for."
        )


def _check_given(given: Mapping[str, Any]) -> None:
    missing = [name for name, value in given.items() if value is None]
    if missing:
        names = [f"COVECTOR_{name.upper()}" for name in missing]
        raise ArgumentError(
            f"initialize needs {', '.join(missing)}: pass "
            f"{'it' if len(missing) == 1 else 'them'}, or set {', '.join(names)} "
            "in the environment. On one machine, `covector launch -n 4 file.py` does; "
            "SLURM, Open MPI and Kubernetes were asked and say nothing of it."
        )


def _check_numbers(size: int, rank: int) -> None:
    if size < 1:
        raise ArgumentError(f"num_processes must be at least 1, but is {size}.")
    if not 0 <= rank < size:
        raise ArgumentError(
            f"process_id must be from 0 to {size - 1}, for num_processes={size}, but "
            f"is {rank}."
        )


def _seconds(value: float, name: str) -> float:
    if not value > 0:
        raise ArgumentError(
            f"{name} must be a positive number of seconds, but is {value!r}."
        )
    return float(value)


def _address(text: str, name: str) -> Address:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ArgumentError(
            f"{name} must be host:port, such as 10.0.0.1:1234, but is {text!r}."
        )
    return Address(host, int(port))


def _device_ids(
    given: int | Sequence[int] | None, local_id: int | None, environ: Mapping[str, str]
) -> tuple[int, ...] | None:
    """The GPUs of this process: those named, or the one of its number."""
    if given is not None:
        return (given,) if isinstance(given, int) else tuple(map(int, given))
    # Schedulers that hide the GPUs of the others say so here.
    if local_id is None or environ.get("CUDA_VISIBLE_DEVICES"):
        return None
    return (local_id,)
