"""Products in few bits: what scales say, how near they are, and their derivatives."""

from dataclasses import replace

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, nn

rng = np.random.default_rng(0)
A = rng.normal(size=(2, 4, 70)).astype(np.float32)
B = rng.normal(size=(2, 3, 70)).astype(np.float32)
NUMBERS = (((2,), (2,)), ((0,), (0,)))
PLAIN = np.einsum("bmk,bnk->bmn", A, B)


def test_blocks_are_multiplied_by_their_scales():
    x = rng.integers(-3, 4, (2, 4, 6)).astype(np.float32)
    y = rng.integers(-3, 4, (2, 5, 6)).astype(np.float32)
    s, t = 2.0 ** rng.integers(-2, 3, (2, 4, 2)), 2.0 ** rng.integers(-2, 3, (2, 5, 3))
    wanted = np.einsum("bmk,bnk->bmn", x * np.repeat(s, 3, 2), y * np.repeat(t, 2, 2))
    few = [cnp.array(v, "float8_e4m3fn") for v in (x, y)]
    scales = [cnp.array(v, "float8_e8m0fnu") for v in (s, t)]
    for run in (nn.scaled_matmul, cv.jit(nn.scaled_matmul)):
        np.testing.assert_array_equal(run(*few, *scales), wanted)
    narrow = nn.scaled_matmul(*few, *scales, preferred_element_type="bfloat16")
    assert narrow.dtype == cnp.bfloat16


@pytest.mark.parametrize(("mode", "error"), [("mxfp8", 0.04), ("nvfp4", 0.2)])
def test_products_in_few_bits_are_near_and_so_are_their_derivatives(mode, error):
    configs = [nn.get_scaled_dot_general_config(mode)] * 3

    def product(a, b):
        return nn.scaled_dot_general(a, b, NUMBERS, configs=configs)

    out, pull = cv.vjp(cv.jit(product), cnp.array(A), cnp.array(B))
    g = np.random.default_rng(2).normal(size=out.shape).astype(np.float32)
    wanted = [np.einsum("bmn,bnk->bmk", g, B), np.einsum("bmn,bmk->bnk", g, A)]
    for found, exact in zip([out, *pull(cnp.array(g))], [PLAIN, *wanted], strict=True):
        assert found.shape == exact.shape
        assert np.linalg.norm(found - exact) < error * np.linalg.norm(exact)


def test_powers_of_two_are_exact_in_eight_bits():
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    x, one = 2.0 ** cnp.arange(-2, 2).reshape(1, 1, 4), cnp.ones((1, 1, 4))
    out = nn.scaled_dot_general(x, one, NUMBERS, configs=configs)
    assert float(out[0, 0, 0]) == 3.75
    assert not nn.scaled_dot_general(0 * x, one, NUMBERS, configs=configs).any()


def test_a_scale_for_all_does_not_change_what_fits():
    config = nn.get_scaled_dot_general_config("nvfp4", cnp.array([0.25]))
    x = cnp.array([[[1.0, -2.0, 6.0, 0.0]]])
    out = nn.scaled_dot_general(x, x, NUMBERS, configs=[config] * 3)
    assert out.tolist() == [[[41.0]]]


def test_axes_are_as_for_dot_general():
    x, y = rng.normal(size=(3, 32, 2)), rng.normal(size=(2, 5, 3, 32))
    numbers = (((0, 1), (2, 3)), ((2,), (0,)))
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    exact = nn.scaled_dot_general(cnp.array(x), cnp.array(y), numbers)
    out = nn.scaled_dot_general(cnp.array(x), cnp.array(y), numbers, configs=configs)
    assert out.shape == exact.shape == (2, 5)
    np.testing.assert_allclose(out, exact, atol=0.1 * float(cnp.abs(exact).max()))


def test_cotangents_stay_as_they_are_where_few_bits_are_for_values_alone():
    config = replace(nn.get_scaled_dot_general_config("mxfp8"), infer_only=True)
    _, pull = cv.vjp(
        lambda a: nn.scaled_dot_general(a, cnp.array(B), NUMBERS, configs=[config] * 3),
        cnp.array(A),
    )
    g = np.ones((2, 4, 3), np.float32)
    np.testing.assert_allclose(
        pull(cnp.array(g))[0], np.einsum("bmn,bnk->bmk", g, B), 1e-5, 1e-5
    )


def test_operands_that_do_not_fit_are_refused():
    x, s = cnp.ones((1, 2, 6)), cnp.ones((1, 2, 4))
    with pytest.raises(
        errors.TypeMismatch, match=r"where s and t divide k, .*\[1,2,6\]"
    ):
        nn.scaled_matmul(x, x, s, s)
    with pytest.raises(errors.ArgumentError, match=r"three configurations, .* got 1"):
        config = nn.get_scaled_dot_general_config("mxfp8")
        nn.scaled_dot_general(x, x, NUMBERS, configs=[config])
    with pytest.raises(
        errors.ArgumentError, match="'nvfp4' or 'mxfp8', but got 'int8'"
    ):
        nn.get_scaled_dot_general_config("int8")
    with pytest.raises(errors.ArgumentError, match="'mxfp8' has no global_scale"):
        nn.get_scaled_dot_general_config("mxfp8", 1.0)
