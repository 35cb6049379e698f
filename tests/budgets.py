"""Budgets: how many Python calls the warm paths take.

Times differ from run to run; the number of Python functions entered does not. A change
that makes a path longer fails here, and the number is raised only on purpose. Each
budget is what the path takes now.
"""

import gc
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options

VALUES = np.arange(4, dtype=np.float32)
X = cnp.asarray(VALUES)
ONE = cnp.asarray(np.float32(1))
ROWS = cnp.asarray(np.ones((4, 4), np.float32))
MASK = cnp.asarray(VALUES > 1)
LABELS = cnp.asarray(VALUES.astype(np.int32))


@pytest.fixture(autouse=True)
def unchecked_programs():
    """As users run: programs are not checked."""
    before = options.settings.check_programs
    options.settings.check_programs = False
    yield
    options.settings.check_programs = before


def python_calls(fun, *args):
    """The Python functions, by name, that a warm ``fun(*args)`` enters."""
    for _ in range(3):
        fun(*args)
    entered = Counter()

    def note(frame, event, _):
        if event == "call":
            entered[frame.f_code.co_qualname] += 1

    gc.disable()  # finalizers are calls as well
    sys.setprofile(note)
    try:
        fun(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    del entered[fun.__qualname__]
    return entered


def within(budget, entered):
    assert entered.total() <= budget, dict(entered)


def per_operation(transformed, few=10, many=30):
    """Python calls that one more operation costs under a transformation."""

    def chain(n):
        def f(x):
            for _ in range(n):
                x = cnp.sin(x)
            return x

        return python_calls(lambda: transformed(f)).total()

    return (chain(many) - chain(few)) / (many - few)


# -- eager -----------------------------------------------------------------------------

EAGER = {
    "x + x": (lambda: X + X, 6),
    "x + 1.0": (lambda: X + 1.0, 8),
    "sin": (lambda: cnp.sin(X), 5),
    "x > 0": (lambda: X > 0, 9),
    "x[1]": (lambda: X[1], 4),
    "x[1:3]": (lambda: X[1:3], 6),
    "x[mask]": (lambda: X[MASK], 46),
    "sum": (lambda: cnp.sum(X), 7),
    "mean": (lambda: cnp.mean(X), 15),
    "std": (lambda: cnp.std(X), 23),
    "median": (lambda: cnp.median(X), 60),
    "matmul": (lambda: ROWS @ ROWS, 10),
    "one_hot": (lambda: cv.nn.one_hot(LABELS, 4), 19),
    "where": (lambda: cnp.where(MASK, X, 0.0), 13),
    "argmax": (lambda: cnp.argmax(X), 14),
    "histogram": (lambda: cnp.histogram(X), 103),
    "relu": (lambda: cv.nn.relu(X), 20),
    "softmax": (lambda: cv.nn.softmax(X), 17),
    "zeros": (lambda: cnp.zeros(4), 10),
    "array": (lambda: cnp.array([1.0, 2.0]), 12),
    "array of a NumPy array": (lambda: cnp.array(VALUES), 6),
}


@pytest.mark.parametrize(("call", "budget"), EAGER.values(), ids=EAGER)
def test_an_eager_operation(call, budget):
    within(budget, python_calls(call))


# -- transformed -----------------------------------------------------------------------


def test_an_operation_forward_and_backward_under_grad():
    assert per_operation(lambda f: cv.grad(f)(ONE)) <= 24


def test_an_operation_under_vmap():
    assert per_operation(lambda f: cv.vmap(f)(X)) <= 16


def test_an_operation_that_is_written_down():
    assert per_operation(lambda f: cv.make_jaxpr(f)(X)) <= 8


def test_the_gradient_of_an_operation():
    gradient = cv.grad(cnp.sin)
    within(62, python_calls(lambda: gradient(ONE)))


def test_an_operation_batched():
    batched = cv.vmap(cnp.sin)
    within(47, python_calls(lambda: batched(X)))


def test_a_small_gradient():
    def loss(x):
        return cnp.sum(cnp.sin(x) * x)

    gradient = cv.grad(loss)
    within(118, python_calls(lambda: gradient(X)))


# -- jit -------------------------------------------------------------------------------


@cv.jit
def add_one(p):
    return cv.tree.map(lambda x: x + 1, p)


def test_a_warm_jitted_call():
    within(5, python_calls(lambda: add_one(X)))


def test_the_first_jitted_call_of_two_operations():
    # A new function each time: nothing that is kept of another is of use.
    new = iter([cv.jit(eval(f"lambda x: x * {n} + 1")) for n in (2, 3, 5, 7)])
    within(296, python_calls(lambda: next(new)(X)))


def test_a_warm_jitted_call_costs_one_call_per_further_result():
    few, many = ({i: X for i in range(n)} for n in (40, 80))
    more = python_calls(lambda: add_one(many)) - python_calls(lambda: add_one(few))
    within(40, more)


def test_a_warm_jitted_call_with_numpy_arguments():
    values = np.ones(4, np.float32)
    within(12, python_calls(lambda: add_one(values)))


def test_a_warm_jitted_call_with_a_number():
    within(11, python_calls(lambda: add_one(2.0)))


def test_a_warm_jitted_call_with_a_static_argument():
    scaled = cv.jit(lambda x, n: x * n, static_argnums=1)
    within(9, python_calls(lambda: scaled(X, 3)))


def test_a_warm_checkpointed_gradient_traces_nothing():
    gradient = cv.grad(cv.checkpoint(cnp.sin))
    entered = python_calls(lambda: gradient(ONE))
    assert "StagingTrace.process" in entered  # the linear part is staged …
    assert entered["StagingTrace.process"] <= 2  # … and nothing else
    within(132, entered)


# -- import ----------------------------------------------------------------------------


def words_of(code):
    """What a new process that runs this code prints, as words."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_modules_that_importing_covector_loads():
    loaded = words_of("import sys, covector; print(*sys.modules)")
    own = [m for m in loaded if m.split(".")[0] == "covector"]
    assert len(own) <= 210
    unneeded = ["jax", "scipy", "matplotlib", "sklearn", "opt_einsum", "torch"]
    unneeded += ["covector.nn", "covector.random", "covector.demo", "covector.cli"]
    unneeded += ["importlib.metadata", "email", "socket", "zipfile", "csv"]
    unneeded += ["difflib", "tempfile", "covector.dispatch.stages", "jaxlib.mlir"]
    assert [m for m in unneeded if m in loaded] == []


def test_who_compiles_nothing_does_without_mlir():
    code = """
import sys
import covector as cv
import covector.numpy as cnp
from covector import lax, nn, random
x = random.normal(random.key(0), (8,))
cv.grad(lambda x: nn.softmax(lax.sort(cnp.sin(x))).max())(x)
print("jaxlib.mlir" in sys.modules)
"""
    assert words_of(code) == ["False"]


def test_the_modules_that_the_first_jitted_call_loads():
    code = """
import sys
import numpy as np
import covector as cv
import covector.numpy, covector.lax
cv.numpy.sin, cv.lax.sin
before = set(sys.modules)
cv.jit(lambda x: x * 2 + 1)(np.ones(4))
print(*(set(sys.modules) - before))
"""
    loaded = words_of(code)
    own = [m for m in loaded if m.split(".")[0] == "covector"]
    assert len(own) <= 7
    assert all(m.startswith(("covector.lowering", "covector.runtime")) for m in own)
    others = {m for m in loaded if not m.startswith("jaxlib.mlir")} - {*own}
    assert others <= {"_socket", "typing_extensions"}  # MLIR's, of Python 3.11
