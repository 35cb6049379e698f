"""``debug_nans`` and ``debug_infs``: the first operation that is to blame, in words."""

import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.lowering.evaluate import base

X = cnp.asarray(np.array([2.0, 1.0, 0.0], np.float32))
#: large enough for compiled operations
LARGE = cnp.full((50_000,), -1.0)


def line(fun, after=1):
    return f"{__file__}:{fun.__code__.co_firstlineno + after}"


def located(call, of="NaN", kind=cv.debug_nans):
    with kind(), pytest.raises(errors.NonFiniteError) as caught:
        call()
    assert isinstance(caught.value, FloatingPointError)
    text = str(caught.value)
    assert of in text
    return text


def logarithm(x):
    return cnp.log(x - 1) * 2


# -- what is not a result --------------------------------------------------------------

KEY = cv.random.key(174)
RATES = np.array([18.3, 9.6, 1.8, 18.3], np.float32)
#: finite operands, finite results, and on the way there something else
ON_THE_WAY = {
    "nan_to_num": cnp.nan_to_num,
    "modf": lambda x: cnp.modf(x * 0 + cnp.asarray(np.inf)),
    "isclose": lambda x: cnp.isclose(-np.inf, x * 0 - np.inf),
    "floor_divide": lambda x: cnp.floor_divide(x, 2.0),
    "max of nothing": lambda x: cnp.max(x[:0], initial=2.0),
    "nanmin of nothing": lambda x: cnp.nanmin(x[:0], initial=2.0),
    "nanargmin": lambda x: cnp.nanargmin(cnp.stack([x, x * np.nan])),
    "equal": lambda x: cnp.equal(np.array([65534], np.uint16), x.astype("float16")),
    "take": lambda x: cnp.take(x, cnp.asarray(-1)),
    "linspace": lambda x: cnp.linspace(x, 2.0, 1),
    "poisson": lambda x: cv.random.poisson(KEY, RATES) + x[0],
    "geometric": lambda x: cv.random.geometric(KEY, 1.0) + x,
    "reduce": lambda x: lax.reduce(x[:0], np.float32(9), cnp.minimum, (0,)),
    "reduce_window": lambda x: lax.reduce_window(
        x, np.float32(9), cnp.minimum, (2,), (2,), ((2, 0),)
    ),
}
LOOKED_FOR = {"nanargmin": ("debug_infs",), "modf": ("debug_nans",)}
LOOKED_FOR["isclose"] = LOOKED_FOR["modf"]


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_what_a_function_leaves_out_again_is_not_looked_at(name):
    function, x = ON_THE_WAY[name], cnp.asarray(np.array([2.0, 1.0], np.float32))
    batched = lambda x: cv.vmap(function)(cnp.stack([x, x]))  # noqa: E731
    for call in function, batched:
        wanted = call(x)
        with cv.options.override(
            **dict.fromkeys(LOOKED_FOR.get(name, ("debug_nans", "debug_infs")), True)
        ):
            found = call(x)
        cv.tree.map(np.testing.assert_array_equal, found, wanted)


def test_the_slope_of_what_is_left_out_is_not_looked_at():
    with cv.options.override(debug_nans=True, debug_infs=True):
        assert float(cv.grad(cnp.nan_to_num)(3.0)) == 1
        assert float(cv.grad(lambda x: cnp.linspace(x, 2.0, 1)[0])(3.0)) == 1


@pytest.mark.parametrize("transform", [cv.vmap, lambda f: f], ids=["vmap", "eagerly"])
def test_the_operation_inside_of_a_function_is_to_blame(transform):
    def divided(x):
        return cnp.remainder(1.0, x)

    text = located(lambda: transform(divided)(cnp.zeros(2)))
    operand = "f32[] 0." if transform is cv.vmap else "f32[2] [0., 0.]"
    assert text.startswith(
        f"first NaN: rem of f32[] 1., {operand} made at {line(divided)}"
    )


# -- which operation -------------------------------------------------------------------


def test_an_operation_that_runs_by_itself():
    text = located(lambda: logarithm(X))
    operands = "f32[3] [ 1.,  0., -1.]"
    assert text == (
        f"first NaN: log of {operands} made at {line(logarithm)} (logarithm)"
    )


