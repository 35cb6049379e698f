"""What is printed of exceptions: the user's lines, wherever they are printed."""

import dataclasses
import io
import logging
import os
import subprocess
import sys
import textwrap
import threading
import traceback

import numpy as np
import pytest
import rich.console
import rich.traceback

import covector as cv
import covector.numpy as cnp
from covector import errors, options
from covector.core import source, tracebacks
from tests.runtime.programs import SRC, run_python

HINT = "COVECTOR_TRACEBACK=full shows them)"


@pytest.fixture(autouse=True)
def filtered():
    """As users have it; the other tests print every frame."""
    with options.override(traceback="filtered"):
        yield


def layer(w, x):
    return cnp.tanh(x @ w)


def caught(fun, *args):
    with pytest.raises(Exception) as failed:
        fun(*args)
    return failed.value


def wrong_shape():
    return caught(cv.jit(cv.grad(layer)), cnp.ones((3, 4)), cnp.ones((5, 2)))


def text_of(error):
    return "".join(traceback.format_exception(error))


def in_library(code, **names):
    """The function f of this code, as if it stood in a file of covector's."""
    exec(compile(textwrap.dedent(code), source._HERE + "made_up.py", "exec"), names)
    return names["f"]


# -- what is shown ---------------------------------------------------------------------


def test_a_printed_traceback_has_the_lines_of_the_user():
    text = text_of(wrong_shape())
    assert "return cnp.tanh(x @ w)" in text
    assert str(SRC) not in text
    assert text.splitlines()[-1] == f"(16 frames inside covector hidden; {HINT}"


def test_the_traceback_of_the_exception_stays_whole():
    error = wrong_shape()
    files = [code.co_filename for code in codes(error)]
    text_of(error)
    assert [code.co_filename for code in codes(error)] == files
    assert sum(source.is_own(file) for file in files) == 16


def codes(error):
    return [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]


def test_frames_of_the_user_on_both_sides_of_the_library_are_shown():
    def inner(x):
        return x * {}["missing"]

    def outer(x):
        return cv.jit(inner)(x)

    text = text_of(caught(cv.vmap(outer), cnp.ones(3)))
    names = ["caught", "outer", "inner"]
    assert [line.split()[-1] for line in text.splitlines() if " File " in line] == names
    assert text.splitlines()[-2:][0] == "KeyError: 'missing'"


def test_an_exception_without_the_library_is_printed_as_ever():
    text = text_of(caught(lambda: 1 / 0))
    assert text.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_the_option_shows_all():
    error = wrong_shape()
    with options.override(traceback="full"):
        text = text_of(error)
    assert text.count(str(SRC)) == 16
    assert HINT not in text


def test_a_traceback_with_no_other_frames_is_shown_whole():
    fail = in_library("def f(): raise KeyError")
    try:
        fail()
    except KeyError as failed:
        inside = failed.__traceback__.tb_next
    assert tracebacks.cut(inside) == (inside, 0, True)
    assert tracebacks.cut(None) == (None, 0, False)


def test_what_the_library_calls_of_numpy_is_hidden_and_what_the_user_calls_is_not():
    def shows_numpy(fun, *args):
        return f"{np.__path__[0]}" in text_of(caught(fun, *args))

    def stack():
        return np.stack([])

    assert not shows_numpy(in_library("def f(): return np.stack([])", np=np))
    assert shows_numpy(stack)
    assert shows_numpy(in_library("def f(fun): return fun()"), stack)


def test_the_formatter_takes_its_arguments_by_name_too():
    error = wrong_shape()
    formatted = traceback.TracebackException(
        exc_type=type(error), exc_value=error, exc_traceback=error.__traceback__
    )
    assert "".join(formatted.format()) == text_of(error)


# -- exceptions that led to it ---------------------------------------------------------

TRANSLATED = """
    def f():
        try:
            {}["key"]
        except KeyError as error:
            raise TypeError("in words") {cause}
"""


@pytest.mark.parametrize("cause", ["", "from error"])
def test_what_the_library_raised_and_handled_is_not_shown(cause):
    error = caught(in_library(TRANSLATED.replace("{cause}", cause)))
    assert type(error.__context__) is KeyError
    text = text_of(error)
    assert "KeyError" not in text
    assert "During handling" not in text
    with options.override(traceback="full"):
        assert "KeyError: 'key'" in text_of(error)


