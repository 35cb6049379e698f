"""data_parallel gives the numbers of one device that has the whole batch."""

import os

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, errors, lax
from covector.sharding import NamedSharding

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(8, 3)).astype(np.float32)
Y = RANDOM.normal(size=(8, 2)).astype(np.float32)
PARAMS = {
    "w": RANDOM.normal(size=(3, 2)).astype(np.float32),
    "b": np.ones(2, np.float32),
}
BATCH = {"x": X, "y": Y}


def predict(params, x):
    return cnp.tanh(x @ params["w"] + params["b"])


def loss(params, batch):
    return cnp.mean((predict(params, batch["x"]) - batch["y"]) ** 2)


def total_loss(params, batch):
    return cnp.sum((predict(params, batch["x"]) - batch["y"]) ** 2)


def same(found, wanted, rtol=2e-5):
    assert cv.tree.structure(found) == cv.tree.structure(wanted)
    pairs = zip(cv.tree.leaves(found), cv.tree.leaves(wanted), strict=True)
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-6)


def line(n):
    return cv.make_mesh((n,), ("data",))


@pytest.mark.parametrize("n", [1, 2, 4, 8])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_mean_and_its_gradient_inside_and_outside(n, compiled):
    jit = cv.jit if compiled else lambda f: f
    wanted = cv.value_and_grad(loss)(PARAMS, BATCH)
    inside = cv.data_parallel(cv.value_and_grad(loss), line(n))
    outside = cv.value_and_grad(cv.data_parallel(loss, line(n)))
    same(jit(inside)(PARAMS, BATCH), wanted)
    same(jit(outside)(PARAMS, BATCH), wanted)


@pytest.mark.parametrize("n", [2, 4])
def test_sums(n):
    wanted = cv.value_and_grad(total_loss)(PARAMS, BATCH)
    how = {"mesh": line(n), "reduce": "sum"}
    same(cv.data_parallel(cv.value_and_grad(total_loss), **how)(PARAMS, BATCH), wanted)
    same(cv.value_and_grad(cv.data_parallel(total_loss, **how))(PARAMS, BATCH), wanted)


def test_higher_derivatives():
    def turned(f):
        return lambda p, b: sum(map(cnp.sum, cv.tree.leaves(cv.grad(f)(p, b))))

    over = cv.data_parallel(loss, line(4))
    same(cv.grad(turned(over))(PARAMS, BATCH), cv.grad(turned(loss))(PARAMS, BATCH))
    same(cv.hessian(over)(PARAMS, BATCH), cv.hessian(loss)(PARAMS, BATCH))
    inside = cv.data_parallel(cv.grad(turned(loss)), line(4))
    same(inside(PARAMS, BATCH), cv.grad(turned(loss))(PARAMS, BATCH))
    tangents = cv.tree.map(cnp.ones_like, PARAMS)
    push = lambda f: cv.jvp(lambda p: f(p, BATCH), (PARAMS,), (tangents,))  # noqa: E731
    same(push(over), push(loss))


def test_with_respect_to_the_batch():
    over = cv.data_parallel(loss, line(4))
    same(cv.grad(over, 1)(PARAMS, BATCH), cv.grad(loss, 1)(PARAMS, BATCH))


def test_weights_that_the_function_closes_over():
    """Their gradient inside is that of each device as well, and not the sum."""
    large = cv.tree.map(cnp.asarray, PARAMS)
    for held in (PARAMS, large):
        slope = lambda batch, held=held: cv.grad(loss)(held, batch)  # noqa: E731
        same(cv.data_parallel(slope, line(4))(BATCH), slope(BATCH))

    def outer(params):
        return cv.data_parallel(lambda batch: loss(params, batch), line(4))(BATCH)

    same(cv.grad(outer)(PARAMS), cv.grad(loss)(PARAMS, BATCH))


def test_collectives_inside():
    """Normalised over the whole batch, which all devices talk about."""

    def normalised(mean):
        def f(params, batch):
            h = batch["x"] @ params["w"]
            center = mean(h.mean(0))
            variance = mean(((h - center) ** 2).mean(0))
            return cnp.mean(((h - center) / cnp.sqrt(variance + 1) - batch["y"]) ** 2)

        return f

    alone = normalised(lambda x: x)
    among = normalised(lambda x: lax.pmean(x, "data"))
    wanted = cv.value_and_grad(alone)(PARAMS, BATCH)
    found = cv.data_parallel(cv.value_and_grad(among), line(4))(PARAMS, BATCH)
    same(found, wanted, 1e-4)
    found = cv.value_and_grad(cv.data_parallel(among, line(4)))(PARAMS, BATCH)
    same(found, wanted, 1e-4)
    # A mean that the function takes itself is the same on all devices: the mean of it
    # is no other.
    own = lambda p, b: lax.pmean(loss(p, b), "data")  # noqa: E731
    wanted = cv.value_and_grad(loss)(PARAMS, BATCH)
    same(cv.data_parallel(cv.value_and_grad(own), line(4))(PARAMS, BATCH), wanted)
    same(cv.value_and_grad(cv.data_parallel(own, line(4)))(PARAMS, BATCH), wanted)


def test_a_value_for_each_example():
    def f(params, batch):
        y = predict(params, batch["x"])
        return {"loss": loss(params, batch), "y": y, "rows": (y.sum(1), y[:, 0])}

    specs = {"loss": P(), "y": P("data"), "rows": P("data")}
    found = cv.jit(cv.data_parallel(f, line(4), out_specs=specs))(PARAMS, BATCH)
    same(found, f(PARAMS, BATCH))
    assert found["y"].sharding.spec == P("data")
    all_of = cv.data_parallel(predict, line(4), out_specs=P("data"))
    same(all_of(PARAMS, X), predict(PARAMS, X))
    slope = lambda g: cv.grad(lambda p: cnp.sum(g(p, X) ** 3))(PARAMS)  # noqa: E731
    same(slope(all_of), slope(predict))