def test_a_large_operation_that_runs_by_itself():
    text = located(lambda: logarithm(LARGE))
    assert f"log of f32[50000] from -2 to -2 made at {line(logarithm)}" in text


def test_a_function_that_runs_as_one_numpy_call():
    text = located(lambda: cnp.logaddexp(cnp.asarray([cnp.nan]), cnp.ones(1)))
    assert "first NaN" in text


def test_a_jitted_function():
    f = cv.jit(logarithm)
    assert np.isnan(f(X)[2])
    text = located(lambda: f(X))
    assert text.startswith("jit of logarithm (test_debug_nans.py:")
    assert (
        "gave NaN in a result f32[3]; first NaN: log of f32[3] [ 1.,  0., -1.]" in text
    )
    assert f"made at {line(logarithm)} (logarithm)" in text


def test_every_call_is_looked_at_whether_warm_or_not():
    f = cv.jit(cnp.sqrt)
    f(1.0), f(-1.0)
    with cv.debug_nans():
        f(1.0)
        for _ in range(3):
            with pytest.raises(FloatingPointError, match="first NaN: sqrt of f32"):
                f(-1.0)
            assert float(f(4.0)) == 2.0


def test_a_nan_that_is_not_chosen_is_not_to_blame():
    @cv.jit
    def f(x):
        safe = cnp.where(x > 0, cnp.log(x - 1), 0.0)  # NaN at 0, not chosen
        return safe + cnp.sqrt(x - 3)

    text = located(lambda: f(cnp.asarray([0.0])))
    assert "first NaN: sqrt of f32[1] [-3.]" in text


def test_a_jitted_function_inside():
    inner = cv.jit(logarithm)
    text = located(lambda: cv.jit(lambda x: inner(x) + 1)(X))
    assert f"first NaN: log of f32[3] [ 1.,  0., -1.] made at {line(logarithm)}" in text
    assert f"made at {line(logarithm)}" in located(lambda: cv.vmap(inner)(X))


def step(c, t):
    return cnp.log(c), c


LOOPS = {
    "scan": (
        lambda x: lax.scan(step, x, None, length=6)[0],
        "log of f32[] -2.363952",
        "in scan step 3",
    ),
    "a scan from the end": (
        lambda x: lax.scan(step, x, cnp.arange(6.0), reverse=True)[0],
        "log of f32[] -2.363952",
        "in scan step 2",
    ),
    "what a scan stacks": (
        lambda x: lax.scan(lambda c, t: (c, cnp.sqrt(t)), x, cnp.arange(2.0, -2, -1))[
            1
        ],
        "sqrt of f32[] -1.",
        "in scan step 3",
    ),
    "while_loop": (
        lambda x: lax.while_loop(
            lambda c: c[0] < 9, lambda c: (c[0] + 1, cnp.log(c[1])), (0, x)
        )[1],
        "log of f32[] -2.363952",
        "in step 3 of while_loop",
    ),
    "cond": (
        lambda x: lax.cond(x > 2, lambda x: cnp.log(x - 5), lambda x: x, x),
        "log of f32[] -2.",
        "in branch 1 of cond",
    ),
    "cond in scan": (
        lambda x: lax.scan(
            lambda c, t: (lax.cond(t > 3, lambda: cnp.sqrt(-t), lambda: c), None),
            x,
            cnp.arange(6.0),
        )[0],
        "sqrt of f32[] -4.",
        "in branch 1 of cond in scan step 4",
    ),
}


@pytest.mark.parametrize("transform", [cv.jit, lambda f: f], ids=["jit", "eagerly"])
@pytest.mark.parametrize(("f", "operation", "where"), LOOPS.values(), ids=LOOPS)
def test_loops_and_branches_are_opened(f, operation, where, transform):
    text = located(lambda: transform(f)(3.0))
    assert f"first NaN: {operation} made at {__file__}:" in text
    assert text.endswith(where)


