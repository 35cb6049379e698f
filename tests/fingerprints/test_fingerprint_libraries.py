"""Programs are shared by what functions read, in installed libraries as well.

A library that keeps a stack of frames, handlers or modules in its globals means
something else in each context; a new function in another context is another program.
"""

import collections
import decimal
import importlib
import os
import random
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.fingerprints.fingerprint import fingerprint_of

X = cnp.asarray(np.arange(1, 4, dtype=np.float32))

LIBRARY = '''
"""Context in each of the ways in which libraries keep it."""
import collections, contextlib, contextvars, functools, os, threading

class Frame:                      # as Haiku
    def __init__(self, scale):
        self.parameters = {"scale": scale}

frame_stack = [Frame(1.0)]

class Handler:                    # as NumPyro
    def __init__(self, scale):
        self.scale = scale
    def process(self, message):
        message["value"] = message["value"] * self.scale

handlers = []

def sample(value):
    message = {"value": value}
    for handler in reversed(handlers):
        handler.process(message)
    return message["value"]

class Context(threading.local):   # as Flax
    def __init__(self):
        self.modules = [Frame(1.0)]

context = Context()

class Module:
    @property
    def scale(self):
        return context.modules[-1].parameters["scale"]
    @classmethod
    def default(cls):
        return frame_stack[-1].parameters["scale"]
    @functools.lru_cache
    def cached(self):
        return 1.0
    def __call__(self, x):
        return x * self.scale

module = Module()
variable = contextvars.ContextVar("scale", default=1.0)
queue = collections.deque([1.0])

class Settings:
    scale = 1.0

def by_frame(x): return x * frame_stack[-1].parameters["scale"]
def by_handler(x): return sample(x)
def by_module(x): return module(x)
def by_class_method(x): return x * Module.default()
def by_variable(x): return x * variable.get()
def by_queue(x): return x * queue[-1]
def by_class(x): return x * Settings.scale
def by_getattr(x): return x * getattr(Settings, "scale")
def by_environment(x): return x * float(os.environ["SCALE"])
def by_import(x):
    import os as system
    return x * float(system.getenv("SCALE"))
def through_others(x): return functools.partial(by_frame)(x)
def by_package(x):
    import contextual_library
    return x * contextual_library.Settings.scale

def enter(scale):
    frame_stack.append(Frame(scale))
    handlers[:] = [Handler(scale)]
    context.modules.append(Frame(scale))
    variable.set(scale)
    queue.append(scale)
    Settings.scale = scale
    os.environ["SCALE"] = str(scale)
'''

