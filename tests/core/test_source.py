"""Lines of the user's program, and the names that parts of it are given."""

import functools
import inspect
import threading
from pathlib import Path

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.source import (
    Line,
    attributes_lines_of_equations,
    function_line,
    function_name,
    is_own,
    running,
    take_names,
    user_level,
    user_line,
    wraps,
)
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import TypeMismatch
from covector.operations.transcendental import sin

F32 = ArrayType((3,), dtypes.float32)
X = np.float32([1.0, 2.0, 3.0])
SOURCE = Path(cv.__file__).parent


def defined_in_the_library(text):
    """What a module of the library with this text defines."""
    space = {"running": running, "user_line": user_line, "user_level": user_level}
    exec(compile(text, str(SOURCE / "module.py"), "exec"), space)
    return space


def lines(fun):
    """The lines of the equations of a function of one vector."""
    return [e.line for e in stage(lambda x: [fun(x)], [F32]).jaxpr.equations]


# -- which line ------------------------------------------------------------------------


def test_the_line_is_that_of_the_caller():
    line = user_line()
    assert line.number == inspect.currentframe().f_lineno - 1
    assert line.file == __file__
    assert line.function == "test_the_line_is_that_of_the_caller"
    assert str(line) == f"{__file__}:{line.number} ({line.function})"


def test_the_line_is_the_innermost_of_the_user_under_layers_of_the_library():
    def fun(x):
        return cnp.linspace(0.0, 1.0, 3) * cnp.tanh(cnp.stack([x, x]).sum(0))

    found = {(line.function, line.number) for line in lines(fun)}
    assert found == {(fun.__qualname__, fun.__code__.co_firstlineno + 1)}


def test_a_call_over_several_lines_has_that_of_the_operation():
    def fun(x):
        y = (
            cnp.sin(x)
            + cnp.cos(x)
        )  # fmt: skip
        return y

    first = fun.__code__.co_firstlineno
    assert [line.number - first for line in lines(fun)] == [2, 3, 2]


def test_folders_of_the_library_are_its_own_and_the_demo_is_a_user():
    assert is_own(str(SOURCE / "numpy" / "arithmetic.py"))
    assert not is_own(str(SOURCE / "demo" / "model.py"))
    assert not is_own(__file__)
    assert not is_own(f"{SOURCE}_of_others/module.py")


def test_warnings_are_about_the_frame_of_the_user():
    space = defined_in_the_library("def warns():\n    return user_level()\n")
    assert space["warns"]() == 2, "one above the frame of the library"
    assert user_level() == 1


# -- lines of equations ----------------------------------------------------------------


def program():
    """A program of one equation, with a line of its own."""
    (equation,) = stage(lambda x: [sin(x)], [F32]).jaxpr.equations
    x, y = Var(F32), Var(F32)
    line = equation.line._replace(scope="encoder")
    return Jaxpr((x,), [Equation(sin, (x,), (y,), line)], (y,)), line


def test_what_is_derived_from_a_program_keeps_its_lines():
    jaxpr, line = program()
    again = stage(jaxpr, [F32]).jaxpr
    assert [e.line for e in again.equations] == [line]


@pytest.mark.parametrize(
    "derive",
    [
        lambda f: lambda x: cv.jvp(f, (x,), (x,))[1],
        cv.vmap,
        lambda f: cv.vmap(lambda x: cv.jvp(f, (x,), (x,))[1]),
        cv.jacfwd,
    ],
)
def test_derivatives_and_batches_of_an_operation_have_its_line(derive):
    jaxpr, line = program()
    made = lines(derive(lambda x: jaxpr(x)[0]))
    assert len(made) > 1 or made == [line]
    assert line in made
    assert {found.number for found in made if found.scope} == {line.number}


def test_what_runs_backwards_is_named_transposed():
    jaxpr, line = program()
    scopes = {found.scope for found in lines(cv.grad(lambda x: jaxpr(x)[0].sum()))}
    assert f"transpose({line.scope})" in scopes


def test_a_loop_over_equations_says_what_becomes_of_their_lines():
    jaxpr, line = program()
    space = defined_in_the_library(
        "def backwards(equations):\n"
        "    for running.equation in equations:\n"
        "        return user_line()\n"
    )
    attributes_lines_of_equations(Line.transposed)(space["backwards"])
    before = running.equation
    try:
        assert space["backwards"](jaxpr.equations) == line.transposed()
        caller = space["backwards"]([Equation(sin, (), (), None)])
        assert caller.file == __file__, "an equation without a line is the caller's"
    finally:
        running.equation = before