def test_nan_that_came_in():
    f = cv.jit(lambda p, *, y: p["a"] + y)
    text = located(lambda: f({"a": cnp.nan}, y=1.0))
    assert "NaN came in with argument 0['a'], f32[] nan" in text
    assert "keyword argument y" in located(lambda: f({"a": 1.0}, y=cnp.nan))
    big = cnp.full(2000, cnp.nan)
    text = located(lambda: cv.jit(lambda x: x + big)(1.0))
    assert "with an array that the function closes over" in text


def test_a_constant():
    text = located(lambda: cv.jit(lambda x: x * np.float32("nan"))(1.0))
    assert "NaN stands in the program as a constant" in text


# -- derivatives -----------------------------------------------------------------------


def root(x):
    return cnp.sqrt(x) * 0.0


def test_a_backward_pass_names_the_line_of_the_function():
    with cv.debug_nans(), pytest.raises(errors.NonFiniteError) as caught:
        cv.grad(root)(0.0)
    assert f"first NaN: div of f32[] 0., f32[] 0. made at {line(root)}" in str(
        caught.value
    )
    why, note = caught.value.__notes__
    assert why == "why: 0 / 0; write where(d != 0, d, 1.0) as the divisor"
    assert note.startswith("in the backward pass of ")
    assert line(root) in note


def test_a_compiled_backward_pass():
    text = located(lambda: cv.jit(cv.grad(root))(0.0))
    assert "jit of root (test_debug_nans.py" in text
    assert f"made at {line(root)} (root)" in text
    text = located(lambda: cv.grad(cv.jit(root))(0.0))
    assert f"made at {line(root)} (root)" in text


def test_derivatives_through_loops():
    def f(x):
        return lax.scan(lambda c, _: (cnp.sqrt(c), None), x, None, length=3)[0]

    assert "in scan step" in located(lambda: cv.jit(cv.grad(f))(-1.0))
    assert "first NaN" in located(lambda: cv.grad(f)(-1.0))
    assert "first NaN" in located(lambda: cv.jit(cv.grad(cv.checkpoint(f)))(-1.0))


def test_rules_of_users():
    @cv.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def rule(primals, tangents):
        return primals[0], tangents[0] * cnp.log(primals[0])

    assert float(f(-1.0)) == -1.0
    for transform in (cv.grad, lambda g: cv.jit(cv.grad(g))):
        text = located(lambda t=transform: t(f)(-1.0))
        assert f"log of f32[] -1. made at {line(rule, 2)}" in text


# -- infinities ------------------------------------------------------------------------


def test_infinities():
    text = located(lambda: cv.jit(lambda x: 1 / x)(X), "infinity", cv.debug_infs)
    assert "first infinity: div of f32[] 1., f32[3] [2., 1., 0.]" in text
    with cv.debug_nans():
        assert np.isinf(cv.jit(lambda x: 1 / x)(0.0))
    with cv.debug_infs():
        assert np.isnan(cv.jit(cnp.log)(-1.0))
    with cv.debug_nans(), cv.debug_infs(), pytest.raises(FloatingPointError):
        cnp.log(0.0)


# -- element types ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "complex64"])
def test_narrow_and_complex_numbers(dtype):
    x = cnp.asarray([1.0, cnp.nan]).astype(dtype)
    assert "came in with argument 0" in located(lambda: cv.jit(lambda x: x + x)(x))


