"""Special functions at points where a careless formula is wrong, beside SciPy."""

import numpy as np
import pytest
from scipy import special as reference

import covector as cv
import covector.numpy as cnp
from covector.scipy import special
from tests.scipy.special.points import POINTS

#: the largest error of functions, in units in the last place; of others it is 8
BOUNDS = {
    "owens_t": 16,
    "beta": 128,
    "poch": 32,
    "zeta": 16,
    "gammainc": 24,
    "gammaincc": 24,
    "betainc": 24,
}
ENDS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0, np.inf, -np.inf, np.nan])


def units(found, wanted):
    """The largest error, in units in the last place of the reference."""
    with np.errstate(all="ignore"):
        error = np.abs(found - wanted) / np.spacing(np.abs(wanted))
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    flushed = (np.abs(wanted) < 1e-307) & (np.abs(found) < 1e-307)
    return np.where(same | flushed, 0, np.where(np.isnan(error), np.inf, error))


def function(name):
    """A function of the package; ``sici_1`` is the second result of ``sici``."""
    if name[-2:] not in ("_0", "_1"):
        return getattr(special, name)
    return lambda *args: getattr(special, name[:-2])(*args)[int(name[-1])]


@pytest.mark.parametrize("name", POINTS)
def test_difficult_points_are_accurate_eagerly_and_compiled(name):
    points, values = zip(*POINTS[name], strict=True)
    wanted = np.array(values)
    with cv.enable_x64():
        args = [cnp.array(column) for column in zip(*points, strict=True)]
        compiled = np.asarray(cv.jit(function(name))(*args))
        found = np.asarray(function(name)(*args))
    error = np.maximum(units(found, wanted), units(compiled, wanted))
    assert error.max() <= BOUNDS.get(name, 8), [
        (point, float(mine), theirs, float(e))
        for point, mine, theirs, e in zip(points, found, values, error, strict=True)
        if e > 2
    ]


@pytest.mark.parametrize(
    "name", ["erfcx", "ndtr", "log_ndtr", "ndtri", "logit", "entr", "gamma"]
)
def test_zeros_and_infinities_are_as_in_scipy(name):
    found = np.asarray(getattr(special, name)(ENDS.astype(np.float32)))
    wanted = getattr(reference, name)(ENDS).astype(np.float32)
    assert np.array_equal(found == 0, wanted == 0)
    assert np.allclose(found, wanted, rtol=1e-5, equal_nan=True)


def test_the_logarithm_of_ndtr_has_derivatives_in_both_tails():
    x = cnp.array([-1e4, -3.0, 0.5, 30.0])
    slope = cv.vmap(cv.grad(special.log_ndtr))(x)
    bend = cv.vmap(cv.grad(cv.grad(special.log_ndtr)))(x)
    assert np.allclose(slope, [1e4, 3.2830986, 0.50916046, 0], rtol=1e-4)
    assert np.allclose(bend, [-1, -0.92944, -0.51382, 0], rtol=1e-2)


def test_boxcox_is_smooth_where_lmbda_is_zero():
    with cv.enable_x64():
        log = np.log(3.0)
        found = [cv.grad(special.boxcox, n)(3.0, 0.0) for n in (0, 1)]
        assert np.allclose(found, [1 / 3, log**2 / 2])
        assert np.allclose(cv.hessian(special.boxcox, 1)(3.0, 0.0), log**3 / 3)


def test_entropies_have_the_derivatives_of_their_limits():
    assert cv.grad(special.xlogy)(0.0, 2.0) == np.float32(np.log(2.0))
    assert cv.grad(special.xlogy, 1)(0.0, 0.5) == 0
    assert cv.grad(lambda x: special.xlogy(x, x))(0.0) == -np.inf
    assert cv.grad(special.xlog1py, (0, 1))(0.0, -1.0) == (-np.inf, 0)
    assert cv.grad(special.rel_entr, (0, 1))(0.0, 0.0) == (0, 0)
    assert cv.grad(special.kl_div, (0, 1))(0.0, 0.0) == (-1, 1)
    assert np.isnan(cv.grad(special.kl_div, 1)(0.0, np.nan))
    assert cv.grad(special.kl_div)(2.0, 2.0) == 0
    assert cv.grad(special.entr)(0.0) == np.inf