def test_what_the_user_was_handling_is_shown_with_its_own_lines():
    fail = in_library(TRANSLATED.replace("{cause}", ""))

    def program():
        try:
            layer(cnp.ones(3), cnp.ones(4))
        except TypeError:
            fail()

    text = text_of(caught(program))
    assert "KeyError" not in text
    assert text.index("matmul") < text.index("During handling") < text.index("in words")
    assert text.count("return cnp.tanh(x @ w)") == 1
    assert str(SRC) not in text
    assert text.count(HINT) == 1


def test_frames_of_what_is_not_printed_are_not_counted():
    def program():
        try:
            layer(cnp.ones(3), cnp.ones(4))
        except TypeError:
            raise ValueError("my own") from None

    error = caught(program)
    formatted = traceback.TracebackException.from_exception(error)
    assert "hidden" not in "".join(formatted.format())
    with tracebacks.as_shown(error):
        assert not hasattr(error, "__notes__")
    # Another function noticed it.
    text = text_of(caught(cv.nn.glu, cnp.ones((2, 3)), 4))
    assert text.splitlines()[-2] == "(covector.nn.glu got x=f32[2,3], axis=4)"
    assert " got " not in text_of(caught(cnp.max, cnp.ones(2), 4)).splitlines()[-2]


def test_the_members_of_a_group_are_filtered():
    text = text_of(ExceptionGroup("two", [wrong_shape(), wrong_shape()]))
    assert text.count("return cnp.tanh(x @ w)") == 2
    assert str(SRC) not in text
    assert "32 frames inside covector hidden" in text


# -- who reads the exception itself ----------------------------------------------------


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    """An exception whose attributes cannot be set as usual."""

    code: int


def test_an_exception_is_restored_after_it_was_shown():
    raise_it = in_library("def f(error): raise error")

    def program():
        try:
            {}["key"]
        except KeyError:
            raise_it(FrozenError(3))

    error = caught(program)
    before = dict(vars(error)), codes(error), error.__context__
    with tracebacks.as_shown(error):
        assert [code.co_name for code in codes(error)][-1] == "program"
        assert error.__notes__[0].startswith("(1 frame inside covector hidden; ")
    assert (vars(error), codes(error), error.__context__) == before
    with options.override(traceback="full"), tracebacks.as_shown(error):
        assert codes(error) == before[1]
    with tracebacks.as_shown(None):
        pass


# -- printers --------------------------------------------------------------------------


def test_logging_and_print_exc_show_the_lines_of_the_user():
    stream = io.StringIO()
    logger = logging.getLogger("of a user")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(stream))
    try:
        layer(cnp.ones(3), cnp.ones(4))
    except TypeError:
        logger.exception("a step failed")
        traceback.print_exc(file=stream)
    logger.handlers.clear()
    assert stream.getvalue().count("return cnp.tanh(x @ w)") == 2
    assert stream.getvalue().count(HINT) == 2
    assert str(SRC) not in stream.getvalue()


PROGRAM = """
import threading
import covector as cv, covector.numpy as cnp

def work(x):
    return cnp.ones(2) @ x

thread = threading.Thread(target=work, args=[cnp.ones(3)], name="worker")
thread.start()
thread.join()
try:
    cnp.ones(2).sum(axis=7)
except ValueError:
    cv.jit(work)(cnp.ones(3))
"""


def test_the_hooks_of_the_interpreter_and_of_threads_show_the_lines_of_the_user():
    done = run_python(PROGRAM)
    assert done.returncode == 1
    assert done.stderr.count(HINT) == 2
    assert f"{SRC}" not in done.stderr
    first, _, rest = done.stderr.partition(HINT)
    assert first.startswith("Exception in thread worker:\nTraceback (most recent call")
    assert "line 6, in work" in first
    assert "During handling of the above exception" in rest
    full = run_python(PROGRAM, COVECTOR_TRACEBACK="full")
    assert "jit.py" in full.stderr
    assert HINT not in full.stderr