def test_integers_keys_and_empty_arrays_pass():
    with cv.debug_nans(), cv.debug_infs():
        key = cv.random.key(0)
        assert cv.jit(cv.random.split)(key).shape == (2,)
        assert cv.jit(lambda x: (x // 2, x > 1, cnp.zeros((0, 2))))(3)[0] == 1
        assert cnp.zeros((0,)).sum() == 0


# -- what stays as it is ---------------------------------------------------------------


def test_donated_arguments_can_still_be_blamed():
    f = cv.jit(cnp.log, donate_argnums=0)
    text = located(lambda: f(cnp.asarray([-1.0])))
    assert "first NaN: log of f32[1] [-1.]" in text
    with cv.debug_nans():
        x = cnp.ones(3)
        f(x)
        assert x.is_deleted()


def test_compiled_programs_are_looked_at():
    compiled = cv.jit(logarithm).lower(X).compile()
    assert "jit of logarithm" in located(lambda: compiled(X))


def test_effects_are_not_repeated():
    seen = []

    def f(x):
        cv.debug.callback(lambda v: seen.append(float(v)), x)
        return cnp.log(x)

    text = located(lambda: cv.jit(f)(-1.0))
    assert "it has effects, so it is not run again" in text
    assert seen == [-1.0]


def test_no_program_is_traced_because_of_it():
    traces = []
    f = cv.jit(lambda x: (traces.append(1), x + 1)[1])
    f(1.0)
    with cv.debug_nans():
        f(1.0)
    f(1.0)
    assert len(traces) == 1


def test_it_costs_nothing_when_it_is_off():
    assert "process" not in vars(base)
    with cv.debug_nans(False):
        cnp.log(-1.0)
    with cv.debug_nans():
        with cv.debug_nans(False):
            assert np.isnan(cnp.log(-1.0))
        assert "process" in vars(base)
    assert "process" not in vars(base)


def test_the_block_is_for_one_thread():
    seen = []
    with cv.debug_nans():
        thread = threading.Thread(target=lambda: seen.append(cnp.log(-1.0)))
        thread.start()
        thread.join()
    assert np.isnan(seen[0])


@pytest.mark.parametrize("name", ["debug_nans", "jax_debug_nans"])
def test_the_option_of_the_process(name):
    f = cv.jit(cnp.log)
    f(-1.0)
    cv.config.update(name, True)
    try:
        assert cv.config.debug_nans
        for call in (f, cnp.log):
            with pytest.raises(errors.NonFiniteError, match="first NaN: log of f32"):
                call(-1.0)
    finally:
        cv.config.update(name, False)
    assert np.isnan(f(-1.0)) and "process" not in vars(base)


# -- lanes -----------------------------------------------------------------------------

ROWS = np.ones((4, 3), np.float32)
ROWS[2, 1] = -1.0


def lane_of(f, *args):
    with cv.debug_nans(), pytest.raises(errors.NonFiniteError) as caught:
        f(*args)
    origin = caught.value.origin
    assert f"in lane {np.ravel(origin.lane)[-1]} of vmap" in str(caught.value)
    return origin.operation, origin.lane, origin.step, origin.index


def of_row(x):
    return cnp.log(x).sum()


def root_of_row(x):
    return cnp.sqrt(abs(x) - 1).sum()


def of_steps(x):
    return lax.scan(lambda total, v: (total + cnp.log(v), None), 0.0, x)[0]


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (cv.vmap(of_row), ("log", 2, None, (1,))),
        (cv.vmap(cv.jit(of_row)), ("log", 2, None, (1,))),
        (cv.jit(cv.vmap(of_row)), ("log", 2, None, (1,))),
        (cv.grad(lambda x: cv.vmap(of_row)(x).sum()), ("log", 2, None, (1,))),
        (cv.vmap(cv.vmap(cnp.log)), ("log", (2, 1), None, ())),
        (cv.jit(cv.vmap(cv.vmap(cnp.log))), ("log", (2, 1), None, ())),
        (cv.vmap(cnp.log, 1, 1), ("log", 1, None, (2,))),
        (cv.vmap(of_steps), ("log", 2, 1, ())),
        (cv.jit(cv.vmap(of_steps)), ("log", 2, 1, ())),
    ],
)
def test_the_lane_of_a_batch_is_told(f, wanted):
    assert lane_of(f, cnp.array(ROWS)) == wanted


def test_the_lane_of_a_compiled_backward_pass_is_told():
    x = cnp.array([[3.0, 4.0], [3.0, 1.0]])
    gradient = cv.grad(lambda x: (0.0 * cv.vmap(root_of_row)(x)).sum())
    operation, lane, _, index = lane_of(cv.jit(gradient), x)
    assert (operation, lane, index) == ("div", 1, (1,))


def test_the_lane_is_told_where_lanes_communicate():
    def f(x):
        return cnp.log(x - lax.psum(x, "rows")).sum()

    with cv.debug_nans(), pytest.raises(errors.NonFiniteError) as caught:
        cv.vmap(f, axis_name="rows")(cnp.array(ROWS))
    assert caught.value.origin.lane == 0
