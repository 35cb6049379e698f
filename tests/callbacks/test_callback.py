"""``pure_callback`` and ``io_callback``: values, checks, batches, failures, nesting."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.experimental import io_callback

X = np.array([0.5, -1.0, 2.0], np.float32)


def eager(f):
    return f


def in_scan(f):
    return lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][1]


def in_while(f):
    def run(x):
        last = lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, f(x)), (0, cnp.zeros_like(x))
        )
        return last[1]

    return run


def in_cond(f):
    return lambda x: lax.cond(cnp.sum(x) > -9, f, lambda x: 0 * x, x)


WRAPPERS = {
    "eager": eager,
    "jit": cv.jit,
    "nested_jit": lambda f: cv.jit(lambda x: cv.jit(f)(2 * x / 2)),
    "scan": in_scan,
    "jit_scan": lambda f: cv.jit(in_scan(f)),
    "jit_while": lambda f: cv.jit(in_while(f)),
    "jit_cond": lambda f: cv.jit(in_cond(f)),
    "checkpoint": lambda f: cv.jit(cv.checkpoint(f)),
}


def host_sin(x):
    return cv.pure_callback(np.sin, x, x)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_value_is_what_numpy_computes(wrapper):
    np.testing.assert_array_equal(WRAPPERS[wrapper](host_sin)(cnp.array(X)), np.sin(X))


@pytest.mark.parametrize("wrapper", ["eager", "jit"])
def test_arguments_and_results_are_trees(wrapper):
    def callback(pair, *, scale):
        assert isinstance(pair["a"], cv.Array)
        return {"sum": pair["a"] + pair["b"], "rest": [scale * 2]}

    def f(a, b, scale):
        result = {"sum": a, "rest": [scale]}
        return cv.pure_callback(callback, result, {"a": a, "b": b}, scale=scale)

    out = WRAPPERS[wrapper](f)(cnp.array(X), cnp.ones(3), cnp.int32(4))
    np.testing.assert_array_equal(out["sum"], X + 1)
    assert out["rest"][0].tolist() == 8


DTYPES = ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64"]


@pytest.mark.parametrize("dtype", [*DTYPES, "int4", "float8_e4m3fn"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3, 2)])
def test_every_dtype_and_shape_goes_through(dtype, shape):
    seen = []

    def callback(x):
        seen.append(x.type)
        return np.asarray(x)

    x = cnp.ones(shape, dtype)
    out = cv.jit(lambda x: cv.pure_callback(callback, x, x))(x)
    assert out.type == x.type
    # XLA does not compute what has no elements.
    assert seen == [x.type] * (x.size > 0)
    assert np.asarray(out).tobytes() == np.asarray(x).tobytes()


def test_64_bits_go_through():
    with cv.enable_x64(True):
        x = cnp.arange(3.0)
        out = cv.jit(lambda x: cv.pure_callback(np.cos, x, x))(x)
        np.testing.assert_array_equal(out, np.cos(np.arange(3.0)))


def test_keys_go_through():
    key = cv.random.key(3)
    out = cv.jit(lambda k: cv.pure_callback(lambda k: k, k, k))(key)
    assert cv.random.key_data(out).tolist() == cv.random.key_data(key).tolist()


def test_operands_are_row_major():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = cv.jit(lambda x: cv.pure_callback(lambda t: t, x.T, x.T) + 0)(x)
    np.testing.assert_array_equal(out, x.T)


def test_results_may_be_strided_and_numbers():
    def callback(x):
        return np.stack([np.asarray(x)] * 2, 1)[:, 0], 1

    promised = (cv.ShapeDtypeStruct((3,), "float32"), cv.ShapeDtypeStruct((), "int8"))
    values, number = cv.jit(lambda x: cv.pure_callback(callback, promised, x))(X)
    np.testing.assert_array_equal(values, X)
    assert (number.tolist(), str(number.dtype)) == (1, "int8")


def test_a_pure_callback_does_not_run_while_tracing_nor_for_nothing():
    calls = []

    def count(x):
        calls.append(1)
        return x

    def f(x):
        cv.pure_callback(count, cnp.float32(1), 1.0)  # known, and not used
        return x

    cv.make_jaxpr(f)(1.0)
    cv.jit(f).lower(1.0)
    cv.jit(f)(1.0)
    assert calls == []


# -- what is not as promised -----------------------------------------------------------


def promises(result, callback):
    return lambda x: cv.pure_callback(callback, result, x)


F3 = cv.ShapeDtypeStruct((3,), "float32")
WRONG = {
    "dtype": (
        promises(F3, lambda x: np.sin(np.asarray(x), dtype=np.float16)),
        errors.TypeMismatch,
        r"promised a result of type f32\[3\], but returned f16\[3\]. Convert it with "
        r".astype\('float32'\), or promise float16 in result_shape_dtypes",
    ),
    "shape": (
        promises(F3, lambda x: x[:2]),
        errors.TypeMismatch,
        r"promised a result of type f32\[3\], but returned f32\[2\]. Return an array "
        "of that shape, or promise another one",
    ),
    "nested": (
        promises({"a": F3}, lambda x: {"a": x[:2]}),
        errors.TypeMismatch,
        r"promised a result of type f32\[3\] at \['a'\], but",
    ),
    "tree": (
        promises((F3, F3), lambda x: (x,)),
        errors.TreeMismatch,
        r"must return what its result_shape_dtypes promise, f32\[3\], f32\[3\], but "
        "the structures differ",
    ),
    "none": (
        promises(F3, lambda x: None),
        errors.TreeMismatch,
        "the structures differ",
    ),
    "object": (
        promises(F3, lambda x: "words"),
        errors.TypeMismatch,
        "but returned 'words'",
    ),
    "number": (
        promises(cv.ShapeDtypeStruct((), "int32"), lambda x: 1.5),
        errors.TypeMismatch,
        r"promised a result of type i32\[\], but returned f32\[\]",
    ),
}


@pytest.mark.parametrize("wrapper", [eager, cv.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_broken_promise_is_told(wrong, wrapper):
    f, kind, words = WRONG[wrong]
    with pytest.raises(kind, match=words) as raised:
        wrapper(f)(X)
    assert "pure_callback of" in str(raised.value)


def test_arguments_are_arrays():
    with pytest.raises(errors.DTypeError, match="needs an array or a number"):
        cv.pure_callback(lambda s: s, F3, "words")


def test_only_known_vmap_methods():
    with pytest.raises(errors.ArgumentError, match="no vmap_method 'fast'; there are"):
        cv.pure_callback(np.sin, X, X, vmap_method="fast")


@pytest.mark.parametrize("callback", [cv.pure_callback, io_callback])
def test_there_is_no_sharding(callback):
    with pytest.raises(errors.ArgumentError, match="sharding must be None, but is 3"):
        callback(np.sin, X, X, sharding=3)


# -- derivatives -----------------------------------------------------------------------


def by_host(callback):
    return lambda x: callback(np.sin, x, x)


@pytest.mark.parametrize(
    "wrapper", [eager, cv.jit, in_scan], ids=["eager", "jit", "scan"]
)
@pytest.mark.parametrize("callback", [cv.pure_callback, io_callback])
def test_there_is_no_derivative(callback, wrapper):
    f = wrapper(by_host(callback))
    for derivative in (
        lambda: cv.grad(lambda x: cnp.sum(f(x)))(X),
        lambda: cv.jvp(f, (X,), (X,)),
    ):
        with pytest.raises(
            errors.NotDifferentiable,
            match=r"(?s)callback of sin cannot be differentiated.*covector.custom_jvp "
            r"or custom_vjp.*stop_gradient",
        ):
            derivative()


def test_there_is_no_transpose():
    with pytest.raises(errors.NotDifferentiable, match="cannot be differentiated"):
        cv.linear_transpose(host_sin, X)(X)
    seen = []

    def f(x):
        cv.debug.callback(seen.append, x)
        return 2 * x

    assert cv.linear_transpose(f, 1.0)(3.0)[0].tolist() == 6.0
    assert seen == []


def test_what_does_not_move_may_be_passed():
    def f(x, n):
        scale = cv.pure_callback(np.float32, cnp.float32(1), n)
        size = cv.pure_callback(lambda x: np.int32(3), cnp.int32(1), x)
        constant = cv.pure_callback(np.cos, x, lax.stop_gradient(x))
        return cnp.sum(scale * size * constant * x)

    np.testing.assert_allclose(cv.jit(cv.grad(f))(X, 2), 6 * np.cos(X), rtol=1e-6)


def test_a_custom_rule_differentiates():
    @cv.custom_jvp
    def sin(x):
        return cv.pure_callback(np.sin, x, x, vmap_method="sequential")

    @sin.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return sin(x), dx * cv.pure_callback(np.cos, x, x, vmap_method="sequential")

    slope = cv.jit(cv.vmap(cv.grad(sin)))(X)
    np.testing.assert_allclose(slope, np.cos(X), rtol=1e-6)


# -- batches ---------------------------------------------------------------------------


def batched_with(method, seen):
    def callback(x, y):
        seen.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    def f(x, y):
        return cv.pure_callback(callback, x, x, y, vmap_method=method)

    return cv.vmap(f, in_axes=(1, None))


SHAPES = {
    "sequential": [((2,), ())] * 3,
    "sequential_unrolled": [((2,), ())] * 3,
    "expand_dims": [((3, 2), (1,))],
    "broadcast_all": [((3, 2), (3,))],
    "legacy_vectorized": [((3, 2), ())],
}


@pytest.mark.parametrize("wrapper", [eager, cv.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("method", SHAPES)
def test_a_batch_goes_as_its_method_says(method, wrapper):
    x, seen = np.arange(6, dtype=np.float32).reshape(2, 3), []
    y = np.float32(1)
    if method in ("expand_dims", "broadcast_all"):

        def callback(x, y):
            seen.append((x.shape, y.shape))
            return np.asarray(x) + np.asarray(y)[:, None]

        def f(x, y):
            return cv.pure_callback(callback, x, x, y, vmap_method=method)

        over = cv.vmap(f, in_axes=(1, None))
    else:
        over = batched_with(method, seen)
    np.testing.assert_array_equal(wrapper(over)(x, y), x.T + 1)
    assert seen == SHAPES[method]


def test_a_batch_needs_a_method():
    with pytest.raises(
        errors.ArgumentError,
        match=r"(?s)under vmap, but was not told.*Pass vmap_method: one of sequential",
    ):
        cv.vmap(host_sin)(X)


def test_vmap_of_vmap():
    def f(x, y):
        return cv.pure_callback(
            lambda x, y: np.asarray(x) * np.asarray(y),
            x,
            x,
            y,
            vmap_method="sequential",
        )

    outer = cv.vmap(cv.vmap(f, (None, 0)), (0, None))
    np.testing.assert_array_equal(cv.jit(outer)(X, X), np.outer(X, X))


def test_a_batch_of_none():
    out = cv.vmap(lambda x: cv.pure_callback(np.sin, x, x, vmap_method="sequential"))(
        cnp.zeros((0, 2))
    )
    assert str(out.type) == "f32[0,2]"


# -- io_callback -----------------------------------------------------------------------


def test_an_io_callback_gives_results_and_runs_each_time():
    state = iter(range(100))

    def draw():
        return np.int32(next(state))

    def f():
        return io_callback(draw, cnp.int32(0)) * 10 + io_callback(
            draw, cnp.int32(0), ordered=True
        )

    assert {f().tolist(), cv.jit(f)().tolist()} == {1, 23}
    looped = cv.jit(
        lambda: lax.scan(
            lambda c, _: (c, io_callback(draw, cnp.int32(0))), 0, None, length=3
        )
    )
    assert looped()[1].tolist() == [4, 5, 6]


def test_an_io_callback_runs_for_each_member():
    seen = []

    def note(x):
        seen.append(float(x))
        return x

    f = cv.vmap(lambda x: io_callback(note, x, x))
    np.testing.assert_array_equal(cv.jit(f)(X), X)
    assert seen == X.tolist()


def test_ordered_effects_have_no_batch():
    f = cv.vmap(lambda x: io_callback(np.sin, x, x, ordered=True))
    with pytest.raises(
        errors.ArgumentError,
        match=r"io_callback of sin has ordered effects, and an order .* is not defined",
    ):
        f(X)
    same = cv.vmap(lambda x: (io_callback(np.sin, X[0], X[0], ordered=True), x)[1])
    np.testing.assert_array_equal(same(X), X)


# -- failures --------------------------------------------------------------------------


class Unlucky(Exception):
    pass


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("callback", [cv.pure_callback, io_callback])
def test_an_exception_comes_out_as_it_was_raised(callback, wrapper):
    error = Unlucky("no luck", 13)

    def fail(x):
        raise error

    f = WRAPPERS[wrapper](lambda x: callback(fail, x, x))
    for _ in range(3):
        with pytest.raises(Unlucky) as raised:
            f(cnp.array(X))
        assert raised.value is error
        assert raised.value.args == ("no luck", 13)
    np.testing.assert_array_equal(cv.jit(host_sin)(X), np.sin(X))


def test_an_exception_keeps_its_cause_and_its_line():
    cause = KeyError("why")

    def fail(x):
        raise Unlucky("no luck") from cause

    f = cv.jit(lambda x: cv.pure_callback(fail, x, x))
    for _ in range(2):
        with pytest.raises(Unlucky) as raised:
            f(X)
        assert raised.value.__cause__ is cause
        assert raised.traceback[-1].name == "fail"


def test_a_program_that_failed_is_not_run_again():
    calls = []

    def fail_later(x):
        calls.append(1)
        if len(calls) > 1:
            raise Unlucky
        return x

    f = cv.jit(lambda x: io_callback(fail_later, x, x))
    f(X)
    with pytest.raises(Unlucky):
        f(X)
    assert len(calls) == 2


def test_keyboard_interrupt_comes_out():
    def stop(x):
        raise KeyboardInterrupt

    f = cv.jit(lambda x: cv.pure_callback(stop, x, x))
    with pytest.raises(KeyboardInterrupt):
        f(X)


def test_a_failure_in_a_derivative_leaves_nothing_behind():
    def fail(x):
        raise Unlucky

    def f(x):
        cv.debug.callback(fail, x)
        return cnp.sum(x * x)

    for g in (cv.grad(f), cv.jit(cv.grad(f)), cv.vmap(f), cv.jit(cv.vmap(cv.grad(f)))):
        with pytest.raises(Unlucky):
            g(X)
    assert float(cv.grad(lambda x: x * x)(3.0)) == 6.0


# -- nesting ---------------------------------------------------------------------------


def with_covector(x):
    """Everything that a callback may do with covector itself."""
    big = cnp.ones((200, 200))
    product = cv.jit(lambda a: a @ a)(big)[0, 0] / 200
    slope = cv.grad(lambda x: cnp.sum(x * x))(x)
    steps = lax.scan(lambda c, _: (c + 1, None), 0.0, None, length=3)[0]
    again = cv.jit(lambda x: cv.pure_callback(np.negative, x, x))(x)
    return product * slope + 2 * again + 0 * cnp.float32(steps)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_callback_may_use_covector(wrapper):
    out = []
    f = WRAPPERS[wrapper](lambda x: 1 + cv.pure_callback(with_covector, x, x))
    thread = threading.Thread(target=lambda: out.append(f(cnp.array(X))), daemon=True)
    thread.start()
    thread.join(240)
    assert out, "a deadlock"
    np.testing.assert_array_equal(out[0], np.ones(3))


def test_a_callback_sees_no_trace():
    seen = []

    def look(x):
        seen.append(isinstance(x + 1, cv.Array) and float(x + 1))

    cv.grad(lambda x: (cv.debug.callback(look, x), x * x)[1])(2.0)
    cv.vmap(lambda x: cv.debug.callback(look, x))(cnp.arange(2.0))
    assert seen == [3.0, 1.0, 2.0]


ASYNCHRONOUS = """
import covector as cv, covector.numpy as cnp, numpy as np
from covector.experimental import io_callback
seen, big = [], cnp.ones((800, 800))
dot = cv.jit(lambda a: a @ a / 800)
def note(tag): return lambda x: seen.append(tag)
slow = cv.jit(lambda a: io_callback(note("slow"), None, a[0, 0], ordered=True))
fast = cv.jit(lambda a: io_callback(note("fast"), None, a, ordered=True))
for _ in range(3):
    slow(dot(dot(big)))
    fast(1.0)
