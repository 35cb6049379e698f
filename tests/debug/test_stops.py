"""``debug.debug``: stops at lines, steps, lanes and shards of compiled programs."""

import bdb
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, debug, errors, lax
from covector.core.trace import current
from tests.meshes import mesh

SOURCE = Path(__file__).read_text("utf-8").splitlines()


def line_of(name):
    return next(i for i, text in enumerate(SOURCE, 1) if text.endswith(f"# {name}"))


def at(name, **where):
    return debug.at(f"debug/test_stops.py:{line_of(name)}", **where)


def stopped(fun, stop, *args, commands=None):
    """What is shown at the stops of a function, and its result."""
    shown = io.StringIO()
    stdin = None if commands is None else io.StringIO("\n".join([*commands, ""]))
    out = debug.debug(fun, stop, stdin=stdin, stdout=shown)(*args)
    return shown.getvalue(), out


def variables(text):
    """The variables of each stop, as they were printed."""
    stops = [part.splitlines()[1:] for part in text.split("stopped at")[1:]]
    pairs = [[row.strip().split(" = ", 1) for row in rows[1:]] for rows in stops]
    return [dict([pair for pair in rows if len(pair) == 2]) for rows in pairs]


def value(text):
    """The number in ``Array(3., dtype=float32)``."""
    return float(text.removeprefix("Array(").partition(",")[0])


# -- steps and lanes -------------------------------------------------------------------


def scanned(x):
    def step(c, t):
        h = c * t
        g = h + 1  # scanned
        return g, h

    return lax.scan(step, x, cnp.arange(5.0))[0]


def reversed_scan(x):
    def step(c, t):
        h = c + t
        return h, None  # reversed_scan

    return lax.scan(step, x, cnp.arange(5.0), reverse=True)[0]


def while_loop(x):
    def step(c):
        h = c * 2
        return h + 1  # while_loop

    return lax.while_loop(lambda c: c < 100, step, x)


def mapped(x):
    def one(t):
        h = t + x
        return h * 2  # mapped

    return lax.map(one, cnp.arange(5.0))[2]


def nested(x):
    def outer(i, c):
        def inner(j, c):
            h = c + i * j
            return h  # nested

        return lax.fori_loop(0, 3, inner, c)

    return lax.fori_loop(0, 4, outer, x)


def python_loop(x):
    for _ in range(4):
        h = x + 1
        x = h * 2  # python_loop
    return x


def identity(f):
    return f


PLACES = [
    # function, around it, step, and h there for x = 1
    (scanned, cv.jit, 3, 15.0),
    (scanned, cv.grad, 3, 15.0),
    (reversed_scan, identity, 3, 8.0),
    (while_loop, cv.jit, 2, 14.0),
    (while_loop, lambda f: cv.jit(cv.grad(f)), 2, 14.0),
    (mapped, cv.jit, 2, 3.0),
    (nested, cv.jit, (2, 1), 6.0),
    (nested, lambda f: cv.jit(cv.checkpoint(f)), (2, 1), 6.0),
    (python_loop, identity, 2, 11.0),
    (python_loop, cv.jit, 2, 11.0),
]


@pytest.mark.parametrize(("fun", "around", "step", "h"), PLACES)
def test_the_step_of_a_loop_with_its_values(fun, around, step, h):
    text, out = stopped(around(fun), at(fun.__name__, step=step), 1.0)
    (found,) = variables(text)
    assert value(found["h"]) == h
    assert f" step {step}\n" in text
    assert float(out) == float(around(fun)(1.0))


LANES = [
    (while_loop, lambda f: cv.vmap(cv.jit(f)), 2, 14.0),
    (while_loop, lambda f: cv.jit(cv.vmap(cv.grad(f))), 2, 14.0),
    (nested, lambda f: cv.jit(cv.vmap(f)), (2, 1), 6.0),
    (scanned, lambda f: cv.grad(lambda x: cv.vmap(f)(x).sum()), 3, 15.0),
]


@pytest.mark.parametrize(("fun", "around", "step", "h"), LANES)
def test_the_lane_of_a_batch(fun, around, step, h):
    stop = at(fun.__name__, step=step, lane=1)
    text, _ = stopped(around(fun), stop, np.array([50.0, 1.0, 3.0], np.float32))
    (found,) = variables(text)
    assert value(found["h"]) == h
    assert f" step {step}, lane 1\n" in text


