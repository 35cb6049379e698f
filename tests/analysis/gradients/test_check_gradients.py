"""``check_gradients`` finds what is wrong with a gradient, by leaf, and says where."""

import json
from pathlib import Path

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.custom_derivatives import linear_call

X = np.linspace(-1, 1, 12, dtype="f").reshape(4, 3)
V = np.array([0.5, -1.0, 2.0], "f")


def weights(seed=0):
    return np.random.default_rng(seed).normal(size=(3, 3)).astype("f")


def layer(p, x):
    return cnp.tanh(x @ p["w"] + p["b"])


def params():
    return {"w": weights(), "b": np.zeros(3, "f")}


def ruled(bwd, fun=cnp.sin):
    f = cv.custom_vjp(fun)
    f.defvjp(lambda x: (fun(x), x), bwd)
    return f


right = ruled(lambda x, ct: (ct * cnp.cos(x),))
doubled = ruled(lambda x, ct: (2 * ct * cnp.cos(x),))
silent = ruled(lambda x, ct: (0 * ct,))


def looped(p, x):
    h = lax.scan(lambda h, _: (right(layer(p, h)), None), x, None, length=3)[0]
    return cv.jit(lambda h: cv.vmap(cnp.sum)(h**2).mean())(h)


def only(loss, *args, order=1):
    """The one fault of the one leaf that has any."""
    report = cv.check_gradients(loss, order=order)(*args)
    (leaf,) = [leaf for leaf in report.leaves if not leaf.ok]
    (fault,) = leaf.faults
    assert leaf.path in fault.text
    return fault


def line_of(fault):
    """The text of the line that a fault names."""
    file, rest = fault.line.split(":")
    return Path(file).read_text("utf-8").splitlines()[int(rest.split()[0]) - 1]


# -- right -----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [looped, cv.jit(looped)], ids=["plain", "jit"])
def test_a_right_gradient_through_loops_rules_and_batches_has_no_fault(loss):
    report = cv.check_gradients(loss)(params(), X)
    assert report.ok, report
    assert all(leaf.compared for leaf in report.leaves)
    report.raise_if_wrong()
    assert "no fault in 2 leaves" in str(report)


def test_each_seed_finds_a_right_gradient_right():
    for seed in range(12):
        report = cv.check_gradients(looped, order=1, seed=seed)(params(), X)
        assert report.ok, report


