"""A stopped program: pdb in frames with the values of a running program.

The frames that the program was traced in are gone when it runs. So for each of them
code of the same name, file and line is run with the noted variables, and the debugger
opens there: what it shows, lists and evaluates is the user's.
"""

import bdb
import linecache
import pdb
import sys
from collections.abc import Callable, Sequence
from typing import Any

from covector.debug.frames import Frame

_CALL = "__covector_debugger__"


def open_debugger(
    frames: Sequence[Frame], variables: Sequence[dict[str, Any]], files: Any, said: str
) -> None:
    """The debugger at the innermost frame; ``files`` are its input and output.

    Raises:
      bdb.BdbQuit: the user quit.
    """
    debugger = _debugger(*files)
    debugger.reset()
    debugger.depth = len(frames)
    if said:
        debugger.message(said)

    def interact() -> None:
        debugger.interaction(sys._getframe(1), None)
        if debugger.quitting:
            raise bdb.BdbQuit

    _run_in(frames, variables, interact)


def _run_in(
    frames: Sequence[Frame],
    variables: Sequence[dict[str, Any]],
    then: Callable[[], None],
) -> None:
    """``then()``, called from such frames."""
    if not frames:
        then()
        return
    *inner, outermost = frames
    scope = variables[len(inner)]

    def call() -> None:
        scope.pop(_CALL, None)
        if inner:
            _run_in(inner, variables, then)
        else:
            then()

    scope[_CALL] = call
    exec(_code(outermost), outermost.globals, scope)


def _code(frame: Frame) -> Any:
    """Code at the line of a frame that makes the one call."""
    down = "\n" * max(frame.line - frame.first, 0)
    name = frame.function.rpartition(".")[2]
    return compile(f"{down}{_CALL}()", frame.file, "exec").replace(
        co_name=name, co_qualname=frame.function, co_firstlineno=frame.first
    )


def _debugger(stdin: Any, stdout: Any) -> Any:
    """pdb, or that of IPython where one is running."""
    shell = _ipython()
    if shell is not None and stdin is None:
        return type("Debugger", (_Stopped, shell.debugger_cls), {})()
    made = _Pdb(stdin=stdin, stdout=stdout, readrc=stdin is None)
    made.use_rawinput = stdin is None
    return made


class _Stopped:
    """A debugger's commands in a program that goes on by itself."""

    def get_stack(self: Any, frame: Any, traceback: Any) -> Any:
        """The frames of the user's program, without those that they were called from
        here.
        """
        found: list[Any] = []
        while frame is not None and len(found) < self.depth:
            if frame.f_code.co_filename != __file__:
                found.append((frame, frame.f_lineno))
            frame = frame.f_back
        return found[::-1], len(found) - 1

    def _to_the_next_stop(self: Any, arg: str) -> bool:
        self.message("The program is compiled: it goes on to the next stop.")
        return bool(self.do_continue(arg))

    do_next = do_n = do_step = do_s = do_return = do_r = _to_the_next_stop
    do_until = do_unt = _to_the_next_stop


class _Pdb(_Stopped, pdb.Pdb):
    pass


def _ipython() -> Any:
    module: Any = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def can_ask() -> bool:
    """Whether there is somebody at a terminal, or in a notebook, to ask."""
    if _ipython() is not None:
        return True
    return sys.stdin is not None and sys.stdin.isatty()


def show(
    frames: Sequence[Frame], variables: Sequence[dict[str, Any]], out: Any, said: str
) -> None:
    """Print the line, and the variables of its frame."""
    frame = frames[0]
    text = linecache.getline(frame.file, frame.line, frame.globals).strip()
    rows = [said, f"  > {text}"]
    rows += [f"  {name} = {_short(value)}" for name, value in variables[0].items()]
    print("\n".join(rows), file=out or sys.stdout, flush=True)


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # noqa: BLE001  of any object
        text = f"<{type(error).__name__} in its repr>"
    return text if len(text) <= 200 else f"{text[:200]} …"
