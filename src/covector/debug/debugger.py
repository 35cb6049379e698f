"""``debug.breakpoint``: an interactive prompt inside a running program.

The frames of the user's program and their variables are noted while it is traced
(``frames``); the prompt sees the values that they have when it runs.
"""

import bdb
import cmd
import linecache
import pprint
import sys
from collections.abc import Sequence
from typing import IO, Any

from covector.debug.callback import call_with_values
from covector.debug.frames import Frame, frames_around, is_running, whole
from covector.errors import ArgumentError

_AROUND = 5


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    r"""Stop when the program comes here, and ask at the terminal what to look at.

    At the prompt, expressions are evaluated among the variables of a frame. ``help``
    lists the commands: where, up, down, list, locals, p, continue, quit. It stops once
    for each lane under vmap, and not in the backward pass.

    Args:
      backend: "cli", the prompt at the terminal, is the only one.
      filter_frames: leave out the frames of the library itself.
      num_frames: how many frames to keep, from the innermost; all by default.
      ordered: keep the order also among programs that run at the same time; not under
        vmap.
      token: accepted for the sake of old programs.
      kwargs: further values to look at, by name. ``stdin`` and ``stdout`` are files to
        be used instead of the terminal.

    Raises:
      ArgumentError: there is no terminal, or no such backend; ordered, under vmap.

    >>> import io, covector as cv
    >>> shown = io.StringIO()
    >>> def f(x):
    ...     y = 2 * x
    ...     cv.debug.breakpoint(stdin=io.StringIO("p y + 1\nc\n"), stdout=shown)
    >>> cv.jit(f)(3.0)
    >>> "Array(7." in shown.getvalue()
    True
    """
    stdin, stdout = kwargs.pop("stdin", None), kwargs.pop("stdout", None)
    if backend not in (None, "cli"):
        raise ArgumentError(
            f'debug.breakpoint has no backend {backend!r}; there is "cli".'
        )
    if stdin is None and not (sys.stdin is not None and sys.stdin.isatty()):
        raise ArgumentError(
            "debug.breakpoint needs a terminal to ask at, but the standard input is "
            "none: a pipe, a notebook, or a test that captures it. Use "
            "covector.debug.print or covector.debug.callback to look at values there, "
            "or pass stdin and stdout."
        )
    around = sys._getframe(1)
    frames, variables = frames_around(around, filter_frames, num_frames)
    prompt = _Stop(frames, stdin, stdout)
    call_with_values(
        prompt,
        (variables, kwargs),
        {},
        who="debug.breakpoint",
        ordered=ordered,
        is_array=is_running,
    )


class _Stop:
    """The callback that gets the values of variables and starts a prompt."""

    def __init__(self, frames: list[Frame], stdin: Any, stdout: Any) -> None:
        self.frames, self.stdin, self.stdout = frames, stdin, stdout

    def __call__(self, variables: list[dict[str, Any]], named: dict[str, Any]) -> None:
        whole(variables)
        prompt = _Prompt(self.frames, variables, named, self.stdin, self.stdout)
        prompt.cmdloop()
        if prompt.stopped:
            raise bdb.BdbQuit


class _Prompt(cmd.Cmd):
    """Commands on the frames of a stopped program."""

    prompt = "(covector) "

    def __init__(
        self,
        frames: Sequence[Frame],
        variables: Sequence[dict[str, Any]],
        named: dict[str, Any],
        stdin: IO[str] | None,
        stdout: IO[str] | None,
    ) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames, self.variables, self.named = frames, variables, named
        self.level = 0
        self.stopped = False
        self.intro = f"Stopped at {frames[0]}" if frames else "Stopped"

    def _say(self, text: Any) -> None:
        self.stdout.write(f"{text}\n")

    def _known(self) -> dict[str, Any]:
        scope = self.variables[self.level] if self.frames else {}
        return {**scope, **self.named}

    def _evaluate(self, expression: str, show: Any) -> None:
        around = dict(self.frames[self.level].globals) if self.frames else {}
        # As one dictionary, for comprehensions to see the variables too.
        around.update(self._known())
        try:
            value = eval(expression, around)
        except Exception as error:  # noqa: BLE001  it is shown, and the prompt goes on
            self._say(f"*** {type(error).__name__}: {error}")
        else:
            self._say(show(value))

    def do_p(self, line: str) -> None:
        """Show the value of an expression: p EXPRESSION, or the expression alone."""
        self._evaluate(line, repr)

    def do_pp(self, line: str) -> None:
        """Show the value of an expression over several lines."""
        self._evaluate(line, pprint.pformat)

    def default(self, line: str) -> None:
        self._evaluate(line, repr)

    def emptyline(self) -> bool:
        return False

    def do_locals(self, _: str) -> None:
        """List the variables of this frame, and the values given by name."""
        for name, value in self._known().items():
            self._say(f"{name} = {value!r}")

    do_a = do_args = do_locals

    def do_where(self, _: str) -> None:
        """List the frames, the innermost last; an arrow marks this one."""
        for i in reversed(range(len(self.frames))):
            mark = ">" if i == self.level else " "
            self._say(f"{mark} {self.frames[i]}")

    do_w = do_bt = do_where

    def do_list(self, _: str) -> None:
        """Show the lines around this one."""
        if not self.frames:
            return
        frame = self.frames[self.level]
        lines = linecache.getlines(frame.file, frame.globals)
        start = max(0, frame.line - 1 - _AROUND)
        for i, text in enumerate(lines[start : frame.line + _AROUND], start + 1):
            self._say(f"{i:4} {'->' if i == frame.line else '  '} {text.rstrip()}")

    do_l = do_list

    def _move(self, by: int, end: str) -> None:
        if not 0 <= self.level + by < len(self.frames):
            self._say(f"*** this is the {end} frame")
            return
        self.level += by
        self._say(f"> {self.frames[self.level]}")

    def do_up(self, _: str) -> None:
        """Go to the frame that called this one."""
        self._move(1, "outermost")

    do_u = do_up

    def do_down(self, _: str) -> None:
        """Go to the frame that this one called."""
        self._move(-1, "innermost")

    do_d = do_down

    def do_continue(self, _: str) -> bool:
        """Let the program run on."""
        return True

    do_c = do_cont = do_continue

    def do_quit(self, _: str) -> bool:
        """End the program with bdb.BdbQuit."""
        self.stopped = True
        return True

    do_q = do_exit = do_EOF = do_quit
