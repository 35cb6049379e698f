"""Operations that are written outside of covector, of the parts in ``extend``."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import extend
from covector.analysis import cost
from covector.errors import MissingRule


@extend.operation
class SumAndDifference(extend.ManyResults):
    """k·(x + y) and x - y."""

    k: float

    def type_rule(self, x, y):
        return [x, x]

    def linearize(self, active, x, y):
        types = [x.aval, y.aval]

        def push(*tangents):
            pairs = zip(tangents, types, strict=True)
            return self(*[extend.zeros(t) if d is None else d for d, t in pairs])

        return self(x, y), push

    def transpose(self, cotangents, x, y):
        a, b = [extend.zeros(x.type) if c is None else c for c in cotangents]
        kinds = zip([self.k * a + b, self.k * a - b], [x, y], strict=True)
        return [ct if isinstance(o, extend.Linear) else None for ct, o in kinds]

    def batch(self, size, args, dims):
        return self(*extend.align(size, args, dims)), [0, 0]

    def lower(self, ctx, x, y):
        return ctx.through(lambda x, y: [self.k * (x + y), x - y], x, y)


def test_an_operation_from_outside_works_under_every_transformation():
    op = SumAndDifference(2.0)

    def f(x, y):
        a, b = op(x, y)
        return a * b

    cv.check_rule(f, cnp.array([1.0, -2.0]), cnp.array([0.5, 3.0]))
    x = cnp.array([[1.0, 2.0]])
    got = cv.jit(cv.vmap(f, in_axes=(1, None)))(x, cnp.ones(1))
    np.testing.assert_allclose(got, [[0], [6]])
    assert SumAndDifference(2.0) is op


def test_a_rule_that_a_class_does_not_have_is_named():
    class Half(extend.Primitive):
        def type_rule(self, x):
            return [x]

    x = cnp.ones(3)
    with pytest.raises(MissingRule, match=r"half has no `batch` rule.*class Half"):
        cv.vmap(Half())(x)
    with pytest.raises(MissingRule, match="half has no `lower` rule"):
        cv.jit(Half())(x)


def test_an_operation_tells_what_it_costs_or_is_named_as_uncounted():
    class Untold(extend.Primitive):
        def type_rule(self, x):
            return [x]

    class Told(Untold):
        def work(self, types, outs):
            return extend.Work(flops=3 * outs[0].size)

    x = cnp.ones(4)
    untold, told = [cost(cv.make_jaxpr(op())(x)) for op in (Untold, Told)]
    assert (untold.uncounted, untold.known) == (("untold",), False)
    assert (told.uncounted, told.known, told.total.flops) == ((), True, 12)