def test_lanes_of_nested_batches_are_told_from_the_outermost():
    def f(x):
        h = x * 1
        return h  # pair

    text, _ = stopped(cv.vmap(cv.vmap(f)), at("pair", lane=(1, 2)), cnp.ones((2, 3)))
    assert text.count("stopped") == 1 and "lane (1, 2)" in text


def test_the_shard_of_a_device():
    def f(x):
        h = x.sum(keepdims=True)
        return h * lax.psum(1, "x")  # shard

    sharded = cv.shard_map(f, mesh=mesh("4"), in_specs=P("x"), out_specs=P("x"))
    for where in (2, {"x": 2}):
        stop = at("shard", shard=where)
        text, _ = stopped(cv.jit(sharded), stop, cnp.arange(8.0))
        assert text.count("stopped") == 1 and "shard x = 2" in text
        assert variables(text)[0]["h"].startswith("Array([9.]")


# -- conditions ------------------------------------------------------------------------


def test_a_condition_takes_variables_by_name():
    stop = at("scanned", when=lambda h, t: h > 10 and t < 4)
    assert [value(v["h"]) for v in variables(stopped(scanned, stop, 1.0)[0])] == [15.0]
    stop = at("scanned", when=lambda **v: v["c"] == 2)
    assert [value(v["c"]) for v in variables(stopped(scanned, stop, 1.0)[0])] == [2.0]
    text, out = stopped(cv.jit(scanned), at("scanned", when=lambda h: h > 1e9), 1.0)
    assert text == "" and float(out) == 65


def test_a_watched_variable_stops_where_it_changes_or_a_condition_holds():
    text, _ = stopped(
        cv.jit(scanned), debug.watch("h", when=lambda h: h.max() > 3), 1.0
    )
    assert [value(v["h"]) for v in variables(text)] == [4.0, 15.0, 64.0]

    def f(x):
        def step(c, t):
            level = cnp.floor(t / 2)
            return c + level, None

        return lax.scan(step, x, cnp.arange(5.0))[0]

    text, _ = stopped(cv.jit(f), debug.watch("level"), 1.0)
    assert [value(v["level"]) for v in variables(text)] == [1.0, 2.0]
    assert "step 2" in text and "step 4" in text


# -- at the prompt ---------------------------------------------------------------------


def test_pdb_opens_in_the_frame_of_the_user():
    commands = ["p float(h)", "w", "l", "u", "p float(x)", "n"]
    text, out = stopped(cv.jit(scanned), at("scanned", step=3), 1.0, commands=commands)
    now, h, where, lines, _, x, end, *_ = text.split("(Pdb) ")
    assert f"> {__file__}({line_of('scanned')})step()" in now
    assert h == "15.0\n"
    assert where.splitlines()[0].endswith("scanned()")
    assert f"{line_of('scanned')}  ->" in lines and "h = c * t" in lines
    assert x == "1.0\n"
    assert end == "The program is compiled: it goes on to the next stop.\n"
    assert float(out) == 65


def test_quit_ends_the_program():
    with pytest.raises(bdb.BdbQuit):
        stopped(cv.jit(scanned), at("scanned"), 1.0, commands=["q"])
    assert float(cv.jit(scanned)(1.0)) == 65


def test_without_a_terminal_the_variables_are_printed(capsys):
    debug.debug(cv.jit(scanned), at("scanned", step=1))(1.0)
    said, line, *rest = capsys.readouterr().out.splitlines()
    assert said.endswith(f"({line_of('scanned')})scanned.<locals>.step() step 1")
    assert line == "  > g = h + 1  # scanned"
    assert rest[0] == "  c = Array(1., dtype=float32)"


# -- what stays as it is ---------------------------------------------------------------


def test_no_program_with_a_stop_is_kept():
    traces = []

    def f(x):
        traces.append(1)
        return cv.jit(scanned)(x)

    jitted = cv.jit(f)
    jitted(1.0)
    for _ in range(2):
        assert stopped(jitted, at("scanned", step=2), 1.0)[0].count("stopped") == 1
    assert len(traces) == 3
    assert len(jitted.programs) == 1
    jitted(1.0)
    assert len(traces) == 3
    assert "callback" not in str(jitted.trace(1.0).jaxpr)


def test_every_call_of_a_jitted_function_is_traced_with_its_own_frames():
    inner = cv.jit(lambda x: x * 2)  # called twice

    def f(x):
        first = inner(x)
        return inner(first)

    text, _ = stopped(cv.jit(f), at("called twice"), 1.0)
    assert [value(v["x"]) for v in variables(text)[-2:]] == [1.0, 2.0]


