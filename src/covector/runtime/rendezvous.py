"""Rendezvous: the processes of one run meet and compare versions before they begin.

    process 0     listens at the coordinator's address until all have said hello
    the others    connect, say which process they are, and wait for "go"

What cannot work (two processes of one number, other numbers of processes, other
versions, somebody who does not come) is told to everyone who did come, and raised
there. The connections stay open for as long as the processes live, and nothing more is
sent through them: that one of them closes is how a process learns that another ended.
"""

import contextlib
import json
import os
import select
import socket
import threading
import time
from typing import Any, NamedTuple

from covector.errors import DistributedError, PeerLost

#: between attempts to reach the coordinator
_PAUSE = 0.05
#: seconds after which a name that is not known is told
_SOON = 1.0
#: how much longer the others wait than process 0, who can say who is missing
_GRACE = 2.0
#: a hello, or an answer to it, is not longer
_LONGEST = 65536


class Hello(NamedTuple):
    """The first message of a process."""

    rank: int
    size: int
    #: what must be the same in all processes, by name
    versions: dict[str, str]


class Address(NamedTuple):
    """The address of the coordinator."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def accept_all(mine: Hello, at: Address, seconds: float) -> dict[int, socket.socket]:
    """In process 0: the connections to all others, once they have come.

    Raises:
      DistributedError: the address cannot be listened at, or the others do not fit.
      PeerLost: somebody did not come within the time.
    """
    try:
        family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
        listener = socket.create_server(
            (at.host, at.port), family=family, dualstack_ipv6=at.host == "::"
        )
    except OSError as error:
        raise DistributedError(
            f"process 0 cannot listen at {at}: {error}. The coordinator's address must "
            "be one of this machine, with a port that is free."
        ) from None
    here: dict[int, socket.socket] = {}
    with listener:
        try:
            _wait_for_all(listener, mine, here, time.monotonic() + seconds)
        except (DistributedError, KeyboardInterrupt) as error:
            for connection in here.values():
                _send(connection, error=str(error), lost=isinstance(error, PeerLost))
                connection.close()
            raise
    return here


def release(connections: dict[int, socket.socket]) -> None:
    """Tell all processes to begin."""
    for connection in connections.values():
        _send(connection, go=True)


def _wait_for_all(
    listener: socket.socket, mine: Hello, here: dict[int, socket.socket], end: float
) -> None:
    began = time.monotonic()
    while len(here) < mine.size - 1:
        left = end - time.monotonic()
        if left <= 0 or not select.select([listener], [], [], left)[0]:
            missing = [rank for rank in range(1, mine.size) if rank not in here]
            raise PeerLost(
                f"{processes(missing)} of {mine.size} did not come within "
                f"{time.monotonic() - began:.0f} s (initialization_timeout). Were all "
                "processes started, with this coordinator's address?"
            )
        connection, _ = listener.accept()
        message = _receive(connection, 5.0)
        if "rank" not in message:  # not one of us
            connection.close()
            continue
        hello = Hello(message["rank"], message["size"], message["versions"])
        wrong = _misfit(mine, hello, here)
        if wrong:
            _send(connection, error=wrong, lost=False)
            connection.close()
            raise DistributedError(wrong)
        here[hello.rank] = connection


def _misfit(mine: Hello, hello: Hello, here: dict[int, Any]) -> str | None:
    """The reason why the sender of this ``Hello`` cannot join; None if it can."""
    if hello.size != mine.size:
        return (
            f"process {hello.rank} was started with num_processes={hello.size}, but "
            f"process 0 with {mine.size}."
        )
    if hello.rank in here or hello.rank == mine.rank:
        return (
            f"two processes were started with process_id={hello.rank}; each of the "
            f"{mine.size} needs an id of its own, from 0 to {mine.size - 1}."
        )
    for name, version in mine.versions.items():
        if hello.versions.get(name) != version:
            return (
                f"process {hello.rank} runs {name} {hello.versions.get(name)}, but "
                f"process 0 runs {version}: all need the same."
            )
    return None


def connect(mine: Hello, at: Address, seconds: float) -> dict[int, socket.socket]:
    """In other processes: the connection to process 0, once it says "go".

    Raises:
      DistributedError: the processes do not fit together.
      PeerLost: process 0, or somebody else, is not there within the time.
    """
    end = time.monotonic() + seconds
    connection = _reach(mine, at, end, seconds)
    _send(connection, **mine._asdict())
    answer = _receive(connection, end + _GRACE - time.monotonic())
    if "go" in answer:
        return {0: connection}
    connection.close()
    if "error" in answer:
        raise (PeerLost if answer["lost"] else DistributedError)(answer["error"])
    raise PeerLost(
        f"process {mine.rank} reached the coordinator at {at}, but was not told to "
        f"begin within {seconds:g} s: process 0 has ended, or waits for others."
    )


def _reach(mine: Hello, at: Address, end: float, seconds: float) -> socket.socket:
    while True:
        left = end - time.monotonic()
        try:
            return socket.create_connection(at, timeout=max(left, _PAUSE))
        except OSError as error:
            if left <= _PAUSE:
                raise PeerLost(
                    f"process {mine.rank} cannot reach the coordinator at {at} within "
                    f"{seconds:g} s (initialization_timeout): {error}. Is process 0 "
                    "running, is this its address, and may the port be reached from "
                    "here?"
                ) from None
        time.sleep(_PAUSE)


def resolve(mine: Hello, at: Address, seconds: float) -> None:
    """Wait until the coordinator's name resolves; report when it takes long.

    On a cluster a name may come into being after the processes have.

    Raises:
      PeerLost: it is not known within the time.
    """
    problem, known = ["nothing has answered yet"], threading.Event()
    end = time.monotonic() + seconds

    def ask() -> None:
        while time.monotonic() < end:
            try:
                socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM)
            except OSError as error:
                problem[0] = str(error)
                time.sleep(_PAUSE)
            else:
                known.set()
                return

    # A question to the network may take its time, and cannot be called back.
    threading.Thread(target=ask, daemon=True).start()
    if known.wait(min(_SOON, seconds)):
        return
    words = f"process {mine.rank} cannot resolve the coordinator's name {at.host!r}"
    os.write(2, f"covector: {words} ({problem[0]}); trying on.\n".encode())
    if not known.wait(max(0.0, end - time.monotonic())):
        raise PeerLost(
            f"{words} within {seconds:g} s (initialization_timeout): {problem[0]}. "
            "Is coordinator_address (COVECTOR_COORDINATOR_ADDRESS) spelled right, and "
            "is the name known on this machine?"
        )


def _send(connection: socket.socket, **what: Any) -> None:
    with contextlib.suppress(OSError):  # who has gone need not be told
        connection.sendall(json.dumps(what).encode() + b"\n")


def _receive(connection: socket.socket, seconds: float) -> dict[str, Any]:
    """One message; an empty one for silence, an end, or one from elsewhere."""
    connection.settimeout(max(seconds, _PAUSE))
    received = b""
    try:
        while not received.endswith(b"\n") and len(received) < _LONGEST:
            more = connection.recv(4096)
            if not more:
                return {}
            received += more
        found = json.loads(received)
    except (OSError, ValueError):
        return {}
    connection.setblocking(False)
    return found if isinstance(found, dict) else {}


def processes(ranks: Any) -> str:
    """``process 1``, or ``processes 1, 2 and 3``."""
    words = [str(rank) for rank in sorted(ranks)]
    if len(words) == 1:
        return f"process {words[0]}"
    return f"processes {', '.join(words[:-1])} and {words[-1]}"
