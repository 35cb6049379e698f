"""What operations on matrices refuse, and in which words."""

import re

import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.lowering import hlo, module
from covector.operations.linear_algebra.cholesky import cholesky
from covector.operations.linear_algebra.householder import (
    HouseholderMultiply,
    householder_product,
)
from covector.operations.linear_algebra.lu import LUPivotsToPermutation
from covector.operations.linear_algebra.pseudo_inverse import (
    least_squares,
    pseudo_inverse,
)
from covector.operations.linear_algebra.solve import solve
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.linear_algebra.tridiagonal import TridiagonalSolve

ONES = cnp.ones((2, 2))
LEFT = TriangularSolve(True, True)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cholesky(cnp.ones(3)),
            errors.TypeMismatch,
            "two axes at least, but got f32[3]",
        ),
        (
            lambda: cholesky(cnp.ones((2, 3))),
            errors.TypeMismatch,
            "square matrices, but got f32[2,3]",
        ),
        (
            lambda: cholesky(ONES.astype("bfloat16")),
            errors.DTypeError,
            "x.astype('float32')",
        ),
        (
            lambda: cholesky(cnp.eye(2, dtype=int)),
            errors.DTypeError,
            "but got i32[2,2]",
        ),
        (
            lambda: LEFT(ONES, cnp.ones((3, 2))),
            errors.TypeMismatch,
            "as many rows as the matrix has",
        ),
        (
            lambda: TriangularSolve(False, True)(ONES, cnp.ones((2, 3))),
            errors.TypeMismatch,
            "as many columns",
        ),
        (
            lambda: LEFT(ONES, ONES.astype(complex)),
            errors.TypeMismatch,
            "operands of one dtype",
        ),
        (
            lambda: solve(ONES, cnp.ones((1, 2, 2))),
            errors.TypeMismatch,
            "same axes before the last two",
        ),
        (
            lambda: LUPivotsToPermutation(2)(cnp.zeros(2)),
            errors.DTypeError,
            "i32[..., k], but got f32[2]",
        ),
        (
            lambda: LUPivotsToPermutation(1)(cnp.zeros(2, int)),
            errors.TypeMismatch,
            "cannot come from 2 exchanges",
        ),
        (
            lambda: householder_product(cnp.ones((2, 3)), cnp.ones(2)),
            errors.TypeMismatch,
            "as many rows as",
        ),
        (
            lambda: householder_product(ONES, cnp.ones(3)),
            errors.TypeMismatch,
            "a number τ for each reflection",
        ),
        (
            lambda: HouseholderMultiply()(ONES, cnp.ones(2), cnp.ones((3, 2))),
            errors.TypeMismatch,
            "as many rows as the reflections",
        ),
        (
            lambda: TridiagonalSolve()(
                cnp.ones(2), cnp.ones(2), cnp.ones(2), cnp.ones(2)
            ),
            errors.TypeMismatch,
            "three diagonals",
        ),
        (
            lambda: least_squares(ONES, cnp.ones((3, 1)), cnp.array(0.1)),
            errors.TypeMismatch,
            "lstsq needs right-hand sides with as many rows",
        ),
        (
            lambda: pseudo_inverse(ONES, cnp.ones(2)),
            errors.TypeMismatch,
            "a real number for each matrix",
        ),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_a_program_for_a_gpu_says_that_there_is_no_kernel():
    program = cv.make_jaxpr(cholesky)(ONES)
    jaxpr = getattr(program, "jaxpr", program)
    with (
        hlo.lock,
        hlo.context,
        hlo.unknown,
        pytest.raises(errors.DeviceError, match="Move its operands to a CPU"),
    ):
        module.lower_module(jaxpr, "law", "gpu")
