"""The streams and values of jax: equal to the bit, or up to rounding."""

import inspect

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options, random

jax = pytest.importorskip("jax")
theirs = jax.random

SEED = 11
P = np.array([0.1, 0.2, 0.3, 0.4, 0.0], np.float32)
LOGITS = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
CUBE = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
TABLE = np.arange(4000, dtype=np.float32).reshape(2000, 2)

#: equal to the bit: the function, and its arguments after the key
EXACT = {
    "bits": [((7,),), ((2, 3), "uint8"), ((5,), "uint16"), ((0,),), ((),)],
    "uniform": [
        ((9,),),
        ((99,), "float32", -3.3, 7.1),
        ((9,), "float32", 5, 3),
        ((9,), "bfloat16"),
        ((9,), "float16", -1, 3),
        ((9,), "float8_e5m2"),
    ],
    "bernoulli": [(0.3, (99,)), (P,), (0.3, (99,), "high")],
    "rademacher": [((9,),), ((9,), "float32"), ((9,), "uint8")],
    "randint": [
        ((99,), 0, 10),
        ((99,), -5, 1_000_000_007),
        ((99,), 0, 200, "uint8"),
        ((99,), 0, 256, "uint8"),
        ((99,), -128, 128, "int8"),
        ((9,), 3, 3),
        ((9,), 5, 3),
        ((9,), 0, 2**31 - 1),
        ((9,), 0, 3, "int4"),
        ((9,), 0, 1e6),
        ((3,), 0, np.array([3, 300, 1000]), "uint8"),
        ((3, 2), np.arange(3, dtype=np.int32)[:, None], np.uint8(200), "int8"),
    ],
    "permutation": [
        (5,),
        (1625,),
        (1626,),
        (0,),
        (CUBE, 1),
        (CUBE, -1, True),
        (TABLE, 0, True),
    ],
    "choice": [
        (5, (7,)),
        (5, (3,), False),
        (3000, (5,), False),
        (5, (2, 2), True, P),
        (5, (3,), False, P),
        (5, (3,), False, P, 0, "high"),
        (CUBE, (2, 2), True, None, 2),
        (CUBE, (2,), False, None, 1),
    ],
    "categorical": [
        (LOGITS,),
        (LOGITS, 0),
        (LOGITS, 1, (5, 2, 4)),
        (LOGITS, -1, None, True, "high"),
        (LOGITS, 1, (2, 2, 4), False),
    ],
    "geometric": [(0.2, (99,)), (P[:4],)],
    "poisson": [
        (0.5, (99,)),
        (30.0, (99,)),
        (np.linspace(0, 40, 99, dtype=np.float32),),
        (300.0, (9,), "int8"),
        (np.array([-1, np.nan, np.inf, 1e12], np.float32),),
    ],
    "multinomial": [(20, P)],
}

#: equal up to rounding
CLOSE = {
    "normal": [
        ((99,),),
        ((9,), "float16"),
        ((9,), "bfloat16"),
        ((9,), "complex64"),
    ],
    "truncated_normal": [(-1.0, 2.5, (99,)), (P - 1, P)],
    "lognormal": [(0.7, (99,))],
    "maxwell": [((99,),)],
    "double_sided_maxwell": [(0.7, 2.0, (99,))],
    "wald": [(0.7, (99,)), (P + 1,)],
    "exponential": [((99,),)],
    "gumbel": [((99,),), ((99,), "float32", "high"), ((99,), "bfloat16", "high")],
    "laplace": [((99,),)],
    "logistic": [((99,),)],
    "cauchy": [((99,),)],
    "rayleigh": [(2.5, (99,))],
    "weibull_min": [(2.5, 1.7, (99,))],
    "pareto": [(2.5, (99,))],
    "triangular": [(-1.0, 0.5, 3.0, (99,))],
    "gamma": [
        (np.linspace(0.1, 3, 99, dtype=np.float32),),
        (np.linspace(0.1, 3, 5000, dtype=np.float32),),  # rejected ones are gathered
    ],
    "loggamma": [(0.3, (99,))],
    "chisquare": [(3.3, (99,))],
    "t": [(3.3, (99,))],
    "f": [(3.0, 5.0, (99,))],
    "beta": [(0.7, 2.2, (99,))],
    "dirichlet": [(np.array([0.5, 2.0, 3.0], np.float32), (33,))],
    "generalized_normal": [(1.3, (99,))],
    "ball": [(3, 1.3, (33,))],
    "multivariate_normal": [
        (P, np.eye(5, dtype=np.float32) + 0.2, (3,), None, "eigh"),
        (np.stack([P, -P]), np.eye(5, dtype=np.float32) + 0.2, None, None, "svd"),
    ],
    "orthogonal": [(3, (2,), "complex64", 2), (2, (), "float32", 3)],
}


def rows(table):
    return pytest.mark.parametrize(
        ("name", "args"),
        [
            pytest.param(name, args, id=f"{name}-{i}")
            for name, calls in table.items()
            for i, args in enumerate(calls)
        ],
    )


def draws(name, args):
    """What jax draws, and what is drawn here: eagerly, and by a compiled program."""

    def fun(key):
        return getattr(random, name)(key, *args)

    wanted = np.asarray(getattr(theirs, name)(theirs.key(SEED), *args))
    key = random.key(SEED)
    for got in map(np.asarray, (fun(key), cv.jit(fun)(key))):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        yield got, wanted


@rows(EXACT)
def test_draws_equal_those_of_jax(name, args):
    for got, wanted in draws(name, args):
        np.testing.assert_array_equal(got, wanted)