WAYS = [
    line[4:].split("(")[0]
    for line in LIBRARY.splitlines()
    if line[:7] in ("def by_", "def thr")
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A package that is installed, as far as its path says."""
    folder = tmp_path_factory.mktemp("lib") / "site-packages"
    folder.mkdir()
    (folder / "contextual_library.py").write_text(textwrap.dedent(LIBRARY))
    sys.path.insert(0, str(folder))
    yield importlib.import_module("contextual_library")
    sys.path.remove(str(folder))
    os.environ.pop("SCALE", None)


TRANSFORMS = {
    "jit": cv.jit,
    "checkpoint": cv.checkpoint,
    "jit of grad": lambda f: cv.jit(cv.grad(lambda x: f(x).sum())),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("way", WAYS)
def test_a_new_function_in_another_context_of_a_library_is_traced_anew(
    library, way, transform
):
    apply = getattr(library, way)
    wanted, found = [], []
    for scale in (1.0, 2.0, 3.0, 2.0):
        library.enter(scale)
        f = transform(lambda x: apply(x))  # noqa: PLW0108  a new function each time
        found.append(float(f(X)[0]))
        wanted.append(scale)
    assert found == wanted


def test_in_an_unchanged_context_a_program_is_shared(library):
    library.enter(5.0)
    make = lambda: lambda x: library.by_frame(x) * 2  # noqa: E731
    first, second = fingerprint_of(make())[0], fingerprint_of(make())[0]
    assert first is not None
    assert first == second


def test_what_functions_of_a_module_ask_of_that_module_is_seen(library):
    found = []
    for scale in (1.0, 2.0, 3.0):
        library.enter(scale)
        f = cv.jit(lambda x: library.by_package(x))  # noqa: PLW0108  new each time
        found.append(float(f(X)[0]))
    assert found == [1.0, 2.0, 3.0]


# -- libraries that are here -----------------------------------------------------------


def test_the_context_of_scikit_learn_is_seen():
    sklearn = pytest.importorskip("sklearn")
    found = []
    for size in (1, 2, 3):
        with sklearn.config_context(working_memory=size):
            f = cv.jit(lambda x: x * sklearn.get_config()["working_memory"])
            found.append(float(f(X)[0]))
    assert found == [1.0, 2.0, 3.0]


def test_the_parameters_of_matplotlib_are_seen():
    matplotlib = pytest.importorskip("matplotlib")
    found = []
    for width in (1.0, 2.0, 3.0):
        with matplotlib.rc_context({"lines.linewidth": width}):
            f = cv.jit(lambda x: x * matplotlib.rcParams["lines.linewidth"])
            found.append(float(f(X)[0]))
    assert found == [1.0, 2.0, 3.0]


def test_the_context_of_decimal_numbers_is_seen():
    found = []
    for digits in (5, 6, 7):
        with decimal.localcontext() as context:
            context.prec = digits
            f = cv.jit(lambda x: x * decimal.getcontext().prec)
            found.append(float(f(X)[0]))
    assert found == [5.0, 6.0, 7.0]


# -- what gives something else each time -----------------------------------------------

QUEUE = collections.deque([1.0])
LOCAL = threading.local()


class Settings:
    scale = 1.0


CHANGING = {
    "random numbers of NumPy": lambda: lambda x: x * np.random.rand(),
    "random numbers of Python": lambda: lambda x: x * random.random(),
    "a clock": lambda: lambda x: x * (time.perf_counter() % 1.0),
    "a text that is evaluated": lambda: lambda x: x * eval("next(NUMBERS)"),
    "globals by name": lambda: lambda x: x * next(globals()["NUMBERS"]),
    "a method of an iterator": lambda: lambda x: x * NUMBERS.__next__(),
}
NUMBERS = iter(np.linspace(0.1, 0.9, 50).tolist())


@pytest.mark.parametrize("make", CHANGING.values(), ids=CHANGING)
def test_what_is_not_known_beforehand_is_traced_anew(make):
    found = {float(cv.jit(make())(X)[0]) for _ in range(3)}
    assert len(found) == 3


def test_objects_in_c_and_threads_and_classes_are_looked_into():
    found = []
    for scale in (1.0, 2.0, 3.0):
        QUEUE[-1] = LOCAL.scale = Settings.scale = scale
        found += [
            float(cv.jit(lambda x: x * QUEUE[-1])(X)[0]),
            float(cv.jit(lambda x: x * LOCAL.scale)(X)[0]),
            float(cv.jit(lambda x: x * Settings.scale)(X)[0]),
        ]
    assert found == [1.0] * 3 + [2.0] * 3 + [3.0] * 3


def test_a_keyword_default_is_part_of_what_a_function_reads():
    def make(scale):
        def f(x, *, scale=scale):
            return x * scale

        return f

    assert [float(cv.jit(make(s))(X)[0]) for s in (1.0, 2.0)] == [1.0, 2.0]
    assert fingerprint_of(make(1.0)) != fingerprint_of(make(2.0))


def test_zeros_of_either_sign_in_numpy_scalars_are_told_apart():
    out = [
        1 / float(cv.jit(lambda x, c=c: x[0] * 0 + c)(X))
        if c
        else cv.jit(lambda x, c=c: cnp.copysign(x, c))(X)[0]
        for c in (np.float32(0.0), np.float32(-0.0))
    ]
    assert [float(v) for v in out] == [1.0, -1.0]
    assert fingerprint_of(lambda: np.float32(0.0))[0] is not None


class Unfriendly:
    """Asks of its attributes end in an error that is not an AttributeError."""

    scale = 2.0

    def __getattr__(self, name):
        raise RuntimeError(f"nobody may ask for {name}")


def test_an_object_that_refuses_to_be_asked_does_not_break_tracing():
    unfriendly = Unfriendly()
    assert cv.jit(lambda x: x * unfriendly.scale)(X).tolist() == (2 * X).tolist()
    static = cv.jit(lambda given, x: x * given.scale, static_argnums=0)
    assert static(unfriendly, X).tolist() == (2 * X).tolist()


def test_asking_takes_few_python_calls():
    """The cost for an ordinary lambda; about 30 µs."""
    code = textwrap.dedent(
        """
        import sys, covector.numpy as cnp
        from covector.fingerprints.fingerprint import fingerprint_of
        def make(c): return lambda x: cnp.sin(x) * c
        f, calls = make(2.0), 0
        fingerprint_of(f)
        def note(frame, event, _):
            global calls
            calls += event == "call"
        sys.setprofile(note)
        fingerprint_of(f)
        sys.setprofile(None)
        print(calls)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= 20