def test_a_sum_of_exponentials_with_factors_has_a_sign():
    value, sign = special.logsumexp(
        cnp.array([0.0, np.log(3.0)]), b=cnp.array([1.0, -1.0]), return_sign=True
    )
    assert np.allclose([value, sign], [np.log(2), -1])
    assert special.logsumexp(cnp.array([-np.inf, -np.inf])) == -np.inf
    assert special.logsumexp(cnp.array([np.inf, 0.0])) == np.inf
    assert cv.grad(special.logsumexp)(cnp.array([-np.inf, 0.0])).tolist() == [0, 1]


def test_incomplete_functions_have_derivatives_by_their_parameters():
    with cv.enable_x64():
        by_a = cv.grad(special.gammainc)(2.5, 1.5)
        assert np.allclose(by_a, slope(reference.gammainc, (2.5, 1.5), 0), rtol=1e-7)
        point = (2.5, 0.7, 0.6)
        found = cv.grad(special.betainc, (0, 1, 2))(*point)
        wanted = [slope(reference.betainc, point, k) for k in range(3)]
        assert np.allclose(found, wanted, rtol=1e-7)


@pytest.mark.parametrize(
    "name, point", [("hyp1f1", (0.5, 1.2, -0.4)), ("hyp2f1", (0.5, 1.2, 2.3, 0.4))]
)
def test_hypergeometric_functions_have_derivatives_by_everything(name, point):
    function, known = getattr(special, name), getattr(reference, name)
    wanted = [slope(known, point, k) for k in range(len(point))]
    with cv.enable_x64():
        forward = cv.jacfwd(function, tuple(range(len(point))))(*point)
        backward = cv.grad(function, tuple(range(len(point))))(*point)
    assert np.allclose(forward, wanted, rtol=1e-7)
    assert np.allclose(backward, wanted, rtol=1e-7)


def test_tails_of_incomplete_functions_keep_their_digits_in_32_bits():
    """Of exponents near −80, half a unit in the last place is a factor of 1 + 4e-6."""
    a = np.float32([100, 1000, 8.25, 20, 1e4, 1e6])
    below, above = [
        np.float32(x)
        for x in (
            [30, 700, 0.01, 0.5, 8900, 990000],
            [180, 1400, 90, 100, 11200, 1010000],
        )
    ]
    lower, upper = cv.jit(special.gammainc)(a, below), special.gammaincc(a, above)
    assert np.allclose(lower, reference.gammainc(*map(np.float64, (a, below))), 3e-6, 0)
    assert np.allclose(
        upper, reference.gammaincc(*map(np.float64, (a, above))), 3e-6, 0
    )
    point = np.float32([[100, 1e3, 5], [100, 500, 50], [0.2, 0.55, 0.625]])
    wanted = reference.betainc(*point.astype(np.float64))
    assert np.allclose(cv.jit(special.betainc)(*point), wanted, 3e-6, 0)


#: ∂P/∂a, ∂²P/∂a², ∂²P/∂a∂x, ∂³P/∂a³ of a and x, with mpmath in 60 digits
GAMMA_DERIVATIVES = [
    (
        (2.5, 1.5),
        -0.25217540042362785,
        0.1365540334550095,
        -0.09179635733271264,
        0.02581217938604694,
    ),
    (
        (0.001, 0.2),
        -1.2224444134060657,
        0.20829366071910413,
        4.085199103745786,
        4.321020828254055,
    ),
    (
        (10.0, 14.0),
        -0.05669099771532573,
        -0.019187891590252342,
        0.018336622927781165,
        -0.0007709506421924276,
    ),
    (
        (50.0, 30.0),
        -0.0002830094447125904,
        0.00014481829548814478,
        -0.00018435706760356113,
        -6.844041455220585e-05,
    ),
]
#: ∂I/∂a, ∂I/∂b, ∂²I/∂a², ∂²I/∂a∂b, ∂²I/∂b², ∂²I/∂b∂x of a, b and x
BETA_DERIVATIVES = [
    (
        (2.5, 0.7, 0.6),
        -0.11069490331884888,
        0.3033523973661855,
        0.07002893668517515,
        -0.12518707768477097,
        0.0388753635654669,
        1.1194573346382137,
    ),
    (
        (0.001, 2.0, 0.5),
        -0.19335968097167094,
        0.00021612767703389155,
        -0.2123067293104594,
        0.21613531056892293,
        -0.00028107051173866557,
        -0.0006927146312757089,
    ),
    (
        (40.0, 60.0, 0.3),
        -0.0059046115184786165,
        0.0031607101625400536,
        0.001760433958933415,
        -0.000901729045581755,
        0.00045566245362359226,
        0.15282190131044893,
    ),
    (
        (5.0, 2.0, 0.95),
        -0.010923169898327941,
        0.06781172271489073,
        -0.001424203301692954,
        0.01776390887148037,
        -0.1329001683198986,
        -1.8885128964546534,
    ),
]


