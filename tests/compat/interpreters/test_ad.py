"""Rules of derivatives, from formulas, and the zeros that they meet."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.compat import finder
from covector.compat.primitives import Primitive

ad = finder.make("jax.interpreters.ad")
batching = finder.make("jax.interpreters.batching")


def test_formulas_give_the_rules_of_products_and_of_elementwise_functions():
    mul = Primitive("mul")
    mul.def_impl(lambda x, y: x * y)
    mul.def_abstract_eval(lambda x, y: x)
    ad.defbilinear(mul, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    batching.defbroadcasting(mul)
    assert cv.grad(mul.bind, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert cv.grad(cv.grad(lambda x: mul.bind(x, x)))(2.0) == 2
    x = cnp.arange(6.0).reshape(2, 3)
    got = cv.vmap(mul.bind, in_axes=(0, None))(x, cnp.ones(3))
    np.testing.assert_allclose(got, x)
    np.testing.assert_allclose(
        cv.vmap(mul.bind)(x, cnp.array([1.0, 2.0])), x * np.array([[1], [2]])
    )

    exp = Primitive("exp")
    exp.def_impl(cnp.exp)
    exp.def_abstract_eval(lambda x: x)
    ad.defjvp2(exp, lambda g, out, x: g * out)
    np.testing.assert_allclose(cv.grad(cv.grad(exp.bind))(1.0), np.e, rtol=1e-6)
    ad.defjvp(exp, lambda g, x: g * 5)
    assert cv.grad(exp.bind)(1.0) == 5
    ad.defjvp_zero(exp)
    assert cv.grad(exp.bind)(1.0) == 0


def test_zeros_and_undefined_primals_are_nodes_without_leaves():
    aval = cnp.ones(3).aval
    for node in (ad.Zero(aval), ad.UndefinedPrimal(aval)):
        leaves, treedef = cv.tree.flatten({"a": node})
        assert leaves == [] and treedef.unflatten([])["a"].aval is aval
    assert ad.instantiate_zeros(ad.Zero(aval)).shape == (3,)
    assert ad.instantiate_zeros(1.5) == 1.5
    assert ad.add_tangents(ad.Zero(aval), 2.0) == 2.0
    assert repr(ad.Zero(aval)) == "Zero(f32[3])"
