"""Which programs run each of their kernels on one core, which without tiles, and which
with long vectors.
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import jit, lax, nn, random
from covector.lowering import compile as compiling
from covector.lowering.compile import LoweredProgram
from covector.runtime import client, compile_options
from covector.runtime.compile_options import (
    DISABLED_PASSES,
    DIVISION_AMONG_CORES,
    LONG_VECTORS,
    STEPS_BESIDE_EACH_OTHER,
    VECTOR_WIDTH,
    WITHOUT_TILES,
)
from covector.scipy import special

X = np.linspace(-1, 1, 50_000, dtype=np.float32)
LONG = np.linspace(-1, 1, 500_000, dtype=np.float32)
MATRICES = np.ones((20_000, 8, 8), np.float32)
PLACES = np.arange(50_000, dtype=np.int32) * 7 % 50_000

pytestmark = pytest.mark.skipif(
    client.device_platform(cv.devices()[0]) != "cpu", reason="rules for CPUs"
)


def options_of(fun, *args):
    jaxpr = cv.make_jaxpr(fun)(*args).jaxpr
    return compiling._options_by_content(LoweredProgram(jaxpr, "f", cv.devices()[0]))


def is_on_one_core(fun, *args):
    return options_of(fun, *args).get(DISABLED_PASSES) == DIVISION_AMONG_CORES


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(client, "cores", lambda: 2)


def adam(p, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (cnp.sqrt(v) + 1e-8), m, v


def in_a_loop(fun):
    return lambda x: lax.fori_loop(0, 9, lambda i, x: fun(x), x)


SHORT = {
    "a sum": lambda x: x + x,
    "a function": cnp.exp,
    "rows": lambda x: nn.softmax(x.reshape(-1, 100)),
    "turned rows": lambda x: x.reshape(-1, 500).T + 1,
    "steps of a loop": in_a_loop(lambda x: x + 0.1 * cnp.roll(x, 1)),
    "a branch": lambda x: lax.cond(x[0] > 0, cnp.exp, cnp.negative, x),
    "a call": jit(cnp.tanh),
    "several results": lambda x: adam(x[:40_000], x[1:40_001], x[2:40_002], x[:40_000]),
    "functions one after the other, each added up": lambda x: [
        cnp.exp(x * k).max() for k in range(9)
    ],
    "large products of matrices": lambda x: (
        x[:40_000].reshape(200, 200) @ x[:40_000].reshape(200, 200)
    ),
    "no elements": lambda x: x[:0] + cnp.exp(x).sum(),
}
LONGER = {
    "many functions": lambda x: cnp.sin(cnp.exp(cnp.tanh(x)) + cnp.log(x)),
    "… in a loop": in_a_loop(lambda x: cnp.sin(cnp.exp(cnp.tanh(x)) + cnp.log(x))),
    "… in a branch": lambda x: lax.cond(
        x[0] > 0, cnp.exp, lambda x: cnp.sin(cnp.sin(cnp.sin(x))), x
    ),
    "… in a call": jit(lambda x: cnp.sin(cnp.sin(x)) + cnp.exp(x)),
    "single places": lambda x: x[PLACES],
    "functions in rounds": lambda x: special.gammainc(2.0, x),
    "functions of short rows": lambda x: cnp.exp(x.reshape(-1, 5)),
    "random numbers": lambda x: x + random.normal(random.key(0), x.shape),
    "what is broadcast": lambda x: (x[:2000, None] - x[:500]).max(),
}


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.usefixtures("two_cores")
def test_short_kernels_run_on_one_core(name):
    assert is_on_one_core(SHORT[name], X)


@pytest.mark.parametrize("name", LONGER)
@pytest.mark.usefixtures("two_cores")
def test_longer_kernels_are_divided_among_cores(name):
    assert not is_on_one_core(LONGER[name], X)


@pytest.mark.usefixtures("two_cores")
def test_large_arrays_are_divided_among_cores():
    assert not is_on_one_core(lambda x: x + 1, LONG)
    assert not is_on_one_core(lambda x: x @ x, MATRICES)


def test_one_core_has_nothing_to_divide(monkeypatch):
    monkeypatch.setattr(client, "cores", lambda: 1)
    assert not is_on_one_core(SHORT["a sum"], X)


def test_many_cores_are_worth_waking_sooner(monkeypatch):
    def fun(x):
        return cnp.exp(x) + x[0]

    for cores, short in ((2, True), (16, False)):
        monkeypatch.setattr(client, "cores", lambda cores=cores: cores)
        assert is_on_one_core(fun, np.resize(X, 90_000)) == short


@pytest.mark.usefixtures("two_cores")
def test_small_arrays_need_no_rule():
    assert DISABLED_PASSES not in options_of(SHORT["a sum"], X[:500])


@pytest.mark.usefixtures("two_cores")
def test_a_module_of_which_nothing_is_known_is_left_as_it_is():
    exported = cv.export.export(jit(lambda x: x + 1))(X)
    assert not options_of(exported.call, X)


@pytest.mark.usefixtures("two_cores")
def test_what_users_say_goes_before(monkeypatch):
    def set_flags(flags):
        for module in (compile_options, compiling):
            monkeypatch.setattr(module, "FLAGS", flags)

    assert options_of(SHORT["a sum"], X).keys() == {DISABLED_PASSES, WITHOUT_TILES}
    set_flags(f"--{DISABLED_PASSES}=fusion")
    assert options_of(SHORT["a sum"], X).keys() == {WITHOUT_TILES}
    set_flags(f"--xla_backend_extra_options={WITHOUT_TILES}")
    assert options_of(SHORT["a sum"], X).keys() == {DISABLED_PASSES}


TILES = {
    "elements": (lambda x: x * x + x, False),
    "a sum": (lambda x: x.sum(), False),
    "a product": (lambda x: x.reshape(-1, 50) @ x.reshape(50, -1)[:, :9], False),
    "a transpose": (lambda x: x.reshape(-1, 50).T + 1, True),
    "… in a call": (lambda x: turned(x).sum(0), True),
    "… in a loop": (lambda x: lax.map(turned, x[None]), True),
    "products side by side": (
        lambda x: cv.vmap(cnp.dot)(*[x.reshape(5, 100, -1)] * 2),
        True,
    ),
    "a convolution": (lambda x: cnp.convolve(x, x[:9]), True),
    "a factorization": (lambda x: cnp.linalg.qr(x.reshape(-1, 50)), True),
    "equations": (lambda x: cnp.linalg.solve(x[:2500].reshape(50, 50), x[:50]), False),
}


@jit
def turned(x):
    return x.reshape(-1, 50).T * 2


@pytest.mark.parametrize("name", TILES)
def test_only_what_orders_axes_has_tiles(name):
    fun, tiles = TILES[name]
    assert (WITHOUT_TILES not in options_of(fun, X)) == tiles


CHAINS = {
    "one function": (cnp.exp, False),
    "a function of a function": (lambda x: cnp.log1p(cnp.exp(x)), True),
    "an angle": (cnp.sin, True),
    "random numbers": (lambda x: random.normal(random.key(0), x.shape), True),
    "… in a loop": (lambda x: lax.map(cv.nn.softplus, x[None]), True),
    "sums and products": (lambda x: x * x + x, False),
    "much else": (lambda x: (cnp.sin(x[:6000]), x + 1, x[::-1] * 2), False),
    "short rows": (lambda x: cnp.sin(x.reshape(-1, 50)), False),
    "long rows": (lambda x: cnp.sin(x.reshape(-1, 500)), True),
    "a formula of many parts": (
        lambda x: cv.scipy.special.gammaln(x) + cnp.sin(x),
        False,
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_long_chains_of_several_elements_are_beside_each_other(name):
    fun, chains = CHAINS[name]
    many = np.ones(300_000, np.float32)
    assert (STEPS_BESIDE_EACH_OTHER in options_of(fun, many)) == chains
    assert STEPS_BESIDE_EACH_OTHER not in options_of(fun, many[:100_000])


def test_what_is_beside_each_other_changes_no_bits():
    x = np.linspace(-9, 9, 300_001, dtype=np.float32)

    def fun(x):
        y = cv.nn.softplus(cnp.sin(x * 3))
        return y, random.normal(random.key(1), x.shape), cnp.tanh(y) ** 1.5

    assert STEPS_BESIDE_EACH_OTHER in options_of(fun, x)

    alone = jit(fun, compiler_options={STEPS_BESIDE_EACH_OTHER: 1})(x)
    for found, wanted in zip(jit(fun)(x), alone, strict=True):
        np.testing.assert_array_equal(found, wanted)


DRAWS = {
    "bits": (lambda key: random.bits(key, (5000,)), True),
    "normal numbers": (lambda key: random.normal(key, (5000,)), True),
    "keys": (lambda key: random.split(key, 5000), True),
    "… in a loop": (
        lambda key: lax.map(lambda key: random.uniform(key, (900,)), random.split(key)),
        True,
    ),
    "few": (lambda key: random.bits(key, (500,)), False),
    "few beside a large array": (
        lambda key: cnp.ones(9000) * random.uniform(key, (900,)).sum(),
        False,
    ),
    "short rows": (lambda key: random.uniform(key, (5000, 3)), False),
    "none": (lambda key: cnp.ones(9000), False),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_bits_have_long_vectors(name):
    fun, long = DRAWS[name]
    options = options_of(fun, random.key(0))
    assert options.get(VECTOR_WIDTH) == (LONG_VECTORS if long else None)


def test_random_numbers_do_not_depend_on_vectors():
    def fun(key):
        return random.bits(key, (999,)), random.uniform(key, (3000,))

    long = jit(fun)(random.key(7))
    short = jit(fun, compiler_options={VECTOR_WIDTH: 256})(random.key(7))
    for got, wanted in zip(long, short, strict=True):
        np.testing.assert_array_equal(got, wanted)


def compiled_text(**options):
    lowered = jit(lambda x: cnp.exp(x) + 1, **options).lower(np.resize(X, 100_000))
    return lowered.compile().as_text()


@pytest.mark.skipif(client.cores() < 2, reason="there is nothing to divide")
def test_the_compiled_program_divides_no_kernel():
    assert "outer_dimension_partitions" not in compiled_text()
    divided = compiled_text(compiler_options={DISABLED_PASSES: ""})
    assert "outer_dimension_partitions" in divided


@pytest.mark.parametrize("name", [*SHORT, *LONGER])
def test_results_do_not_depend_on_it(name):
    fun = {**SHORT, **LONGER}[name]
    apart, divided = [
        jit(fun, compiler_options={DISABLED_PASSES: passes})(X)
        for passes in (DIVISION_AMONG_CORES, "")
    ]
    for got, wanted in zip(cv.tree.leaves(apart), cv.tree.leaves(divided), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
