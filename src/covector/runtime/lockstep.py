"""Lockstep execution: processes compare their programs before these run first.

Every process numbers the programs that it begins with a group of others. Before the
n-th one that is new to it, a process writes a digest of it to the store; the first
process of the group compares the digests and tells the others:

    go                       all run it
    process 2 differs        those two write the texts of their programs, and all raise,
                             naming the first line in which they differ
    process 2 did not come   all raise

Afterwards a call costs about a microsecond more: two numbers and a name are noted for
the ``watchdog``.
"""

import atexit
import json
import re
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax

from covector.errors import PeerLost, ProgramMismatch
from covector.runtime import membership
from covector.runtime.heartbeat import Running, where
from covector.runtime.membership import Membership, ProcessSettings
from covector.runtime.multi_process import ProgramDigest, session, set_session
from covector.runtime.rendezvous import processes
from covector.runtime.watchdog import NORMALLY, Watchdog

_HISTORY = 2**60 - 1
#: how long one question to the store takes, before it is asked who is gone
_TURN = 0.25
#: how much longer the others wait than the first one, who can say who is missing
_GRACE = 2.0
#: how much of a line is shown around a difference
_SHOWN = 100
_LOCATION = re.compile(r"\s*loc\((?P<where>.*)\)$")
_FILE_AND_LINE = re.compile(r'"([^"]+)":(\d+)')


class Group:
    """A group of processes that run programs in lockstep."""

    def __init__(self, member: Membership, watchdog: Watchdog, members: Any) -> None:
        self.member, self.watchdog = member, watchdog
        self.members: tuple[int, ...] = members
        #: how many programs were begun, and how many of them compared
        self.begun = 0
        self.compared = 0
        #: follows from all programs that were begun
        self.history = 0

    def agree(self, program: ProgramDigest) -> None:
        """Wait until all are about to run the same program.

        Raises:
          ProgramMismatch: they are not.
          PeerLost: one of them is gone, or does not come.
        """
        self.compared += 1
        if len(self.members) == 1:
            return
        self.watchdog.check(self.members)
        first = self.members[0]
        me = self.member.rank
        line = where(self.watchdog._main)
        mine = json.dumps([program.digest, program.name, line])
        self.member.write(self._key("come", me), mine)
        if me == first:
            verdict = self._compare(program, mine)
            self.member.write(self._key("verdict"), json.dumps(verdict))
        else:
            verdict = self._verdict(program, first)
        if verdict[0] == "missing":
            raise PeerLost(verdict[1])
        if verdict[0] == "differs":
            self._explain(program, verdict[1])
        self.watchdog.met.update(dict.fromkeys(self.members, program.name))

    def _key(self, *what: object) -> str:
        return "/".join([self._folder(self.compared), *map(str, what)])

    def _folder(self, number: int) -> str:
        return f"cv/lockstep/{','.join(map(str, self.members))}/{number}"

    def _compare(self, program: ProgramDigest, mine: str) -> list:
        """The verdict of the first process, once all have come."""
        digest = json.loads(mine)[0]
        end = time.monotonic() + self.member.peer_timeout
        for rank in self.members[1:]:
            theirs = self._wait_for(self._key("come", rank), end)
            if theirs is None:
                come = self.member.under(self._key("come") + "/")
                missing = [r for r in self.members if str(r) not in come]
                return ["missing", self._of_missing(program, missing)]
            if json.loads(theirs)[0] != digest:
                return ["differs", rank]
        # All are here, so all have read the keys of the last time.
        self.member.erase(self._folder(self.compared - 1))
        return ["go"]

    def _verdict(self, program: ProgramDigest, first: int) -> list:
        end = time.monotonic() + self.member.peer_timeout + _GRACE
        found = self._wait_for(self._key("verdict"), end)
        if found is None:
            return ["missing", self._of_missing(program, [first])]
        return json.loads(found)

    def _wait_for(self, key: str, end: float) -> str | None:
        """A text in the store; None where it does not come in time.

        Raises:
          PeerLost: one of the processes is gone.
        """
        while (left := end - time.monotonic()) > 0:
            found = self.member.wait_for(key, min(left, _TURN))
            if found is not None:
                return found
            self.watchdog.check(self.members)
        return None

    def _of_missing(self, program: ProgramDigest, ranks: Sequence[int]) -> str:
        return (
            f"{processes(ranks).capitalize()} of {self.member.size} did not come to "
            f"{program.name} within {self.member.peer_timeout:g} s "
            f"(COVECTOR_PEER_TIMEOUT).{self.watchdog.elsewhere(ranks)} All processes "
            "must run the same programs, in the same order.\n"
            f"{self.watchdog.report(self.members)}"
        )

    def _explain(self, program: ProgramDigest, other: int) -> None:
        """Raise, with the first line in which the programs of two processes differ."""
        first = self.members[0]
        if self.member.rank in (first, other):
            self.member.write(self._key("text", self.member.rank), program.text())
        end = time.monotonic() + self.member.peer_timeout
        texts, peers = [], []
        for rank in (first, other):
            texts.append(
                (self._wait_for(self._key("text", rank), end) or "").split("\n")
            )
            come = self._wait_for(self._key("come", rank), end) or '["", "", ""]'
            peers.append((rank, *json.loads(come)[1:]))
        raise ProgramMismatch(
            f"processes {first} and {other} are about to run different programs as "
            f"number {self.compared} of those that are new to them:\n"
            f"{_difference(texts[0], texts[1], peers)}\n"
            "All processes must call the same functions on arrays of the same types, "
            "in the same order: look for what depends on the process, as process_index "
            "or the size of its own data does."
        )