def test_covector_run_shows_the_lines_of_the_user(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("import jax.numpy as jnp\njnp.ones(2) + jnp.ones(3)\n")
    done = subprocess.run(
        [sys.executable, "-m", "covector", "run", str(file)],
        env={**os.environ, "COVECTOR_TRACEBACK": "filtered"},
        capture_output=True,
        text=True,
        check=False,
    )
    frames = [line for line in done.stderr.splitlines() if " File " in line]
    assert frames == [f'  File "{file}", line 2, in <module>']
    assert done.stderr.endswith(f"{HINT}\n")


def test_hooks_of_other_tools_are_left_alone(monkeypatch):
    def foreign(*args):
        raise AssertionError

    monkeypatch.setattr(sys, "excepthook", foreign)
    monkeypatch.setattr(threading, "excepthook", foreign)
    tracebacks.install()
    assert sys.excepthook is threading.excepthook is foreign


def test_what_was_installed_can_be_taken_away(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    tracebacks.install()
    error = wrong_shape()
    tracebacks.uninstall()
    try:
        assert sys.excepthook is sys.__excepthook__
        assert threading.excepthook is threading.__excepthook__
        assert text_of(error).count(str(SRC)) == 16
    finally:
        tracebacks.install()
    assert str(SRC) not in text_of(error)


def test_a_hook_without_a_stream_is_silent(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(tracebacks._Before, "excepthook", lambda *args: None)
    error = wrong_shape()
    tracebacks._excepthook(type(error), error, error.__traceback__)


IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor", history_length=0)
shell.run_cell('''
{first}
import covector as cv, covector.numpy as cnp
def layer(w, x):
    return cnp.tanh(x @ w)
''')
shell.run_cell("cv.grad(layer)(cnp.ones((3, 4)), cnp.ones((5, 2)))")
shell.run_cell("cv.grad(lambda x: x / [][1])(1.0)")
import traceback
print(len(list(traceback.walk_tb(shell.InteractiveTB.tb))), "frames for the debugger")
"""


@pytest.mark.parametrize("early", [True, False], ids=["covector first", "later"])
def test_ipython_shows_the_lines_of_the_user(early, tmp_path):
    code = "import covector\n" * early + IPYTHON.format(first="")
    done = run_python(code, IPYTHONDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert str(SRC) not in done.stdout
    assert done.stdout.count("---->") == 4
    assert done.stdout.count('covector.config.update("traceback", "full") shows') == 2
    assert "----> 3     return cnp.tanh(x @ w)" in done.stdout
    assert done.stdout.splitlines()[-1] == "7 frames for the debugger"


def test_a_keyword_that_is_unknown_gets_the_one_that_is_meant():
    text = text_of(caught(lambda: cv.grad(layer, reduce_fn=cnp.sum)))
    assert text.splitlines()[-1] == "(covector.grad has reduce=)"
    assert "has" not in text_of(caught(lambda: layer(1, 2, z=3))).splitlines()[-1]


@pytest.mark.parametrize("traced", [False, True])
def test_a_member_that_arrays_do_not_have_gets_what_stands_for_it(traced):
    def last_line(f):
        error = caught(cv.jit(f) if traced else f, cnp.ones(3))
        shown = [line for line in text_of(error).splitlines() if "hidden" not in line]
        return shown[-1]

    words = "(of an array x, use covector.lax.stop_gradient(x))"
    assert last_line(lambda x: x.detach()) == words
    words = "(of an array x, use covector.numpy.tanh(x))"
    assert last_line(lambda x: x.tanh()) == words
    assert last_line(lambda x: x.nothing_like_it()).startswith("AttributeError: ")


def test_an_error_that_was_not_foreseen_is_printed_with_the_call_that_failed():
    def f(x):
        return cv.lax.dynamic_slice(x, None, (1,))

    error = caught(cv.jit(f), cnp.ones(3))
    call = "operand=f32[3], start_indices=None, slice_sizes=(1,)"
    assert text_of(error).splitlines()[-2] == f"(covector.lax.dynamic_slice got {call})"
    assert not hasattr(error, "__notes__")
    # Another function noticed it.
    text = text_of(caught(cv.nn.glu, cnp.ones((2, 3)), 4))
    assert text.splitlines()[-2] == "(covector.nn.glu got x=f32[2,3], axis=4)"
    assert " got " not in text_of(caught(cnp.max, cnp.ones(2), 4)).splitlines()[-2]
    # What the user's own function raises is known to the user.
    text = text_of(caught(cv.jit(lambda x: x * {}["w"]), 1.0))
    assert text.splitlines()[-2] == "KeyError: 'w'"


def test_rich_shows_the_lines_of_the_user():
    console = rich.console.Console(file=io.StringIO(), width=90)
    whole = wrong_shape()
    try:
        raise whole
    except errors.CovectorError:
        console.print_exception()
    shown = console.file.getvalue()
    assert str(SRC) not in shown
    assert "return cnp.tanh(x @ w)" in shown
    assert HINT in shown
    assert len(codes(whole)) > 16
