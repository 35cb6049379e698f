"""The user's strict options are about the user's operands.

Every public function runs the example of its docstring once more under each option
that refuses or changes something. What an example brings together itself is refused
under strict promotion, as it must be; what covector makes on the way is not.
"""

import contextlib
import doctest
import importlib
import io
import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, options
from covector.errors import NonFiniteError, TypeMismatch, TypePromotionError
from covector.nn.initializers import variance_scaling
from covector.scipy.sparse import linalg

MODULES = (
    "covector.numpy",
    "covector.lax",
    "covector.nn",
    "covector.nn.initializers",
    "covector.random",
    "covector.scipy.sparse.linalg",
)
STRICT = {"numpy_dtype_promotion": "strict"}
RAISING = {"numpy_rank_promotion": "raise"}
#: functions whose examples promote, to show that they do
PROMOTING = {
    "lax.axis_index",
    "numpy.add",
    "numpy.column_stack",
    "numpy.interp",
    "numpy.polyval",
    "numpy.promote_types",
    "numpy.result_type",
    "numpy.vectorize",
    "numpy.vstack",
}

#: functions whose examples have NaN, or infinities, among the results
WITH = {
    "debug_nans": {
        "numpy.log",
        "numpy.sort",
        "numpy.sqrt",
        "numpy.take",
        "numpy.where",
    },
    "debug_infs": {
        "numpy.divide",
        "numpy.exp",
        "numpy.isinf",
        "numpy.log",
        "numpy.true_divide",
        "random.categorical",
    },
}

#: functions whose examples change the process for good, and run once in it
ONCE = {"random.define_generator"}


def functions():
    """Each public function with an example, by name."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for key in dir(module):
            value = getattr(module, key)
            has_example = callable(value) and ">>>" in (value.__doc__ or "")
            if has_example:
                found[f"{name.removeprefix('covector.')}.{key}"] = value
    return {name: value for name, value in found.items() if name not in ONCE}


def failure(function):
    """What running the function's example raises, but for what it shows to raise."""
    names = dict(vars(sys.modules[function.__module__]))
    for example in doctest.DocTestParser().get_examples(function.__doc__):
        if example.exc_msg is None:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(example.source, "example", "single"), names)
            except Exception as error:  # noqa: BLE001  whatever it is
                return error
    return None


def failures():
    found = {name: failure(function) for name, function in functions().items()}
    return {name: error for name, error in found.items() if error is not None}


@pytest.mark.parametrize(
    "option",
    [RAISING, {"enable_x64": True}, {"default_matmul_precision": "highest"}],
    ids=lambda option: next(iter(option)),
)
def test_examples_of_public_functions_run_under_the_option(option):
    with options.override(**option):
        assert failures() == {}


@pytest.mark.parametrize("option", WITH)
def test_examples_that_show_none_run_while_nan_or_infinity_is_looked_for(option):
    with options.override(**{option: True}):
        found = failures()
    assert found.keys() == WITH[option]
    assert {type(error) for error in found.values()} == {NonFiniteError}


def test_examples_of_public_functions_run_under_strict_promotion():
    with options.override(**STRICT):
        found = failures()
    assert found.keys() == PROMOTING
    assert {type(error) for error in found.values()} == {TypePromotionError}


KEY = cv.random.key(0)
COMPLEX = np.array([1 + 1j, 2, 3], np.complex64)
HERMITIAN = np.array([[4, 1j], [-1j, 3]], np.complex64)
INTS = np.arange(5, dtype=np.int32)
ONES = np.ones((4, 5), np.float32)
SOME = np.array([True, False, True])