def test_a_transposed_line_says_so_in_its_scope():
    line = user_line()
    assert line.transposed().scope == "transpose()"
    named = line._replace(scope="a/b")
    assert named.transposed().scope == "transpose(a/b)"
    assert named.transposed()[:2] == line[:2]


def test_equations_running_on_one_thread_are_not_seen_by_another():
    seen = []
    before = running.equation
    try:
        running.equation = "here"
        thread = threading.Thread(target=lambda: seen.append(running.equation))
        thread.start()
        thread.join()
    finally:
        running.equation = before
    assert seen == [None]


# -- scopes ----------------------------------------------------------------------------


def test_names_within_each_other_are_a_path_and_end_with_their_block():
    def fun(x):
        with cv.named_scope("outer"):
            y = cnp.sin(x)
            with cv.named_scope("inner"):
                y = cnp.cos(y)
            y = cnp.tan(y)
        return cnp.exp(y)

    assert [line.scope for line in lines(fun)] == ["outer", "outer/inner", "outer", ""]


def test_a_name_ends_with_an_exception():
    with pytest.raises(KeyError), cv.named_scope("outer"):
        raise KeyError
    assert user_line().scope == ""


# -- functions in words ----------------------------------------------------------------


def test_a_function_is_named_with_its_file_and_line():
    fun = test_a_function_is_named_with_its_file_and_line
    line = fun.__code__.co_firstlineno
    assert function_line(fun) == f"{fun.__name__} (test_source.py:{line})"


def test_a_wrapper_of_the_library_is_named_for_what_it_wraps():
    def loss(x):
        return x

    line = loss.__code__.co_firstlineno
    for wrap in (cv.jit, cv.grad, cv.vmap, lambda f: cv.jit(cv.grad(f))):
        assert f"(test_source.py:{line})" in function_line(wrap(loss))


def test_a_wrapper_of_the_user_is_where_it_stands():
    def loss(x):
        return x

    @functools.wraps(loss)
    def wrapper(x):
        return loss(x)

    line = wrapper.__code__.co_firstlineno
    assert f"(test_source.py:{line})" in function_line(wrapper)


def test_a_function_of_the_library_has_its_bare_name():
    assert function_line(cnp.sin) == "sin"
    with pytest.raises(TypeMismatch, match=r"^jvp of sin needs a tangent"):
        cv.jvp(cnp.sin, (1.0,), (np.ones(2),))


def test_what_has_no_code_has_its_bare_name():
    assert function_line(len) == "len"
    assert function_line(functools.partial(len)) == repr(functools.partial(len))


class NameIsANumber:
    __name__ = 3

    def __call__(self, x):
        return x * 2


class NameRaises:
    @property
    def __name__(self):
        raise RuntimeError("it has no name")

    def __call__(self, x):
        return x * 2


TRANSFORMED = {
    "checkpoint": lambda f: cv.checkpoint(f)(3.0),
    "custom_vmap": lambda f: cv.custom_batching.custom_vmap(f)(3.0),
    "fori_loop": lambda f: cv.lax.fori_loop(0, 1, lambda _, x: f(x), 3.0),
    "jit": lambda f: cv.jit(f)(3.0),
    "map": lambda f: cv.lax.map(f, cnp.full(2, 3.0))[0],
    "value_and_grad": lambda f: cv.value_and_grad(f)(3.0)[0],
    "vmap": lambda f: cv.vmap(f)(cnp.full(2, 3.0))[1],
    "while_loop": lambda f: cv.lax.while_loop(lambda x: x < 4, f, 3.0),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("kind", [NameIsANumber, NameRaises])
def test_a_callable_without_a_string_for_a_name_is_transformed(transform, kind):
    assert float(TRANSFORMED[transform](kind())) == 6


def test_a_name_is_that_of_the_class_where_there_is_none():
    assert function_name(len) == "len"
    assert function_name(NameRaises()) == "NameRaises"
    assert function_name(NameIsANumber(), "f") == "f"


def test_attributes_of_a_function_do_not_hide_methods_of_its_wrapper():
    def f(x):
        return cnp.sin(x)

    f.lower, f.note = "a note of the user's", "another"
    jitted = cv.jit(f)
    assert jitted.note == "another"
    assert "stablehlo" in jitted.lower(1.0).as_text()


def test_wrappers_take_what_functools_takes():
    def f(x: int) -> int:
        """Words."""
        return x

    @wraps(f)
    def g(*args):
        return f(*args)

    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Words.", f)
    assert g.__module__ == f.__module__
    assert g.__qualname__ == f.__qualname__
    assert take_names(lambda: 0, NameIsANumber()).__name__ == "<lambda>"
