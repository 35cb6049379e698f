"""Rules of vmap."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.compat import finder
from covector.compat.primitives import Primitive

batching = finder.make("jax.interpreters.batching")


def test_a_rule_of_vmap_gets_the_axis():
    p, seen = Primitive("p"), []
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)

    def with_axis(size, name, trace_type, args, dims):
        seen.append((size, name, dims))
        return args[0], dims[0]

    batching.axis_primitive_batchers[p] = with_axis
    x = cnp.ones((2, 3))
    cv.vmap(p.bind, in_axes=1, axis_name="i")(x)
    cv.vmap(p.bind)(x)
    cv.vmap(lambda x: p.bind(1.0) + x, axis_name="i")(x)
    assert seen == [(3, "i", (1,)), (2, None, (0,)), (2, "i", (None,))]

    def fancy(axis, args, dims):
        return args[0] * axis.size, dims[0]

    batching.fancy_primitive_batchers[p] = fancy
    np.testing.assert_allclose(cv.vmap(p.bind)(x), 2 * np.ones((2, 3)))


def test_a_result_may_leave_vmap_unbatched():
    p = Primitive("any")
    p.def_impl(cnp.any)
    p.def_abstract_eval(lambda x: x.update(shape=()))
    batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), None)
    out = cv.vmap(p.bind, out_axes=None)(cnp.array([False, True]))
    assert out.shape == () and bool(out)


def test_batch_axes_are_made_and_moved():
    x = cnp.arange(6.0).reshape(2, 3)
    assert batching.broadcast(x, 4, 1).shape == (2, 4, 3)
    assert batching.bdim_at_front(x, 1, 3).shape == (3, 2)
    assert batching.bdim_at_front(x, None, 5).shape == (5, 2, 3)
    assert batching.not_mapped is None and not batching.is_vmappable(x)


def test_formulas_give_the_rules_of_elementwise_functions_and_reductions():
    p = Primitive("add")
    p.def_impl(lambda x, y: x + y)
    batching.defvectorized(p)
    x = cnp.arange(6.0).reshape(2, 3)
    got = cv.vmap(p.bind, in_axes=(1, None))(x, cnp.array([10.0, 20.0]))
    np.testing.assert_allclose(got, x.T + np.array([10, 20]))
    total = Primitive("total")
    total.def_impl(lambda x, *, axes: x.sum(axes))
    batching.defreducer(total)
    got = cv.vmap(lambda x: total.bind(x, axes=(0,)), in_axes=1)(x)
    np.testing.assert_allclose(got, x.sum(0))