cv.effects_barrier()
assert seen == ["slow", "fast"] * 3, seen
def fail(x): raise KeyError("late")
def expect(wait):
    try: wait()
    except KeyError as error: assert error.args == ("late",)
    else: raise AssertionError("nothing raised")
with_result = cv.jit(lambda a: (io_callback(fail, None, a[0, 0]), a)[1])
without = cv.jit(lambda a: io_callback(fail, None, a[0, 0]))
expect(lambda: np.asarray(with_result(dot(dot(big)))))
expect(lambda: (without(dot(dot(big))), cv.effects_barrier()))
expect(lambda: np.asarray(with_result(dot(dot(big)))))
try: cv.effects_barrier()
except KeyError: pass
cv.effects_barrier()
fast(1.0)
print("good")
"""


def test_on_threads_of_the_runtime_order_and_failures_are_kept():
    done = subprocess.run(
        [sys.executable, "-c", ASYNCHRONOUS],
        env={"COVECTOR_ASYNC_CPU": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "good\n", done.stderr


# -- memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("call", [cv.pure_callback, io_callback])
@pytest.mark.parametrize("wrapper", [eager, cv.jit], ids=["eager", "jit"])
def test_a_callback_that_returns_one_buffer_each_time_keeps_its_earlier_results(
    wrapper, call, size
):
    memory = np.zeros(size, np.float32)

    def fill(x):
        memory[:] = x
        return memory

    f = wrapper(lambda x: call(fill, cv.ShapeDtypeStruct((size,), "float32"), x))
    results = [f(cnp.float32(n)) for n in range(3)]
    memory[:] = -1
    assert [float(r[-1]) for r in results] == [0, 1, 2]


@pytest.mark.parametrize("wrapper", [eager, cv.jit], ids=["eager", "jit"])
def test_what_a_callback_keeps_of_its_operands_stays_as_it_was(wrapper):
    kept = []
    f = wrapper(lambda x: cv.debug.callback(kept.append, x * 2))
    for n in range(4):
        f(cnp.full(50_000, n, "float32"))
    cv.effects_barrier()
    assert [(float(x.min()), float(x.max())) for x in kept] == [
        (2 * n, 2 * n) for n in range(4)
    ]


# -- what is taken for what was promised -----------------------------------------------


@pytest.mark.parametrize("wrapper", [eager, cv.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("wide", ["float64", "int64", "uint64", "complex128"])
def test_results_of_64_bits_are_narrowed_as_all_arrays_from_outside(wide, wrapper):
    narrow = cnp.asarray(np.zeros(2, wide)).dtype
    f = promises(cv.ShapeDtypeStruct((2,), narrow), lambda _: np.arange(2, dtype=wide))
    out = wrapper(f)(X)
    assert (out.dtype, out.tolist()) == (narrow, [0, 1])
    with cv.enable_x64(True), pytest.raises(errors.TypeMismatch, match="promised"):
        wrapper(f)(X)


def test_a_promise_of_64_bits_means_32_unless_x64_is_on():
    f = promises(cv.ShapeDtypeStruct((), "float64"), lambda x: x.sum())
    assert f(X).dtype == cv.jit(f)(X).dtype == np.float32
    with cv.enable_x64(True):
        assert f(cnp.asarray(X, "float64")).dtype == np.float64


@pytest.mark.parametrize("wrapper", [eager, cv.jit], ids=["eager", "jit"])
def test_a_list_is_taken_for_a_promised_tuple_and_a_tuple_for_a_list(wrapper):
    one, two = (F3, {"a": [F3, F3]}), [F3, {"a": (F3, F3)}]
    for promised, returned in ((one, two), (two, one)):
        f = promises(promised, lambda x, r=returned: cv.tree.map(lambda _: x, r))
        out = wrapper(f)(X)
        assert cv.tree.structure(out) == cv.tree.structure(promised)
    with pytest.raises(errors.TreeMismatch):  # of another name
        promises({"a": F3}, lambda x: {"b": x})(X)


def test_a_promise_of_64_bits_holds_where_the_program_is_run_without_x64():
    with cv.enable_x64(True):
        x = cnp.asarray(0.5)
        f = cv.jit(
            lambda x: cv.pure_callback(np.tanh, cv.ShapeDtypeStruct((), x.dtype), x)
        )
        compiled = f.lower(x).compile()
    found = compiled(x)
    assert found.dtype == np.float64
    assert float(found) == np.tanh(0.5)