def test_incomplete_functions_have_derivatives_of_any_order():
    gamma, beta = special.gammainc, special.betainc
    with cv.enable_x64():
        for point, *wanted in GAMMA_DERIVATIVES:
            by_a = cv.grad(gamma)
            by_a2 = cv.jacfwd(by_a)
            found = [f(*point) for f in (by_a, by_a2, cv.grad(by_a, 1), cv.grad(by_a2))]
            assert np.allclose(found, wanted, rtol=1e-10, atol=0), point
        for point, *wanted in BETA_DERIVATIVES:
            by_a, by_b, _ = cv.grad(beta, (0, 1, 2))(*point)
            bend = cv.hessian(beta, (0, 1, 2))(*point)
            found = [by_a, by_b, bend[0][0], bend[0][1], bend[1][1], bend[1][2]]
            assert np.allclose(found, wanted, rtol=1e-11, atol=0), point
            assert np.allclose(bend[1][0], bend[0][1], rtol=1e-13)
            assert np.allclose(bend[2][1], bend[1][2], rtol=1e-13)


def test_densities_have_the_derivatives_of_their_powers_at_the_ends():
    a = cnp.array([0.5, 1.0, 1.5, 2.0, 3.0])
    bend = cv.vmap(cv.grad(cv.grad(special.gammainc, 1), 1), (0, None))(a, 0.0)
    assert bend.tolist() == [-np.inf, -1, np.inf, 1, 0]
    bend = cv.vmap(cv.grad(cv.grad(special.betainc, 2), 2), (0, None, None))(
        a, 2.0, 0.0
    )
    assert bend.tolist() == [-np.inf, -2, np.inf, 6, 0]
    mixed = cv.vmap(cv.grad(cv.grad(special.betainc), 2), (0, None, None))(a, 2.0, 1.0)
    assert np.allclose(mixed, 0)


def slope(function, point, k, h=1e-5):
    """A difference quotient by argument k."""
    ends = [np.array(point), np.array(point)]
    ends[0][k] += h
    ends[1][k] -= h
    return (function(*ends[0]) - function(*ends[1])) / (2 * h)


def test_hypergeometric_functions_are_accurate_on_all_of_their_domain():
    a, b = np.array([0.5, 1.5, 2.0, 3.0, 1.0]), np.array([1.2, 2.5, 0.3, 1.0, 2.0])
    x = np.array([-300.0, -20.0, 0.0, 30.0, 600.0])
    c, y = np.array([2.3, 1.7, 4.1, 4.5, 4.0]), np.array([-40.0, -0.9, 0.5, 0.97, 1.0])
    with cv.enable_x64():
        confluent, full = (
            cv.jit(special.hyp1f1)(a, b, x),
            cv.jit(special.hyp2f1)(a, b, c, y),
        )
        polynomial = special.hyp2f1(-2.0, 3.0, 2.0, 2.0)
    assert np.allclose(confluent, reference.hyp1f1(a, b, x), rtol=1e-12, atol=0)
    assert np.allclose(full, reference.hyp2f1(a, b, c, y), rtol=1e-12, atol=0)
    assert np.allclose(polynomial, reference.hyp2f1(-2, 3, 2, 2))
    assert np.isnan(special.hyp2f1(1.5, 2.0, 3.0, 1.5))


