"""Dtype and weakness of results: those of JAX, whose rules we follow."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from tests.public.table import elementwise_functions


def words(text):
    return text.split()


OPERANDS = {
    "bool": np.bool_(True),
    "i8": np.int8(3),
    "u32": np.uint32(3),
    "i32": np.int32(3),
    "f16": np.float16(2),
    "bf16": ml_dtypes.bfloat16(2),
    "f32": np.float32(2),
    "c64": np.complex64(2 + 1j),
    "int": 3,
    "float": 2.5,
    "complex": 2j,
    "True": True,
}
UNARY, BINARY = (
    sorted({n for kind in "biufc" for n in elementwise_functions("numpy", count, kind)})
    for count in (1, 2)
)
UNARY.remove("angle")  # has a test of its own
UNARY += words("zeros_like ones_like asarray array")

#: where theirs are not weak and ours are: a result of numbers that give way gives way
WEAK_HERE = words(
    """
    frexp heaviside log10 log2 nan_to_num nextafter power rint spacing
    """
)
#: bools that came of comparing weak numbers are not weak: there is one dtype of bools
BOOL = np.dtype(bool)


def outcome(run):
    try:
        outs = run()
    except (TypeError, ValueError, NotImplementedError):
        return "refused"
    outs = outs if isinstance(outs, tuple) else (outs,)
    return [(o.dtype, o.weak_type and o.dtype != BOOL) for o in outs]


def agree(name, got, wanted):
    if wanted == "refused" or got == "refused":
        return got == wanted
    if name in WEAK_HERE:
        return [d for d, _ in got] == [d for d, _ in wanted]
    return got == wanted


def theirs(name, *args):
    # Only the type is wanted, so nothing is compiled.
    indices = [i for i, a in enumerate(args) if isinstance(a, np.generic)]

    def run(*strong):
        operands = list(args)
        for i, s in zip(indices, strong, strict=True):
            operands[i] = s
        return getattr(jnp, name)(*operands)

    return jax.eval_shape(run, *[args[i] for i in indices])


def differences(name, tuples):
    found = []
    for labels in tuples:
        args = [OPERANDS[label] for label in labels]
        got = outcome(lambda args=args: getattr(cnp, name)(*args))
        wanted = outcome(lambda args=args: theirs(name, *args))
        if not agree(name, got, wanted):
            found.append((labels, got, wanted))
    return found


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand_have_the_dtypes_of_jax(name):
    assert differences(name, [(label,) for label in OPERANDS]) == []


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands_have_the_dtypes_of_jax(name):
    others = ("i8", "i32", "bf16", "f32", "int", "float")
    pairs = [(a, b) for a in OPERANDS for b in others]
    assert differences(name, [*pairs, ("bool", "bool"), ("True", "True")]) == []


def test_a_where_of_numbers_gives_way_to_what_it_meets():
    assert cnp.where(cnp.asarray(True), 1, 2.0).type.weak
    chosen = cnp.where(cnp.asarray([True]), np.int8(1), 2)
    assert chosen.dtype == np.int8
    assert not chosen.weak_type


def test_angles_of_half_precision_numbers_stay_in_half_precision():
    assert cnp.angle(np.float16(-1)).dtype == np.float16
    assert cnp.angle(np.complex64(1j)).dtype == np.float32
    assert cnp.angle(np.int8(-1)).dtype == np.float32


def test_wide_integers_become_wide_floats():
    with cv.options.override(enable_x64=True):
        assert cnp.sin(np.int64(1)).dtype == np.float64
        assert cnp.sin(np.int32(1)).dtype == np.float32
        assert cnp.sin(1).dtype == np.float64
    assert cnp.sin(np.int64(1)).dtype == np.float32
