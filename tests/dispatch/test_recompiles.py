"""``no_recompile`` and ``explain_recompiles``: what had changed, in words."""

import functools
import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors

X = cnp.asarray(np.arange(4, dtype=np.float32))


@functools.partial(cv.jit, static_argnames="n")
def scaled(p, n=2, *, shift=0.0):
    return p["w"] * n + shift


def times(c, w=None):
    def f(x):
        return x * c if w is None else x * c + w

    return f


PARAMETERS = {"w": X}
ONES, ZEROS = cnp.ones(4), cnp.zeros(4)

CHANGES = {
    "the type of an argument": (
        lambda: scaled(PARAMETERS),
        lambda: scaled({"w": cnp.ones(5)}),
        r"argument p\['w'\] was f32\[4\] and is now f32\[5\]",
    ),
    "its dtype": (
        lambda: scaled(PARAMETERS),
        lambda: scaled({"w": cnp.arange(4)}),
        r"argument p\['w'\] was f32\[4\] and is now i32\[4\]",
    ),
    "a number in place of an array": (
        lambda: scaled({"w": np.float32(1)}),
        lambda: scaled({"w": 1.0}),
        r"was f32\[\] of an array and is now f32\[\] of a Python number",
    ),
    "the structure of an argument": (
        lambda: scaled(PARAMETERS),
        lambda: scaled({"w": X, "b": X}),
        r"argument p was a dict with keys \('w'\) and is now a dict with keys",
    ),
    "a keyword argument": (
        lambda: scaled(PARAMETERS),
        lambda: scaled(PARAMETERS, shift=X),
        "the keyword arguments were a dict without keys and are now a dict with",
    ),
    "the type of a keyword argument": (
        lambda: scaled(PARAMETERS, shift=1.0),
        lambda: scaled(PARAMETERS, shift=X),
        r"keyword argument shift was f32\[\] and is now f32\[4\]",
    ),
    "a static argument": (
        lambda: scaled(PARAMETERS, 3),
        lambda: scaled(PARAMETERS, 4),
        "the static argument n was 3 and is now 4",
    ),
    "a static argument by name": (
        lambda: scaled(PARAMETERS, n=3),
        lambda: scaled(PARAMETERS, n=5),
        "the static argument n was 3 and is now 5",
    ),
    "a static argument given in another way": (
        lambda: scaled(PARAMETERS, 6),
        lambda: scaled(PARAMETERS, n=6),
        "the static argument n was given by position and now by name",
    ),
    "a static argument given in another way, and changed": (
        lambda: scaled(PARAMETERS, 7),
        lambda: scaled(PARAMETERS, n=8),
        "the static argument n was 7 and is now 8",
    ),
    "a closure value": (
        lambda: cv.jit(times(1.5))(X),
        lambda: cv.jit(times(2.5))(X),
        "closure value c was 1.5 and is now 2.5",
    ),
    "the type of a closure value": (
        lambda: cv.jit(times(3.0))(X),
        lambda: cv.jit(times(3))(X),
        "closure value c was 3.0 and is now 3",
    ),
    "an array that is closed over": (
        lambda: cv.jit(times(1.0, ONES))(X),
        lambda: cv.jit(times(1.0, ZEROS))(X),
        r"closure value w is another array f32\[4\] now",
    ),
    "a closure value through transformations": (
        lambda: cv.jit(cv.vmap(cv.grad(times(1.25))))(X),
        lambda: cv.jit(cv.vmap(cv.grad(times(2.25))))(X),
        "closure value c was 1.25 and is now 2.25",
    ),
    "something in a list": (
        lambda: cv.jit(times([1.0, 2.0][1], [1, {"a": 2}][0]))(X),
        lambda: cv.jit(times(2.0, [1, {"a": 3}][1]["a"]))(X),
        "closure value w was 1 and is now 3",
    ),
}


