"""``covector.debug``: print, log, callback, and the prompt of breakpoint."""

import bdb
import io
import logging

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import debug, errors, lax

X = np.array([0.5, -1.0, 2.0], np.float32)


def printed(capsys, f, *args):
    capsys.readouterr()
    f(*args)
    cv.effects_barrier()
    return capsys.readouterr().out


# -- print -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", [lambda f: f, cv.jit], ids=["eager", "jit"])
def test_values_are_formatted_as_numpy_shows_them(wrapper, capsys):
    def f(x, y, n, flag):
        debug.print("{0} {0:.3f} {{}}", x)
        debug.print("{y} {y:.1f} {y[2]} {y.shape} {n:03d} {flag}", y=y, n=n, flag=flag)
        debug.print("{} {} {:d}", "words", {"a": n}, 3)
        debug.print("{}", cnp.full((2, 2), x, "bfloat16"))
        debug.print("nothing")

    assert printed(capsys, wrapper(f), np.float32(0.1), X, np.int32(7), True) == (
        "0.1 0.100 {}\n"
        "[ 0.5 -1.   2. ] [0.5 -1.0 2.0] 2.0 (3,) 007 True\n"
        "words {'a': Array(7, dtype=int32)} 3\n"
        "[[0.100098 0.100098]\n [0.100098 0.100098]]\n"
        "nothing\n"
    )


def test_keys_and_complex_numbers_are_shown(capsys):
    f = cv.jit(lambda k, z: debug.print("{} {:.1f}", k, z))
    key = cv.random.key(0)
    assert printed(capsys, f, key, cnp.complex64(1 + 2j)) == f"{key!r} 1.0+2.0j\n"


def test_a_print_is_for_each_member_and_each_step(capsys):
    assert printed(capsys, cv.vmap(lambda x: debug.print("{}", x)), X) == (
        "0.5\n-1.0\n2.0\n"
    )
    f = cv.jit(lambda x: lax.map(lambda x: (debug.print("{}", x), x)[1], x))
    assert printed(capsys, f, X) == "0.5\n-1.0\n2.0\n"


def test_a_loop_that_prints_is_compiled_once(capsys):
    def f():
        return lax.fori_loop(0, 100, lambda i, c: (debug.print("{}", i), c + i)[1], 0)

    f()
    before = programs()
    printed(capsys, f)
    assert programs() == before


def programs():
    from covector.programs.higher_order import hash_consing  # noqa: PLC0415

    return len(hash_consing._programs)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("{} {}", 1), "refers to more than the 1 positional argument"),
        (("{}", 1, 2), "it does not use the arguments 1"),
        (("{a}",), "there is no keyword argument a"),
        (
            ("{:d}", cnp.float32(1)),
            "Unknown format code 'd' for object of type 'float'",
        ),
        (("{", 1), "Single '{' encountered"),
        (("{0.colour}", X), "has no attribute"),
    ],
)
def test_a_format_is_checked_before_anything_runs(args, words):
    ran = []

    def f(x):
        debug.callback(lambda: ran.append(1))
        debug.print(*args)
        return x

    with pytest.raises(errors.ArgumentError, match="cannot use the format"):
        cv.jit(f)(1.0)
    with pytest.raises(errors.ArgumentError, match=words):
        cv.jit(f)(1.0)
    assert ran == []


def test_a_format_that_is_none_is_told():
    with pytest.raises(
        errors.ArgumentError,
        match=r'a format string first, but got 3.*use debug.print\("\{\}", value\)',
    ):
        debug.print(3)


def test_the_check_can_be_left_out():
    with pytest.raises(IndexError):
        debug.print("{} {}", 1, skip_format_check=True)


def test_options_first(capsys):
    say = debug.print(ordered=True)
    assert printed(capsys, cv.jit(lambda x: say("{}", x)), 1.0) == "1.0\n"


def test_a_log_goes_to_the_logger(caplog):
    with caplog.at_level(logging.INFO, logger="covector"):
        cv.jit(lambda x: debug.log("x = {}", x))(2.0)
        debug.log()("again")
    assert caplog.messages == ["x = 2.0", "again"]


# -- callback --------------------------------------------------------------------------


def test_a_callback_gets_arrays_and_static_data():
    seen = []

    def f(x):
        debug.callback(lambda *a, **k: seen.append((a, k)), x, "words", 3, k={"y": x})

    cv.jit(f)(X)
    (((x, words, three), named),) = seen
    assert words == "words"
    assert isinstance(three, cv.Array)
    assert three.tolist() == 3
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(named["k"]["y"], X)