def test_the_trace_function_of_another_tool_goes_on_and_is_put_back():
    seen = set()

    def other(frame, event, arg):
        if event == "line" and frame.f_code.co_filename == __file__:
            seen.add(frame.f_lineno)
        return other

    before = sys.gettrace()
    sys.settrace(other)
    try:
        text, _ = stopped(scanned, at("scanned", step=2), 1.0)
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)
    assert text.count("stopped") == 1
    assert {line_of("scanned") - 1, line_of("scanned")} <= seen


def test_after_an_exception_nothing_is_followed():
    def f(x):
        raise KeyError("mine")

    before = sys.gettrace()
    with pytest.raises(KeyError, match="mine"):
        stopped(cv.jit(f), at("scanned"), 1.0)
    assert sys.gettrace() is before and current.observer is None


# -- what is said ----------------------------------------------------------------------


def test_a_line_that_is_not_reached_has_the_nearest_in_the_message():
    near = line_of("scanned")
    stop = debug.at(f"test_stops.py:{near + 4}")
    message = (
        rf"{near + 4} was not reached. The nearest lines that were run are .*{near}"
    )
    with pytest.raises(errors.StopNotReached, match=message):
        stopped(cv.jit(scanned), stop, 1.0)
    with pytest.raises(
        errors.StopNotReached, match="files that were run are test_stop"
    ):
        stopped(cv.jit(scanned), debug.at("model.py:40"), 1.0)


def test_a_program_that_is_compiled_already_cannot_be_stopped():
    compiled = cv.jit(scanned).lower(1.0).compile()
    with pytest.raises(
        errors.StopNotReached, match=r"compiled already .* not traced ag"
    ):
        stopped(compiled, at("scanned"), 1.0)


def test_a_step_or_lane_that_is_not_reached_is_told():
    with pytest.raises(
        errors.StopNotReached, match="step 0 to step 4, but not at step 9"
    ):
        stopped(cv.jit(scanned), at("scanned", step=9), 1.0)
    with pytest.raises(errors.StopNotReached, match="but not at lane 0"):
        stopped(cv.jit(scanned), at("scanned", lane=0), 1.0)
    with pytest.raises(
        errors.StopNotReached, match="has a variable nope with an array"
    ):
        stopped(cv.jit(scanned), debug.watch("nope"), 1.0)


def test_a_file_name_that_may_mean_two_files_is_refused(tmp_path):
    made = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "twin.py"
        file.write_text("def f(x):\n    return x + 1\n")
        scope = {}
        exec(compile(file.read_text(), str(file), "exec"), scope)
        made.append(scope["f"])

    def both(x):
        return made[0](x) + made[1](x)

    with pytest.raises(
        errors.ArgumentError, match=r"may be a line of .* write more of"
    ):
        stopped(cv.jit(both), debug.at("twin.py:2"), 1.0)
    text, _ = stopped(cv.jit(both), debug.at("b/twin.py:2"), 1.0)
    assert text.count("stopped") == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: debug.at("model.py"),
            'takes a file and a line, "model.py:40", but got',
        ),
        (lambda: debug.at("model.py:4", step=-1), "step must be a number from 0 on"),
        (lambda: debug.at("model.py:4", lane=1.5), "lane must be a number from 0 on"),
        (lambda: debug.at("model.py:4", when=3), "when must be a function, but got 3"),
        (lambda: debug.watch("a.b"), "takes the name of a variable, but got 'a.b'"),
        (
            lambda: debug.debug(scanned, "x.py:3"),
            "stops of debug.at or debug.watch, but",
        ),
        (lambda: debug.debug(scanned, []), "takes at least one stop, but got none"),
        (
            lambda: stopped(scanned, at("scanned", when=lambda hh: hh > 1), 1.0),
            "takes hh, but there is no such variable at that line. .*are c, t, h",
        ),
    ],
)
def test_the_words_of_mistakes(make, message):
    with pytest.raises(errors.ArgumentError, match=message):
        make()


def test_inside_of_another_function_it_is_refused():
    with pytest.raises(errors.ArgumentError, match="but is called inside of scanned"):
        cv.jit(debug.debug(scanned, at("scanned")))(1.0)


def test_a_condition_that_gives_no_bool_is_told():
    def f(x):
        return x * 2  # array

    with pytest.raises(errors.ArgumentError, match="must give one bool, but gave"):
        stopped(f, at("array", when=lambda x: x > 0), cnp.ones(3))