def _difference(one: list[str], two: list[str], peers: list[tuple]) -> str:
    """The first line that differs, of both; and where their processes are."""
    count = max(len(one), len(two))
    lines = [[*text, *[""] * (count - len(text))] for text in (one, two)]
    bare = [[_LOCATION.sub("", line) for line in text] for text in lines]
    pairs = enumerate(zip(*bare, strict=True))
    number = next((i for i, (a, b) in pairs if a != b), None)
    shown = []
    for (rank, name, line), text, full in zip(peers, bare, lines, strict=True):
        shown.append(f"  process {rank}, in {name}, at {line}:")
        if number is None:
            shown.append("    the same text, to be compiled with other options")
            continue
        at = _first_difference(bare[0][number], bare[1][number])
        shown.append(f"    line {number + 1}: {_around(text[number], at)}")
        made = _FILE_AND_LINE.search(full[number])
        if made:
            shown.append(f"      made at {made[1]}:{made[2]}")
    return "\n".join(shown)


def _first_difference(a: str, b: str) -> int:
    pairs = zip(a, b)  # noqa: B905  of lines of different lengths the common part
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))


def _around(line: str, at: int) -> str:
    line, removed = line.strip(), len(line) - len(line.lstrip())
    begin = max(0, at - removed - _SHOWN // 2)
    end = begin + _SHOWN
    before, after = "… " if begin else "", " …" if end < len(line) else ""
    return f"{before}{line[begin:end]}{after}" or "(the program ends before)"


class Session:
    """The membership of this process, with its watchdog and groups."""

    def __init__(self, settings: ProcessSettings) -> None:
        self.member = membership.join(settings)
        self.watchdog = Watchdog(self.member)
        self._groups: dict[tuple[int, ...], Group] = {}
        self.watchdog.start()

    def group(self, members: tuple[int, ...]) -> Group:
        """The group of these processes; the same object each time."""
        found = self._groups.get(members)
        if found is None:
            made = Group(self.member, self.watchdog, members)
            found = self._groups.setdefault(members, made)
        return found

    @property
    def everyone(self) -> Group:
        return self.group(tuple(range(self.member.size)))

    def in_lockstep(
        self,
        launch: Callable[..., Any],
        members: tuple[int, ...],
        program: ProgramDigest,
    ) -> "LockstepLaunch":
        """The launch of a program that these processes run in lockstep."""
        return LockstepLaunch(launch, self.group(members), program)

    def end(self, words: str) -> None:
        """Say goodbye to the others."""
        self.watchdog.farewell(words)
        membership.leave()


#: held while this process joins the others, or begins to leave them
_changing = threading.RLock()


def start(settings: ProcessSettings) -> Session:
    """Join the other processes, and watch over it; until ``stop``, or the end."""
    with _changing:
        made = Session(settings)
        set_session(made)
        atexit.register(stop)
        return made


def stop() -> None:
    """Leave the other processes."""
    with _changing:
        atexit.unregister(stop)
        made = session()
        if made is None:
            return
        set_session(None)
    error = getattr(sys, "last_value", None)
    words = NORMALLY if error is None else f"{type(error).__name__}: {error}"
    made.end(words.split("\n")[0])


class LockstepLaunch:
    """The launch of an executable whose devices belong to several processes."""

    __slots__ = ("_agreed", "_group", "_launch", "_number", "_program")

    def __init__(
        self, launch: Callable[..., Any], group: Group, program: ProgramDigest
    ) -> None:
        self._launch, self._group = launch, group
        self._program = program
        #: tells the program from others, in a history
        self._number = zlib.crc32(program.digest.encode())
        self._agreed = False

    def __call__(self, buffers: Sequence[Any], **flags: Any) -> Any:
        group, program = self._group, self._program
        if not self._agreed:
            group.agree(program)
            self._agreed = True
            # The text may hold on to much.
            self._program = program._replace(text=str)
        watchdog = group.watchdog
        group.begun += 1
        group.history = (group.history * 1_000_003 + self._number + 1) & _HISTORY
        running = Running(group.members, group.begun, program.name, group.history)
        watchdog.begin(running)
        try:
            return self._launch(buffers, **flags)
        except _jax.JaxRuntimeError as error:
            if "Gloo" not in str(error) and "NCCL" not in str(error):
                raise
            _explain_failure(watchdog, running, error)
        finally:
            watchdog.inside = False


def _explain_failure(watchdog: Watchdog, running: Running, error: Exception) -> None:
    """Raise for a collective that failed: most likely somebody is gone."""
    watchdog.inside = False  # now we are not waiting for ever
    end = time.monotonic() + 2 * watchdog._period
    while time.monotonic() < end:
        watchdog.check(running.members)
        time.sleep(0.01)
    raise PeerLost(
        f"processes {', '.join(map(str, running.members))} lost touch in "
        f"{running.name}: {str(error).splitlines()[0]}\n"
        f"{watchdog.report(running.members)}"
    ) from None