def test_a_callback_as_a_decorator():
    seen = []

    @debug.callback(ordered=True)
    def note(x):
        seen.append(float(x))

    cv.jit(note)(2.0)
    assert seen == [2.0]


def test_what_a_callback_returns_is_ignored():
    assert debug.callback(lambda x: "anything", 1.0) is None
    assert cv.jit(lambda x: debug.callback(lambda x: "anything", x))(1.0) is None


def test_a_callback_that_cannot_be_hashed():
    class Note:
        __hash__ = None

        def __call__(self, x):
            seen.append(float(x))

    seen = []
    lax.fori_loop(0, 2, lambda i, c: (debug.callback(Note(), c), c + 1)[1], 0.0)
    assert seen == [0.0, 1.0]


# -- breakpoint ------------------------------------------------------------------------


#: in two parts, for lists of this file not to be taken for prompts
PROMPT = "(covector" + ") "


def session(commands, **named):
    """What the prompt shows for these commands."""
    shown = io.StringIO()

    def f(x):
        scale = {"by": 2 * x, "kind": "plain"}

        def inner(y):
            debug.breakpoint(
                stdin=io.StringIO("\n".join([*commands, ""])), stdout=shown, **named
            )
            return y

        return inner(scale["by"] + 1)

    assert float(cv.jit(f)(3.0)) == 7.0
    return shown.getvalue().split(PROMPT)[1:-1]


def test_the_prompt_shows_values():
    commands = ["p y", "u", "p scale['by']", "scale['by'] + x", "p scale['kind']"]
    y, _, scale, both, kind, wrong, named = session(
        [*commands, "nope", "extra", "c"], extra=5
    )
    assert y == "Array(7., dtype=float32, weak_type=True)\n"
    assert scale == "Array(6., dtype=float32, weak_type=True)\n"
    assert both == "Array(9., dtype=float32, weak_type=True)\n"
    assert kind == "'plain'\n"
    assert wrong == "*** NameError: name 'nope' is not defined\n"
    assert named == "5\n"


def test_the_prompt_shows_frames_and_lines():
    where, up, where_now, lines, down, end, own = session(
        ["where", "up", "bt", "list", "down", "d", "locals", "continue"]
    )
    frames = where.splitlines()
    assert frames[-1].startswith("> ")
    assert "test_debug.py" in frames[-1]
    assert frames[-1].endswith("inner()")
    assert frames[-2].endswith("session.<locals>.f()")
    assert up.endswith("session.<locals>.f()\n")
    assert where_now.splitlines()[-2].startswith("> ")
    assert "-> " in lines
    assert 'return inner(scale["by"] + 1)' in lines
    assert down.endswith("inner()\n")
    assert end == "*** this is the innermost frame\n"
    assert "y = Array(7., dtype=float32, weak_type=True)\n" in own


def test_frames_can_be_fewer_or_all():
    assert len(session(["where", "c"], num_frames=1)[0].splitlines()) == 1
    everything = session(["where", "c"], filter_frames=False)[0]
    assert "FlatFunction.__call__" in everything


def test_the_prompt_goes_on_after_mistakes_and_empty_lines():
    assert session(["1 / 0", "", "pp [1]", "c"]) == [
        "*** ZeroDivisionError: division by zero\n",
        "",
        "[1]\n",
    ]


@pytest.mark.parametrize("command", ["q", "quit", "exit", ""])
def test_quit_ends_the_program(command):
    def f(x):
        debug.breakpoint(stdin=io.StringIO(command), stdout=io.StringIO())
        return x

    with pytest.raises(bdb.BdbQuit):
        cv.jit(f)(1.0)
    assert float(cv.jit(lambda x: x + 1)(1.0)) == 2.0


def test_a_prompt_for_each_member():
    shown = io.StringIO()
    stdin = io.StringIO("p x\nc\n" * 3)

    def f(x):
        debug.breakpoint(stdin=stdin, stdout=shown)
        return x * x

    cv.jit(cv.vmap(cv.grad(f)))(X)
    answers = shown.getvalue().split(PROMPT)
    assert [a.strip() for a in answers[1::2]] == [
        f"Array({v}, dtype=float32)" for v in ("0.5", "-1.", "2.")
    ]


def test_without_a_terminal_it_refuses(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("c\n"))
    with pytest.raises(
        errors.ArgumentError,
        match=r"(?s)needs a terminal to ask at.*debug.print or covector.debug.callback",
    ):
        cv.jit(lambda x: debug.breakpoint())(1.0)


def test_there_is_one_backend():
    with pytest.raises(
        errors.ArgumentError, match="no backend 'web'; there is \"cli\""
    ):
        debug.breakpoint(backend="web")