#: a, b, c, x and the value, with mpmath in 60 digits: whole c − a − b and b − a near 1
#: and far below 0, oscillations, decay and growth, negative c, polynomials
GAUSS = np.array(
    [
        (1.0, 1.0, 2.0, -1000000.0, 1.3815511557963774e-05),
        (1.0, 1.0, 2.0, 0.99999, 11.513040595380733),
        (0.5, 0.5, 1.0, 0.999999, 5.280157154762713),
        (0.5, 0.5, 1.0, -100000000.0, 0.000674602717637251),
        (1.0, 2.0, 3.0, -100000.0, 1.9997697412907015e-05),
        (2.0, 2.0, 4.0, 0.9999, 43.281751663170624),
        (2.0, 3.0, 5.0, -3000.0, 6.608793740481217e-07),
        (1.5, 2.5, 3.0, 0.999, 1689.9804604278613),
        (10.0, 20.0, 30.0, 0.95, 850970.4807220447),
        (10.0, 20.0, 30.0, -50.0, 1.476479777544086e-15),
        (-50.0, 51.0, 1.0, 0.3, 0.04156903338182536),
        (-20.0, 21.5, 1.5, 0.95, -0.033909413817523215),
        (-10.0, 12.0, 3.0, 1.5, 1293.3346946022727),
        (-5.0, -7.0, 2.0, 0.9, 162.267715),
        (-5.0, 3.0, -8.0, 0.5, 2.775111607142857),
        (50.5, 0.5, 1.0, 0.9, 8.43628606513256e48),
        (-30.5, 31.5, 1.0, 0.6, -0.10640175934897857),
        (100.0, 200.0, 300.0, 0.3, 8210118670.464911),
        (20.0, 30.0, 1.5, 0.9, 1.4684028427444115e60),
        (20.0, 30.0, 1.5, -5.0, -2.038663778300764e-23),
        (2.5, 1.5, -3.5, 0.95, 1938308173178.8748),
        (2.5, 1.5, -3.5, -7.0, -0.505134194087916),
        (0.2, -0.3, 0.7, 0.999999999999, 0.852622813125604),
        (1.0, 1.0, 3.0, -1000000000000000.0, 6.707755278982144e-14),
        (0.5, 0.25, 0.75, -1e100, 1.414213562373095e-25),
        (5.1, 4.9, 0.3, 0.99, 2.3545836783096996e22),
        (1.1, 2.1, 40.0, -900.0, 0.02643293226686281),
        (-0.5, 0.5, 1.0, 0.99999999, 0.6366198045061682),
        (60.0, 60.0, 2.0, -1.0, -1.5335659135947372e-21),
        (0.001, 100.0, 2.0, -3.0, 0.9947342419695046),
    ]
)


def test_the_function_of_gauss_is_right_where_its_series_cancels_or_does_not_converge():
    *args, wanted = GAUSS.T
    with cv.enable_x64():
        found = cv.jit(special.hyp2f1)(*args)
        slopes = cv.grad(special.hyp2f1, (0, 1, 2, 3))(1.0, 2.0, 3.0, 0.999)
        tie = cv.grad(special.hyp2f1, 3)(-3.0, 2.0, 2.0, 0.8)
    assert np.allclose(found, wanted, rtol=2e-12, atol=0)
    known = [
        45.82450168372931,
        35.97147942370929,
        -31.329490018458294,
        1978.2959337758919,
    ]
    assert np.allclose(slopes, known, rtol=1e-12)
    assert np.allclose(tie, -3 * 0.2**2)


def test_the_function_of_gauss_has_ends_and_poles():
    a = cnp.array([0.5, 0.5, -1.0, -3.0, 1.0, 0.2, np.nan])
    b = cnp.array([1.0, 1.0, 2.0, 2.0, 1.0, 0.3, 1.0])
    c = cnp.array([-2.0, -2.0, -2.0, -2.0, 1.5, 1.5, 2.0])
    x = cnp.array([0.3, 0.0, 0.3, 0.3, 1.0, 1.0, 0.3])
    found = np.asarray(special.hyp2f1(a, b, c, x))
    assert np.allclose(found[[1, 2]], [1, 1.3])
    assert np.isinf(found[[0, 3, 4]]).all() and np.isnan(found[6])
    assert np.allclose(found[5], reference.hyp2f1(0.2, 0.3, 1.5, 1.0))


def test_complex_gamma_and_faddeeva_functions_are_those_of_scipy():
    rng = np.random.default_rng(0)
    z = rng.uniform(-9, 9, 200) + 1j * rng.uniform(-4, 9, 200)
    z = np.append(z, [1 + 1e-8j, -3.5, 0.5j, 1e150 + 1j, 3.0])
    with cv.enable_x64():
        for name, some in (("gamma", z[:-2]), ("loggamma", z), ("wofz", z)):
            found = np.asarray(cv.jit(getattr(special, name))(some))
            wanted = getattr(reference, name)(some)
            assert np.all(np.abs(found - wanted) <= 1e-14 + 1e-12 * np.abs(wanted)), (
                name
            )
        by_rule = cv.grad(special.loggamma, holomorphic=True)(2.5 + 1j)
        assert np.allclose(by_rule, reference.digamma(2.5 + 1j))
        slope = cv.grad(special.wofz, holomorphic=True)(1.5 + 0j)
        assert np.allclose(slope, -3 * reference.wofz(1.5) + 2j / np.sqrt(np.pi))


