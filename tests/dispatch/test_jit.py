"""``jit``: signatures, static arguments, donation, and what results look like."""

import functools
import gc
import inspect
import threading
import warnings
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.dispatch import program_cache
from covector.lowering.compiled import CompiledProgram

X = np.arange(4, dtype=np.float32)


class Counted:
    """A jitted function that counts how often it is traced."""

    def __init__(self, fun, **options):
        self.traces = 0

        @functools.wraps(fun)
        def counting(*args, **kwargs):
            self.traces += 1
            return fun(*args, **kwargs)

        self.call = cv.jit(counting, **options)


# -- signatures ------------------------------------------------------------------------


def test_a_function_is_traced_once_per_types_and_tree():
    f = Counted(lambda p: p["a"] * 2)
    for value in (1.0, 2.0, np.float32(3), cnp.float32(4), np.float32(5)):
        assert float(f.call({"a": value})) == 2 * float(value)
    assert f.traces == 2  # a Python number is weak, the others are not
    f.call({"a": X})
    f.call({"a": X + 1})
    f.call({"a": X, "b": None})
    assert f.traces == 4


def test_the_same_function_jitted_twice_is_traced_once():
    f = Counted(lambda x: x + 1)
    f.call(1.0)
    cv.jit(f.call.fun)(1.0)
    assert f.traces == 1


def test_a_jitted_function_that_nobody_holds_is_freed():
    def f(x):
        return x + 1

    alive = weakref.ref(f)
    cv.jit(f)(1.0)
    del f
    gc.collect()
    assert alive() is None


def test_keyword_arguments_defaults_and_their_order():
    f = Counted(lambda x, y=10.0, *, z=100.0: x + 2 * y + 3 * z)
    assert float(f.call(1.0)) == 321.0
    assert float(f.call(1.0, 20.0)) == 341.0
    assert float(f.call(1.0, y=20.0)) == 341.0
    assert float(f.call(z=1.0, x=1.0)) == 24.0
    before = f.traces
    assert float(f.call(x=2.0, z=1.0)) == 25.0
    assert f.traces == before


def test_numpy_arguments_are_copied_when_they_are_passed():
    values = X.copy()
    out = cv.jit(lambda x: (x, x * 2))(values)
    values[:] = -1
    assert out[0].tolist() == X.tolist()
    assert out[1].tolist() == (2 * X).tolist()


def test_python_numbers_stay_weak_and_others_do_not():
    assert cv.jit(lambda x: x)(1.0).weak_type
    assert cv.jit(lambda: 1)().weak_type
    assert not cv.jit(lambda x: x)(np.float32(1)).weak_type
    assert (cv.jit(lambda n: n + 1)(2) + cnp.ones(2, "int8")).dtype == "int8"
    assert cv.jit(lambda x, n: x * n)(cnp.ones(2, "float16"), 3.0).dtype == "float16"


def test_numpy_doubles_narrow_unless_x64_is_on():
    assert cv.jit(lambda x: x)(np.float64(1)).dtype == "float32"
    with cv.enable_x64():
        assert cv.jit(lambda x: x)(np.float64(1)).dtype == "float64"


# -- results ---------------------------------------------------------------------------


@pytest.mark.parametrize("call", [1, 2, 3])
def test_results_of_every_kind(call):
    @cv.jit
    def f(x, y):
        return None, {"in": x, "again": [x, (y + 1, 3)]}, x, 2.5, True

    x = cnp.arange(3)
    for _ in range(call):
        nothing, tree, same, number, flag = f(x, 2.0)
    assert nothing is None
    assert tree["in"].tolist() == same.tolist() == tree["again"][0].tolist()
    assert [float(v) for v in tree["again"][1]] == [3.0, 3.0]
    assert float(number) == 2.5
    assert flag.dtype == bool and bool(flag)


def test_functions_without_arguments_or_results():
    f = cv.jit(lambda: None)
    assert f() is None and f() is None
    assert cv.jit(lambda x: x)(None) is None
    assert cv.jit(lambda: [])() == []


