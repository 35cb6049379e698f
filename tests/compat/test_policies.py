"""Policies that go by the field's primitives."""

import covector as cv
import covector.numpy as cnp
from covector.compat import operations as p
from covector.compat.jaxprs import subjaxprs
from covector.compat.programs import adapted, checkpoint, make_jaxpr


def count(fun, x, name):
    def among(jaxpr):
        inner = [among(j) for j in subjaxprs(jaxpr)]
        return sum([e.primitive.name == name for e in jaxpr.eqns]) + sum(inner)

    return among(make_jaxpr(cv.grad(fun))(x).jaxpr)


def test_a_policy_is_asked_with_primitives_and_parameters_of_the_field():
    asked = []

    def keeps_sines(primitive, *avals, **params):
        asked.append((primitive, *avals, params))
        return primitive is p.sin_p

    def f(x):
        return cnp.sum(cnp.sin(cnp.sin(x)))

    x = cnp.ones(3)
    assert count(checkpoint(f), x, "sin") == 2 * 2 - 1
    assert count(checkpoint(f, policy=keeps_sines), x, "sin") == 2
    assert (p.sin_p, x.type, {"accuracy": None}) in asked
    decorated = checkpoint(policy=cv.checkpoint_policies.everything_saveable)(f)
    assert count(decorated, x, "sin") == 2


def test_a_policy_is_adapted_once_and_ours_is_left_as_it_is():
    def policy(primitive, *_, **__):
        return False

    assert adapted(policy) is adapted(policy)
    ours = cv.checkpoint_policies.dots_saveable
    assert adapted(ours) is ours