def test_bessel_functions_are_right_for_small_and_large_arguments():
    z = np.array([0.0, 1e-9, 2.404825557695773, 29.9, 30.1, -55.0, 1e4])
    with cv.enable_x64():
        found = cv.jit(lambda z: special.bessel_jn(z, v=20))(z)
        bend = cv.grad(cv.grad(lambda z: special.bessel_jn(z, v=3)[3]))(2.5)
    wanted = np.stack([reference.jv(n, z) for n in range(21)])
    assert np.allclose(found, wanted, rtol=1e-10, atol=1e-14)
    assert np.allclose(bend, reference.jvp(3, 2.5, 2))


def test_spherical_harmonics_have_derivatives_at_the_poles():
    n, m = cnp.array([0, 1, 3, 3, 4]), cnp.array([0, 1, -2, 3, 0])
    theta, phi = np.linspace(0.1, 3, 5), np.linspace(-1, 6, 5)
    with cv.enable_x64():
        found = special.sph_harm_y(n, m, theta, phi)
        at_pole = cv.grad(lambda t: special.sph_harm_y(n[1], m[1], t, 0.0).real)(0.0)
        values, slopes = special.lpmn(2, 3, 0.3)
    assert np.allclose(found, reference.sph_harm_y(n, m, theta, phi))
    assert np.allclose(at_pole, -np.sqrt(3 / (8 * np.pi)))
    assert np.allclose(
        values[1], [0, -np.sqrt(0.91), -0.9 * np.sqrt(0.91), 0.825 * np.sqrt(0.91)]
    )
    assert np.allclose(slopes[2], [0, 0, -1.8, 10.95], rtol=1e-12)


def test_bernoulli_numbers_are_exact_until_they_overflow():
    with cv.enable_x64():
        found = np.asarray(special.bernoulli(300))
    assert found[10] == 5 / 66 and found[11] == 0
    assert found[258:].max() > 1e306 and np.isneginf(found[260])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: special.bernoulli(-1), "bernoulli needs a whole number n ≥ 0"),
        (
            lambda: special.bessel_jn(cnp.ones(2), v=1.5),
            "bessel_jn needs a whole number v",
        ),
        (
            lambda: special.bessel_jn(cnp.arange(2), v=1),
            "bessel_jn needs floating-point",
        ),
        (lambda: special.lpmn(3, 2, 0.5), "lpmn_values needs m ≤ n"),
        (lambda: special.lpmn(-1, 2, 0.5), "lpmn_values needs a whole number"),
        (lambda: special.sph_harm_y(1, 0, 0.0, 0.0, 1), "sph_harm_y has no diff_n"),
        (lambda: special.sph_harm_y(1.0, 0, 0.0, 0.0), "sph_harm_y needs integers n"),
    ],
)
def test_arguments_that_cannot_be_are_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_factorials_are_not_exact():
    with pytest.raises(ValueError, match="factorial has no exact integers"):
        special.factorial(5, exact=True)


@pytest.mark.parametrize("d", [0, 1.5])
def test_the_dimension_of_multigammaln_is_a_positive_integer(d):
    with pytest.raises(ValueError, match="multigammaln needs a positive integer d"):
        special.multigammaln(2.0, d)


def test_bfloat16_is_rounded_once_eagerly_and_compiled():
    rng = np.random.default_rng(0)
    a, b = [cnp.asarray(rng.uniform(0.2, 9, 40), "bfloat16") for _ in range(2)]

    def values_and_slopes(a, b):
        return [
            y
            for f in (special.beta, special.betaln)
            for y in (f(a, b), *cv.grad(lambda a, b, f=f: f(a, b).sum(), (0, 1))(a, b))
        ]

    compiled = cv.jit(values_and_slopes)(a, b)
    for eager, other in zip(values_and_slopes(a, b), compiled, strict=True):
        np.testing.assert_array_equal(eager, other)