#: calls whose operands have one dtype, or none to promote
OF_ONE_DTYPE = {
    "median": (cnp.median, INTS),
    "nanmedian": (cnp.nanmedian, INTS),
    "quantile": (lambda x: cnp.quantile(x, 0.3), INTS),
    "quantile_f16": (lambda x: cnp.quantile(x, np.float32(0.3)), np.ones(4, "f2")),
    "percentile": (lambda x: cnp.percentile(x, np.array([30, 40], np.int32)), INTS),
    "nanpercentile": (lambda x: cnp.nanpercentile(x, 30), ONES),
    "vander": (lambda x: cnp.vander(x, 3), np.ones(3, np.float32)),
    "complex_normal": (lambda k: cv.random.normal(k, (2,), "complex64"), KEY),
    "complex_weights": (
        lambda k: variance_scaling(
            1.0, "fan_in", "truncated_normal", dtype="complex64"
        )(k, (3, 3)),
        KEY,
    ),
    "histogram": (
        lambda x: cnp.histogram(x, bins=np.array([0, 2, 4], np.int32)),
        np.ones(2, np.float32),
    ),
    "histogram_of_integers": (lambda x: cnp.histogram(x, 3), INTS),
    "histogram2d": (lambda x: cnp.histogram2d(x, x, 3), INTS),
    "pad_with_medians": (lambda x: cnp.pad(x, 2, mode="median"), INTS),
    "nanvar": (cnp.nanvar, COMPLEX),
    "nanstd": (cnp.nanstd, COMPLEX),
    "masked_var": (lambda x: cnp.var(x, where=SOME), COMPLEX),
    "masked_std": (lambda x: cnp.std(x, where=SOME), COMPLEX),
    "cg": (lambda b: linalg.cg(HERMITIAN, b), COMPLEX[:2]),
    "bicgstab": (lambda b: linalg.bicgstab(HERMITIAN, b), COMPLEX[:2]),
    "gmres": (lambda b: linalg.gmres(HERMITIAN, b), COMPLEX[:2]),
    "trapezoid": (cnp.trapezoid, INTS),
    "softmax": (cv.nn.softmax, INTS),
    "gelu": (cv.nn.gelu, INTS),
    "nansum": (cnp.nansum, COMPLEX),
    "average": (cnp.average, INTS),
    "cov": (cnp.cov, INTS),
}

#: calls whose operands have one rank, or are not brought together element by element
OF_ONE_RANK = {
    "tril": (cnp.tril, np.ones((2, 3, 4), np.float32)),
    "triu": (cnp.triu, np.ones((2, 3, 4), np.float32)),
    "categorical": (
        lambda x: cv.random.categorical(KEY, x, shape=(5, 2)),
        np.zeros((2, 3), np.float32),
    ),
    "quantile": (lambda x: cnp.quantile(x, cnp.array([0.3]), axis=1), ONES),
    "median": (lambda x: cnp.median(x, axis=1), ONES),
    "ragged_dot": (
        lambda x: lax.ragged_dot(x, cnp.ones((2, 5, 4)), np.array([3, 1], np.int32)),
        ONES,
    ),
    "packbits": (lambda x: cnp.packbits(x, axis=1), np.ones((3, 9), np.uint8)),
    "unpackbits": (lambda x: cnp.unpackbits(x, axis=1), np.ones((3, 9), np.uint8)),
    "choose": (
        lambda x: cnp.choose(np.array([[0, 1], [1, 0]]), [cnp.ones((2, 2)), x]),
        np.zeros(2, np.float32),
    ),
    "trapezoid": (lambda x: cnp.trapezoid(x, dx=cnp.ones((2, 4))), np.ones((2, 2, 5))),
    "where": (lambda x: cnp.where(True, cnp.ones(0), x), np.ones((3, 0), np.float32)),
    "masked_where": (lambda x: cnp.where(SOME, x, 0.0), np.ones((2, 3), np.float32)),
    "select": (
        lambda x: cnp.select([SOME], [x], 1.0),
        np.ones((2, 3), np.float32),
    ),
    "outer_bits": (lambda x: cnp.bitwise_or.outer(x, x[:1, 0]), np.ones((4, 3), "i4")),
    "outer_sums": (lambda x: cnp.add.outer(x, x[0]), ONES),
    "vander": (cnp.vander, np.ones(3, np.float32)),
    "masked_log_softmax": (
        lambda x: cv.nn.log_softmax(x, where=SOME),
        np.ones((2, 3), np.float32),
    ),
}


def check_under(option, function, operand):
    """The same values as without the option, and the same program."""
    wanted = cv.tree.leaves(function(operand))
    program = str(cv.make_jaxpr(function)(operand))
    with options.override(**option):
        got = cv.tree.leaves(function(operand))
        assert str(cv.make_jaxpr(function)(operand)) == program
    for x, y in zip(got, wanted, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("call", OF_ONE_DTYPE.values(), ids=OF_ONE_DTYPE.keys())
def test_what_covector_makes_is_promoted_under_strict_promotion(call):
    check_under(STRICT, *call)


@pytest.mark.parametrize("call", OF_ONE_RANK.values(), ids=OF_ONE_RANK.keys())
def test_what_covector_makes_is_broadcast_under_strict_ranks(call):
    check_under(RAISING, *call)


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_operands_of_the_user_still_meet_strictly(large):
    n = 100_000 if large else 3
    whole, real = cnp.zeros(n, "int32"), cnp.zeros(n, "float32")
    with options.override(**STRICT):
        for function in (cnp.add, cnp.outer, cnp.trapezoid, cnp.concatenate):
            joins = function is cnp.concatenate
            args = ([whole, real],) if joins else (whole, real)
            with pytest.raises(TypePromotionError, match="strict promotion"):
                function(*args)
    with options.override(**RAISING), pytest.raises(TypeMismatch, match="ranks"):
        cnp.logaddexp(real[None], real)
