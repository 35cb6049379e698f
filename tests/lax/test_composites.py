"""``composite``: one operation in StableHLO, and the decomposition everywhere else."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.lowering.element_loops import LARGE


def scaled_sine(x, /, *, k, **_):
    return cnp.sin(x) * k


sine = lax.composite(scaled_sine, "my.sine", version=2)


def test_a_composite_is_one_operation_with_its_attributes():
    def f(x):
        return sine(
            x,
            k=2.0,
            text='a"\\é',
            mixed=(1, True, np.float32(3)),
            table={"a": np.arange(3)},
            left_out=None,
        )

    text = cv.jit(f).lower(1.0).as_text()
    assert 'stablehlo.composite "my.sine" %arg0' in text
    assert (
        "composite_attributes = {k = 2.000000e+00 : f64, mixed = [1, true, "
        "3.000000e+00 : f32], table = {a = dense<[0, 1, 2]> : tensor<3xi64>}, "
        'text = "a\\22\\\\\\C3\\A9"}, decomposition = @my.sine, version = 2 : i32'
    ) in text
    assert "left_out" not in text
    wanted = pytest.approx(2 * np.sin(1.0))
    assert float(f(1.0)) == wanted
    assert float(cv.jit(f)(1.0)) == wanted
    with cv.disable_jit():
        assert float(f(1.0)) == wanted


def test_a_composite_of_large_arrays_stays_one_operation():
    """One whose results share a loop was written out before compilers could see it."""
    both = lax.composite(lambda x, y: (x + y, x - y), "my.both")
    x = cnp.ones(LARGE)
    text = cv.jit(lambda x, y: list(both(x, y))).lower(x, x).as_text()
    assert 'stablehlo.composite "my.both"' in text


def test_transformations_of_a_composite_are_those_of_its_decomposition():
    x = cnp.arange(3.0)

    def of(fun):
        def f(x):
            return fun(x, k=2.0) + fun(3 * x, k=1.0)

        step = lambda c, y: (fun(c, k=1.5), y)  # noqa: E731
        return [
            cv.vmap(f)(x),
            cv.vmap(cv.grad(f))(x),
            cv.jit(cv.hessian(f))(0.5),
            cv.jvp(f, (0.5,), (2.0,))[1],
            lax.scan(step, 0.5, x)[0],
        ]

    for found, wanted in zip(of(sine), of(scaled_sine), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-6)


def test_a_composite_takes_trees_and_what_it_closes_over():
    @cv.jit
    def f(pair, y):
        total = lax.composite(lambda p: {"sum": p["a"] + p["b"] + y, "y": y}, "my.sum")
        return total(pair)

    found = f({"a": 1.0, "b": cnp.ones(2)}, 3.0)
    assert found["sum"].tolist() == [5, 5]
    assert found["y"] == 3
    assert cv.grad(lambda y: f({"a": 1.0, "b": 2.0}, y)["sum"])(3.0) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lax.composite(scaled_sine, "sine"),
            "composite needs a name in a namespace, such as 'my.softmax', but got "
            "'sine'.",
        ),
        (
            lambda: lax.composite(scaled_sine, "my.sine", -1),
            "composite my.sine: the version must be an integer from 0 to 2**31 - 1, "
            "but got -1.",
        ),
        (
            lambda: sine(1.0, k=2j),
            "composite my.sine: the attribute k=2j is not a real number, text, NumPy "
            "array, nor a sequence or mapping of them. Arrays of the program are "
            "passed by position.",
        ),
    ],
)
def test_the_message_says_what_is_wrong(call, message):
    with pytest.raises(errors.ArgumentError) as caught:
        call()
    assert str(caught.value) == message
