"""Host callbacks of compiled programs: their exceptions, and waiting for them.

jaxlib keeps of an exception in such a function only its text. So the exception itself
is put aside under a number, the text names the number, and who meets the text, now or
when a result is read, raises the exception.

A program that runs on another thread or device may still be running when its call
returns. Its *token* says when it is done, with all that it does besides results.

A few functions are the library's: the *standard* ones, which compute and do nothing
else. Programs refer to them by name, so what is compiled of a program that calls no
others is found again by its content, in memory and on disk.
"""

import itertools
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib import _jax

#: failures that are kept for results that nobody has read yet
_MOST_FAILURES = 64
#: programs that may be under way before the oldest one is waited for
_MOST_PENDING = 64
_MARK = re.compile(r"covector host call (\d+) failed")

_numbers = itertools.count()
_failures: OrderedDict[int, BaseException] = OrderedDict()
#: tokens of programs that may be running
_pending: deque[Any] = deque()
#: what those said that failed while they were waited for
_unseen: deque[str] = deque(maxlen=_MOST_PENDING)
_lock = threading.RLock()  # of a signal handler, too

#: the standard functions, guarded, by name; another meaning needs another name
standard: dict[str, Callable[..., tuple]] = {}


def _idle() -> tuple:
    return ()


#: Never called. The runtime runs a program that has host calls on the thread that calls
#: it, whether they are called or not.
ON_CALLING_THREAD: list[Callable[..., tuple]] = [_idle]


class _Mark(Exception):
    """The stand-in for an exception that is raised through C++."""


class HostCallFailed(Exception):
    """A function that a program called has raised ``error``."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def guarded(function: Callable[..., tuple]) -> Callable[..., tuple]:
    """The function, with its exceptions stored for the caller of the program."""

    def call(*values: np.ndarray | None) -> tuple:
        try:
            return function(*values)
        except BaseException as error:  # noqa: BLE001  whatever it is, it comes out again
            number = next(_numbers)
            with _lock:
                _failures[number] = error
                if len(_failures) > _MOST_FAILURES:
                    _failures.popitem(last=False)
        raise _Mark(f"covector host call {number} failed")

    return call


def add_standard(name: str, function: Callable[..., tuple]) -> None:
    """Make a function standard: of NumPy arrays, without effects, the same for ever."""
    standard[name] = guarded(function)


def standard_names(functions: Sequence[Callable[..., tuple]]) -> list[str] | None:
    """The names of functions that are all standard; None where one is not."""
    names = {function: name for name, function in standard.items()}
    known = all([function in names for function in functions])
    return [names[function] for function in functions] if known else None


def raised(words: str, last: bool = False) -> BaseException | None:
    """The exception of a host call that an error of the runtime tells of.

    It is kept for others who may ask, unless this is the ``last`` time.
    """
    found = _MARK.search(words)
    if not found:
        # Ctrl-C while C++ ran is noticed by the first line of Python.
        interrupted = words.rstrip(": \n").endswith("\nKeyboardInterrupt")
        return KeyboardInterrupt() if interrupted else None
    ask = _failures.pop if last else _failures.get
    return ask(int(found[1]), None)


def watched(launch: Callable[..., Any], inline: bool, ordered: bool) -> Any:
    """``launch`` of a program with host calls, which raises ``HostCallFailed``.

    A program that does not run ``inline``, as part of its call, is waited for by
    ``wait``; an ``ordered`` one waits for those before it.
    """

    def launch_watched(buffers: Sequence[Any]) -> Any:
        if ordered and _pending:
            settle()
        try:
            results = launch(buffers, with_tokens=not inline)
        except _jax.JaxRuntimeError as failure:
            error = raised(str(failure), last=inline)
            if error is None:
                raise
        else:
            if not inline:
                _remember(results.consume_token())
            return results
        raise HostCallFailed(error)

    return launch_watched


def _remember(token: Any) -> None:
    _pending.append(token)
    if len(_pending) > _MOST_PENDING:
        settle()


def settle() -> None:
    """Wait for all programs that are under way; their failures are in their results."""
    while _pending:
        try:
            token = _pending.popleft()
        except IndexError:  # another thread took it
            return
        try:
            token.block_until_ready()
        except _jax.JaxRuntimeError as failure:
            _unseen.append(str(failure))


def wait() -> None:
    """Wait for all programs that are under way, and raise the first failure."""
    settle()
    words = list(_unseen)
    _unseen.clear()
    for error in filter(None, map(raised, words)):
        raise error
