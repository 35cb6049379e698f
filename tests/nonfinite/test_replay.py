"""The search from a bad result back to the operation that made it."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.nonfinite.kinds import Kinds
from covector.nonfinite.replay import search, source_of_infinity

NANS = Kinds(True, False)
X = cnp.array([1.0, 0.0, -1.0])


def found_in(fun, *args, kinds=NANS):
    return search(kinds, cv.make_jaxpr(fun)(*args), list(args))


def test_values_that_are_not_chosen_are_not_followed_back():
    def f(x):
        first = cnp.where(x > 0, cnp.sqrt(-x), 1.0)  # bad, and chosen, at 0
        return cnp.where(x < 0, cnp.log(x), first)  # bad, and chosen, at 2

    assert found_in(f, X).equation.op.name == "sqrt"
    assert found_in(lambda x: f(x)[2], X).equation.op.name == "sqrt"
    assert found_in(lambda x: cnp.where(x > 0, cnp.log(x), 0.0), X) is None


def test_the_first_of_several_origins_is_taken_whichever_operand_it_is():
    def f(x):
        late = cnp.arccos(x * 2)
        early = cnp.sqrt(x - 5)
        return late + early, early + late

    assert found_in(f, X).equation.op.name == "acos"


def test_a_step_of_which_the_bad_value_is_not_used_is_passed_over():
    def step(c, x):
        return (c[0] + cnp.sqrt(x), cnp.log(x - 1)), None

    found = found_in(lambda xs: lax.scan(step, (0.0, 0.0), xs)[0][0], X)
    assert found.equation.op.name == "sqrt"
    assert [(w.kind, w.number) for w in found.trail] == [("step", 2)]


def test_the_infinity_is_found_outside_of_the_loop_that_meets_it():
    def f(x):
        logs = cnp.log(x)
        return lax.scan(lambda c, y: (c - y * 0, None), 0.0, logs)[0]

    found = found_in(f, abs(X))
    assert found.equation.op.name == "mul"
    assert source_of_infinity(found).equation.op.name == "log"


def test_both_kinds_are_told_apart():
    found = found_in(lambda x: 1 / x, X, kinds=Kinds(True, True))
    assert found.kind == "infinity"
    values = np.array([np.inf, np.nan], np.float32)
    assert Kinds(True, True).found_in(cnp.asarray(values)) == "NaN"
    assert Kinds(True, True).found_in(cnp.arange(3)) is None