def relu_network(relu):
    """A loss with kinks, and weights for it, which come close to some of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 16)).astype("f")
    w = [rng.normal(size=(16, 16)).astype("f") / 3 for _ in range(3)]

    def loss(w):
        h = x
        for v in w:
            h = relu(h @ v)
        return cnp.mean(h**2)

    return loss, w


def test_kinks_near_the_point_are_no_fault_and_hide_none():
    loss, w = relu_network(cv.nn.relu)
    for seed in range(8):
        report = cv.check_gradients(loss, order=1, seed=seed)(w)
        assert report.ok, report
        assert all(leaf.compared for leaf in report.leaves)
    slightly = cv.custom_vjp(cv.nn.relu)
    slightly.defvjp(
        lambda x: (cv.nn.relu(x), x), lambda x, ct: (cnp.where(x > 0, 1.03 * ct, 0),)
    )
    loss, w = relu_network(slightly)
    report = cv.check_gradients(loss, order=1)(w)
    assert [[f.kind for f in leaf.faults] for leaf in report.leaves] == [["wrong"]] * 3


def test_a_loss_that_draws_other_numbers_in_double_precision_is_compared_as_it_is():
    def loss(x):
        noise = cv.random.normal(cv.random.key(0), x.shape)
        return cnp.sum((x + noise) ** 2)

    report = cv.check_gradients(loss)(V)
    assert report.ok
    assert report.leaves[0].compared


@pytest.mark.parametrize("dtype", ["complex128", "bfloat16"])
def test_the_step_suits_the_element_type(dtype):
    def loss(x):
        return cnp.sum(cnp.abs(cnp.sin(x) * cnp.asarray(V, dtype)) ** 2)

    with cv.enable_x64(True):
        x = cnp.asarray([0.3, 0.9, -1.1]).astype(dtype)
        report = cv.check_gradients(loss)(x)
        assert report.ok, report
        assert report.leaves[0].compared
        wrong = cv.check_gradients(lambda x: loss(lax.stop_gradient(x) + 0 * x))(x)
        assert [f.kind for f in wrong.leaves[0].faults] == ["stopped"]


def test_what_stop_gradient_holds_is_held_while_the_loss_is_compared():
    def loss(x):
        target = lax.stop_gradient(cnp.cos(3 * x) + 2 * x)
        return cnp.sum((x**2 - target) ** 2)

    assert cv.check_gradients(loss)(V).ok


def test_what_is_stopped_in_a_loop_is_not_compared():
    def loss(x):
        step = lambda c, _: (c * x + lax.stop_gradient(c), None)  # noqa: E731
        return cnp.sum(lax.scan(step, x, None, length=3)[0])

    report = cv.check_gradients(loss)(V)
    assert report.ok
    assert "stops in a loop or a branch, at stop_gradient" in report.notes[0]
    assert not report.leaves[0].compared


def test_the_loss_may_look_at_values_and_have_more_results():
    def loss(x, scale):
        big = float(cv.device_get(scale)) > 1
        return (cnp.sum(x**3) if big else cnp.sum(x)), "aux"

    report = cv.check_gradients(loss, has_aux=True)(V, 2.0)
    assert report.ok
    assert report.leaves[0].path == "x"


def test_prints_of_the_loss_are_left_out(capfd):
    def loss(x):
        cv.debug.print("seen {}", x.sum())
        return cnp.sum(x**2)

    assert cv.check_gradients(loss)(V).ok
    cv.effects_barrier()
    assert "seen" not in capfd.readouterr().out


# -- wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("around", ["plain", "jit", "vmap", "scan"])
def test_a_wrong_rule_of_the_user_is_named(around):
    def loss(p, x):
        h = x * p["a"]
        if around == "jit":
            h = cv.jit(doubled)(h)
        elif around == "vmap":
            h = cv.vmap(doubled)(h)
        elif around == "scan":
            h = lax.scan(lambda h, _: (doubled(h), None), h, None, length=2)[0]
        else:
            h = doubled(h)
        return cnp.sum(h**2) + cnp.sum(p["b"] ** 2)

    report = cv.check_gradients(loss, order=1)({"a": V, "b": V}, X)
    wrong, other = report.leaves
    assert [f.kind for f in wrong.faults] == ["wrong"]
    assert other.ok
    assert "The rule of custom_vjp of sin is wrong." in wrong.faults[0].text
    assert "by differences" in report.notes[0]
    assert "2 times as much" in report.notes[0]
    assert wrong.faults[0].line.startswith(__file__)


def test_rules_that_are_called_on_devices_are_named_on_the_way():
    one = cv.make_mesh((1,), ("i",))
    over = cv.shard_map(doubled, mesh=one, in_specs=cv.P(), out_specs=cv.P())
    fault = only(lambda x: cnp.sum(over(x) ** 2), V)
    assert "On the way to the loss: custom_vjp of sin." in fault.text


def test_a_transpose_and_a_solver_that_are_wrong_are_named():
    def loss(p):
        y = linear_call(lambda r, y: r * y, lambda r, ct: 2 * r * ct, V, p["x"])
        root = lax.custom_root(
            lambda y: y**3 + y - p["y"],
            0.0,
            lambda f, y: lax.fori_loop(0, 9, lambda _, y: y - f(y) / cv.grad(f)(y), y),
            lambda g, y: 3 * y / g(1.0),
        )
        return cnp.sum(y) + root

    report = cv.check_gradients(loss, order=1)({"x": V, "y": 1.0})
    first, second = (leaf.faults[0].text for leaf in report.leaves)
    assert "The rule of linear_call" in first
    assert "The rule of custom_root" in second


def test_gradients_of_two_leaves_that_are_swapped_are_recognised():
    @cv.custom_vjp
    def f(x, y):
        return x * cnp.exp(y)

    def bwd(residuals, ct):
        x, y = residuals
        return ct * x * cnp.exp(y), ct * cnp.exp(y)

    f.defvjp(lambda x, y: (f(x, y), (x, y)), bwd)
    report = cv.check_gradients(lambda p: cnp.sum(f(p["x"], p["y"])))({"x": V, "y": -V})
    assert "that is for p['y']" in report.leaves[0].faults[0].text


def test_a_rule_that_gives_zero_is_wrong_and_found_where_it_is_called():
    def loss(x):
        return cnp.sum(silent(x) ** 2)

    fault = only(loss, V)
    assert fault.kind == "wrong"
    assert "silent(x)" in line_of(fault)


# -- where the dependence stops --------------------------------------------------------


STOPS = {
    "stop_gradient": lax.stop_gradient,
    "int32": lambda x: (10 * x).astype(int),
    "argmax": cnp.argmax,
    "the comparison gt": lambda x: x > 0.3,
    "round": cnp.round,
    "floor": cnp.floor,
    "sign": cnp.sign,
}


@pytest.mark.parametrize("reason", STOPS)
def test_the_line_where_the_dependence_stops_is_named(reason):
    def loss(p):
        x = cnp.sin(p["x"])
        stopped = STOPS[reason](x)
        return cnp.sum(stopped * p["y"]) ** 2

    fault = only(loss, {"x": V, "y": cnp.arange(1.0, 4.0)})
    assert fault.kind == "stopped"
    assert f"stops at {reason}" in fault.text.replace("the conversion to i32", "int32")
    assert "stopped = " in line_of(fault) or "lambda x: " in line_of(fault)


@pytest.mark.parametrize("around", ["jit", "scan", "cond", "vmap", "shard_map"])
def test_a_stop_inside_of_an_operation_with_programs_is_found(around):
    def inner(x):
        return lax.stop_gradient(x) * 2

    def loss(x):
        if around == "jit":
            y = cv.jit(inner)(x)
        elif around == "scan":
            y = lax.scan(lambda c, _: (inner(c), None), x, None, length=2)[0]
        elif around == "cond":
            y = lax.cond(x.sum() > 0, inner, inner, x)
        elif around == "vmap":
            y = cv.vmap(inner)(x)
        else:
            one = cv.make_mesh((1,), ("i",))
            over = cv.shard_map(inner, mesh=one, in_specs=cv.P(), out_specs=cv.P())
            y = over(x)
        return cnp.sum(y)

    fault = only(loss, V)
    assert fault.kind == "stopped"
    assert "stop_gradient" in line_of(fault)


def test_a_leaf_that_nothing_reads_is_unused_and_so_is_one_whose_results_nobody_needs():
    def loss(p):
        waste = cnp.cos(p["b"])
        return cnp.sum(p["c"]) + 0 * waste.size

    report = cv.check_gradients(loss)({"a": V, "b": V, "c": V})
    first, second, third = report.leaves
    assert "does not depend on it: nothing reads it" in first.faults[0].text
    assert "does not need the result of cos" in second.faults[0].text
    assert "waste =" in line_of(second.faults[0])
    assert third.ok


# -- sizes -----------------------------------------------------------------------------


def test_a_derivative_that_is_zero_for_these_values_is_found():
    fault = only(lambda x: cnp.sum(cnp.maximum(x - 10, 0)), V)
    assert fault.kind == "zero"
    assert "max, whose derivative is zero for these values" in fault.text


def test_a_stationary_point_is_told_from_a_stop():
    fault = only(lambda x: cnp.sum(x) ** 2, np.array([1, -1], "f"))
    assert fault.kind == "zero"


def test_tiny_and_huge_gradients_are_found():
    def loss(p):
        return cnp.sum(1e-9 * p["a"] + 1e6 * p["b"] ** 2) + cnp.sum(p["c"] ** 2)

    report = cv.check_gradients(loss, order=1)({"a": V, "b": V, "c": V})
    assert [[f.kind for f in leaf.faults] for leaf in report.leaves] == [
        ["tiny"],
        ["huge"],
        [],
    ]
    ok = cv.check_gradients(loss, order=1, tiny=0.0, huge=np.inf)
    assert ok({"a": V, "b": V, "c": V}).ok


def test_a_nan_names_the_line_of_the_derivative_that_made_it():
    def loss(x):
        root = cnp.sqrt(x)
        return cnp.sum(cnp.where(x > 0, root, 0.0))

    fault = only(loss, np.array([0.0, 1.0], "f"))
    assert fault.kind in {"nan", "infinite"}
    assert "in 1 of 2 elements, first made in the derivative of sqrt" in fault.text
    assert "explain_nan(covector.grad(loss))" in fault.text
    assert "root =" in line_of(fault)


def test_a_second_derivative_that_is_not_finite_is_found():
    fault = only(lambda x: cnp.sum(x**1.5), np.array([0.0, 1.0], "f"), order=2)
    assert fault.kind == "second derivative"
    assert cv.check_gradients(lambda x: cnp.sum(x**1.5), order=1)(V[:1]).ok


@pytest.mark.parametrize("given", [np.array([1, 2, 3]), cv.random.key(0)])
def test_integers_and_keys_have_no_gradient_and_empty_leaves_no_fault(given):
    def loss(p):
        return cnp.sum(p["w"] ** 2) + p["none"].sum()

    p = {"w": V, "given": given, "none": np.zeros((0, 2), "f")}
    fault = only(loss, p)
    assert fault.kind == "no derivative"
    assert "p['given']: it is of " in fault.text


# -- the report ------------------------------------------------------------------------


def test_the_report_is_data_a_table_and_an_error():
    def loss(p, x):
        return cnp.sum(x @ p["w"]) ** 2 + cnp.sum(cnp.sqrt(p["b"]))

    report = cv.check_gradients(loss)(params(), X)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["ok"] is False
    assert data["norm"] is None
    assert [leaf["path"] for leaf in data["leaves"]] == ["p['b']", "p['w']"]
    assert data["leaves"][0]["faults"][0]["kind"] == "infinite"
    text = str(report)
    assert "1 of 2 leaves with a fault" in text
    assert "p['w']  f32[3,3]  right" in text
    with pytest.raises(errors.WrongGradient, match=r"p\['b'\]: infinity in 3 of 3"):
        report.raise_if_wrong()


def test_norms_are_told_by_layer():
    layers = [{"w": weights(seed), "b": np.ones(3, "f")} for seed in range(2)]

    def loss(layers, x):
        for p in layers:
            x = layer(p, x)
        return cnp.sum(x)

    report = cv.check_gradients(loss, order=1)(layers, X)
    gradient = cv.grad(loss)(layers, X)
    wanted = [np.hypot(*map(np.linalg.norm, g.values())) for g in gradient]
    assert list(report.layers) == ["layers[0]", "layers[1]"]
    np.testing.assert_allclose(list(report.layers.values()), wanted, rtol=1e-5)
    assert report.to_dict()["layers"] == report.layers
    last = str(report).splitlines()[-1].split()
    assert last == ["layers[1]", f"{wanted[1]:.3g}"]


def test_the_table_is_drawn_in_colours(capsys):
    cv.check_gradients(looped, order=1)(params(), X).show(width=90)
    assert "p['w']" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: cv.check_gradients(cnp.sin)(V),
            errors.NotScalar,
            r"check_gradients of sin needs a function that returns a real scalar",
        ),
        (
            lambda: cv.check_gradients(cnp.sum, argnums=1)(V),
            errors.ArgumentError,
            r"has argnums=\(1,\), but was called with 1 positional argument\.",
        ),
        (
            lambda: cv.jit(lambda x: cv.check_gradients(cnp.sum)(x).ok)(V),
            errors.ArgumentError,
            r"compares numbers, but was called with traced values",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
