"""Contractions beyond the laws: narrow dtypes, short programs, precisions, words."""

import ml_dtypes
import numpy as np
import pytest

import covector
from covector import options
from covector.core import dtypes
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.key_types import KeyType
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.lowering import hlo, module
from covector.operations.contraction import DotGeneral
from covector.operations.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    exactness,
)
from covector.transforms.batch import batch_flat
from tests.laws import array

MATMUL = (((1,), (0,)), ((), ()))
F32 = dtypes.float32


def types(*shapes, dtype=F32):
    return [ArrayType(shape, dtype) for shape in shapes]


def operations(fun, *operands):
    """The operations of which a function consists, in order."""
    return [e.op.name for e in stage(fun, operands).jaxpr.equations]


# -- dtypes ----------------------------------------------------------------------------


def test_bfloat16_is_summed_in_float32_and_rounded_once():
    ones = np.ones((1, 1000), ml_dtypes.bfloat16)
    got = DotGeneral(MATMUL)(array(ones), array(ones.T))
    assert float(got.host()[0, 0]) == 1000  # a sum in bfloat16 stops at 256


@pytest.mark.parametrize("operand", ["bfloat16", "float16", "float8_e4m3fn"])
def test_the_adjoint_of_a_wider_result_has_the_dtype_of_the_operand(operand):
    dtype = dtypes.as_dtype(operand)
    x, y = (array(np.full(s, 0.5, dtype)) for s in ((2, 3), (3, 4)))
    op = DotGeneral(MATMUL, None, F32)
    out, pull = covector.vjp(op, x, y)
    assert str(out.type) == "f32[2,4]"
    left, right = pull(array(np.full((2, 4), 0.25, np.float32)))
    assert (left.type, right.type) == (x.type, y.type)
    assert np.asarray(left.host(), np.float32).tolist() == [[0.5] * 3] * 2
    assert np.asarray(right.host(), np.float32).tolist() == [[0.25] * 4] * 3


def test_a_product_of_integers_for_a_float_result_is_formed_in_floats():
    x = array(np.full((1, 4), 100, np.int8))
    got = DotGeneral((((1,), (1,)), ((), ())), None, F32)(x, x)
    assert got.host().tolist() == [[40000.0]]


# -- programs --------------------------------------------------------------------------


@pytest.mark.parametrize("contracted", [((1,), (0,)), ((0,), (0,)), ((1,), (1,))])
@pytest.mark.parametrize("which", [0, 1])
def test_the_adjoint_of_a_matrix_product_is_one_product(contracted, which):
    left = (3, 2) if contracted[0] == (0,) else (2, 3)
    right = (4, 3) if contracted[1] == (1,) else (3, 4)
    op, operands = DotGeneral((contracted, ((), ()))), types(left, right)

    def pulled(x, y, ct):
        fun = (lambda x: op(x, y)) if which == 0 else (lambda y: op(x, y))
        return covector.vjp(fun, (x, y)[which])[1](ct)

    names = operations(pulled, *operands, *op.type_rule(*operands))
    assert names == ["dot_general", "dot_general"]  # the value, and the adjoint


@pytest.mark.parametrize(
    "dims", [(0, None), (1, None), (2, None), (None, 1), (1, 0), (2, 2)]
)
def test_a_batch_of_products_is_one_product(dims):
    op = DotGeneral(MATMUL)
    shapes = [(2, 3), (3, 4)]
    operands = [
        ArrayType(s if d is None else (*s[:d], 5, *s[d:]), F32)
        for s, d in zip(shapes, dims, strict=True)
    ]

    def batched(*xs):
        return batch_flat(lambda *ys: [op(*ys)], 5, xs, dims)[0]

    assert operations(batched, *operands) == ["dot_general"]


def test_the_host_multiplies_what_is_small_and_only_that():
    def small(n, dtype=F32, **fields):
        op, operands = DotGeneral(MATMUL, **fields), types((n, n), (n, n), dtype=dtype)
        return op.plan(tuple(operands)).prefers_host

    assert small(100)
    assert not small(1000)
    assert small(30, dtypes.int32)
    assert not small(100, dtypes.int32)
    assert not small(4, precision=DotAlgorithmPreset.F32_F32_F32)


# -- precisions ------------------------------------------------------------------------


def test_precisions_have_the_names_of_the_field():
    names = ["default", "fastest", "bfloat16", "high", "bfloat16_3x", "tensorfloat32"]
    assert [Precision(n).name for n in names] == ["DEFAULT"] * 3 + ["HIGH"] * 3
    assert Precision("highest") is Precision("float32") is Precision.HIGHEST
    assert repr(Precision.HIGH) == "Precision.HIGH"
    assert str(Precision.HIGH) == "HIGH"


def test_a_precision_is_one_for_each_operand():
    high, default = Precision.HIGH, Precision.DEFAULT
    assert exactness("high", "f") == (high, high)
    assert exactness((high, None), "f") == (high, default)
    assert exactness("default", "f") is None
    assert exactness("F32_F32_F32", "f") is DotAlgorithmPreset.F32_F32_F32
    assert exactness(DotAlgorithmPreset.DEFAULT, "f") is None


