"""The watchdog: no process waits for ever for another one that does not come.

A thread sends a heartbeat every second and reads those of the others. A process is
*lost* when its connection closes though it did not say goodbye, or when no heartbeat
came for ``heartbeat_timeout_seconds``. Whoever then

    begins a program with it     gets a ``PeerLost``
    is in the middle of one      cannot be called back: the runtime waits, whatever
                                 happens. The process ends with ``EXIT_CODE``, after
                                 saying which process was lost and where everyone was.

The same end comes where nobody is lost but somebody does not arrive: a process has been
in a program for ``COVECTOR_PEER_TIMEOUT`` seconds that another has not begun, or the
other has said goodbye, or is in another program itself.

Programs that all know, run in another order, may fit each other by chance, and then
nothing waits: the results are wrong. So every process tells a number that follows from
all programs that it has run, as of every 32nd of them, and whoever sees two that differ
raises ``ProgramMismatch`` before its next program.
"""

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from covector.errors import PeerLost, ProgramMismatch
from covector.runtime.heartbeat import Heartbeat, Running, where
from covector.runtime.membership import Membership
from covector.runtime.rendezvous import processes

#: how a process ends that waits for one that does not come; "try again" in sysexits.h
EXIT_CODE = 75

_WATCH = "cv/watch/"
_BEAT = 1.0
#: beats that a contradiction must last: heartbeats are not of one moment
_BEATS_TO_BE_SURE = 3
#: beats for which process 0, when it fails, goes on to serve the others
_BEATS_TO_LINGER = 5
#: programs from one digest of the history to the next, and how many are kept
_DIGEST_EVERY = 32
_MOST_DIGESTS = 128
#: how processes end that have not failed
NORMALLY = "normally"


