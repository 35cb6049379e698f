"""``covector.ops``: reductions over segments, beside a loop over the rows."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, ops

DATA = cnp.array([2.0, 3.0, 4.0, 5.0])
IDS = cnp.array([0, 0, 1, 5])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (ops.segment_sum, [5, 4, 0]),
        (ops.segment_prod, [6, 4, 1]),
        (ops.segment_max, [3, 4, -np.inf]),
        (ops.segment_min, [2, 4, np.inf]),
    ],
)
def test_segments_are_reduced_and_empty_ones_are_neutral(function, wanted):
    assert function(DATA, IDS, 3).tolist() == wanted
    assert function(DATA, IDS, 3, bucket_size=3).tolist() == wanted
    compiled = cv.jit(function, static_argnums=2)
    assert compiled(DATA, IDS, 3).tolist() == wanted
    assert function(DATA, IDS).shape == (6,)
    lanes = cv.vmap(lambda ids: function(DATA, ids, 3))(cnp.stack([IDS, IDS]))
    assert lanes.tolist() == [wanted, wanted]

    assert function(DATA, IDS, 3, mode="clip").tolist() == [*wanted[:2], 5]


def test_empty_segments_of_integers_and_booleans_are_the_extremes_of_the_dtype():
    ids = cnp.array([0, 0])
    numbers, masks = cnp.array([1, 2], "int8"), cnp.array([True, False])
    assert ops.segment_max(numbers, ids, 2).tolist() == [2, -128]
    assert ops.segment_min(numbers, ids, 2).tolist() == [1, 127]
    assert ops.segment_max(masks, ids, 2).tolist() == [True, False]
    assert ops.segment_min(masks, ids, 2).tolist() == [False, True]


def test_booleans_of_a_segment_are_counted():
    found = ops.segment_sum(cnp.array([True, True]), cnp.array([0, 0]))
    assert found.tolist() == [2]
    assert found.dtype == cnp.int32


def test_segments_of_no_rows():
    assert ops.segment_sum(cnp.zeros((0, 2)), cnp.zeros(0, int)).shape == (0, 2)
    assert ops.segment_prod(cnp.zeros((0, 2)), cnp.zeros(0, int), 1).tolist() == [
        [1, 1]
    ]


def test_a_product_of_a_segment_with_zeros_has_all_derivatives():
    def value(d):
        product = ops.segment_prod(d, IDS, 3)
        return (product**2 + product).sum()

    def known(d):
        return (d[0] * d[1]) ** 2 + d[0] * d[1] + d[2] ** 2 + d[2]

    for values in ([2.0, 3.0, 4.0, 5.0], [0.0, 3.0, 4.0, 5.0], [0.0, 0.0, 4.0, 5.0]):
        d = cnp.array(values)
        assert cv.grad(value)(d).tolist() == cv.grad(known)(d).tolist()
        assert cv.hessian(value)(d).tolist() == cv.hessian(known)(d).tolist()


@pytest.mark.parametrize("mode", ["drop", "clip", "wrap"])
def test_the_derivative_of_a_product_counts_rows_outside_as_its_value_does(mode):
    def value(d):
        return ops.segment_prod(d, IDS, 3, mode=mode)

    step = 1e-2 * cnp.eye(4)
    found = np.asarray(cv.jacrev(value)(DATA))
    for k in range(4):
        quotient = (value(DATA + step[k]) - value(DATA - step[k])) / 2e-2
        np.testing.assert_allclose(found[:, k], quotient, atol=1e-3)


def test_rows_of_a_segment_that_tie_share_its_derivative():
    d, ids = cnp.array([1.0, 3.0, 3.0, 2.0]), cnp.array([0, 0, 0, 1])
    found = cv.grad(lambda d: ops.segment_max(d, ids, 3)[:2].sum())(d)
    assert found.tolist() == [0, 0.5, 0.5, 1]


def test_a_bucket_at_a_time_rounds_less():
    x, ids = cnp.full(1 << 16, 0.1, "float32"), cnp.zeros(1 << 16, int)
    true = float(np.float32(0.1)) * x.size
    bucketed = float(ops.segment_sum(x, ids, 1, bucket_size=256)[0])
    assert (
        abs(bucketed - true) < 0.05 < abs(float(ops.segment_sum(x, ids, 1)[0]) - true)
    )


def test_what_segments_cannot_be_is_said():
    with pytest.raises(errors.DTypeError, match=r"needs integers .*, but got f32\[4\]"):
        ops.segment_sum(DATA, DATA)
    with pytest.raises(
        errors.TypeMismatch, match=r"each row of the data, f32\[4\], but"
    ):
        ops.segment_max(DATA, IDS[:3])
    with pytest.raises(errors.ConcretizationTypeError, match="needs num_segments"):
        cv.jit(ops.segment_prod)(DATA, IDS)
    with pytest.raises(errors.ArgumentError, match="num_segments must not be negative"):
        ops.segment_min(DATA, IDS, -1)
    with pytest.raises(errors.ArgumentError, match="bucket_size must be positive"):
        ops.segment_sum(DATA, IDS, bucket_size=0)