@rows(CLOSE)
def test_draws_are_those_of_jax_up_to_rounding(name, args):
    for got, wanted in draws(name, args):
        digits = cnp.finfo(wanted.dtype).nmant
        tolerance = 256 * 2.0**-digits if digits > 11 else 8 * 2.0**-digits
        kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            got.astype(kind), wanted.astype(kind), tolerance, tolerance / 64
        )


@pytest.mark.parametrize(("n", "p"), [(10, 0.3), (5, 0.9), (3, 0.5), (200, 0.4)])
def test_binomial_draws_are_those_of_jax_but_for_a_few(n, p):
    """Its Stirling series takes large arguments for 9, so some are accepted wrongly."""
    for got, wanted in draws("binomial", (n, p, (2000,))):
        assert np.mean(got == wanted) > 0.998


def test_impossible_binomials_are_those_of_jax():
    n = np.array([-1, np.nan, 10, 10, 10, 10, 10, 10, 0, np.inf], np.float32)
    p = np.array([0.5, 0.5, -0.1, np.nan, 0, 1, 1.5, 0.5, 0.5, 0.5], np.float32)
    for got, wanted in draws("binomial", (n, p)):
        np.testing.assert_array_equal(got, wanted)


WIDE = {
    "bits": ((5,),),
    "uniform": ((99,),),
    "randint": ((9,), -(2**62), 2**62),
    "permutation": (9,),
    "choice": (9, (3,)),
    "categorical": (LOGITS,),
    "rademacher": ((9,),),
    "poisson": (3.0, (9,)),
    "geometric": (0.2, (9,)),
}


@pytest.mark.parametrize("name", WIDE)
def test_draws_of_64_bits_equal_those_of_jax(name):
    with options.override(enable_x64=True), jax.enable_x64(True):
        for got, wanted in draws(name, WIDE[name]):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("uniform", ((99,), float, -3.3, 7.1)),
        ("normal", ((99,),)),
        ("gumbel", ((99,),)),
        ("gamma", (2.5, (9,))),
    ],
)
def test_floats_of_64_bits_are_those_of_jax_up_to_rounding(name, args):
    with options.override(enable_x64=True), jax.enable_x64(True):
        for got, wanted in draws(name, args):
            np.testing.assert_allclose(got, wanted, 1e-13, 1e-14)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("binomial", (np.array([9.5, 60.0]), np.float32(0.6))),
        ("multinomial", (np.float32(50), P)),
        ("geometric", (np.float32(0.3), (9,))),
    ],
)
def test_counts_are_drawn_in_the_precision_of_their_probabilities(name, args):
    with options.override(enable_x64=True), jax.enable_x64(True):
        for got, wanted in draws(name, args):
            np.testing.assert_array_equal(got, wanted)


OLDER = {
    "bits": [((7,),), ((8,), "uint8"), ((2, 3), "uint16"), ((0,),), ((),)],
    "uniform": [((9,),)],
    "permutation": [(9,), (CUBE, 1)],
    "randint": [((9,), 0, 10)],
    "multinomial": [(20, P)],
}


@rows(OLDER)
def test_the_older_stream_equals_that_of_jax(name, args):
    with (
        options.override(threefry_partitionable=False),
        jax.threefry_partitionable(False),
    ):
        for got, wanted in draws(name, args):
            np.testing.assert_array_equal(got, wanted)


def test_the_older_stream_has_64_bits():
    with (
        options.override(threefry_partitionable=False, enable_x64=True),
        jax.threefry_partitionable(False),
        jax.enable_x64(True),
    ):
        for got, wanted in draws("bits", ((5,),)):
            np.testing.assert_array_equal(got, wanted)


# -- derivatives -----------------------------------------------------------------------

SLOPES = {
    "uniform": lambda r, k, x: r.uniform(k, (9,), minval=-x, maxval=3 * x),
    "truncated_normal": lambda r, k, x: r.truncated_normal(k, -x, 2 * x, (9,)),
    "weibull_min": lambda r, k, x: r.weibull_min(k, x, 2 * x, (9,)),
    "wald": lambda r, k, x: r.wald(k, x, (9,)),
    "gamma": lambda r, k, x: r.gamma(k, x, (9,)),
    "loggamma": lambda r, k, x: r.loggamma(k, x / 4, (9,)),
}


@pytest.mark.parametrize("name", SLOPES)
def test_derivatives_in_the_parameters_are_those_of_jax(name):
    fun = SLOPES[name]
    wanted = jax.jacfwd(lambda x: fun(theirs, theirs.key(SEED), x))(1.3)

    def ours(x):
        return fun(random, random.key(SEED), x)

    for got in (cv.jacfwd(ours)(1.3), cv.jacrev(ours)(1.3)):
        np.testing.assert_allclose(got, wanted, 5e-4, 5e-5)


# -- names -----------------------------------------------------------------------------


def public(module):
    return {name for name in dir(module) if inspect.isfunction(getattr(module, name))}


#: keyword parameters that only we have (decision 31)
OURS = {
    n: {"method"}
    for n in ["gamma", "loggamma", "chisquare", "t", "f", "beta", "dirichlet", "choice"]
}


def test_every_function_is_here_with_the_same_parameters():
    assert not public(theirs) - public(random)
    for name in public(theirs):
        wanted = inspect.signature(getattr(theirs, name)).parameters
        got = dict(inspect.signature(getattr(random, name)).parameters)
        for more in OURS.get(name, ()):
            assert got.pop(more).kind is inspect.Parameter.KEYWORD_ONLY, name
        assert [*got] == [*wanted], name
        for parameter in got.values():
            default = wanted[parameter.name].default
            assert parameter.kind is wanted[parameter.name].kind, name
            if default is not inspect.Parameter.empty:
                assert parameter.default == default, name