class Watchdog(threading.Thread):
    """The thread that sends and reads heartbeats, and its findings."""

    def __init__(self, member: Membership) -> None:
        super().__init__(name="covector watchdog", daemon=True)
        self.member = member
        #: the program that this process is in, or was in last
        self.running: Running | None = None
        self.inside = False
        self.begun: dict[str, Running] = {}
        self._digests: dict[str, dict[int, int]] = {}
        #: who ran other programs than this process did; None for nobody
        self.mismatch: str | None = None
        #: the program that processes came to last, of those that were compared
        self.met: dict[int, str] = {}
        #: processes that are gone, and how that was noticed
        self.lost: dict[int, str] = {}
        #: processes that said goodbye, and with which words
        self.left: dict[int, str] = {}
        self.heartbeats: dict[int, Heartbeat] = {}
        self._disconnected: set[int] = set()
        self._heard: dict[int, float] = {}
        self._beat = 0
        self._since: tuple[Any, float] = (None, 0.0)
        self._contradictions = 0
        self._abandoned = 0
        self._stopped = self._ending = False
        self._lines = {line: rank for rank, line in member.connections.items()}
        self._waker, self._woken = socket.socketpair()
        self._main = threading.main_thread().ident
        self._period = min(_BEAT, member.heartbeat_timeout / 5)

    # -- the thread --------------------------------------------------------------------

    def run(self) -> None:
        now = time.monotonic()
        self._heard = {r: now for r in range(self.member.size) if r != self.member.rank}
        while not self._stopped:
            try:
                self._send_heartbeat()
                self._read_heartbeats()
            except PeerLost as error:
                self._mark_lost(0, str(error))
            self._judge()
            self._listen()

    def stop(self) -> None:
        """End the thread."""
        self._stopped = True
        self._waker.send(b"!")
        self.join()
        self._waker.close()
        self._woken.close()

    def _listen(self) -> None:
        """Until the next beat, wait for connections that close."""
        end = time.monotonic() + self._period
        while not self._stopped and (left := end - time.monotonic()) > 0:
            for line in select.select([*self._lines, self._woken], [], [], left)[0]:
                if line in self._lines:
                    self._on_disconnect(self._lines.pop(line))

    def _send_heartbeat(self) -> None:
        self._beat += 1
        line = where(self._main)
        # Copies: the main thread goes on writing.
        digests = {who: dict(found) for who, found in dict(self._digests).items()}
        begun = dict(self.begun)
        heartbeat = Heartbeat(
            self._beat, line, self.inside, self.running, begun, digests
        )
        key = f"{_WATCH}alive/{self.member.rank}"
        self.member.write(key, heartbeat.as_text(), again=True)

    def _read_heartbeats(self) -> None:
        """Read the heartbeats and goodbyes of the others."""
        now = time.monotonic()
        for key, text in self.member.under(_WATCH).items():
            kind, _, number = key.partition("/")
            rank = int(number)
            if rank == self.member.rank:
                continue
            if kind == "left":
                self.left[rank] = text
            elif kind == "lost":
                self._mark_lost(rank, text)
            else:
                heartbeat, last = Heartbeat.of(text), self.heartbeats.get(rank)
                if last is None or heartbeat.beat != last.beat:
                    self._heard[rank] = now
                self.heartbeats[rank] = heartbeat
                self._compare(rank, heartbeat)
        for rank, then in self._heard.items():
            if now - then > self.member.heartbeat_timeout and rank not in self.left:
                self._mark_lost(rank, f"nothing was heard of it for {now - then:.0f} s")

    def _compare(self, rank: int, heartbeat: Heartbeat) -> None:
        """Notice where a process has not run the programs that this one has."""
        for who, last in dict(self.begun).items():
            mine = {**self._digests.get(who, {}), last.number: last.history}
            theirs = dict(heartbeat.digests.get(who, {}))
            if who in heartbeat.begun:
                theirs[heartbeat.begun[who].number] = heartbeat.begun[who].history
            common = sorted(mine.keys() & theirs.keys())
            wrong = next((n for n in common if mine[n] != theirs[n]), None)
            if wrong is not None:
                self.mismatch = (
                    f"process {rank} has not run the programs that process "
                    f"{self.member.rank} has, in the same order: among the first "
                    f"{wrong} that they ran together some differ, and their results "
                    "are wrong."
                )

    def _on_disconnect(self, rank: int) -> None:
        """A connection was closed: the process at the other end is gone."""
        self._disconnected.add(rank)
        with contextlib.suppress(PeerLost):  # without process 0 there is no store
            self._read_heartbeats()
        if rank not in self.left and not self._stopped:
            self._mark_lost(rank, "it ended without a word, or was killed")
        self._judge()

    def _mark_lost(self, rank: int, how: str) -> None:
        if rank in self.lost or rank == self.member.rank:
            return
        self.lost[rank] = how
        if self.member.rank == 0:  # only process 0 has connections to all
            self.member.write(f"{_WATCH}lost/{rank}", how, again=True)

    # -- verdicts ----------------------------------------------------------------------

    def begin(self, running: Running) -> None:
        """This process enters a program together with others.

        Raises:
          PeerLost: one of them is gone.
          ProgramMismatch: one of them has run other programs.
        """
        if self.lost or self.left:
            self.check(running.members)
        if self.mismatch is not None:
            raise ProgramMismatch(f"{self.mismatch}\n{self.report(running.members)}")
        who = running.with_whom
        self.running = self.begun[who] = running
        if not running.number % _DIGEST_EVERY:
            digests = self._digests.setdefault(who, {})
            digests[running.number] = running.history
            if len(digests) > _MOST_DIGESTS:
                del digests[next(iter(digests))]
        self.inside = True

    def check(self, members: tuple[int, ...]) -> None:
        """Raise where one of these processes is gone.

        Raises:
          PeerLost: so it is.
        """
        gone = [rank for rank in members if rank in self.lost or rank in self.left]
        if gone:
            raise PeerLost(f"{self._of_gone(gone)}\n{self.report(members)}")

    def _of_gone(self, ranks: Sequence[int]) -> str:
        how = {**self.lost, **{r: f"it ended ({w})" for r, w in self.left.items()}}
        size = self.member.size
        return " ".join([f"Process {r} of {size} is gone: {how[r]}." for r in ranks])

    def _judge(self) -> None:
        """End this process where it waits for one that will not come."""
        if self._ending:
            return
        self._judge_coordinator()
        running = self.running
        if not self.inside or running is None or self._stopped:
            self._contradictions = 0
            return
        now = time.monotonic()
        if self._since[0] is not running:
            self._since = running, now
        others = [rank for rank in running.members if rank != self.member.rank]
        gone = [rank for rank in others if rank in self.lost]
        if gone:
            self._end(self._of_gone(gone))
        if self.mismatch is not None and now - self._since[1] > self._period:
            self._end(self.mismatch.capitalize())
        late = [rank for rank in others if self._is_late(rank, running)]
        wrong = [rank for rank in late if self._never_comes(rank, running)]
        self._contradictions = self._contradictions + 1 if wrong else 0
        if self._contradictions >= _BEATS_TO_BE_SURE:
            self._end(
                f"{processes(wrong).capitalize()} will not come to {running.name}, the "
                f"program {running.number} of this process: all must run the same "
                "programs, in the same order."
            )
        waited = now - self._since[1]
        if late and waited > self.member.peer_timeout:
            self._end(
                f"{processes(late).capitalize()} did not come to {running.name} within "
                f"{waited:.0f} s (COVECTOR_PEER_TIMEOUT).{self.elsewhere(late)}"
            )

    def _judge_coordinator(self) -> None:
        """End this process where process 0 has failed: the store goes with it, and
        jaxlib would end us without words.
        """
        failed = 0 in self.lost or self.left.get(0, NORMALLY) != NORMALLY
        self._abandoned = self._abandoned + 1 if failed and not self._stopped else 0
        if self._abandoned >= _BEATS_TO_BE_SURE:
            self._end(self._of_gone([0]), "nothing works without process 0")

    def _is_late(self, rank: int, running: Running) -> bool:
        """Whether a process has not begun the program that this one is in."""
        heartbeat = self.heartbeats.get(rank)
        last = heartbeat and heartbeat.begun.get(running.with_whom)
        return last is None or (last != running and last.number <= running.number)

    def _never_comes(self, rank: int, running: Running) -> bool:
        """Whether it has gone home, or began another program as this one."""
        if rank in self.left:
            return True
        heartbeat = self.heartbeats.get(rank)
        last = heartbeat and heartbeat.begun.get(running.with_whom)
        return last is not None and last.number == running.number

    def _end(self, why: str, so: str = "it would wait for ever") -> NoReturn:
        self._ending = True
        running = self.running
        members = running.members if running else tuple(range(self.member.size))
        words = (
            f"covector: process {self.member.rank} of {self.member.size} ends: {so}. "
            f"{why}\n{self.report(members)}\n"
        )
        os.write(2, words.encode())
        self._say_goodbye(f"it ended itself: {so}")
        self._wait_for_others(self._linger)
        os._exit(EXIT_CODE)

    def report(self, members: tuple[int, ...]) -> str:
        """The last known program and line of each of these processes."""
        mine = Heartbeat(0, where(self._main), self.inside, self.running, {}, {})
        lines = []
        for rank in members:
            heartbeat = mine if rank == self.member.rank else self.heartbeats.get(rank)
            lines.append(f"  process {rank}{self._whereabouts(rank, heartbeat)}")
        return "\n".join(lines)

    def _whereabouts(self, rank: int, heartbeat: Heartbeat | None) -> str:
        reason = self.left.get(rank)
        if reason is not None:
            return f" has ended: {reason}"
        gone = " (gone)" if rank in self.lost else ""
        if heartbeat is None:
            return f"{gone} was not heard of"
        doing = _doing(heartbeat) or "had run nothing together with others"
        if gone:
            if heartbeat.running is None and rank in self.met:
                doing = f"had come to {self.met[rank]}"
            # What it did between its last heartbeat and its end, nobody knows.
            seconds = time.monotonic() - self._heard[rank]
            gone = f" (gone), as it said {seconds:.1f} s before"
        return f"{gone}: {doing}; at {heartbeat.line}"

    def elsewhere(self, ranks: Sequence[int]) -> str:
        """The other programs that these processes are in, as a sentence or empty."""
        known = [(rank, self.heartbeats.get(rank)) for rank in ranks]
        found = [
            f" Process {rank} is {_doing(heartbeat)}."
            for rank, heartbeat in known
            if heartbeat is not None and heartbeat.inside
        ]
        return "".join(found)

    # -- goodbye -----------------------------------------------------------------------

    def farewell(self, words: str) -> None:
        """Say goodbye. Process 0, who has the store, waits until all others have gone;
        when it has failed, only until they had time to notice.
        """
        self.inside = False
        self._say_goodbye(words)
        seconds = self._linger
        if words == NORMALLY:
            seconds = self.member.settings.shutdown_timeout
        self._wait_for_others(seconds)
        self.stop()
        with contextlib.suppress(PeerLost):
            self._read_heartbeats()
        if self.mismatch is not None:
            os.write(2, f"covector: {self.mismatch}\n".encode())

    @property
    def _linger(self) -> float:
        return _BEATS_TO_LINGER * self._period

    def _say_goodbye(self, words: str) -> None:
        with contextlib.suppress(PeerLost):
            self._send_heartbeat()
            self.member.write(f"{_WATCH}left/{self.member.rank}", words, again=True)

    def _wait_for_others(self, seconds: float) -> None:
        """Serve on, until the others have gone, or the time is over."""
        end = time.monotonic() + (0 if self.member.rank else seconds)
        listens = threading.current_thread() is self
        while time.monotonic() < end:
            if len(self._disconnected.union(self.lost)) >= self.member.size - 1:
                return
            if listens:
                self._listen()
            else:
                time.sleep(0.005)


def _doing(heartbeat: Heartbeat) -> str:
    """The program that a process is in, or was in last, in words; "" for none."""
    if heartbeat.running is None:
        return ""
    _, number, name, _ = heartbeat.running
    return f"{'in' if heartbeat.inside else 'last in'} {name}, its program {number}"
