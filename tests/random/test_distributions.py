"""Draws have the distribution they are named for, however they are run."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

import covector as cv
import covector.numpy as cnp
from covector import errors, options, random
from covector.random import arguments
from covector.random.arguments import DRAW_LIMIT
from covector.runtime import compiler
from covector.sharding import NamedSharding
from covector.sharding import PartitionSpec as P

KEY = random.key(2024)
MANY = 8000

#: draws, and their distribution function or, of integers, their probabilities
CONTINUOUS = {
    "uniform": (
        lambda k, n: random.uniform(k, n, minval=-1, maxval=3),
        stats.uniform(-1, 4),
    ),
    "normal": (random.normal, stats.norm),
    "truncated_normal": (
        lambda k, n: random.truncated_normal(k, -1.0, 2.0, n),
        stats.truncnorm(-1, 2),
    ),
    "lognormal": (lambda k, n: random.lognormal(k, 0.7, n), stats.lognorm(0.7)),
    "maxwell": (random.maxwell, stats.maxwell),
    "wald": (lambda k, n: random.wald(k, 2.0, n), stats.invgauss(2.0)),
    "exponential": (random.exponential, stats.expon),
    "gumbel": (random.gumbel, stats.gumbel_r),
    "gumbel of more bits": (
        lambda k, n: random.gumbel(k, n, mode="high"),
        stats.gumbel_r,
    ),
    "laplace": (random.laplace, stats.laplace),
    "logistic": (random.logistic, stats.logistic),
    "cauchy": (random.cauchy, stats.cauchy),
    "rayleigh": (lambda k, n: random.rayleigh(k, 2.0, n), stats.rayleigh(scale=2)),
    "weibull_min": (
        lambda k, n: random.weibull_min(k, 2.0, 1.5, n),
        stats.weibull_min(1.5, scale=2),
    ),
    "pareto": (lambda k, n: random.pareto(k, 3.0, n), stats.pareto(3)),
    "triangular": (
        lambda k, n: random.triangular(k, -1.0, 0.0, 3.0, n),
        stats.triang(0.25, -1, 4),
    ),
    "gamma of small shape": (lambda k, n: random.gamma(k, 0.3, n), stats.gamma(0.3)),
    "gamma of large shape": (lambda k, n: random.gamma(k, 9.0, n), stats.gamma(9)),
    "loggamma": (lambda k, n: random.loggamma(k, 0.5, n), stats.loggamma(0.5)),
    "chisquare": (lambda k, n: random.chisquare(k, 3.0, n), stats.chi2(3)),
    "t": (lambda k, n: random.t(k, 3.0, n), stats.t(3)),
    "f": (lambda k, n: random.f(k, 3.0, 5.0, n), stats.f(3, 5)),
    "beta": (lambda k, n: random.beta(k, 0.7, 2.0, n), stats.beta(0.7, 2)),
    "dirichlet": (
        lambda k, n: random.dirichlet(k, cnp.array([1.0, 2.0, 4.0]), n)[:, 1],
        stats.beta(2, 5),
    ),
    "fast gamma": (
        lambda k, n: random.gamma(k, 0.7, n, method="fast"),
        stats.gamma(0.7),
    ),
    "fast beta": (
        lambda k, n: random.beta(k, 0.7, 2.2, n, method="fast"),
        stats.beta(0.7, 2.2),
    ),
    "generalized_normal": (
        lambda k, n: random.generalized_normal(k, 1.5, n),
        stats.gennorm(1.5),
    ),
    "ball": (
        lambda k, n: (random.ball(k, 3, shape=n) ** 2).sum(-1) ** 1.5,
        stats.uniform,
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_have_the_distribution(name):
    draw, wanted = CONTINUOUS[name]
    values = np.asarray(draw(KEY, (MANY,)), np.float64)
    assert values.shape == (MANY,)
    assert stats.kstest(values, wanted.cdf).pvalue > 1e-3


DISCRETE = {
    "poisson of small mean": (lambda k, n: random.poisson(k, 3.0, n), stats.poisson(3)),
    "poisson of large mean": (
        lambda k, n: random.poisson(k, 20.0, n),
        stats.poisson(20),
    ),
    "binomial of few": (
        lambda k, n: random.binomial(k, 9, 0.3, n),
        stats.binom(9, 0.3),
    ),
    "binomial of many": (
        lambda k, n: random.binomial(k, 60, 0.6, n),
        stats.binom(60, 0.6),
    ),
    "multinomial": (
        lambda k, n: random.multinomial(
            k, 12.0, cnp.array([0.2, 0.5, 0.3]), shape=(*n, 3)
        )[:, 1],
        stats.binom(12, 0.5),
    ),
    "geometric": (lambda k, n: random.geometric(k, 0.3, n), stats.geom(0.3)),
    "randint": (lambda k, n: random.randint(k, n, 3, 9), stats.randint(3, 9)),
    "randint of bytes": (
        lambda k, n: random.randint(k, n, 0, 256, "uint8"),
        stats.randint(0, 256),
    ),
    "rademacher": (
        lambda k, n: (random.rademacher(k, n) + 1) // 2,
        stats.bernoulli(0.5),
    ),
    "bernoulli": (lambda k, n: random.bernoulli(k, 0.3, n), stats.bernoulli(0.3)),
    "choice": (
        lambda k, n: random.choice(k, cnp.arange(2), n, p=cnp.array([0.2, 0.8])),
        stats.bernoulli(0.8),
    ),
    "categorical": (
        lambda k, n: random.categorical(k, cnp.log(cnp.array([0.2, 0.8])), shape=n),
        stats.bernoulli(0.8),
    ),
    "permutation": (
        lambda k, n: cv.vmap(lambda k: random.permutation(k, 5)[0])(random.split(k, n)),
        stats.randint(0, 5),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_the_probabilities(name):
    draw, wanted = DISCRETE[name]
    values = np.asarray(draw(KEY, (MANY,))).astype(int)
    found, times = np.unique(values, return_counts=True)
    expected = MANY * wanted.pmf(found)
    assert (expected > 0).all()
    common = expected > 5
    seen = np.append(times[common], MANY - times[common].sum())
    meant = np.append(expected[common], MANY - expected[common].sum())
    kept = meant > 1e-6 * MANY
    assert stats.chisquare(seen[kept], meant[kept], sum_check=False).pvalue > 1e-3


def test_extreme_gumbel_numbers_need_more_bits():
    def largest(mode):
        return float(random.gumbel(KEY, (10 * MANY,), "bfloat16", mode).max())

    assert largest("low") < 8 < largest("high")


def test_points_of_other_balls_lie_in_them():
    points = random.ball(KEY, 3, 1.0, (MANY,))
    sizes = np.abs(np.asarray(points)).sum(-1)
    assert sizes.max() <= 1
    assert stats.kstest(sizes**3, stats.uniform.cdf).pvalue > 1e-3


# -- shapes and dtypes -----------------------------------------------------------------


def test_parameters_give_the_shape_where_none_is_asked_for():
    a, b = cnp.ones((2, 1)), cnp.ones(3)
    assert random.beta(KEY, a, b).shape == (2, 3)
    assert random.poisson(KEY, b).shape == (3,)
    assert random.dirichlet(KEY, cnp.ones((2, 4))).shape == (2, 4)
    assert random.multinomial(KEY, cnp.ones(2), cnp.ones((2, 4)) / 4).shape == (2, 4)
    assert random.categorical(KEY, cnp.ones((2, 4)), 0).shape == (4,)
    assert random.choice(KEY, cnp.ones((2, 4)), (3, 3), axis=1).shape == (2, 3, 3)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), 3, [2, 3], np.array([2, 1])])
def test_shapes_are_taken_as_they_are_written(shape):
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    assert random.normal(KEY, shape).shape == wanted
    assert random.gamma(KEY, 2.0, shape).shape == wanted
    assert random.randint(KEY, shape, 0, 9).shape == wanted


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_floats_are_drawn_in_their_own_dtype(dtype):
    for draw in (
        lambda: random.uniform(KEY, (9,), dtype),
        lambda: random.normal(KEY, (9,), dtype),
        lambda: random.gamma(KEY, 2.0, (9,), dtype),
        lambda: random.beta(KEY, 2.0, 2.0, (9,), dtype),
        lambda: random.cauchy(KEY, (9,), dtype),
        lambda: random.binomial(KEY, 9, 0.5, (9,), dtype),
    ):
        drawn = draw()
        assert drawn.dtype == cnp.dtype(dtype)
        assert not drawn.weak_type
        assert np.isfinite(np.asarray(drawn).astype(np.float64)).all()


def test_without_x64_wide_dtypes_are_narrow_ones():
    assert random.normal(KEY, (), float).dtype == np.float32
    with options.override(enable_x64=True):
        assert random.normal(KEY).dtype == np.float64
        assert random.randint(KEY, (), 0, 9).dtype == np.int64
        assert random.permutation(KEY, 3).dtype == np.int64
        assert random.normal(KEY, (), complex).dtype == np.complex128


def test_a_fast_choice_draws_different_elements_and_prefers_none():
    def two(key):  # in one of eight blocks each
        drawn = random.choice(key, 4096, (512,), replace=False, method="fast")
        return drawn, drawn[:2] // 512

    drawn, blocks = cv.jit(cv.vmap(two))(random.split(KEY, 4000))
    drawn, blocks = np.asarray(drawn), np.asarray(blocks)
    assert drawn.min() >= 0 and drawn.max() < 4096
    assert all(len(set(row)) == 512 for row in drawn.tolist())
    expected = np.full((8, 8), 4000 / 64)
    found = np.zeros((8, 8))
    np.add.at(found, (blocks[:, 0], blocks[:, 1]), 1)
    assert stats.chisquare(found.ravel(), expected.ravel()).pvalue > 1e-4
    counts = np.bincount(drawn.ravel(), minlength=4096)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_a_fast_choice_of_many_is_the_published_one():
    for count, wanted in ((5000, 700), (4095, 3), (7, 7)):
        fast = random.choice(KEY, count, (wanted,), False, method="fast")
        np.testing.assert_array_equal(fast, random.choice(KEY, count, (wanted,), False))


# -- however they are run --------------------------------------------------------------

DRAWS = {
    "uniform": lambda k: random.uniform(k, (2, 3)),
    "uniform between": lambda k: random.uniform(k, (9,), minval=-3.3, maxval=7.1),
    "normal": lambda k: random.normal(k, (3,)),
    "randint": lambda k: random.randint(k, (4,), -5, 1000),
    "permutation": lambda k: random.permutation(k, 7),
    "shuffled rows": lambda k: random.permutation(k, cnp.eye(3), 1, independent=True),
    "choice": lambda k: random.choice(k, 7, (3,), replace=False),
    "fast choice": lambda k: random.choice(k, 4096, (512,), False, method="fast"),
    "categorical": lambda k: random.categorical(k, cnp.arange(5.0)),
    "gamma": lambda k: random.gamma(k, cnp.array([0.3, 1.0, 5.0])),
    "poisson": lambda k: random.poisson(k, cnp.array([0.5, 5.0, 50.0])),
    "binomial": lambda k: random.binomial(k, cnp.array([5, 500]), 0.3),
    "multinomial": lambda k: random.multinomial(k, 9, cnp.array([0.2, 0.8])),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_batch_of_keys_draws_what_each_key_draws(name):
    keys = random.split(KEY, 3)
    batch = cv.vmap(DRAWS[name])(keys)
    compiled = cv.jit(cv.vmap(DRAWS[name]))(keys)
    for i, k in enumerate(keys):
        alone = DRAWS[name](k)
        for got in (batch[i], compiled[i]):
            np.testing.assert_allclose(got, alone, 1e-5, 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_bounded_uniform_numbers_have_the_same_bits_eager_and_compiled(dtype):
    def draw(key):
        return random.uniform(key, (2000,), dtype, -0.37, 11.3)

    # Processors that have arithmetic for f16 round product and sum at once.
    rounding = 2.0**-7 if dtype == "float16" else 0
    np.testing.assert_allclose(draw(KEY), cv.jit(draw)(KEY), rtol=0, atol=rounding)


def test_large_draws_begin_as_small_ones():
    """Large draws are compiled, small ones run on the host: one stream for both."""
    large = DRAW_LIMIT + 5
    for draw in (
        random.bits,
        random.uniform,
        lambda k, n: random.uniform(k, n, minval=-1, maxval=7),
        lambda k, n: random.randint(k, n, 0, 1000),
        lambda k, n: random.bernoulli(k, 0.3, n),
    ):
        wanted = np.asarray(draw(KEY, (9,)))
        np.testing.assert_array_equal(np.asarray(draw(KEY, (large,)))[:9], wanted)


def test_large_draws_are_calls_of_one_program():
    def fun(key):
        first, second = random.split(key)
        shape = (DRAW_LIMIT + 1,)
        return random.normal(first, shape) + random.normal(second, shape)

    equations = cv.make_jaxpr(fun)(KEY).jaxpr.equations
    calls = [e.op for e in equations if e.op.name == "jit"]
    assert len(calls) == 2
    assert calls[0] is calls[1]


SMALL = {
    "key": lambda k: random.key(1),
    "split": lambda k: random.split(k, 3),
    "fold_in": lambda k: random.fold_in(k, 3),
    "raw": lambda k: random.split(random.PRNGKey(1)),
    "complex": lambda k: random.normal(k, (3,), complex),
    "wide": lambda k: random.randint(k, (4,), 0, 9, "uint8"),
    "many": lambda k: random.uniform(k, (1000,)),
    "truncated": lambda k: random.truncated_normal(k, -1.0, 1.0, (4,)),
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (4,)),
    "rademacher": lambda k: random.rademacher(k, (4,)),
    "gumbel": lambda k: random.gumbel(k, (4,)),
    "exponential": lambda k: random.exponential(k, (4,)),
    "beta": lambda k: random.beta(k, 0.5, 2.0, (4,)),
    "batch": lambda k: cv.vmap(lambda k: random.normal(k, (3,)))(random.split(k, 4)),
} | {name: draw for name, draw in DRAWS.items() if name != "multinomial"}


@pytest.mark.parametrize("name", SMALL)
def test_small_draws_do_without_the_compiler(name, monkeypatch):
    def compile_module(*args, **kwargs):
        raise AssertionError("the compiler was asked")

    monkeypatch.setattr(compiler, "compile_module", compile_module)
    SMALL[name](KEY)


# -- derivatives -----------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.1, 0.8, 1.0, 3.0, 40.0])
def test_gamma_numbers_move_along_their_quantiles(a):
    """Of the sample at which the distribution function stays the same."""
    with options.override(enable_x64=True):
        value, slope = cv.jvp(lambda a: random.gamma(KEY, a, (5,)), (a,), (1.0,))
        value, slope = np.asarray(value), np.asarray(slope)
        _, tangent = cv.jvp(lambda a: random.loggamma(KEY, a, (5,)), (a,), (1.0,))
        logs = np.exp(np.asarray(random.loggamma(KEY, a, (5,))))
    step = 1e-5 * a
    for x, dx in ((value, slope), (logs, logs * np.asarray(tangent))):
        at = stats.gamma(a).cdf(x)
        ahead, behind = [stats.gamma(a + s).ppf(at) for s in (step, -step)]
        np.testing.assert_allclose(dx, (ahead - behind) / (2 * step), 1e-4, 1e-12)


def test_logarithms_of_the_smallest_gamma_numbers_move_too():
    """Of x below the smallest float: log F(x) = a log x − log Γ(a + 1)."""
    a = 1e-3
    value, slope = cv.jvp(lambda a: random.loggamma(KEY, a, (9,)), (a,), (1.0,))
    assert np.asarray(value).max() < -40
    wanted = (digamma(a + 1) - np.asarray(value)) / a
    np.testing.assert_allclose(slope, wanted, 1e-5)


@pytest.mark.parametrize("fun", [random.gamma, random.loggamma, random.chisquare])
def test_impossible_shapes_give_nan(fun):
    drawn = np.asarray(fun(KEY, cnp.array([np.nan, -5.0, 1.0])))
    assert np.isnan(drawn).tolist() == [True, True, False]
    compiled = np.asarray(cv.jit(lambda a: fun(KEY, a))(np.float32(np.nan)))
    assert np.isnan(compiled)


def test_derivatives_pass_through_what_is_made_of_gamma_numbers():
    """The mean of dirichlet numbers is α / Σα, and so are the means of derivatives."""
    alpha = np.array([1.0, 2.0, 3.0], np.float32)

    def mean(alpha):
        return random.dirichlet(KEY, alpha, (MANY,)).mean(0)

    got = np.asarray(cv.jacrev(mean)(alpha))
    wanted = (np.eye(3) - alpha[:, None] / 6) / 6
    np.testing.assert_allclose(got, wanted, atol=0.01)


def test_uniform_numbers_move_with_their_bounds():
    unit = np.asarray(random.uniform(KEY, (5,)))

    def draw(low, high):
        return random.uniform(KEY, (5,), minval=low, maxval=high)

    low, high = cv.jacrev(draw, (0, 1))(1.0, 3.0)
    np.testing.assert_allclose(low, 1 - unit, 1e-6)
    np.testing.assert_allclose(high, unit, 1e-6)


def test_keys_and_integers_have_no_derivative():
    keys = random.split(KEY, 2)
    for argument in (KEY, keys):
        _, push = cv.vjp(
            lambda x, k: (
                x * random.randint(k, (), 1, 9)
                if not k.shape
                else x * random.key_data(k).sum()
            ),
            2.0,
            argument,
        )
        _, tangent = push(cnp.asarray(1.0))
        assert (tangent.shape, tangent.dtype) == (argument.shape, cv.float0)


def test_bounds_of_integers_that_are_not_there_to_be_drawn_are_refused():
    """They were cut off: numbers of another range."""
    for bounds in ((0, 2**40), (-(2**40), 0), (2**31, 2**31 + 1)):
        with pytest.raises(OverflowError, match="randint draws i32, which holds"):
            random.randint(KEY, (2,), *bounds)
    drawn = np.asarray(random.randint(KEY, (99,), 0, 2**32, "uint32"))
    assert drawn.max() > 2**31
    assert np.asarray(random.uniform(KEY, (9,), maxval=2**40)).max() > 2**31


def test_multinomial_counts_may_be_integers():
    p = np.array([0.2, 0.3, 0.5], np.float32)
    counts = random.multinomial(KEY, 20, p, dtype="int8")
    assert counts.dtype == np.int8 and counts.sum() == 20
    assert counts.tolist() == random.multinomial(KEY, 20, p).tolist()
    with pytest.raises(OverflowError, match="the Python integer 500 does not fit i8"):
        random.multinomial(KEY, 500, p, dtype="int8")


# -- vectors and matrices --------------------------------------------------------------


def test_normal_vectors_have_the_covariance_also_where_it_is_singular():
    mean, root = np.array([1.0, -1.0]), np.array([[1.0, 0.0], [2.0, 0.0]])
    for method in ("eigh", "svd"):
        x = random.multivariate_normal(
            KEY, mean, root @ root.T, (20000,), method=method
        )
        np.testing.assert_allclose(np.mean(x, 0), mean, atol=0.05)
        np.testing.assert_allclose(np.cov(x.T), root @ root.T, atol=0.1)


def test_normal_vectors_move_with_their_covariance():
    def spread(s):
        cov = s * s * cnp.eye(2)
        return random.multivariate_normal(KEY, cnp.zeros(2), cov, (3,)).sum()

    unit = random.multivariate_normal(KEY, cnp.zeros(2), cnp.eye(2), (3,)).sum()
    assert abs(float(cv.grad(spread)(2.0)) - float(unit)) < 1e-5


def test_orthogonal_matrices_turn_uniformly():
    q = random.orthogonal(KEY, 3, (4000,))
    np.testing.assert_allclose(np.mean(q, 0), np.zeros((3, 3)), atol=0.05)
    np.testing.assert_allclose(np.asarray(q[0]).T @ q[0], np.eye(3), atol=1e-5)
    assert random.orthogonal(KEY, 0).shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: random.multivariate_normal(KEY, cnp.zeros(2), cnp.eye(3)),
            errors.TypeMismatch,
            r"a mean \[..., n\] .* but got f32\[2\] and f32\[3,3\]",
        ),
        (
            lambda: random.multivariate_normal(
                KEY, cnp.zeros((2, 3)), cnp.eye(3), (3,)
            ),
            errors.TypeMismatch,
            r"do not broadcast to the shape \(3,\)",
        ),
        (
            lambda: random.multivariate_normal(
                KEY, cnp.zeros(3), cnp.eye(3), method="lu"
            ),
            errors.ArgumentError,
            "must be 'cholesky', 'eigh' or 'svd', but got 'lu'",
        ),
        (
            lambda: random.orthogonal(KEY, -1),
            errors.ArgumentError,
            "a matrix cannot have -1 rows",
        ),
    ],
)
def test_words_of_vectors_and_matrices(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_what_is_drawn_is_where_the_caller_wants_it():
    mesh = cv.make_mesh((1,), ("x",))
    sharding = cv.NamedSharding(mesh, cv.P("x"))
    for draw in (random.normal, random.bernoulli, random.gumbel):
        name = {"out_sharding": sharding}
        assert draw(KEY, shape=(4,), **name).sharding == sharding
    assert random.permutation(KEY, 4, out_sharding=sharding).sharding == sharding


def test_bounds_that_are_crossed_give_nan_and_no_number():
    lows = cnp.array([0.0, 2.0])
    drawn = cv.vmap(lambda low: random.truncated_normal(KEY, low, 1.0))(lows)
    assert cnp.isnan(drawn).tolist() == [False, True]
    narrow = random.truncated_normal(KEY, 2.0, 1.0, dtype="bfloat16")
    assert narrow.dtype == cnp.bfloat16
    assert cnp.isnan(narrow)


def test_fast_gamma_numbers_have_the_derivative_and_the_batches_of_the_others():
    def draw(key, a):
        return random.gamma(key, a, (3,), method="fast")

    a, step = cnp.array([0.4, 1.7, 30.0]), 1e-2
    slope = cv.jvp(lambda a: draw(KEY, a), (a,), (cnp.ones(3),))[1]
    # Where the same candidates are accepted, the numbers move as the derivative says.
    moved = (draw(KEY, a + step) - draw(KEY, a - step)) / (2 * step)
    np.testing.assert_allclose(slope, moved, 0.05, 0.05)
    keys = random.split(KEY, 2)
    rows = cv.vmap(draw, (0, None))(keys, a)
    np.testing.assert_allclose(rows, [draw(k, a) for k in keys], 1e-6)


@pytest.mark.parametrize("rows", [(9001, 3), (50, 20, 17), (3, 6000)])
@pytest.mark.parametrize(
    "name", ["normal", "exponential", "gumbel", "laplace", "logistic", "cauchy"]
)
def test_the_numbers_of_short_rows_are_those_of_one_row(name, rows, monkeypatch):
    monkeypatch.setattr(arguments, "_is_on_one_cpu", lambda: True)
    draw, key = getattr(random, name), random.key(7)
    program = cv.jit(lambda key: draw(key, shape=rows))
    in_long_rows = "computed_once" in program.lower(key).as_text()
    assert in_long_rows == (rows[-1] < 64)
    drawn = program(key)
    flat = cv.jit(lambda key: draw(key, shape=(drawn.size,)))(key)
    assert drawn.shape == rows
    np.testing.assert_allclose(drawn, np.asarray(flat).reshape(rows), rtol=1e-6)


def test_rows_over_several_devices_are_drawn_where_they_are():
    mesh = cv.make_mesh((8,), ("x",))
    columns = NamedSharding(mesh, P(None, "x"))
    program = cv.jit(lambda k: random.normal(k, (9002, 8)), out_shardings=columns)
    text = program.lower(random.key(0)).compile().as_text()
    assert "f32[9002,1]" in text
    assert "f32[9002,8]" not in text
    assert "f32[72016]" not in text
