"""Programs that users write, each checked against a known answer: training models."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import lax, nn, random


def layers(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [
        {"w": random.normal(k, (m, n)) / cnp.sqrt(m), "b": cnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def network(params, x):
    for layer in params[:-1]:
        x = cnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def test_quickstart_regression_finds_the_line():
    x = cnp.linspace(-1, 1, 100)
    y = 3 * x + 1 + 0.01 * random.normal(random.key(0), x.shape)

    def loss(params):
        return cnp.mean((params["slope"] * x + params["offset"] - y) ** 2)

    @cv.jit
    def step(params):
        value, grads = cv.value_and_grad(loss)(params)
        return cv.tree.map(lambda p, g: p - 0.5 * g, params, grads), value

    params = {"slope": 0.0, "offset": 0.0}
    for _ in range(60):
        params, value = step(params)
    assert abs(params["slope"] - 3) < 0.02
    assert abs(params["offset"] - 1) < 0.02
    assert value < 1e-3


def test_per_example_gradients_add_up_to_the_gradient():
    params = layers(random.key(0), [3, 5, 1])
    x = random.normal(random.key(1), (8, 3))
    y = cnp.sin(x[:, :1])

    def loss(params, x, y):
        return cnp.sum((network(params, x) - y) ** 2)

    each = cv.jit(cv.vmap(cv.grad(loss), in_axes=(None, 0, 0)))(params, x, y)
    assert each[0]["w"].shape == (8, 3, 5)
    norms = cnp.sqrt(
        sum(cnp.sum(g.reshape(8, -1) ** 2, 1) for g in cv.tree.leaves(each))
    )
    assert norms.shape == (8,)
    total = cv.tree.map(lambda g: g.sum(0), each)
    for a, b in zip(
        cv.tree.leaves(total), cv.tree.leaves(cv.grad(loss)(params, x, y)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_hessian_vector_products_without_the_hessian():
    def f(x):
        return cnp.sum(cnp.sin(x) * cnp.roll(x, 1) ** 2)

    x = cnp.arange(1.0, 5.0)
    v = cnp.array([1.0, -1.0, 0.5, 2.0])
    forward_over_reverse = cv.jit(lambda x, v: cv.jvp(cv.grad(f), (x,), (v,))[1])
    reverse_over_reverse = cv.grad(lambda x: cnp.vdot(cv.grad(f)(x), v))
    dense = cv.hessian(f)(x) @ v
    np.testing.assert_allclose(forward_over_reverse(x, v), dense, rtol=1e-4)
    np.testing.assert_allclose(reverse_over_reverse(x), dense, rtol=1e-4)


def test_the_jacobian_of_a_net_is_that_of_its_layers():
    params = layers(random.key(0), [4, 6, 2])
    x = cnp.arange(4.0) / 4
    forward = cv.jacfwd(network, argnums=1)(params, x)
    reverse = cv.jacrev(network, argnums=1)(params, x)
    hidden = cnp.tanh(x @ params[0]["w"] + params[0]["b"])
    by_hand = params[1]["w"].T @ (cnp.diag(1 - hidden**2) @ params[0]["w"].T)
    np.testing.assert_allclose(forward, by_hand, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(reverse, by_hand, rtol=1e-4, atol=1e-6)


def test_mixed_precision_with_a_scaled_loss():
    x = random.normal(random.key(1), (64, 4))
    truth = cnp.array([1.0, -2.0, 0.5, 3.0])
    y = x @ truth
    scale = 2.0**10

    def loss(w):
        half = cv.tree.map(lambda a: a.astype(cnp.bfloat16), (w, x, y))
        error = half[1] @ half[0] - half[2]
        return scale * cnp.mean(error.astype(cnp.float32) ** 2)

    @cv.jit
    def step(w):
        grads = cv.grad(loss)(w) / scale
        finite = cnp.all(cnp.isfinite(grads))
        return cnp.where(finite, w - 0.1 * grads, w)

    w = cnp.zeros(4)
    for _ in range(100):
        w = step(w)
    assert w.dtype == cnp.float32
    np.testing.assert_allclose(w, truth, atol=0.1)


def test_a_step_of_a_variational_autoencoder_lowers_the_loss():
    key = random.key(0)
    data = (random.uniform(random.key(1), (32, 16)) > 0.5).astype(cnp.float32)
    params = {
        "encoder": layers(random.key(2), [16, 12, 4]),
        "decoder": layers(random.key(3), [2, 12, 16]),
    }

    def loss(params, key, x):
        mean, log_var = cnp.split(network(params["encoder"], x), 2, axis=-1)
        z = mean + cnp.exp(log_var / 2) * random.normal(key, mean.shape)
        logits = network(params["decoder"], z)
        likelihood = -cnp.sum(
            x * nn.log_sigmoid(logits) + (1 - x) * nn.log_sigmoid(-logits), -1
        )
        divergence = 0.5 * cnp.sum(cnp.exp(log_var) + mean**2 - 1 - log_var, -1)
        return cnp.mean(likelihood + divergence)

    @cv.jit
    def step(params, key):
        value, grads = cv.value_and_grad(loss)(params, key, data)
        return cv.tree.map(lambda p, g: p - 0.05 * g, params, grads), value

    values = []
    for i in range(30):
        params, value = step(params, random.fold_in(key, i))
        values.append(float(value))
    assert values[-1] < values[0] - 0.3
    assert 10 < values[-1] < 16 * np.log(2) + 1


def test_gumbel_softmax_draws_with_the_probabilities():
    logits = cnp.log(cnp.array([0.2, 0.3, 0.5]))

    def sample(logits, key, temperature=0.5):
        noisy = (logits + random.gumbel(key, logits.shape)) / temperature
        soft = nn.softmax(noisy)
        hard = nn.one_hot(cnp.argmax(soft), 3)
        return soft + lax.stop_gradient(hard - soft)

    keys = random.split(random.key(0), 4000)
    drawn = cv.jit(cv.vmap(sample, in_axes=(None, 0)))(logits, keys)
    np.testing.assert_allclose(drawn.mean(0), [0.2, 0.3, 0.5], atol=0.03)
    slope = cv.grad(lambda logits: sample(logits, keys[0])[2])(logits)
    assert cnp.all(cnp.isfinite(slope)) and abs(slope.sum()) < 1e-5


def test_attention_with_a_causal_mask_does_not_see_the_future():
    def attention(q, k, v, mask):
        scores = cnp.einsum("qhd,khd->hqk", q, k) / cnp.sqrt(q.shape[-1])
        weights = nn.softmax(cnp.where(mask, scores, -cnp.inf), axis=-1)
        return cnp.einsum("hqk,khd->qhd", weights, v)

    q, k, v = random.normal(random.key(0), (3, 6, 2, 4))
    mask = cnp.tril(cnp.ones((6, 6), bool))
    out = cv.jit(attention)(q, k, v, mask)
    np.testing.assert_allclose(out[0], v[0], rtol=1e-5)
    later = attention(q, k.at[4:].set(9.0), v.at[4:].set(9.0), mask)
    # One is compiled and one is not: of terms that cancel, the last digits differ.
    np.testing.assert_allclose(out[:4], later[:4], rtol=1e-5, atol=1e-6)
    library = nn.dot_product_attention(q, k, v, is_causal=True)
    np.testing.assert_allclose(out, library, rtol=1e-4, atol=1e-5)
    grads = cv.grad(lambda q: attention(q, k, v, mask).sum())(q)
    assert cnp.isfinite(grads).all()


def test_a_recurrent_net_is_a_scan():
    def cell(h, x):
        h = cnp.tanh(h @ w + x)
        return h, h.sum()

    w = random.normal(random.key(0), (3, 3)) / 2
    xs = random.normal(random.key(1), (7, 3))
    last, sums = cv.jit(lambda xs: lax.scan(cell, cnp.zeros(3), xs))(xs)
    h = np.zeros(3)
    for x in np.asarray(xs):
        h = np.tanh(h @ np.asarray(w) + x)
    np.testing.assert_allclose(last, h, rtol=1e-4)
    assert sums.shape == (7,)
    slopes = cv.grad(lambda xs: lax.scan(cell, cnp.zeros(3), xs)[0].sum())(xs)
    assert cnp.abs(slopes[0]).sum() < cnp.abs(slopes[-1]).sum()


def test_a_step_of_a_convolutional_net():
    images = random.normal(random.key(0), (8, 10, 10, 1))
    labels = cnp.arange(8) % 2
    images = images + labels[:, None, None, None] * 2.0
    params = {
        "kernel": 0.3 * random.normal(random.key(1), (3, 3, 1, 4)),
        "dense": 0.3 * random.normal(random.key(2), (4, 2)),
    }

    def forward(params, x):
        x = lax.conv_general_dilated(
            x,
            params["kernel"],
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        x = nn.relu(x)
        x = lax.reduce_window(x, -cnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return x.mean((1, 2)) @ params["dense"]

    def loss(params):
        logits = nn.log_softmax(forward(params, images))
        return -cnp.take_along_axis(logits, labels[:, None], 1).mean()

    @cv.jit
    def step(params):
        value, grads = cv.value_and_grad(loss)(params)
        return cv.tree.map(lambda p, g: p - 0.3 * g, params, grads), value

    for _ in range(40):
        params, value = step(params)
    assert value < 0.2
    assert (forward(params, images).argmax(-1) == labels).all()


def test_batch_normalization_passes_its_state_on():
    def normalize(x, state, train, momentum=0.9):
        if train:
            mean, var = x.mean(0), x.var(0)
            state = {
                "mean": momentum * state["mean"] + (1 - momentum) * mean,
                "var": momentum * state["var"] + (1 - momentum) * var,
            }
        else:
            mean, var = state["mean"], state["var"]
        return (x - mean) / cnp.sqrt(var + 1e-5), state

    step = cv.jit(normalize, static_argnums=2)
    state = {"mean": cnp.zeros(2), "var": cnp.ones(2)}
    for i in range(100):
        x = cnp.array([1.0, -2.0]) + 3 * random.normal(random.key(i), (256, 2))
        out, state = step(x, state, True)
        np.testing.assert_allclose(out.std(0), 1, rtol=1e-3)
    np.testing.assert_allclose(state["mean"], [1, -2], atol=0.2)
    np.testing.assert_allclose(state["var"], [9, 9], rtol=0.1)
    out, same = step(x, state, False)
    np.testing.assert_array_equal(same["mean"], state["mean"])


def test_dropout_is_repeated_by_the_same_key():
    @cv.jit
    def dropout(key, x, rate):
        keep = random.bernoulli(key, 1 - rate, x.shape)
        return cnp.where(keep, x / (1 - rate), 0)

    x = cnp.ones((100, 100))
    key, other = random.split(random.key(0))
    np.testing.assert_array_equal(dropout(key, x, 0.25), dropout(key, x, 0.25))
    assert (dropout(key, x, 0.25) != dropout(other, x, 0.25)).any()
    assert abs(dropout(key, x, 0.25).mean() - 1) < 0.02
    assert abs((dropout(key, x, 0.25) == 0).mean() - 0.25) < 0.02


def test_accumulated_gradients_are_those_of_the_whole_batch():
    params = layers(random.key(0), [3, 4, 1])
    x = random.normal(random.key(1), (32, 3))

    def loss(params, x):
        return cnp.mean(network(params, x) ** 2)

    @cv.jit
    def accumulated(params, x):
        def add(total, part):
            return cv.tree.map(cnp.add, total, cv.grad(loss)(params, part)), None

        zeros = cv.tree.map(cnp.zeros_like, params)
        total, _ = lax.scan(add, zeros, x.reshape(4, 8, 3))
        return cv.tree.map(lambda g: g / 4, total)

    whole = cv.grad(loss)(params, x)
    close = cv.tree.map(
        lambda a, b: bool(cnp.allclose(a, b, rtol=1e-4, atol=1e-6)),
        accumulated(params, x),
        whole,
    )
    assert cv.tree.all(close)


def test_clipped_gradients_averaged_weights_and_a_schedule():
    def clip(grads, limit):
        norm = cnp.sqrt(sum(cnp.sum(g**2) for g in cv.tree.leaves(grads)))
        factor = cnp.minimum(1, limit / norm)
        return cv.tree.map(lambda g: g * factor, grads), norm

    def schedule(step, warmup=10, total=100, peak=0.2):
        rising = peak * step / warmup
        falling = (
            peak * 0.5 * (1 + cnp.cos(cnp.pi * (step - warmup) / (total - warmup)))
        )
        return cnp.where(step < warmup, rising, falling)

    def loss(params):
        return cnp.sum((params["a"] - 2) ** 2) + cnp.sum(params["b"] ** 4)

    @cv.jit
    def step(params, average, i):
        grads, norm = clip(cv.grad(loss)(params), 1.0)
        params = cv.tree.map(lambda p, g: p - schedule(i) * g, params, grads)
        average = cv.tree.map(lambda m, p: 0.9 * m + 0.1 * p, average, params)
        return params, average, norm

    params = {"a": cnp.full(3, 50.0), "b": cnp.array(0.5)}
    clipped, norm = clip(cv.grad(loss)(params), 1.0)
    np.testing.assert_allclose(norm, 96 * np.sqrt(3), rtol=1e-3)
    total = sum(cnp.sum(g**2) for g in cv.tree.leaves(clipped))
    np.testing.assert_allclose(total, 1, rtol=1e-4)
    params = {"a": cnp.full(3, 3.0), "b": cnp.array(0.5)}
    average = params
    for i in range(100):
        params, average, norm = step(params, average, i)
    assert float(schedule(0)) == 0 and abs(schedule(10) - 0.2) < 1e-6
    np.testing.assert_allclose(params["a"], 2, atol=1e-2)
    np.testing.assert_allclose(average["a"], 2, atol=1e-2)


def test_early_stopping_is_a_while_loop():
    def loss(w):
        return cnp.sum((w - 3) ** 2)

    def improving(state):
        _, before, now, step = state
        return (before - now > 1e-6) & (step < 1000)

    def step(state):
        w, _, now, n = state
        w = w - 0.1 * cv.grad(loss)(w)
        return w, now, loss(w), n + 1

    @cv.jit
    def train(w):
        return lax.while_loop(improving, step, (w, cnp.inf, loss(w), 0))

    w, _, value, steps = train(cnp.zeros(2))
    np.testing.assert_allclose(w, 3, atol=1e-2)
    assert 20 < steps < 60
    assert value < 1e-5
