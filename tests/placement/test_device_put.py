"""Where arrays live: one device here, two in a process of their own."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from jaxlib import xla_client

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.runtime import client

X = np.arange(3, dtype=np.float32)
DTYPES = ["bool", "int4", "int8", "uint32", "float16", "bfloat16", "float8_e4m3fn"]
DTYPES += ["float32", "complex64"]


# -- putting, getting, waiting ---------------------------------------------------------


def test_a_tree_put_on_a_device_stays_there():
    (device, *_) = cv.devices()
    put = cv.device_put({"a": 1.0, "b": [X], "none": None}, device)
    assert put["a"].committed and put["b"][0].committed and put["none"] is None
    assert put["b"][0].devices() == {device}
    for out in (put["a"] + 1, cv.jit(lambda x: x * 2)(put["a"])):
        assert out.committed
    assert not (cnp.ones(()) + 1).committed


def test_results_of_a_jitted_function_are_committed_as_its_arguments_are():
    f = cv.jit(lambda x: x * 2)
    put = cv.device_put(1.0, cv.devices()[0])
    assert [f(x).committed for x in (1.0, put, 1.0, put)] == [False, True, False, True]


def test_without_a_device_arrays_stay_where_they_are():
    x = cnp.asarray(X)
    assert cv.device_put(x) is x
    assert not cv.device_put(1.0).committed


def test_a_donated_copy_leaves_the_original_readable():
    x = cnp.asarray(X)
    cv.jit(lambda x: x + 1, donate_argnums=0)(cv.device_put(x, cv.devices()[0]))
    assert cv.jit(lambda x: x * 2)(x).tolist() == (2 * X).tolist()


def test_no_device_in_particular_leaves_an_array_where_it_is():
    x = cv.device_put(X, cv.devices()[-1])
    assert x.to_device(None) is x
    assert float(cv.jit(lambda x: x.to_device(None))(1.0)) == 1.0


def test_the_namespace_lists_the_devices_of_every_client(monkeypatch):
    other = xla_client.make_cpu_client(num_devices=2)
    monkeypatch.setenv("COVECTOR_PLATFORMS", "cpu,gpu")
    monkeypatch.setitem(client._clients.made, "gpu", other)
    listed = cnp.__array_namespace_info__().devices()
    assert listed == (None, *cv.devices("cpu"), *other.devices())
    for device in (listed[1], *other.devices()):
        assert cnp.asarray(X, device=device).device == device


def test_the_default_device_of_a_block_is_that_of_what_is_made_there():
    last = cv.devices()[-1]
    double = cv.jit(lambda x: x * 2)

    def check():
        x = cnp.ones(2)
        assert x.device is last and x.platform() == "cpu"
        assert (double(x).device, (x + 1).device, x.device) == (last, last, last)
        assert cnp.asarray(X).devices() == {last} and not x.committed

    with cv.default_device(last):
        check()
    cv.config.update("default_device", last)
    try:
        check()
    finally:
        cv.config.update("default_device", None)
    assert cnp.ones(2).device is double(cnp.ones(2)).device is cv.devices()[0]


def test_a_default_device_may_be_the_name_of_a_platform():
    with cv.default_device("cpu"):
        assert cv.jit(lambda x: x + 1)(1.0).device is cv.devices("cpu")[0]
    for refused in (
        lambda: cv.config.update("default_device", 3),
        lambda: cv.default_device(3),
    ):
        with pytest.raises(errors.DeviceError, match=r"default_device .* but got 3"):
            refused()


@pytest.mark.parametrize("transform", [cv.jit, cv.vmap, cv.grad, cv.eval_shape])
def test_a_traced_array_says_in_words_that_it_has_no_device_or_sharding(transform):
    def ask(x):
        for name in ("sharding", "device"):
            with pytest.raises(AttributeError, match=f"`{name}` is of arrays that"):
                getattr(x, name)
            assert not hasattr(x, name)
        return x.sum()

    if transform is cv.eval_shape:
        cv.eval_shape(ask, X)
    else:
        transform(ask)(X)


def test_traced_values_pass_through():
    device = cv.devices()[0]
    assert float(cv.grad(lambda x: cv.device_put(x, device) * 2)(1.0)) == 2.0
    assert float(cv.jit(lambda x: cv.device_put(x, device) * 2)(1.0)) == 2.0


def test_what_is_no_device():
    with pytest.raises(errors.DeviceError, match=r"devices\(\)\[0\], .* but got 'cpu'"):
        cv.device_put(1.0, "cpu")


def test_arrays_come_back_as_numpy():
    found = cv.device_get({"x": cnp.asarray(X), "n": 3, "none": None, "np": X})
    assert type(found["x"]) is np.ndarray
    assert found["x"].tolist() == X.tolist()
    assert found["n"] == 3 and found["none"] is None and found["np"] is X


def test_waiting_returns_what_was_waited_for():
    tree = {"x": cv.jit(lambda x: x + 1)(X), "n": 1.0, "none": None}
    assert cv.block_until_ready(tree) is tree
    assert tree["x"].is_ready()
    assert cv.copy_to_host_async(tree) is tree
    assert cv.jit(lambda x: cv.block_until_ready(x) + 1)(1.0) == 2.0


def test_counts_and_platforms():
    assert cv.device_count() == cv.local_device_count() == len(cv.devices())
    assert cv.local_devices() == cv.devices()
    assert (cv.process_index(), cv.process_count()) == (0, 1)
    assert cv.default_backend() == cv.devices()[0].platform
    with pytest.raises(errors.DeviceError, match="Unknown backend 'abacus'"):
        cv.devices("abacus")


def test_live_arrays_are_the_arrays_in_use_small_ones_as_well():
    x, y = cnp.ones((7, 11)), cv.jit(lambda: cnp.ones((1000, 3)))()
    before = cv.live_arrays()
    assert any(a is x for a in before)
    assert any(a is y for a in before)
    y.delete()
    assert not any(a is y for a in cv.live_arrays())
    assert not any(a is x for a in cv.live_arrays("gpu"))


def test_numbers_that_programs_were_called_with_do_not_stay_among_the_live_arrays():
    f = cv.jit(lambda x, n: x + n)
    f(cnp.ones(3), 2.0)
    before = len(cv.live_arrays())
    for n in range(5):
        f(cnp.ones(3), float(n))
    assert len(cv.live_arrays()) == before


def test_numbers_that_only_the_library_holds_are_not_among_the_live_arrays(
    with_all_objects,
):
    x = cnp.arange(4.0)
    y = cv.jit(cv.grad(lambda x: (cnp.sin(x * 41.5) * cnp.arange(4.0)).sum()))(x * 42.5)
    mine = cnp.float32(43.5)
    live = with_all_objects(cv.live_arrays)
    numbers = [float(a) for a in live if a.ndim == 0 and a.dtype == np.float32]
    assert not {41.5, 42.5} & {*numbers}
    for held in (x, y, mine):
        assert any(a is held for a in live)


def test_an_array_that_a_program_holds_as_well_is_among_the_live_arrays():
    x = cnp.arange(3.0)
    f = cv.jit(lambda y: x * y)
    f(2.0)
    assert any(a is x for a in cv.live_arrays())


def test_random_keys_stay_what_they_are_for_device_get():
    key = cv.random.key(0)
    got = cv.device_get({"key": key, "x": cnp.ones(2)})
    assert got["key"] is key
    assert type(got["x"]) is np.ndarray


# -- copies ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 2)])
def test_pickles_and_copies_are_equal_and_apart(dtype, shape):
    x = cnp.ones(shape, dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy([x])[0]):
        assert y is not x
        assert y.type is x.type
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_copies_outlive_a_donated_original():
    x = cnp.asarray(X)
    copies = [x.copy(), copy.copy(x), copy.deepcopy(x)]
    cv.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert [c.tolist() for c in copies] == [X.tolist()] * 3


def test_weak_types_survive_a_pickle():
    assert pickle.loads(pickle.dumps(cv.jit(lambda: 1)())).weak_type


def test_a_traced_value_cannot_be_pickled():
    with pytest.raises(
        errors.ConcretizationTypeError, match=r"Pickling needs .* values"
    ):
        cv.jit(lambda x: pickle.dumps(x) and x)(1.0)


def test_copies_of_traced_values_are_themselves():
    @cv.jit
    def f(p):
        copied = copy.deepcopy(p)
        return copied["x"] * copy.copy(p["x"])

    assert float(f({"x": 3.0})) == 9.0
    assert float(cv.grad(f)({"x": 3.0})["x"]) == 6.0
    assert cv.vmap(f)({"x": cnp.arange(3.0)}).tolist() == [0.0, 1.0, 4.0]


# -- DLPack ----------------------------------------------------------------------------


def test_numpy_shares_arrays_both_ways():
    x = cv.jit(lambda x: x + 1)(X)
    assert np.from_dlpack(x).tolist() == (X + 1).tolist()
    assert cnp.from_dlpack(X + 1).tolist() == (X + 1).tolist()
    assert cnp.from_dlpack(cnp.asarray(X)).tolist() == X.tolist()


def test_torch_shares_arrays_both_ways():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "int32", "bfloat16", "bool"):
        there = torch.from_dlpack(cnp.ones((2, 3), dtype))
        assert str(there.dtype) == f"torch.{dtype}"
        back = cnp.from_dlpack(there)
        assert (back.dtype, back.shape) == (dtype, (2, 3))
        np.testing.assert_array_equal(np.asarray(back), np.asarray(cnp.ones((2, 3))))


# -- two devices -----------------------------------------------------------------------


def on_two_devices(program):
    """Run ``program`` where the CPU counts as two devices."""
    opening = """
        import numpy as np
        import covector as cv, covector.numpy as cnp
        first, second = cv.devices()
        X = np.arange(3, dtype=np.float32)
        put = lambda x, device=second: cv.device_put(x, device)
    """
    source = textwrap.dedent(opening) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        env={**os.environ, "COVECTOR_NUM_CPU_DEVICES": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_computation_follows_arrays_to_the_second_device():
    on_two_devices("""
        x = put(X)
        f = cv.jit(lambda x: x * 2)
        loss = lambda x: cnp.sum(x * x)
        for out in (x, x + 1, f(x), f(x), f(x + 1), cv.grad(loss)(x),
                    cv.jit(cv.grad(loss))(x), cv.vmap(lambda x: x * 2)(x)):
            assert out.device is second and out.committed, out
        assert f(X).device is first
    """)


def test_what_was_not_put_anywhere_follows_what_was():
    on_two_devices("""
        add = cv.jit(lambda a, b: a + b)
        free = cv.jit(lambda x: x + 1)(X)
        assert free.device is first
        for _ in range(2):
            assert add(put(X), free).device is second
            assert add(put(X), 2.0).device is second
        assert (put(X) + free).device is second
        assert free.device is first
        large = put(np.ones(2000, np.float32))
        closing = cv.jit(lambda x: x + large)
        assert all(closing(1.0).device is second for _ in range(2))
    """)


def test_putting_an_array_elsewhere_leaves_the_original():
    on_two_devices("""
        x = cnp.asarray(X)
        y = put(x)
        z = put(y, first)
        assert (x.device, y.device, z.device) == (first, second, first)
        assert not x.committed
        assert cv.jit(lambda x: x + 1)(x).device is first
        assert x.to_device(second).device is second
        assert cv.jit(lambda x: x + 1)(x.to_device(second)).device is second
        assert y.copy().device is second
    """)


def test_the_default_device_is_for_what_has_none():
    on_two_devices("""
        f = cv.jit(lambda x: x * 2)
        with cv.default_device(second):
            out, made = f(1.0), cnp.ones(3)
            assert out.device is second and not out.committed
            assert f(made).device is second
        assert f(made).device is first
        assert f(1.0).device is first
    """)


def test_a_lowered_function_runs_where_its_arguments_are():
    on_two_devices("""
        compiled = cv.jit(lambda x: x * 2).lower(put(X)).compile()
        assert compiled(put(X)).device is second
        assert compiled(X).device is second
        try:
            compiled(put(X, first))
        except ValueError as error:
            assert "runs on cpu:1, but an argument was put on cpu:0" in str(error)
        else:
            raise AssertionError("no error")
    """)


def test_operands_on_different_devices_are_refused_in_words():
    on_two_devices("""
        here, there = put(X, first), put(X)
        f = cv.jit(lambda a, b: a + b)
        f(here, 1.0), f(there, 1.0)
        calls = {"add": lambda: here + there, "jit": lambda: f(here, there)}
        for who, call in calls.items():
            try:
                call()
            except cv.errors.DeviceMismatch as error:
                message = str(error)
            else:
                raise AssertionError("no error")
            assert message.startswith(who), message
            assert "cpu:0, cpu:1" in message and "covector.device_put" in message
            assert isinstance(cv.errors.DeviceMismatch(), ValueError)
        assert (here + put(there, first)).tolist() == (2 * X).tolist()
    """)


@pytest.mark.skipif(len(cv.devices()) < 3, reason="needs three devices")
def test_a_function_jitted_for_a_device_runs_there_wherever_arguments_are():
    first, second, third = cv.devices()[:3]
    double = cv.jit(lambda x: x * 2, device=third)
    free = cnp.asarray(X)
    cv.jit(lambda x: x + 0)(free)  # from here on it is in memory of the first device
    there = [cv.device_put(X, d) for d in (second, third)]
    for x in (free, *there, free, *there[::-1], 1.0):
        out = double(x)
        assert out.device is third and out.committed
    for x in (free, *there):
        compiled = double.lower(x).compile()
        assert compiled.out_info.sharding.device_set == {third}
        assert {compiled(y).device for y in (free, *there)} == {third}
    assert cv.jit(lambda: cnp.ones(2), device=third)().device is third
    assert cv.jit(lambda x: x, backend="cpu")(there[0]).device is first
    assert cv.jit(lambda x: double(x) + 0)(there[0]).device is second


@pytest.mark.parametrize(
    "asked",
    [
        {"device": "d", "backend": "cpu"},
        {"device": "d", "in_shardings": cv.P()},
        {"backend": "cpu", "out_shardings": cv.P()},
    ],
)
def test_a_function_is_not_jitted_for_two_devices(asked):
    with pytest.raises(errors.ArgumentError, match=" and ".join(asked)):
        cv.jit(lambda x: x, **asked)
    with pytest.raises(errors.DeviceError, match=r"jit\(device=\) .* got 'd'"):
        cv.jit(lambda x: x, device="d")


def test_a_gradient_meets_its_value_where_that_is():
    """Where nothing of the value is needed for it, it may be anywhere, as in JAX."""
    b = cv.device_put(cnp.ones(3), cv.devices()[1])
    for loss in (lambda b: b.sum(), lambda b: (b**2).sum()):
        for grad in (cv.grad(loss), cv.jit(cv.grad(loss))):
            assert (b - grad(b)).devices() == b.devices()


def test_gradients_go_back_to_the_device_of_what_was_put_elsewhere():
    on_two_devices("""
        def loss(x, w, v):
            hidden = cnp.tanh(x * w)  # on the first device
            return cnp.sum(put(hidden) * v) ** 2

        x, w, v = cnp.asarray(X), put(X + 1, first), put(X - 1)
        together = put(v, first)
        expected = cv.grad(lambda x, w, v: cnp.sum(cnp.tanh(x * w) * v) ** 2, (0, 1, 2))
        wanted = expected(x, w, together)
        found = cv.grad(loss, (0, 1, 2))(x, w, v)
        for g, value, device in zip(found, wanted, (first, first, second)):
            np.testing.assert_allclose(g, value, rtol=1e-6)
            assert g.device == device
        assert cv.jvp(loss, (x, w, v), (x, w, v))[1].device == second
        batch = cnp.stack([x, 2 * x])
        each = cv.vmap(cv.grad(loss), (0, None, None))(batch, w, v)
        np.testing.assert_allclose(each[0], wanted[0], rtol=1e-6)
        slopes = cv.grad(lambda x: cnp.vdot(cv.grad(loss)(x, w, v), v_first))
        v_first = together
        assert slopes(x).device == first
        assert not cv.grad(lambda x: cnp.sum(put(x) ** 2))(x).committed
    """)


def test_a_pulled_back_put_says_nothing_to_a_compiled_program():
    out, pull = cv.vjp(lambda x: cv.device_put(x * 2, cv.devices()[0]), cnp.ones(3))
    assert cv.jit(lambda ct: pull(ct)[0])(out).tolist() == [4.0] * 3
