"""``covector.scipy.cluster.vq``: distances, derivatives and errors."""

import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy.cluster import vq


def test_an_observation_at_a_code_has_a_finite_derivative():
    codes = cnp.array([[1.0, 2.0], [5.0, 5.0]])
    gradient = cv.grad(lambda x: vq.vq(x, codes)[1].sum())(codes + 0.0)
    assert not gradient.any()


def test_no_observations_have_no_codes():
    found = vq.vq(cnp.ones((0, 2)), cnp.ones((3, 2)))
    assert [x.shape for x in found] == [(0,), (0,)]


@pytest.mark.parametrize("shapes", [((3,), (3, 1)), ((3, 2), (3, 1)), ((3,), (0,))])
def test_codes_must_be_as_long_as_observations(shapes):
    with pytest.raises(errors.TypeMismatch, match=r"one code \[k, n\] at least"):
        vq.vq(*map(cnp.ones, shapes))
