"""Each law catches an operation that breaks it."""

import numpy as np
import pytest

from covector import options
from covector.operations.arithmetic import mul, neg
from covector.operations.families import Elementwise
from covector.operations.transcendental import Sin, cos, sin
from tests.laws import Case, array
from tests.operations import test_laws as laws

X = np.array([[0.5, -1.25, 2.0], [3.75, 0.25, 1.5]])


class WideOnHost(Sin):
    def on_host(self, x):
        return np.sin(x.astype(np.float64))


class AnotherOnHost(Sin):
    on_host = staticmethod(np.cos)


class AnotherCompiled(Sin):
    hlo = "stablehlo.cosine"


class WrongSlope(Sin):
    def differential(self, out, x):
        slope = sin(x)
        return [lambda dx: mul(dx, slope)]


class WrongTranspose(Elementwise):
    hlo = "stablehlo.negate"
    on_host = staticmethod(np.negative)

    def differential(self, out, x):
        return [self]

    def transpose(self, cotangents, x):
        return [neg(neg(cotangents[0]))]


class FrozenSlope(Sin):
    """Its slope does not move, so its second derivative is lost."""

    def differential(self, out, x):
        while hasattr(x, "primal"):
            x = x.primal
        slope = array(np.cos(x.host()))
        return [lambda dx: mul(dx, slope)]


class WrongBatchAxis(Sin):
    def batch(self, size, args, dims):
        (dim,) = dims
        return (self(*args),), ((dim + 1) % args[0].type.ndim,)


class SlopeOfTheWhole(Sin):
    """Its slope is that of the first element, so a batch changes it."""

    def differential(self, out, x):
        known = hasattr(x, "host")
        slope = array(np.cos(np.asarray(x.host()).flat[0])) if known else cos(x)
        return [lambda dx: mul(dx, slope)]


BREACHES = [
    (Sin, np.cos, laws.test_the_value_is_that_of_the_reference),
    (WideOnHost, np.sin, laws.test_the_type_rule_predicts_what_comes_out),
    (AnotherOnHost, np.cos, laws.test_the_host_and_the_compiled_program_agree),
    (AnotherCompiled, np.sin, laws.test_jit_changes_nothing),
    (WrongSlope, np.sin, laws.test_the_derivative_is_that_of_difference_quotients),
    (WrongTranspose, np.negative, laws.test_the_transpose_is_the_adjoint),
    (
        FrozenSlope,
        np.sin,
        laws.test_the_second_derivative_is_that_of_difference_quotients,
    ),
    (WrongBatchAxis, np.sin, laws.test_vmap_is_a_loop),
    (SlopeOfTheWhole, np.sin, laws.test_jvp_of_vmap_is_vmap_of_jvp),
]


@pytest.mark.parametrize(
    ("kind", "reference", "law"), BREACHES, ids=[law.__name__ for _, _, law in BREACHES]
)
def test_a_breach_of_the_law_is_caught(kind, reference, law):
    with options.override(enable_x64=True), pytest.raises(AssertionError):
        law(Case(kind(), (X,), reference))


@pytest.mark.parametrize("law", [law for _, _, law in BREACHES])
def test_an_operation_without_fault_passes(law):
    with options.override(enable_x64=True):
        law(Case(sin, (X,), np.sin))


def test_subjects_without_golden_lowering_are_told_how_to_make_one(golden):
    with pytest.raises(AssertionError, match="--update-golden"):
        golden("lowering/no such subject.txt", "")
