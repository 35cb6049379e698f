"""Cluster detection: process ids and the coordinator's address from schedulers.

    COVECTOR    set by ``covector launch``, or by hand
    SLURM       set by srun
    OPEN_MPI    set by mpirun
    KUBERNETES  of an indexed Job: the index, and names that the user gives

Each scheduler is one function of the environment, and answers None where it is not the
one. A port that nobody named is worked out from the number of the job, so that two jobs
on one machine do not meet.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from covector import variables
from covector.errors import SettingError

Environment = Mapping[str, str]

_FIRST_PORT = 61440
_PORTS = 4096
_BY_HAND = (
    variables.COORDINATOR_ADDRESS,
    variables.NUM_PROCESSES,
    variables.PROCESS_ID,
)


class Found(NamedTuple):
    """The detected settings; None for those not found."""

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    #: which of the processes on its machine this one is
    local_id: int | None = None


def _number(environ: Environment, variable: str) -> int | None:
    text = environ.get(variable, "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise SettingError(f"{variable} needs a whole number, but is {text!r}.")
    return int(text)


def _port(job: str) -> int:
    digits = re.sub(r"\D", "", job) or "0"
    return _FIRST_PORT + int(digits) % _PORTS


def by_hand(environ: Environment) -> Found | None:
    """The three variables of covector."""
    if not any([environ.get(v.name, "").strip() for v in _BY_HAND]):
        return None
    return Found(
        variables.COORDINATOR_ADDRESS.read(environ),
        variables.NUM_PROCESSES.read(environ),
        variables.PROCESS_ID.read(environ),
        variables.LOCAL_PROCESS_ID.read(environ),
    )


def slurm(environ: Environment) -> Found | None:
    """A step of a job under SLURM; process 0 is on the first of its machines."""
    if "SLURM_PROCID" not in environ or "SLURM_STEP_NODELIST" not in environ:
        return None
    host = first_host(environ["SLURM_STEP_NODELIST"])
    return Found(
        f"{host}:{_port(environ.get('SLURM_JOB_ID', ''))}",
        _number(environ, "SLURM_NTASKS"),
        _number(environ, "SLURM_PROCID"),
        _number(environ, "SLURM_LOCALID"),
    )


def first_host(machines: str) -> str:
    """The first machine of a list as SLURM writes it: ``n[003-005,9],m1`` is n003.

    >>> first_host("gpu[07-12,20],login")
    'gpu07'
    """
    head = re.match(r"([^\[,]*)(?:\[(\w+)[^\]]*\]([^,\[]*))?", machines)
    assert head is not None, "the empty text matches"
    name, first, tail = head.groups(default="")
    return f"{name}{first}{tail}"


def open_mpi(environ: Environment) -> Found | None:
    """Started by Open MPI's mpirun, which tells where it runs itself."""
    if "OMPI_COMM_WORLD_RANK" not in environ:
        return None
    uri = environ.get("OMPI_MCA_orte_hnp_uri") or environ.get("PMIX_SERVER_URI2") or ""
    machine = re.search(r"tcp[46]?://\[?([^\s,;\]:]+)", uri)
    job = environ.get("PMIX_NAMESPACE") or uri.split(".")[0]
    return Found(
        f"{machine[1]}:{_port(job)}" if machine else None,
        _number(environ, "OMPI_COMM_WORLD_SIZE"),
        _number(environ, "OMPI_COMM_WORLD_RANK"),
        _number(environ, "OMPI_COMM_WORLD_LOCAL_RANK"),
    )


def kubernetes(environ: Environment) -> Found | None:
    """A pod of an indexed Job. Kubernetes says which pod this is; how many there are,
    and the name of the service before them, the pod's template has to say.
    """
    if (
        "KUBERNETES_SERVICE_HOST" not in environ
        or "JOB_COMPLETION_INDEX" not in environ
    ):
        return None
    job, service = environ.get("JOB_NAME"), environ.get("JOB_SERVICE_NAME")
    port = variables.COORDINATOR_PORT.read(environ) or _port("0")
    return Found(
        f"{job}-0.{service}:{port}" if job and service else None,
        _number(environ, "JOB_COMPLETIONS"),
        _number(environ, "JOB_COMPLETION_INDEX"),
    )


#: in the order in which they are asked
DETECTORS: dict[str, Callable[[Environment], Found | None]] = {
    "covector": by_hand,
    "slurm": slurm,
    "ompi": open_mpi,
    "k8s": kubernetes,
}


def detect(environ: Environment, method: str | None = None) -> Found:
    """The settings from the environment; none without a known scheduler.

    Args:
      method: the name of the one to ask; None for all; "deactivate" for none but the
        variables of covector.

    Raises:
      SettingError: there is no such method, or a variable is not a number.
    """
    if method is not None and method not in (*DETECTORS, "deactivate"):
        raise SettingError(
            f"cluster_detection_method must be one of "
            f"{', '.join(map(repr, (*DETECTORS, 'deactivate')))}, but is {method!r}."
        )
    explicit = by_hand(environ) or Found()
    names = list(DETECTORS) if method is None else [method]
    detected = [DETECTORS[name](environ) for name in names if name in DETECTORS]
    found = next((f for f in detected if f is not None), Found())
    # What was set by hand goes before what a scheduler says, one by one.
    by_name = found._asdict()
    return Found(
        **{n: by_name[n] if v is None else v for n, v in explicit._asdict().items()}
    )