def test_which_arguments_are_batches():
    def f(x, params, y, scale):
        return loss(params, {"x": x, "y": y}) * scale

    wanted = f(X, PARAMS, Y, 2.0)
    for indices in ((0, 2), [0, -2]):
        over = cv.data_parallel(f, line(4), batch_argnums=indices)
        same(over(X, PARAMS, Y, 2.0), wanted)


def test_meshes():
    step = cv.value_and_grad(loss)
    wanted = step(PARAMS, BATCH)
    same(cv.data_parallel(step)(PARAMS, BATCH), wanted)
    named = cv.data_parallel(lambda p, b: lax.psum(1, "batch") + 0 * loss(p, b))
    assert float(named(PARAMS, BATCH)) == 8
    with cv.set_mesh(line(2)):
        same(cv.data_parallel(step)(PARAMS, BATCH), wanted)
    grid = cv.make_mesh((2, 4), ("data", "model"))
    for axes in (None, "model", ("data", "model"), ("model", "data")):
        over = cv.data_parallel(step, grid, axis_name=axes)
        same(cv.jit(over)(PARAMS, BATCH), wanted)
    rows = cv.data_parallel(
        predict, grid, axis_name=("model", "data"), out_specs=P(("model", "data"))
    )
    same(rows(PARAMS, X), predict(PARAMS, X))
    # The compiler partitions over the other axis.
    w = cv.device_put(PARAMS["w"], NamedSharding(grid, P(None, "data")))
    over = cv.jit(cv.data_parallel(step, grid, axis_name="model"))
    same(over({**PARAMS, "w": w}, BATCH), wanted)


def test_training_steps_with_everything_around_them():
    def step(params, batch):
        value, slope = cv.value_and_grad(cv.checkpoint(loss))(params, batch)
        return value, cv.tree.map(lambda p, g: p - 0.1 * g, params, slope)

    def train(step, params):
        def body(params, _):
            value, params = step(params, BATCH)
            return params, value

        return lax.scan(body, params, None, 5)

    over = cv.data_parallel(step, line(4))
    same(cv.jit(lambda p: train(over, p))(PARAMS), train(step, PARAMS))
    several = cv.tree.map(lambda p: cnp.stack([p, 2 * p]), PARAMS)
    same(
        cv.vmap(over, (0, None))(several, BATCH),
        cv.vmap(step, (0, None))(several, BATCH),
    )
    owned = cv.jit(over, donate_argnums=0)
    mesh = line(4)
    params = cv.device_put(PARAMS, NamedSharding(mesh, P()))
    batch = cv.device_put(BATCH, NamedSharding(mesh, P("data")))
    value, new = owned(params, batch)
    assert params["w"].is_deleted()
    same((value, new), step(PARAMS, BATCH))


def test_a_padded_batch():
    """As the message about batches that cannot be sharded says it."""
    n = 6
    pad = lambda a: cnp.pad(a[:n], [(0, 8 - n), (0, 0)])  # noqa: E731
    weights = (np.arange(8) < n).astype(np.float32)

    def weighted(params, batch, weights):
        errors_ = (predict(params, batch["x"]) - batch["y"]) ** 2
        return cnp.sum(errors_.mean(1) * weights)

    over = cv.data_parallel(weighted, line(4), batch_argnums=(1, 2), reduce="sum")
    mean = lambda p: over(p, cv.tree.map(pad, BATCH), weights) / weights.sum()  # noqa: E731
    part = cv.tree.map(lambda a: a[:n], BATCH)
    same(cv.value_and_grad(mean)(PARAMS), cv.value_and_grad(loss)(PARAMS, part))


# -- words -----------------------------------------------------------------------------


def words(error, f, *args, **how):
    with pytest.raises(error) as caught:
        f(*args, **how)
    return str(caught.value)


LINE = loss.__code__.co_firstlineno
WHERE = f"data_parallel of loss ({os.path.basename(__file__)}:{LINE})"


def test_words():
    over = cv.data_parallel(loss, line(4))
    part = cv.tree.map(lambda a: a[:6], BATCH)
    assert words(errors.ShardingError, over, PARAMS, part) == (
        f"{WHERE}: the batch has 6 examples (argument 1['x'] is f32[6,3]), which 4 "
        "devices cannot share evenly. Leave out 2; or pad to 8 (covector.numpy.pad), "
        "give what was added the weight 0, sum with reduce='sum', and divide by the "
        "sum of the weights."
    )
    uneven = {"x": X, "y": Y[:4]}
    assert (
        "inconsistent sizes for array axes to be mapped: argument 1['y'] is f32[4,2]"
        in (words(errors.AxisError, over, PARAMS, uneven))
    )
    assert words(errors.AxisError, over, PARAMS, {"x": X, "y": 1.0}) == (
        f"{WHERE}: argument 1['y'] is f32[], which has no axis along which a batch "
        "could be sharded. Say with batch_argnums which arguments are batches."
    )
    assert (
        words(
            errors.ArgumentError, cv.data_parallel(loss, line(4), batch_argnums=2), 1, 2
        )
        == f"{WHERE}: batch_argnums has 2, but the call has 2 positional arguments."
    )
    assert words(errors.ArgumentError, cv.data_parallel, loss, reduce="max") == (
        f"{WHERE}: reduce is 'mean' or 'sum', but got 'max'."
    )
    assert words(
        errors.ShardingError, cv.data_parallel(loss, line(4), axis_name="x"), 1, X
    ) == (
        f"{WHERE} shards the batch over the axis 'x', but the axes of "
        "Mesh('data': 4) are 'data'."
    )
