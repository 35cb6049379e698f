"""``grad``, ``value_and_grad``, ``vjp``, ``jvp``, ``linearize`` as users call them."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors

NOTHING = np.zeros((), cv.float0)


def product(x, y, z):
    return x * y * z


# -- which arguments -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 15.0),
        (-1, 6.0),
        (np.int64(1), 10.0),
        ((0,), (15.0,)),
        ((2, 0), (6.0, 15.0)),
        ([-1, 0], (6.0, 15.0)),
        ((), ()),
    ],
)
def test_argnums_choose_arguments_in_the_order_given(argnums, expected):
    found = cv.grad(product, argnums=argnums)(2.0, 3.0, 5.0)
    assert type(found) is tuple or not isinstance(expected, tuple)
    assert cv.tree.map(float, found) == expected


@pytest.mark.parametrize("argnums", [(0, -3), (-3, 0)])
def test_an_argument_named_twice_is_refused(argnums):
    with pytest.raises(errors.TypeMismatch, match="names argument 0 twice"):
        cv.grad(product, argnums=argnums)(2.0, 3.0, 5.0)


def test_arguments_by_keyword_are_constants():
    assert float(cv.grad(product)(2.0, z=5.0, y=3.0)) == 15.0


def test_trees_and_none_leaves_keep_their_structure():
    given = {"a": 2.0, "b": ({"c": 3.0}, None)}
    found = cv.grad(lambda p: p["a"] * p["b"][0]["c"])(given)
    assert cv.tree.map(float, found) == {"a": 3.0, "b": ({"c": 2.0}, None)}
    assert cv.grad(lambda _: 1.0)({}) == {}


def test_what_does_not_move_the_result_has_a_zero_gradient():
    assert cv.grad(lambda x: 3.0)(np.ones(2, np.float32)).tolist() == [0.0, 0.0]


def test_numpy_values_and_arrays_of_any_float_keep_their_dtype():
    for dtype in ("float16", "bfloat16", "float32"):
        assert cv.grad(lambda x: x * x)(cnp.ones((), dtype)).dtype == dtype
    assert cv.grad(lambda x: x * x)(np.float64(3)).dtype == np.float32
    with cv.enable_x64():
        assert cv.grad(lambda x: x * x)(np.float64(3)).dtype == np.float64


def test_a_complex_argument_of_a_real_function():
    found = cv.grad(lambda z: cnp.real(z * cnp.conj(z)))(np.complex64(1 + 2j))
    assert complex(found) == 2 - 4j


def test_a_holomorphic_gradient():
    assert complex(cv.grad(lambda z: z**3, holomorphic=True)(2 + 1j)) == 9 + 12j


def test_empty_arrays_have_empty_gradients():
    found = cv.grad(lambda x: cnp.sum(x * x))(cnp.zeros((0, 3)))
    assert found.shape == (0, 3)


def test_reduce_makes_a_scalar_of_the_result():
    value, found = cv.value_and_grad(cnp.sin, reduce=cnp.sum)(cnp.zeros(2))
    assert (float(value), found.tolist()) == (0.0, [1.0, 1.0])
    _, aux = cv.grad(lambda x: (x, 7), reduce=cnp.sum, has_aux=True)(cnp.zeros(2))
    assert aux == 7


# -- integers --------------------------------------------------------------------------


def test_integers_and_bools_have_gradients_of_dtype_float0():
    def pick(x, i, flag):
        return cnp.where(flag, cnp.sum(x[i]), 0.0)

    x, i = np.ones(3, np.float32), np.array([0, 1])
    dx, di, dflag = cv.grad(pick, argnums=(0, 1, 2), allow_int=True)(x, i, True)
    assert dx.tolist() == [1.0, 1.0, 0.0]
    assert (di.dtype, di.shape) == (cv.float0, (2,))
    assert (dflag.dtype, dflag.shape) == (cv.float0, ())


def test_integer_results_have_tangents_of_dtype_float0():
    def several(x, i):
        return x * i, i + 1, cnp.argmax(cnp.stack([x, x]))

    _, tangents = cv.jvp(several, (2.0, 3), (1.0, NOTHING))
    assert float(tangents[0]) == 3.0
    assert [t.dtype for t in tangents[1:]] == [cv.float0, cv.float0]


def test_pullbacks_take_and_give_float0_for_integers():
    _, pull = cv.vjp(lambda x, i: (x * 2, i), 2.0, 3)
    dx, di = pull((1.0, NOTHING))
    assert (float(dx), di.dtype) == (2.0, cv.float0)


def test_a_pullback_takes_the_value_itself_though_a_part_is_of_integers():
    value, pull = cv.vjp(lambda x: (x * 2, cnp.arange(2), 3), 2.0)
    assert float(pull(value)[0]) == float(pull((4.0, np.ones(2), 0))[0]) == 8.0


def test_linearize_gives_float0_for_integers():
    value, push = cv.linearize(lambda x: {"y": x * 2, "i": 3}, 2.0)
    tangents = push(1.0)
    assert (float(value["y"]), float(tangents["y"])) == (4.0, 2.0)
    assert tangents["i"].dtype == cv.float0


def test_a_number_as_the_tangent_of_an_integer_is_refused():
    with pytest.raises(errors.TypeMismatch, match=r"i32\[\].*float0.*It got 1\.0"):
        cv.jvp(lambda i: i * 2.0, (3,), (1.0,))
    _, pull = cv.vjp(lambda x: (x, 3), 1.0)
    with pytest.raises(errors.TypeMismatch, match="cotangent is of dtype float0"):
        pull((1.0, np.zeros(2, int)))


# -- auxiliary results -----------------------------------------------------------------

WITH_AUX = {
    "value_and_grad": lambda f: cv.value_and_grad(f, has_aux=True)(2.0)[0][1],
    "grad": lambda f: cv.grad(f, has_aux=True)(2.0)[1],
    "vjp": lambda f: cv.vjp(f, 2.0, has_aux=True)[2],
    "jvp": lambda f: cv.jvp(f, (2.0,), (1.0,), has_aux=True)[2],
    "linearize": lambda f: cv.linearize(f, 2.0, has_aux=True)[2],
    "jacfwd": lambda f: cv.jacfwd(f, has_aux=True)(2.0)[1],
    "jacrev": lambda f: cv.jacrev(f, has_aux=True)(2.0)[1],
    "jacobian": lambda f: cv.jacobian(f, has_aux=True)(2.0)[1],
    "hessian": lambda f: cv.hessian(f, has_aux=True)(2.0)[1],
}


@pytest.fixture(params=WITH_AUX.values(), ids=WITH_AUX)
def aux_of(request):
    return request.param


def test_auxiliary_results_that_depend_on_the_argument_can_be_used(aux_of):
    aux = aux_of(lambda x: (x * x, {"three": x * 3, "same": x}))
    assert float(aux["three"] + aux["same"]) == 8.0


def test_auxiliary_results_need_not_be_arrays(aux_of):
    kept = object()
    aux = aux_of(lambda x: (x * x, ["text", None, kept, 3]))
    assert aux == ["text", None, kept, 3]


def test_auxiliary_results_of_nested_derivatives_belong_to_the_outer_one(aux_of):
    def outer(x):
        def inner(y):
            return x * y, x * y

        return cv.grad(inner, has_aux=True)(x)[1]

    assert float(cv.grad(outer)(3.0)) == 6.0
    assert float(cv.jit(cv.grad(outer))(3.0)) == 6.0


def test_auxiliary_results_under_jit_and_vmap():
    gradient = cv.grad(lambda x: (x * x, x * 3), has_aux=True)
    assert [float(x) for x in cv.jit(gradient)(2.0)] == [4.0, 6.0]
    assert [x.tolist() for x in cv.vmap(gradient)(cnp.arange(2.0))] == [[0, 2], [0, 3]]


# -- maps that are used again ----------------------------------------------------------


def test_a_pullback_can_be_called_twice_batched_and_compiled():
    _, pull = cv.vjp(lambda x, y: x * y, 2.0, 3.0)
    assert [float(ct) for ct in pull(1.0)] == [3.0, 2.0]
    assert [float(ct) for ct in pull(2.0)] == [6.0, 4.0]
    assert cv.vmap(pull)(cnp.arange(3.0))[0].tolist() == [0.0, 3.0, 6.0]
    assert float(cv.jit(pull)(4.0)[0]) == 12.0
    assert float(cv.grad(lambda ct: pull(ct)[1])(1.0)) == 2.0


def test_a_pullback_leaves_and_enters_compiled_functions():
    def loss(x):
        return cnp.sum(x * cnp.sin(x))

    x = cnp.arange(3.0)
    wanted = np.asarray(cv.grad(loss)(x))
    run_back = cv.jit(lambda pull, ct: pull(ct)[0])
    forward = cv.jit(lambda x: cv.vjp(loss, x)[1])
    for pull in (cv.vjp(loss, x)[1], forward(x)):
        np.testing.assert_allclose(pull(1.0)[0], wanted, rtol=1e-6)
        np.testing.assert_allclose(run_back(pull, 2.0), 2 * wanted, rtol=1e-6)
        assert len(cv.tree.leaves(pull)) > 0
    assert "pullback of vjp of" in repr(pull)


def test_what_vjp_leaves_of_each_step_or_member_runs_backward():
    def f(x):
        return x * cnp.sin(x)

    x = cnp.arange(3.0)
    wanted = np.asarray(cv.vmap(cv.grad(f))(x))
    _, pulls = cv.lax.scan(lambda c, x: (c, cv.vjp(f, x)[1]), 0, x)
    _, slopes = cv.lax.scan(lambda c, pull: (c, pull(1.0)[0]), 0, pulls)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)
    lanes = cv.vmap(lambda x: cv.vjp(f, x)[1])(x)
    slopes = cv.vmap(lambda pull: pull(1.0)[0])(lanes)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)


def test_linearized_and_transposed_functions_leave_compiled_functions():
    push = cv.jit(lambda x: cv.linearize(cnp.sin, x)[1])(0.0)
    assert float(push(2.0)) == 2.0
    x = cnp.arange(3.0)
    back = cv.jit(lambda a: cv.linear_transpose(lambda x: a * x, x))(2 * x)
    assert back(x)[0].tolist() == [0, 2, 8]
    assert [leaf.tolist() for leaf in cv.tree.leaves(back)] == [[0, 2, 4]]


def test_a_linearized_function_can_be_batched_transposed_and_compiled():
    _, push = cv.linearize(lambda x, y: x * y, 2.0, 3.0)
    assert float(push(1.0, 1.0)) == 5.0
    ones = cnp.arange(3.0)
    assert cv.vmap(push)(ones, ones).tolist() == [0.0, 5.0, 10.0]
    assert [float(t) for t in cv.linear_transpose(push, 1.0, 1.0)(2.0)] == [6.0, 4.0]
    assert float(cv.jit(push)(1.0, 2.0)) == 7.0


def test_derivatives_of_weak_values_do_not_widen_what_they_meet():
    small = cnp.ones(2, "float16")
    assert cv.jit(lambda x: x * 2.0)(small).dtype == "float16"
    assert cv.grad(lambda x: cnp.sum(small * x))(cnp.float16(2)).dtype == "float16"
    assert cv.jvp(lambda x: x * 2, (small,), (small,))[1].dtype == "float16"


def test_callables_of_every_kind_can_be_differentiated():
    class Scale:
        __hash__ = None

        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

        def method(self, x):
            return x * self.by * 2

    scale = Scale(3.0)
    assert float(cv.grad(scale)(1.0)) == 3.0
    assert float(cv.grad(scale.method)(1.0)) == 6.0
    assert float(cv.grad(cnp.sin)(0.0)) == 1.0


def test_the_derivative_with_respect_to_a_python_number_is_weak_as_the_number_is():
    x16 = cnp.ones(2, "bfloat16")

    def loss(w):
        return cnp.sin(w) * w

    found = {
        "grad": cv.grad(loss)(2.0),
        "unused": cv.grad(lambda w: 3.0)(2.0),
        "jit": cv.jit(cv.grad(loss))(2.0),
        "vjp": cv.vjp(loss, 2.0)[1](1.0)[0],
        "jvp": cv.jvp(loss, (2.0,), (1.0,))[1],
        "linearize": cv.linearize(loss, 2.0)[1](1.0),
        "second": cv.grad(cv.grad(loss))(2.0),
    }
    assert {name for name, g in found.items() if not g.weak_type} == set()
    stepped = 2.0 - 0.1 * found["grad"]
    assert (stepped * x16).dtype == cnp.bfloat16


def test_the_derivative_with_respect_to_an_array_is_not_weak():
    x = cnp.ones(())
    assert not cv.grad(lambda w: 2.0 * w)(x).weak_type
    assert not cv.jvp(lambda w: 2.0 * w, (x,), (x,))[1].weak_type


def test_programs_take_and_give_derivatives_that_have_no_values():
    def both(x, i):
        return cv.grad(lambda x, i: x * i, argnums=(0, 1), allow_int=True)(x, i)

    for f in (both, cv.jit(both), cv.checkpoint(both), cv.jit(cv.jit(both))):
        slope, nothing = f(2.0, 3)
        assert float(slope) == 3.0
        assert (nothing.dtype, np.asarray(nothing).dtype) == (cv.float0, cv.float0)
    _, rows = cv.jit(cv.vmap(both))(cnp.ones(2), cnp.arange(2))
    assert (rows.shape, rows.dtype) == ((2,), cv.float0)
    pulled = cv.jit(lambda ct: cv.vjp(lambda x, i: (x, i), 1.0, 2)[1]((5.0, ct))[0])
    assert float(pulled(nothing)) == float(pulled(np.zeros((), cv.float0))) == 5.0
    carried = cv.lax.scan(lambda c, i: (c, both(c, i)), 2.0, cnp.arange(3))
    assert carried[1][1].shape == (3,)
