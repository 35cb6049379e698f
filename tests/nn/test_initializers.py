"""Initializers draw the same weights as the peer, with the variance they promise."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, random
from covector.nn import initializers

jax = pytest.importorskip("jax")

SCALED = [
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "lecun_normal",
    "lecun_uniform",
    "xavier_uniform",
]


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("shape", [(20, 30), (3, 3, 8, 16)])
def test_scaled_initializers_draw_the_weights_of_the_peer(name, shape):
    got = getattr(initializers, name)()(random.key(7), shape)
    expected = getattr(jax.nn.initializers, name)()(jax.random.key(7), shape)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["normal", "truncated_normal", "uniform"])
def test_plain_initializers_draw_the_weights_of_the_peer(name):
    got = getattr(initializers, name)(0.5)(random.key(3), (40,))
    expected = getattr(jax.nn.initializers, name)(0.5)(jax.random.key(3), (40,))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg", "fan_geo_avg"])
def test_the_variance_is_scale_over_fan(mode):
    init = initializers.variance_scaling(3.0, mode, "truncated_normal")
    weights = np.asarray(init(random.key(0), (300, 200)))
    fan = {
        "fan_in": 300,
        "fan_out": 200,
        "fan_avg": 250,
        "fan_geo_avg": np.sqrt(300 * 200),
    }[mode]
    assert weights.var() == pytest.approx(3.0 / fan, rel=0.03)


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
def test_complex_weights_have_the_variance_too(distribution):
    init = initializers.variance_scaling(1.0, "fan_in", distribution, dtype="complex64")
    weights = np.asarray(init(random.key(0), (100, 400)))
    assert weights.dtype == np.complex64
    assert (np.abs(weights) ** 2).mean() == pytest.approx(1 / 100, rel=0.05)


def test_constants_and_dtypes():
    assert initializers.zeros(None, (2, 2)).tolist() == [[0.0, 0.0]] * 2
    assert initializers.ones(None, (2,), "int32").dtype == np.int32
    assert initializers.constant(2.0)(None, (2,), dtype=cnp.float16).dtype == np.float16


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(errors.TypeMismatch, match=r"an output axis, .* got \(3,\)"):
        initializers.he_normal()(random.key(0), (3,))
    with pytest.raises(errors.TypeMismatch, match="mode is one of fan_in"):
        initializers.variance_scaling(1.0, "fan", "normal")(random.key(0), (3, 3))
    with pytest.raises(errors.TypeMismatch, match="distribution is truncated_normal"):
        initializers.variance_scaling(1.0, "fan_in", "cauchy")(random.key(0), (3, 3))


def test_a_vector_has_an_input_or_an_output_axis_where_it_is_named():
    init = initializers.variance_scaling(1.0, "fan_in", "normal", (), 0)
    variance = float(cnp.var(init(random.key(0), (2000,))))
    assert abs(variance * 2000 - 2000) < 200  # each output has one input
    init = initializers.variance_scaling(1.0, "fan_in", "normal", 0, ())
    variance = float(cnp.var(init(random.key(0), (2000,))))
    assert abs(variance * 2000 - 1) < 0.1
    with pytest.raises(errors.TypeMismatch, match=r"in_axis=4, .* got \(3, 2\)"):
        initializers.lecun_normal(in_axis=4)(random.key(0), (3, 2))


@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 4), -1), ((2, 2, 4), -1), ((4, 3), 0)]
)
def test_orthogonal_weights_are_those_of_the_peer(shape, axis):
    got = initializers.orthogonal(2.0, axis)(random.key(3), shape)
    peer = jax.nn.initializers.orthogonal(2.0, axis)(jax.random.key(3), shape)
    np.testing.assert_allclose(got, peer, rtol=1e-4, atol=1e-5)


def test_kernels_with_an_orthogonal_centre_are_those_of_the_peer():
    got = initializers.delta_orthogonal()(random.key(3), (3, 2, 2, 3))
    peer = jax.nn.initializers.delta_orthogonal()(jax.random.key(3), (3, 2, 2, 3))
    np.testing.assert_allclose(got, peer, rtol=1e-4, atol=1e-5)


def test_shapes_without_an_orthogonal_matrix_are_refused():
    with pytest.raises(errors.TypeMismatch, match=r"two axes or more, .* got \(3,\)"):
        initializers.orthogonal()(random.key(0), (3,))
    with pytest.raises(errors.TypeMismatch, match=r"no more inputs .* got \(3, 4, 2\)"):
        initializers.delta_orthogonal()(random.key(0), (3, 4, 2))


def test_initializers_put_weights_where_the_caller_wants_them():
    sharding = cv.NamedSharding(cv.make_mesh((1,), ("x",)), cv.P("x"))
    for make in (initializers.zeros, initializers.ones, initializers.normal()):
        weights = make(random.key(0), (2,), out_sharding=sharding)
        assert weights.sharding == sharding


def test_the_table_of_an_embedding_is_scaled_by_the_length_of_its_vectors():
    init = initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)
    variance = float(cnp.var(init(random.key(0), (500, 40))))
    assert abs(variance * 40 - 1) < 0.1