@pytest.mark.parametrize(("first", "again", "words"), CHANGES.values(), ids=CHANGES)
def test_a_recompilation_names_what_had_changed(first, again, words):
    scaled.clear_cache()
    first()
    with cv.no_recompile():
        first()
        with pytest.raises(errors.RecompilationError, match=words) as caught:
            again()
    text = str(caught.value)
    assert "is compiled again: " in text
    assert text.count("static argument") <= 1
    assert f"compiled before for the call at {__file__}:" in text
    assert "Inside no_recompile() this is an error" in text
    again()


def test_options_are_named():
    scaled(PARAMETERS)
    words = "the option enable_x64 was False and is now True"
    refused = pytest.raises(errors.RecompilationError, match=words)
    with cv.no_recompile(), cv.enable_x64(), refused:
        scaled(PARAMETERS)


def test_a_function_that_cannot_be_compared_says_why():
    def make():
        numbers = iter([1.0])
        return cv.jit(lambda x: x * next(numbers))

    make()(X)
    words = "another function object, and it reads a list_iterator"
    with cv.no_recompile(), pytest.raises(errors.RecompilationError, match=words):
        make()(X)


def test_programs_that_were_forgotten_and_traced_values():
    f = cv.jit(lambda x: x - 1)
    f(X)
    f.clear_cache()
    with cv.no_recompile(), pytest.raises(RuntimeError, match="were forgotten"):
        f(X)


def test_a_first_compilation_is_allowed_unless_strict():
    helper = cv.jit(lambda x: x + 1)
    helper(1.0)
    with cv.no_recompile():  # the helper is part of the new function
        assert cv.jit(lambda x: helper(x) * 2)(X).tolist() == (2 * (X + 1)).tolist()
    words = r"compiled for the first time, for f32\[4\], inside no_recompile\(strict"
    refused = pytest.raises(errors.RecompilationError, match=words)
    with cv.no_recompile(strict=True), refused:
        cv.jit(lambda x: x + 2)(X)


def test_asking_for_a_program_is_no_compilation():
    f = cv.jit(lambda x: x * 5)
    f(X)
    with cv.no_recompile():
        assert f.eval_shape(cnp.ones(7)).shape == (7,)
        assert f.lower(cnp.ones(8)).as_text()


def test_functions_of_the_library_are_not_meant():
    with cv.no_recompile(strict=True):
        for n in (40_000, 50_000):
            assert cnp.hypot(cnp.ones(n), cnp.ones(n)).shape == (n,)
            assert cv.random.normal(cv.random.key(0), (n // 100,)).shape == (n // 100,)


def test_under_another_transformation():
    f = cv.jit(lambda x: cnp.sum(x**2))
    cv.grad(f)(X)
    with cv.no_recompile():
        cv.grad(f)(X)
        with pytest.raises(errors.RecompilationError, match=r"was f32\[4\] and is now"):
            cv.grad(f)(cnp.ones(3))


def test_the_block_is_for_one_thread_and_ends():
    f = cv.jit(lambda x: x * 9)
    f(X)
    failed = []

    def call():
        try:
            f(cnp.ones(2))
        except errors.RecompilationError as error:
            failed.append(error)

    with cv.no_recompile():
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        with cv.no_recompile(False):
            f(cnp.ones(3))
    f(cnp.ones(6))
    assert failed == []


def test_other_devices_are_named():
    if len(cv.devices("cpu")) < 2:
        pytest.skip("needs two devices; COVECTOR_NUM_CPU_DEVICES=2 makes them")
    f = cv.jit(lambda x: x * 11)
    f(X)
    with cv.no_recompile(), pytest.raises(RuntimeError, match="were on cpu:0 and are"):
        f(cv.device_put(X, cv.devices("cpu")[1]))


def test_a_refused_compilation_leaves_everything_as_it_was():
    f = cv.jit(lambda x: x * 13)
    f(X)
    with cv.no_recompile():
        for _ in range(2):
            with pytest.raises(errors.RecompilationError, match=r"was f32.4. and is"):
                f(cnp.ones(3))
    assert f(cnp.ones(3)).tolist() == [13.0] * 3
