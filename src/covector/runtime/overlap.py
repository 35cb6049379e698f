"""Programs of the CPU that run while Python goes on.

Handing a program to another thread takes some 10 µs, so most run on the thread that
calls them. Those of many small arrays *overlap*: while one runs, Python prepares the
next call, which takes about 1 µs for each array (decision 3).

At most two are under way, so that results that nobody has read yet do not pile up.
Every other program begins when those are done, and is itself done when its call
returns.
"""

import atexit
import contextlib
import functools
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax

from covector import variables
from covector.runtime import client


@functools.cache
def runs_inline(device: client.Device) -> bool:
    """Whether a program has been run when its call returns, unless it overlaps."""
    return client.device_platform(device) == "cpu" and not variables.ASYNC_CPU.read()


@functools.cache
def may_overlap(device: client.Device) -> bool:
    """Whether a program can run while Python goes on, if it is chosen to."""
    return runs_inline(device) and client.cpu_is_asynchronous()


#: programs that may be under way before the oldest one is waited for
_MOST = 2

#: tokens of programs that may be running
under_way: deque[Any] = deque()


def overlapping(launch: Callable[..., Any]) -> Callable[..., Any]:
    """``launch`` of a program that is not waited for."""

    def launch_overlapping(buffers: Sequence[Any]) -> Any:
        while len(under_way) >= _MOST:
            _finish_oldest()
        results = launch(buffers, with_tokens=True)
        under_way.append(results.consume_token())
        return results

    return launch_overlapping


def finish() -> None:
    """Wait for all that is under way; what failed is said by the results."""
    while under_way:
        _finish_oldest()


def _finish_oldest() -> None:
    # Taken away when it is done: another thread that comes meanwhile waits for it too.
    with contextlib.suppress(IndexError, ValueError):
        token = under_way[0]
        with contextlib.suppress(_jax.JaxRuntimeError):  # who reads a result is told
            token.block_until_ready()
        under_way.remove(token)


# Threads of the runtime neither outlive the interpreter nor come along into a fork.
atexit.register(finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish)
