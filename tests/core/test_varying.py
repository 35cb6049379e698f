"""Over which mesh axes values vary: what becomes of the cotangents that meet them."""

import numpy as np

import covector as cv
from covector import P
from covector.core.varying import cotangent_of
from tests.meshes import mesh


def as_cotangent(ct, x):
    """``ct`` as a cotangent of ``x``, which varies over the axes that ``x`` does."""
    result = cotangent_of(ct, x.type)
    assert result.type.varying == x.type.varying
    return result


def test_the_cotangent_of_a_value_that_is_the_same_everywhere_is_the_sum_over_devices():
    cotangents, value = np.array([3.0, 5.0], "float32"), np.ones(1, "float32")
    cotangent = cv.shard_map(
        as_cotangent, mesh=mesh("2"), in_specs=(P("x"), P()), out_specs=P()
    )
    np.testing.assert_array_equal(cotangent(cotangents, value), [8.0])


def test_the_cotangent_of_a_value_that_varies_varies_like_it():
    cotangents, values = np.array([3.0], "float32"), np.ones(2, "float32")
    cotangent = cv.shard_map(
        as_cotangent, mesh=mesh("2"), in_specs=(P(), P("x")), out_specs=P("x")
    )
    np.testing.assert_array_equal(cotangent(cotangents, values), [3.0, 3.0])
