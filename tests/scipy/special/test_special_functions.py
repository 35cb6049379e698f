"""Special functions at points where a careless formula is wrong, beside SciPy."""

import numpy as np
import pytest
from scipy import special as reference

import covector as cv
import covector.numpy as cnp
from covector.scipy import special
from tests.scipy.special.points import POINTS

#: the largest error of functions, in units in the last place; of others it is 8
BOUNDS = {"owens_t": 16}
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
def test_difficult_points_are_accurate(name):
    points, values = zip(*POINTS[name], strict=True)
    wanted = np.array(values)
    with cv.enable_x64():
        args = [cnp.array(column) for column in zip(*points, strict=True)]
        found = np.asarray(cv.jit(function(name))(*args))
    error = units(found, wanted)
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


def test_factorials_are_not_exact():
    with pytest.raises(TypeError, match="factorial has no exact integers"):
        special.factorial(5, exact=True)


@pytest.mark.parametrize("d", [0, 1.5])
def test_the_dimension_of_multigammaln_is_a_positive_integer(d):
    with pytest.raises(TypeError, match="multigammaln needs a positive integer d"):
        special.multigammaln(2.0, d)