def test_empty_arrays():
    f = cv.jit(lambda x: (x * 2, cnp.sum(x), x))
    for _ in range(2):
        doubled, total, same = f(np.zeros((0, 3), np.float32))
        assert doubled.shape == same.shape == (0, 3)
        assert float(total) == 0.0


# -- what is known stays known ---------------------------------------------------------


def test_arithmetic_on_shapes_and_numbers_stays_known_under_jit():
    def f(x, k, n):
        size = cnp.minimum(cnp.maximum(k, 1), n)
        flat = cnp.prod(cnp.array(x.shape))
        chosen = ["a", "b", "c"][cnp.arange(3)[1]]
        assert chosen == "b"
        if cnp.any(cnp.array([True, False])) and size > 2:
            return cnp.zeros((size,)), x.reshape(flat), x.reshape(int(size), -1)
        return None

    jitted = cv.jit(f, static_argnums=(1, 2))
    assert [a.shape for a in jitted(cnp.ones((3, 2)), 3, 5)] == [(3,), (6,), (3, 2)]
    shapes = cv.eval_shape(lambda x: f(x, 3, 5), cnp.ones((3, 2)))
    assert [a.shape for a in shapes] == [(3,), (6,), (3, 2)]


# -- methods and callables -------------------------------------------------------------


class Model:
    def __init__(self, k):
        self.k = k

    @functools.partial(cv.jit, static_argnums=0)
    def scaled(self, x):
        return x * self.k

    @functools.partial(cv.jit, static_argnames="self")
    def named(self, x):
        return x * self.k

    def plain(self, x):
        return x * self.k


def test_methods_with_a_static_self():
    two, three = Model(2.0), Model(3.0)
    assert [float(m.scaled(1.0)) for m in (two, three, two)] == [2.0, 3.0, 2.0]
    assert float(two.named(x=5.0)) == 10.0
    assert float(cv.grad(three.scaled)(1.0)) == 3.0


def test_bound_methods():
    two, three = Model(2.0), Model(3.0)
    assert [float(cv.jit(m.plain)(1.0)) for m in (two, three, two)] == [2.0, 3.0, 2.0]


def test_a_bound_method_shows_its_signature_and_the_stages_of_its_function():
    class Model:
        @cv.jit(static_argnums=0)
        def apply(self, x, *, times: int = 2):
            """Multiply."""
            return x * times

    bound = Model().apply
    assert str(inspect.signature(bound)) == "(x, *, times: int = 2)"
    assert (bound.__name__, bound.__doc__) == ("apply", "Multiply.")
    assert "apply" in bound.lower(bound.__self__, 1.0).as_text()


@dataclass
class Unhashable:
    k: float

    def __call__(self, x):
        return x * self.k


def test_callables_that_are_no_functions():
    assert float(cv.jit(Unhashable(2.0))(3.0)) == 6.0
    assert float(cv.jit(functools.partial(lambda a, b: a * b, 2.0))(3.0)) == 6.0
    assert float(cv.jit(cnp.exp)(0.0)) == 1.0


