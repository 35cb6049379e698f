"""Membership of a process in a multi-process run, with its key-value store.

``join`` makes this process a member. Process 0 starts the service that holds the store,
the ``coordinator``; every process, 0 too, is its client. Keys are written once, except
heartbeats:

    cv/watch/…      who is alive and where, for ``watchdog``
    cv/lockstep/…   what is about to be run, for ``lockstep``

jaxlib ends a process whose connection to the service cannot be made, so nobody connects
before all have met in the ``rendezvous``.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from typing import Any, NamedTuple

import jaxlib.version
from jaxlib import _jax, utils

from covector import variables
from covector.errors import DistributedError, PeerLost
from covector.runtime import coordinator, rendezvous
from covector.runtime.coordinator import NEVER
from covector.runtime.rendezvous import Address, Hello
from covector.version import __version__

_RPC_SECONDS = 60
#: for the service to begin, or to end
_SERVICE_SECONDS = 30


class ProcessSettings(NamedTuple):
    """The rank of this process, the coordinator's address, and timeouts."""

    address: Address
    size: int
    rank: int
    initialization_timeout: float = 300
    heartbeat_timeout: float = 100
    shutdown_timeout: float = 300
    #: where process 0 listens, where that is another address
    bind_address: Address | None = None
    #: the numbers of the GPUs that this process uses; None for all that it sees
    local_device_ids: tuple[int, ...] | None = None


class Membership:
    """This process as a member of a multi-process run."""

    def __init__(self, settings: ProcessSettings) -> None:
        self.settings = settings
        self.rank, self.size = settings.rank, settings.size
        #: the seconds for which it waits for another one to come to the same program
        self.peer_timeout = variables.PEER_TIMEOUT.read()
        self.heartbeat_timeout = min(settings.heartbeat_timeout, self.peer_timeout)
        #: connections that close when the process at the other end ends, by its number
        self.connections: dict[int, socket.socket] = {}
        self._service: _Service | None = None
        self._store: Any = None

    def meet(self) -> None:
        """Wait until all processes are there, and connect to the store."""
        settings = self.settings
        versions = {"covector": __version__, "jaxlib": jaxlib.version.__version__}
        me = Hello(self.rank, self.size, versions)
        seconds = settings.initialization_timeout
        rendezvous.resolve(me, settings.address, seconds)
        if self.rank == 0:
            listen = settings.bind_address or _listening_at(settings.address)
            self._service = _Service()
            try:
                self.connections = rendezvous.accept_all(me, listen, seconds)
                self._service.begin(listen, self.size)
            except BaseException:
                self._service.end()
                raise
            rendezvous.release(self.connections)
        else:
            self.connections = rendezvous.connect(me, settings.address, seconds)
        self._connect()

    def _connect(self) -> None:
        self._store = _jax.get_distributed_runtime_client(
            str(self.settings.address),
            self.rank,
            rpc_timeout=_RPC_SECONDS,
            init_timeout=NEVER,
            shutdown_timeout=1,
            heartbeat_timeout=NEVER,
            shutdown_on_destruction=False,
            use_compression=True,
        )
        self._store.connect()

    @property
    def runtime_client(self) -> Any:
        """The client of the service, as jaxlib's clients of devices ask for it."""
        return self._store

    @property
    def host(self) -> str:
        """The address of this machine at which the other processes reach it."""
        for connection in self.connections.values():
            return connection.getsockname()[0]
        return "127.0.0.1"

    # -- the store ---------------------------------------------------------------------

    def write(self, key: str, text: str, *, again: bool = False) -> None:
        """Put a text under a key; ``again`` where there may be one."""
        try:
            self._store.key_value_set(key, text, allow_overwrite=again)
        except _jax.JaxRuntimeError as error:
            _refuse(error)

    def wait_for(self, key: str, seconds: float) -> str | None:
        """The text under a key, once somebody put it there; None after the time."""
        try:
            return self._store.blocking_key_value_get(key, max(1, int(1000 * seconds)))
        except _jax.JaxRuntimeError as error:
            if error.error_code_string == "DEADLINE_EXCEEDED":
                return None
            _refuse(error)

    def under(self, prefix: str) -> dict[str, str]:
        """The texts under all keys that begin like this, by the rest of the key."""
        try:
            found = self._store.key_value_dir_get(prefix)
        except _jax.JaxRuntimeError as error:
            _refuse(error)
        return {key.removeprefix(prefix): text for key, text in found}

    def erase(self, prefix: str) -> None:
        """Forget all keys that begin like this."""
        try:
            self._store.key_value_delete(prefix)
        except _jax.JaxRuntimeError as error:
            _refuse(error)

    def leave(self) -> None:
        """Let go of the store; process 0, who is the last one, ends it."""
        with contextlib.suppress(_jax.JaxRuntimeError):  # gone is gone
            self._store.shutdown()
        if self._service is not None:
            self._service.end()
        for connection in self.connections.values():
            connection.close()


class _Service:
    """The coordinator's process, started by process 0."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", coordinator.__file__],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is not for it
        )

    def begin(self, listen: Address, size: int) -> None:
        """Serve; return when the others can connect."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):  # it has ended, and that is the answer
            self._process.stdin.write(f"{listen} {size}\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer != "ready":
            raise DistributedError(
                f"process 0 cannot serve the others at {listen}: "
                f"{answer or 'its coordinator has ended'}."
            )

    def end(self) -> None:
        """Serve no longer."""
        try:
            self._process.communicate("done\n", _SERVICE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()


def _refuse(error: Any) -> Any:
    raise PeerLost(
        "the coordinator, in process 0, does not answer any more: it has ended, or "
        f"cannot be reached. ({str(error).splitlines()[0]})"
    ) from None


def _listening_at(address: Address) -> Address:
    """The address at which process 0 listens: local, where that is given as local."""
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][4][0]
    except OSError:
        found = ""
    if str(found).startswith("127.") or found == "::1":
        return Address(str(found), address.port)
    return Address("::" if socket.has_dualstack_ipv6() else "0.0.0.0", address.port)


class _Here:
    """The membership of this process, if it has one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.member: Membership | None = None


_here = _Here()


def join(settings: ProcessSettings) -> Membership:
    """Make this process a member, once all processes are there.

    Raises:
      DistributedError: it is one already, or the processes do not fit together.
      PeerLost: not all of them came within the time.
    """
    with _here.lock:
        if _here.member is not None:
            raise DistributedError(
                "this process has joined the others already, as process "
                f"{_here.member.rank} of {_here.member.size}. Call "
                "covector.distributed.initialize once, and shutdown before again."
            )
        if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
            utils.absl_set_min_log_level(3)
        member = Membership(settings)
        member.meet()
        _here.member = member
        return member


def leave() -> None:
    """End the membership of this process."""
    with _here.lock:
        member, _here.member = _here.member, None
    if member is not None:
        member.leave()
