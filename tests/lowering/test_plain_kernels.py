"""Which programs have plain kernels."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import jit, lax, nn, random
from covector.core import dtypes
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.lowering import compile as compiling
from covector.lowering.compile import LoweredProgram
from covector.operations.arithmetic import mul
from covector.operations.transcendental import sin
from covector.runtime import client
from covector.runtime.compile_options import FUSION_EMITTERS, HAS_PLAIN_KERNELS
from covector.scipy import special

ODD = 4097
X = np.linspace(0.1, 1, ODD, dtype=np.float32)
PLACES = np.arange(ODD, dtype=np.int32) % 9


def options_of(jaxpr):
    lowered = LoweredProgram(jaxpr, "loss", cv.devices()[0])
    return compiling._options_by_content(lowered)


def is_plain(fun, *args):
    return FUSION_EMITTERS in options_of(cv.make_jaxpr(fun)(*args).jaxpr)


# -- small arrays ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "few"),
    [
        ((), True),
        ((1024,), True),
        ((1, 500), True),
        ((4, 8), True),
        ((0, 9), True),
        ((1025,), False),
        ((8, 8), False),
        ((2, 500), False),
    ],
)
def test_programs_of_small_arrays_have_kernels_that_are_compiled_sooner(shape, few):
    jaxpr = stage(lambda x: [sin(x)], [ArrayType(shape, dtypes.float32)]).jaxpr
    wanted = False if few and HAS_PLAIN_KERNELS else None
    assert options_of(jaxpr).get(FUSION_EMITTERS) is wanted


def test_kernels_that_are_alike_are_made_once():
    def several(*xs):
        return [mul(sin(x), x) for x in xs]

    for count, plain in ((2, HAS_PLAIN_KERNELS), (3, False)):
        jaxpr = stage(several, [ArrayType((4,), dtypes.float32)] * count).jaxpr
        assert (FUSION_EMITTERS in options_of(jaxpr)) == plain


def test_kernels_with_constants_of_their_own_are_not_alike():
    def polynomial(constants):
        x = ArrayType((4,), dtypes.float32)
        return stage(lambda x: [mul(x, np.float32(c)) for c in constants], [x]).jaxpr

    for constants, plain in ((range(8), HAS_PLAIN_KERNELS), ([1] * 8, False)):
        assert (FUSION_EMITTERS in options_of(polynomial(constants))) == plain


# -- what cores cannot divide evenly ---------------------------------------------------


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(client, "cores", lambda: 2)


@pytest.mark.parametrize(
    ("shape", "uneven"),
    [
        *(((4097,), True), ((1, 4097), True), ((2001, 3), True), ((2000, 3), False)),
        *(((4096,), False), ((4095,), False), ((2, 4097), False), ((129, 32), False)),
    ],
)
@pytest.mark.usefixtures("two_cores")
def test_what_cores_cannot_divide_evenly_has_plain_kernels(shape, uneven):
    jaxpr = stage(lambda x: [mul(sin(x), x)], [ArrayType(shape, dtypes.float32)]).jaxpr
    assert (FUSION_EMITTERS in options_of(jaxpr)) == (uneven and HAS_PLAIN_KERNELS)


@jit
def called(x):
    return nn.relu(cnp.tanh(x))


UNEVEN = {
    "a call": (lambda x: called(x).sum(), True),
    "sort": (lambda x: cnp.sort(nn.softplus(x)), True),
    "argmax": (lambda x: cnp.argmax(nn.softplus(x)), True),
    "reversed": (lambda x: nn.softplus(x[::-1]), True),
    "take": (lambda x: cnp.exp(x[PLACES]), True),
    "formulas of what is taken": (lambda x: nn.softplus(x[PLACES]), True),
    "… in a loop": (
        lambda x: lax.map(lambda y: nn.softplus(y[PLACES]), x[None]),
        False,
    ),
    "what is taken, read twice": (lambda x: nn.gelu(x[PLACES]) * x, True),
    "integers": (lambda x: (x * 9).astype("int32") % 7, True),
    "random integers": (lambda x: random.randint(random.key(0), x.shape, 0, 9), True),
    "histogram": (lambda x: cnp.histogram(x, 20)[0], True),
    "a loop": (lambda x: lax.fori_loop(0, 5, lambda i, x: nn.softplus(x), x), True),
    "a branch": (lambda x: lax.cond(x[0] > 0, cnp.exp, nn.softplus, x), True),
    "counts": (lambda x: cnp.bincount(PLACES, length=9), False),
    "what is added to places": (lambda x: cnp.zeros(9).at[PLACES].add(x * x), False),
    "functions, added": (lambda x: cnp.zeros(9).at[PLACES].add(nn.gelu(x)), True),
    "remainders": (lambda x: nn.gelu(x % x[::-1]), True),
    "gamma functions": (special.gammaln, False),
    "joined": (lambda x: cnp.concatenate([x, nn.softplus(x)]), False),
    "rows of a scan": (lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x), False),
}


@pytest.mark.parametrize("name", UNEVEN)
@pytest.mark.usefixtures("two_cores")
def test_programs_of_uneven_arrays(name):
    fun, plain = UNEVEN[name]
    assert is_plain(fun, X) == (plain and HAS_PLAIN_KERNELS)
    found = cv.tree.leaves(cv.jit(fun)(X))
    with cv.disable_jit():
        wanted = cv.tree.leaves(fun(cnp.asarray(X)))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("fun", "count"),
    [
        (lambda x: nn.softplus(x[PLACES]), 1),
        (lambda x: nn.gelu(x[PLACES]) + nn.softplus(x[PLACES[::-1]]), 2),
        (lambda x: cnp.exp(x[PLACES]), 0),
        (lambda x: nn.softplus(x[PLACES[:-1]]), 0),
        (lambda x: nn.softplus(cnp.stack([x, x], 1)[PLACES]), 0),
        (lambda x: cnp.concatenate([nn.softplus(x[PLACES]), x]), 0),
    ],
)
@pytest.mark.usefixtures("two_cores")
def test_what_is_gathered_is_in_memory_where_it_is_read_in_several_places(fun, count):
    lowered = LoweredProgram(cv.make_jaxpr(fun)(X).jaxpr, "f", cv.devices()[0])
    views = [e.op.name for e in lowered.program.equations].count("view")
    assert views == count * HAS_PLAIN_KERNELS