def test_a_jitted_function_looks_like_the_function():
    @cv.jit
    def documented(x):
        """Says what it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Says what it does."
    assert "documented" in repr(documented)


def test_as_a_decorator_with_options():
    @cv.jit(static_argnames="n")
    def f(x, n):
        return x * n if isinstance(n, int) else None

    assert float(f(2.0, n=3)) == 6.0
    assert float(f(2.0, 3)) == 6.0


# -- static arguments ------------------------------------------------------------------


def kind(x):
    return {bool: 1.0, int: 2.0, float: 3.0}[type(x)]


def test_static_values_that_python_calls_equal_are_different_programs():
    f = Counted(lambda x, s: x + kind(s), static_argnums=1)
    assert [float(f.call(0.0, s)) for s in (1, 1.0, True, 1)] == [2.0, 3.0, 1.0, 2.0]
    assert f.traces == 3


def test_static_tuples_of_values_that_python_calls_equal():
    f = cv.jit(lambda x, s: x + kind(s[0][0]), static_argnums=1)
    found = [float(f(0.0, ((s,),))) for s in (1, 1.0, True)]
    assert found == [2.0, 3.0, 1.0]


def test_static_zeros_of_both_signs():
    f = cv.jit(lambda x, s: x * s, static_argnums=1)
    assert [str(f(1.0, s)) for s in (0.0, -0.0)] == ["0.0", "-0.0"]


def test_a_static_argument_by_position_by_name_or_left_out():
    f = Counted(
        lambda x, n=2: x * (n if isinstance(n, int) else 0), static_argnames="n"
    )
    assert float(f.call(1.0)) == 2.0
    assert float(f.call(1.0, 3)) == 3.0
    assert float(f.call(1.0, n=3)) == 3.0
    assert float(f.call(n=4, x=1.0)) == 4.0


def test_a_static_argument_counted_from_the_end_and_left_out():
    f = cv.jit(lambda x, n=2: x * n, static_argnums=-1)
    assert f(X).tolist() == (2 * X).tolist()
    assert f(X, 3).tolist() == (3 * X).tolist()
    assert f(X, n=4).tolist() == (4 * X).tolist()


def test_static_arguments_among_any_number():
    f = cv.jit(lambda *args: args[0] * len(args[1]) + args[2], static_argnums=1)
    assert float(f(2.0, "abc", 1.0)) == 7.0


def test_static_arguments_of_every_hashable_kind():
    f = cv.jit(lambda x, g, name: g(x) if name == "on" else x, static_argnums=(1, 2))
    assert float(f(0.0, cnp.cos, "on")) == 1.0
    assert float(f(0.0, cnp.cos, "off")) == 0.0
    assert float(f(0.0, None, "off")) == 0.0


def test_argument_numbers_that_are_not_there():
    with pytest.raises(errors.StaticArgumentError, match=r"argument number 3.*takes 1"):
        cv.jit(lambda x: x, static_argnums=3)


# -- donation --------------------------------------------------------------------------


def test_donated_arrays_are_deleted_by_number_and_by_name():
    f = cv.jit(lambda a, b: a + b, donate_argnums=1)
    g = cv.jit(lambda a, b: a + b, donate_argnames="b")
    for call in (lambda x: f(1.0, x), lambda x: g(1.0, b=x), lambda x: g(1.0, x)):
        for _ in range(2):
            x = cnp.asarray(X)
            assert call(x).tolist() == (X + 1).tolist()
            assert x.is_deleted()
            with pytest.raises(errors.DeletedArrayError, match="donate"):
                call(x)


def test_donating_a_tree_deletes_all_its_leaves():
    p = {"a": cnp.asarray(X), "b": [cnp.asarray(X)]}
    cv.jit(lambda p, x: cv.tree.map(lambda v: v + x, p), donate_argnums=0)(p, 1.0)
    assert p["a"].is_deleted() and p["b"][0].is_deleted()


def test_donating_numbers_and_numpy_arrays_is_harmless():
    f = cv.jit(lambda x: x + 1, donate_argnums=0)
    values = X.copy()
    for _ in range(3):
        assert float(f(1.0)) == 2.0
        assert f(values).tolist() == (X + 1).tolist()
    assert values.tolist() == X.tolist()


def test_views_of_a_donated_array_keep_their_values():
    x = cnp.asarray(np.ones(100_000, np.float32))
    view = np.asarray(x)
    cv.jit(lambda x: x * 5, donate_argnums=0)(x).block_until_ready()
    assert view.sum() == 100_000


@pytest.mark.parametrize(
    ("fun", "idle"),
    [
        (lambda x, y: x + y, "f32[4]"),  # one result for two
        (lambda x, y: x.sum() + y[0], "f32[4], f32[4]"),
        (lambda x, y: (x + y[0], cnp.stack([y, y])), "f32[4]"),
        (lambda x, y: (x.view("int32"), y.reshape(2, 2)), None),
        (lambda x, y: x, None),  # what is not read is not passed on
    ],
)
def test_donated_memory_that_no_result_can_use_is_warned_of(fun, idle):
    f, x, y = cv.jit(fun, donate_argnums=(0, 1)), cnp.asarray(X), cnp.asarray(X)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        f(x, y)
        f(cnp.asarray(X), cnp.asarray(X))  # it is said once for each program
    assert x.is_deleted() and y.is_deleted()
    assert [w.category for w in told] == [errors.DonationWarning] * (idle is not None)
    if idle is not None:
        assert f"can use the memory of {idle}, which was donated" in str(
            told[0].message
        )
        assert told[0].filename == __file__


def test_donation_inside_another_program_deletes_nothing():
    f = cv.jit(lambda x: x * 2, donate_argnums=0)
    x = cnp.asarray(X)
    assert cv.jit(lambda x: f(x) + x)(x).tolist() == (3 * X).tolist()
    assert cv.grad(lambda x: cnp.sum(f(x)))(x).tolist() == [2.0] * 4
    assert not x.is_deleted()


def test_one_array_donated_and_passed_beside():
    f = cv.jit(lambda a, b: (a + 1, b + 2), donate_argnums=0)
    x = cnp.asarray(np.ones(1000, np.float32))
    with pytest.raises(errors.DeletedArrayError, match="Pass a copy"):
        f(x, x)


# -- under other transformations -------------------------------------------------------


def test_a_jitted_function_that_closes_over_a_traced_value():
    def f(x):
        @cv.jit
        def g(y):
            return x * y

        return g(x) + g(2.0)

    assert float(cv.grad(f)(3.0)) == 8.0
    assert cv.vmap(cv.grad(f))(cnp.arange(3.0)).tolist() == [2.0, 4.0, 6.0]
    assert float(cv.jit(cv.grad(cv.grad(f)))(3.0)) == 2.0
    assert float(f(3.0)) == 15.0


def test_recursion_through_a_static_argument():
    @functools.partial(cv.jit, static_argnums=1)
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert float(power(2.0, 5)) == 32.0
    assert float(cv.grad(power)(2.0, 3)) == 12.0
    assert float(cv.jit(cv.grad(power), static_argnums=1)(2.0, 3)) == 12.0


def test_a_layer_called_often_stays_one_function():
    layer = cv.jit(lambda x: cnp.sin(x) * 2)

    @cv.jit
    def net(x):
        for _ in range(4):
            x = layer(x)
        return x

    text = net.lower(X).as_text()
    assert text.count("stablehlo.sine") == 1
    assert text.count("call @") == 4


def test_inline_writes_the_operations_into_the_program():
    layer = cv.jit(cnp.sin, inline=True)
    names = [e.op.name for e in cv.make_jaxpr(lambda x: layer(x) + 1)(X).eqns]
    assert names == ["sin", "add"]


def test_collectives_inside_a_jitted_function_find_the_axis():
    total = cv.jit(lambda x: lax.psum(x, "i"))
    assert cv.vmap(total, axis_name="i")(X).tolist() == [6.0] * 4
    assert cv.vmap(total, axis_name="i")(X[:2]).tolist() == [1.0] * 2


# -- errors, threads, options ----------------------------------------------------------


def test_an_exception_while_tracing_leaves_the_function_usable():
    fail = [True]

    @cv.jit
    def f(x):
        y = cv.vmap(cv.grad(lambda z: z * z))(x)
        if fail[0]:
            raise KeyError("mine")
        return y

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f(X)
    fail[0] = False
    assert f(X).tolist() == (2 * X).tolist()


def test_threads_that_call_one_function():
    f = cv.jit(lambda x, y: cnp.sin(x) @ y)
    outcomes = []

    def work(n):
        for i in range(10):
            x = np.full((n,), i, np.float32)
            outcomes.append(np.allclose(f(x, x), np.sin(x) @ x, rtol=1e-4))

    threads = [threading.Thread(target=work, args=(n % 3 + 2,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert outcomes == [True] * 60


def test_disable_jit_runs_the_python_function():
    with cv.disable_jit():
        assert float(cv.grad(cv.jit(lambda x: x * x if x > 0 else x))(3.0)) == 6.0


def test_options_are_part_of_the_signature():
    f = Counted(lambda x: cnp.ones(2) * x)
    assert f.call(2.0).dtype == "float32"
    with cv.enable_x64():
        assert f.call(2.0).dtype == "float64"
    assert f.call(2.0).dtype == "float32"
    assert f.traces == 2


def test_clearing_the_cache_of_a_function():
    f = Counted(lambda x: x + 1)
    f.call(1.0)
    f.call.clear_cache()
    assert float(f.call(1.0)) == 2.0
    assert f.traces == 2


def test_clearing_all_caches():
    f = cv.jit(lambda x: x + 1)
    f(1.0)
    cv.clear_caches()
    assert float(f(1.0)) == 2.0


A = cnp.asarray(X)


def test_a_failure_of_a_warm_call_is_raised_once(monkeypatch):
    """The program is not run a second time, which would hide the first failure."""
    runs = []

    def failing(leaves):
        runs.append(leaves)
        raise RuntimeError("the device is on fire")

    monkeypatch.setattr(CompiledProgram, "bind_fast_path", lambda *_: failing)
    f = cv.jit(lambda x: x + 1)
    assert f(A).tolist() == (A + 1).tolist()
    with pytest.raises(RuntimeError, match="on fire"):
        f(A)
    assert len(runs) == 1


def test_a_warm_call_looks_at_each_argument():
    """Whatever kinds of arguments take turns, each call is the first one of its kind,
    and then one like the last.
    """
    f = cv.jit(lambda x, y: [x["a"] if isinstance(x, dict) else x, y])
    on_device = cv.device_put(A, cv.devices()[0])
    calls = [
        (A, A),
        (on_device, A),
        (A, cnp.ones((2, 2))),
        (A, cnp.asarray(1.0)),
        (A, 2),
        (A, 2.5),
        (A, np.float32(2.5)),
        (X, A),
        ({"a": A}, A),
        ({"a": 3}, A),
        (A.astype(int), A),
    ]
    expected = [
        [cnp.asarray(x["a"] if isinstance(x, dict) else x), cnp.asarray(y)]
        for x, y in calls
    ]
    for twice in (False, True):
        for arguments, wanted in zip(calls, expected, strict=True):
            outs = [f(*arguments) for _ in range(1 + twice)][-1]
            for out, x in zip(outs, wanted, strict=True):
                assert (out.dtype, out.tolist()) == (x.dtype, x.tolist())
    assert f(A, 2)[1].weak_type and not f(A, np.int32(2))[1].weak_type
    assert f(on_device, A)[0].committed and not f(A, A)[0].committed


class PairWithArray:
    """A node of a tree which NumPy could take for an array."""

    def __init__(self, one, two):
        self.both = one, two

    def __array__(self, dtype=None, copy=None):
        return np.zeros(())


cv.tree_util.register_pytree_node(
    PairWithArray, lambda x: (x.both, None), lambda _, both: PairWithArray(*both)
)


def test_a_warm_call_with_a_number_takes_no_tree_for_an_array():
    f = cv.jit(lambda x: x.both if isinstance(x, PairWithArray) else x)
    for _ in range(3):
        assert float(f(2.0)) == 2.0
    one, two = f(PairWithArray(1.0, 2.0))
    assert (float(one), float(two)) == (1.0, 2.0)


def test_a_warm_call_with_a_static_argument_that_cannot_be_compared():
    class Static:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            if other is not self:
                raise ValueError("not to be compared")
            return True

    f, static = cv.jit(lambda x, n: x, static_argnums=1), Static()
    for _ in range(3):
        assert f(A, static).tolist() == A.tolist()
    with pytest.raises(ValueError, match="not to be compared"):
        f(A, Static())
    assert f(A, static).tolist() == A.tolist()


def test_a_warm_call_knows_its_keywords_in_any_order():
    f = cv.jit(lambda x, *, b, a: (x, b, a))
    one, two = cnp.ones(4), cnp.full(4, 2.0)
    for _ in range(3):
        for found in (f(A, a=one, b=two), f(A, b=two, a=one), f(x=A, b=two, a=one)):
            assert [float(x[0]) for x in found] == [float(A[0]), 2.0, 1.0]
        same, other = f(one, b=one, a=one), f(one, b=two, a=one)
        assert [float(x[0]) for x in same] == [1.0, 1.0, 1.0]
        assert [float(x[0]) for x in other] == [1.0, 2.0, 1.0]
    assert [float(x[0]) for x in f(one, b=two, a=one)] == [1.0, 2.0, 1.0]


def test_a_warm_call_by_position_by_name_and_with_other_names():
    scaled = cv.jit(
        lambda x, n=None, m=1: x * (n or 10) + m, static_argnames=("n", "m")
    )
    x = cnp.ones(())
    for _ in range(3):
        assert float(scaled(x, 2)) == 3
        assert float(scaled(x, n=2)) == 3
        assert float(scaled(x, n=2, m=3)) == 5
        assert float(scaled(x, m=3, n=2)) == 5
        assert float(scaled(x, m=1)) == 11
        assert float(scaled(x, n=None)) == 11
        assert float(scaled(x)) == 11
        assert float(scaled(x=x, n=2)) == 3


def test_a_warm_call_with_a_static_object_that_has_changed():
    class Scale:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return hash(self.n)

    scaled = cv.jit(lambda x, s: x * s.n, static_argnums=1)
    x, scale = cnp.ones(()), Scale(2)
    assert [float(scaled(x, scale)) for _ in range(3)] == [2, 2, 2]
    scale.n = 3
    assert [float(scaled(x, scale)) for _ in range(3)] == [3, 3, 3]


def test_a_warm_call_with_a_static_function_and_with_another():
    applied = cv.jit(lambda f, x: f(x), static_argnums=0)
    x = cnp.zeros(())
    for _ in range(3):
        assert float(applied(cnp.cos, x)) == 1
        assert float(applied(cnp.sin, x)) == 0


def test_a_warm_call_with_other_static_arguments():
    f = cv.jit(lambda x, n, y, *, k=1: (x, y * n * k), static_argnums=1)
    for n in (2, 2, 3, 2.0, True, 2):
        x, y = f(A, n, A)
        assert (x.tolist(), y.tolist()) == (A.tolist(), (A * n).tolist())
    assert f(A, 2, A, k=3)[1].tolist() == f(A, 2, y=A, k=3)[1].tolist()


def test_a_function_that_was_called_with_numbers_goes_when_nobody_has_it():
    def scaled(x):
        return x * 2

    f, alive = cv.jit(scaled), weakref.ref(scaled)
    for _ in range(3):
        f(1.0)
    del f, scaled
    gc.collect()
    assert alive() is None


def test_a_warm_call_moves_what_lies_on_another_device():
    f = cv.jit(lambda x, y: x + y)
    f(A, A)
    with cv.default_device(cv.devices()[1]):
        far = cv.jit(lambda x: x * 2)(A)  # uncommitted, so it may go anywhere
    assert f(far, A).tolist() == f(A, far).tolist() == (3 * A).tolist()


def test_120_jitted_functions_one_inside_of_another():
    def wrapped(f):
        return cv.jit(lambda x: f(x) + 1)

    f = cnp.sin
    for _ in range(120):
        f = wrapped(f)
    assert float(f(0.0)) == 120


def test_a_warm_call_looks_at_the_options():
    f = cv.jit(lambda x: cnp.ones(3))
    x = cnp.ones(2)
    assert [f(x).dtype, f(x).dtype] == ["float32", "float32"]
    with cv.enable_x64(True):
        assert f(x).dtype == "float64"
        assert f(x).dtype == "float64"
    assert f(x).dtype == "float32"


def test_disable_jit_runs_a_function_of_values():
    f = cv.jit(lambda x: x if x > 0 else -x)
    with cv.disable_jit():
        assert f(cnp.array(-2.0)) == 2.0


def test_programs_that_functions_share_are_bounded(monkeypatch):
    monkeypatch.setattr(program_cache, "_CAPACITY", 3)
    for k in range(6):
        cv.jit(lambda x, k=k: x + k)(1.0)
    assert len(program_cache._entries) <= 3