def test_the_option_is_the_default_precision():
    with options.override(default_matmul_precision="highest"):
        assert exactness(None, "f") == (Precision.HIGHEST, Precision.HIGHEST)
        assert exactness("default", "f") is None


def test_every_algorithm_can_be_the_option():
    for preset in DotAlgorithmPreset:
        if preset is not DotAlgorithmPreset.DEFAULT:
            with options.override(default_matmul_precision=preset.name):
                assert exactness(None, "f") is preset


@pytest.mark.parametrize("wrong", ["exact", ("high", "low"), ("high",), 7.0])
def test_an_unknown_precision_is_refused(wrong):
    with pytest.raises(ArgumentError, match=r"dot got the precision .* bfloat16_3x"):
        exactness(wrong, "dot")


def test_an_algorithm_rounds_its_operands():
    third = array(np.full((1, 1), 1 / 3, np.float32))
    op = DotGeneral(MATMUL, DotAlgorithmPreset.BF16_BF16_F32)
    rounded = float(np.float32(1 / 3).astype(ml_dtypes.bfloat16))
    assert float(op(third, third).host()[0, 0]) == np.float32(rounded**2)


@pytest.mark.parametrize("preset", ["TF32_TF32_F32_X3", "BF16_BF16_F32_X9"])
def test_the_cpu_has_every_algorithm_at_least_as_exactly(preset):
    x, y = (
        np.linspace(0, 1, 12, dtype=np.float32).reshape(s) for s in ((3, 4), (4, 3))
    )
    op = DotGeneral(MATMUL, DotAlgorithmPreset[preset])
    np.testing.assert_allclose(op(array(x), array(y)).host(), x @ y, rtol=1e-6)


def test_an_algorithm_of_ones_own():
    x = array(np.full((1, 1), 1 / 3, np.float32))
    wide = exactness(DotAlgorithm("float64", "float64", "float64"), "f")
    got = DotGeneral(MATMUL, wide, dtypes.float64)(x, x)
    assert got.host()[0, 0] == np.float64(np.float32(1 / 3)) ** 2


def test_algorithms_of_float8_need_float8():
    x = array(np.ones((2, 2), np.float32))
    with pytest.raises(ArgumentError, match="multiplies float8 operands, but got f32"):
        DotGeneral(MATMUL, DotAlgorithmPreset.ANY_F8_ANY_F8_F32)(x, x)


def lowered(op, *operands, platform):
    inputs, outs = [Var(t) for t in operands], [Var(t) for t in op.type_rule(*operands)]
    program = Jaxpr(inputs, [Equation(op, inputs, outs, None)], outs)
    with hlo.lock, hlo.context, hlo.unknown:
        return module.lower_module(program, "main", platform).text()


def test_algorithms_are_spelled_for_accelerators(golden):
    presets = [p for p in DotAlgorithmPreset if p is not DotAlgorithmPreset.DEFAULT]
    texts = []
    for preset in presets:
        dtype = dtypes.float8_e4m3fn if "F8" in preset.name else F32
        text = lowered(
            DotGeneral(MATMUL, preset),
            *types((2, 3), (3, 4), dtype=dtype),
            platform="cuda",
        )
        texts += [f"// {preset}", *[line for line in text.splitlines() if "%" in line]]
    golden("lowering/dot_algorithms.txt", "\n".join(texts))


# -- words -----------------------------------------------------------------------------


def refused(error, op, *operands):
    with pytest.raises(error) as caught:
        op.type_rule(*operands)
    return str(caught.value)


def test_operands_of_two_dtypes_are_refused():
    operands = ArrayType((2, 3), F32), ArrayType((3, 4), dtypes.int32)
    assert refused(TypeMismatch, DotGeneral(MATMUL), *operands) == (
        "dot_general needs operands of one dtype, but got f32[2,3] and i32[3,4]. "
        "covector.numpy.matmul and covector.lax.dot_general promote them."
    )


def test_keys_are_not_multiplied():
    keys = types((2, 3), (3, 4), dtype=KeyType("threefry2x32"))
    assert "needs numbers, but got key<fry>[2,3]" in refused(
        DTypeError, DotGeneral(MATMUL), *keys
    )


def test_axes_that_do_not_exist_are_refused():
    op = DotGeneral((((2,), (0,)), ((), ())))
    assert refused(TypeMismatch, op, *types((2, 3), (3, 4))) == (
        "dot_general of f32[2,3] and f32[3,4]: the batch and contracting axes of lhs, "
        "here (2,), must be different axes of it, from 0 to 1."
    )


def test_an_axis_that_is_named_twice_is_refused():
    op = DotGeneral((((1,), (0,)), ((1,), (1,))))
    words = refused(TypeMismatch, op, *types((2, 3), (3, 3)))
    assert "axes of lhs, here (1, 1), must be different" in words


def test_axes_of_different_lengths_are_refused():
    assert refused(TypeMismatch, DotGeneral(MATMUL), *types((2, 3), (4, 5))) == (
        "dot_general of f32[2,3] and f32[4,5]: the contracting axes (1,) of lhs and "
        "(0,) of rhs must pair up in number and length, but have the lengths (3,) and "
        "(4,)."
    )
