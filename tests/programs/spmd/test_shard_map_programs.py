"""Every program inside of shard_map, and around it: values and derivatives of first
and second order are those of one device, on meshes of 1, of 4 with a row for each
device, and of 2 with two rows.

A program takes weights f32[3], which all devices share, and rows f32[n, 3], which they
divide, to rows. So what each device does for its rows must be what one does for all.
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.custom_batching import custom_vmap
from covector.custom_derivatives import linear_call

W = np.array([0.5, -0.8, 1.1], np.float32)
X = np.random.default_rng(0).uniform(-1, 1, size=(4, 3)).astype(np.float32)
PLACES = np.array([2, 0, 2])


def wave(w, x):
    return cnp.sin(w * x) + x


# -- inside ----------------------------------------------------------------------------


def by_custom_root(w, x):
    def solve(g, y):
        for _ in range(12):
            y = y - 0.5 * g(y)
        return y

    target = wave(w, x)
    return lax.custom_root(
        lambda y: y + 0.2 * cnp.sin(y) - target,
        cnp.zeros_like(x),
        solve,
        lambda g, b: b / g(cnp.ones_like(b)),
    )


def by_linear_solve(w, x):
    slope = 2 + w**2
    return lax.custom_linear_solve(
        lambda v: slope * v, wave(w, x), lambda _, b: b / slope, symmetric=True
    )


def by_custom_vmap(w, x):
    f = custom_vmap(wave)

    @f.def_vmap
    def rule(size, in_batched, w, x):
        axes = [0 if b else None for b in in_batched]
        return cv.vmap(wave, axes)(w, x), True

    return cv.vmap(f, (None, 0))(w, x)


def by_custom_jvp(w, x):
    f = cv.custom_jvp(wave)

    @f.defjvp
    def rule(primals, tangents):
        (w, x), (dw, dx) = primals, tangents
        return f(w, x), cnp.cos(w * x) * (w * dx + x * dw) + dx

    return f(w, x)


def by_custom_vjp(w, x):
    f = cv.custom_vjp(wave)

    def bwd(residuals, ct):
        w, x = residuals
        slope = ct * cnp.cos(w * x)
        return (slope * x).sum(0), slope * w + ct

    f.defvjp(lambda w, x: (f(w, x), (w, x)), bwd)
    return f(w, x)


def by_linear_call(w, x):
    def scaled(w, t):
        return w * t

    return linear_call(scaled, scaled, w, wave(w, x))


def by_switch(w, x):
    branches = [lambda w, x: x, wave, lambda w, x: w * x]
    return lax.switch((w.sum() > 0).astype(int), branches, w, x)


def by_switch_per_row(w, x):
    def row(w, x):
        return lax.switch((x[0] > 0).astype(int), [wave, lambda w, x: w * x**2], w, x)

    return cv.vmap(row, (None, 0))(w, x)


def by_switch_that_devices_decide(w, x):
    """What is chosen makes no difference: devices part ways, values do not."""
    k = (x.sum() > 0).astype(int)
    return lax.switch(k, [wave, lambda w, x: x + cnp.sin(x * w)], w, x)


def by_programs_in_a_branch_that_devices_decide(w, x):
    """Loops, a branch and calls whose operands are the same on all devices."""

    def step(c):
        return c[0] + 1, c[1] * w.sum()

    def branch(w, x):
        x = lax.fori_loop(0, 2, lambda _, x: x * w, x)
        x += lax.scan(lambda c, k: (c * k, c), 1.0, w)[1]
        x += lax.while_loop(lambda c: c[0] < 2, step, (0, w))[1]
        x += lax.cond(w.sum() > 0, cnp.sin, lambda w: w, w)
        x += cv.jit(cv.checkpoint(cnp.tanh))(w)
        return by_linear_call(w, x)

    return lax.cond(x.sum() > 0, branch, lambda w, x: 1 * branch(w, x), w, x)


def by_while_that_devices_leave(w, x):
    """The last steps do nothing, and how many there are differs between devices."""
    most = 3 + (x.sum() > 0)

    def step(c):
        return c[0] + 1, cnp.where(c[0] < 3, wave(w, c[1]), c[1])

    return lax.while_loop(lambda c: c[0] < most, step, (0, x))[1]


def by_key(w, x):
    noise = cv.random.normal(cv.random.key(3), (3,))
    return wave(w * noise, x)


def by_hessian(w, x):
    second = cv.hessian(lambda x: cnp.sum(wave(w, x) ** 2))
    return cv.vmap(lambda x: second(x).sum(0))(x)


def by_linearize(w, x):
    y, push = cv.linearize(lambda w: wave(w, x), w)
    return y + push(cnp.ones_like(w))


def by_linear_transpose(w, x):
    back = cv.linear_transpose(lambda t: t * w, x)
    return back(wave(w, x))[0]


def by_own_gradient(w, x):
    """Of each device: the weights are made to vary."""
    w = lax.pcast(w, "x", to="varying") if has_axis() else w
    return cv.grad(lambda x: cnp.sum(wave(w, x) ** 2))(x)


def has_axis():
    try:
        return bool(lax.axis_size("x"))
    except cv.errors.AxisError:
        return False


INSIDE = {
    "plain": wave,
    "jit": cv.jit(wave),
    "donating jit": cv.jit(wave, donate_argnums=1),
    "remat": cv.checkpoint(wave),
    "remat that saves": cv.checkpoint(
        wave, policy=cv.checkpoint_policies.everything_saveable
    ),
    "custom_root": by_custom_root,
    "custom_linear_solve": by_linear_solve,
    "custom_vmap": by_custom_vmap,
    "custom_jvp": by_custom_jvp,
    "custom_vjp": by_custom_vjp,
    "linear_call": by_linear_call,
    "associative_scan": lambda w, x: lax.associative_scan(cnp.multiply, w * x, axis=1),
    "fori_loop": lambda w, x: lax.fori_loop(0, 3, lambda i, c: wave(w, c) / 2, x),
    "while_loop": lambda w, x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, wave(w, c[1])), (0, x)
    )[1],
    "while_loop that devices leave": by_while_that_devices_leave,
    "programs in a branch that devices decide": (
        by_programs_in_a_branch_that_devices_decide
    ),
    "scan over shards": lambda w, x: lax.scan(lambda c, r: (c, wave(c, r)), w, x)[1],
    "scan": lambda w, x: lax.scan(lambda c, k: (wave(w, c) * k, c), x, W)[0],
    "unrolled scan": lambda w, x: lax.scan(
        lambda c, k: (wave(w, c) * k, c), x, W, unroll=2
    )[0],
    "map": lambda w, x: lax.map(lambda r: wave(w, r), x),
    "cond": lambda w, x: lax.cond(w.sum() > 0, wave, lambda w, x: x, w, x),
    "switch": by_switch,
    "switch per row": by_switch_per_row,
    "switch that devices decide": by_switch_that_devices_decide,
    "sort": lambda w, x: cnp.sort(wave(w, x), axis=1),
    "sort by keys": lambda w, x: lax.sort((x, wave(w, x)), dimension=1, num_keys=1)[1],
    "top_k": lambda w, x: lax.top_k(wave(w, x), 2)[0],
    "gather": lambda w, x: wave(w, x)[:, PLACES] * w[PLACES],
    "gather where rows say": lambda w, x: wave(w[cnp.argsort(x, axis=1)], x),
    "scatter": lambda w, x: x.at[:, PLACES].add(wave(w, x)),
    "scatter into the same": lambda w, x: (
        wave(w, x) + cnp.zeros(3).at[PLACES].add(w[PLACES])
    ),
    "threefry": by_key,
    "dot": lambda w, x: cnp.tanh(x @ cnp.outer(w, w)) @ cnp.diag(w),
    "cumsum": lambda w, x: cnp.cumsum(wave(w, x), axis=1),
    "optimization_barrier": lambda w, x: wave(*lax.optimization_barrier((w, x))),
    "vmap": cv.vmap(wave, (None, 0)),
    "named vmap": cv.vmap(
        lambda w, c: wave(lax.psum(w, "i"), c), (0, 1), 1, axis_name="i"
    ),
    "jvp": lambda w, x: cv.jvp(wave, (w, x), (w, x))[1],
    "linearize": by_linearize,
    "linear_transpose": by_linear_transpose,
    "hessian": by_hessian,
    "gradient of its own": by_own_gradient,
    "named_scope": cv.named_call(wave, name="waves"),
}

# -- around ----------------------------------------------------------------------------


def by_scan_over(f):
    def over(w, x):
        c, ys = lax.scan(lambda c, k: (f(w, c) * k, f(k * w, c)), x, W)
        return c + ys.sum(0)

    return over


def by_outer_custom_vjp(f):
    g = cv.custom_vjp(f)
    g.defvjp(lambda w, x: (f(w, x), (w, x)), lambda r, ct: cv.vjp(f, *r)[1](ct))
    return g


def by_outer_root(f):
    def over(w, x):
        def solve(g, y):
            return y - g(y)

        return lax.custom_root(
            lambda y: y - f(w, x), x, solve, lambda g, b: b / g(cnp.ones_like(b))
        )

    return over


def by_outer_while(f):
    def over(w, x):
        return lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, f(w, c[1])), (0, x)
        )[1]

    return over


AROUND = {
    "jit": cv.jit,
    "remat": cv.checkpoint,
    "remat that saves": lambda f: cv.checkpoint(
        f, policy=cv.checkpoint_policies.dots_saveable
    ),
    "scan": by_scan_over,
    "map": lambda f: lambda w, x: lax.map(lambda k: f(k * w, x), W).sum(0),
    "fori_loop": lambda f: lambda w, x: lax.fori_loop(0, 2, lambda i, c: f(w, c), x),
    "while_loop": by_outer_while,
    "cond": lambda f: lambda w, x: lax.cond(w.sum() > 0, f, lambda w, x: x, w, x),
    "vmap": lambda f: lambda w, x: cv.vmap(f, (0, None))(cnp.outer(W, w), x).sum(0),
    "vmap over shards": lambda f: (
        lambda w, x: cv.vmap(f, (None, 1), 1)(w, cnp.stack([x, -x], 1)).sum(1)
    ),
    "custom_vjp": by_outer_custom_vjp,
    "custom_root": by_outer_root,
    "optimization_barrier": lambda f: lambda w, x: f(*lax.optimization_barrier((w, x))),
    "twice": lambda f: lambda w, x: f(w, f(w, x)),
    "jvp": lambda f: lambda w, x: cv.jvp(f, (w, x), (w, x))[1],
    "grad": lambda f: cv.grad(lambda w, x: cnp.sum(f(w, x) ** 3), 1),
    "linearize": lambda f: lambda w, x: cv.linearize(f, w, x)[1](w, x),
    "vjp": lambda f: lambda w, x: cv.vjp(f, w, x)[1](x)[1],
    "jacfwd": lambda f: lambda w, x: cv.jacfwd(f)(w, x).sum(2),
    "jacrev": lambda f: lambda w, x: cv.jacrev(f)(w, x).sum(2),
    "hessian": lambda f: lambda w, x: cv.hessian(f)(w, x).sum((2, 3))[:, :, None],
}


def on_devices(f, n, **how):
    mesh = cv.make_mesh((n,), ("x",))
    return cv.shard_map(f, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"), **how)


def with_derivatives(f):
    """The value, its gradient, and a gradient of that."""

    def total(w, x):
        y = f(w, x)
        return cnp.sum(cnp.sin(y + cnp.arange(y.size).reshape(y.shape))), y

    def first(w, x):
        (_, y), slopes = cv.value_and_grad(total, (0, 1), has_aux=True)(w, x)
        return cnp.sum(slopes[0] * W) + cnp.sum(slopes[1] ** 2), (y, slopes)

    def everything(w, x):
        (_, (y, slopes)), seconds = cv.value_and_grad(first, (0, 1), has_aux=True)(w, x)
        return {"value": y, "grad": slopes, "grad of grad": seconds}

    return cv.jit(everything)


def agree(found, wanted):
    for order, values in wanted.items():
        pairs = zip(cv.tree.leaves(found[order]), cv.tree.leaves(values), strict=True)
        for x, y in pairs:
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-4, err_msg=order)


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name):
    f = INSIDE[name]
    wanted = with_derivatives(f)(W, X)
    for n in (1, 4):
        agree(with_derivatives(on_devices(f, n))(W, X), wanted)
    # … and without types that say what varies.
    agree(with_derivatives(on_devices(f, 2, check_vma=False))(W, X), wanted)


@pytest.mark.parametrize("name", AROUND)
def test_around(name):
    around = AROUND[name]
    wanted = with_derivatives(around(wave))(W, X)
    for n in (1, 4):
        agree(with_derivatives(around(on_devices(wave, n)))(W, X), wanted)


# -- what is not a value and its gradient ----------------------------------------------


def test_third_order():
    def third(f):
        g = lambda w: cnp.sum(cnp.sin(f(w, X)) * cnp.cos(w))  # noqa: E731
        return cv.jit(cv.jacfwd(cv.jacrev(cv.grad(g))))

    found = third(on_devices(wave, 4))(W)
    np.testing.assert_allclose(found, third(wave)(W), rtol=1e-4, atol=1e-4)


def test_as_a_linear_function():
    over = on_devices(lambda w, x: cnp.cumsum(w * x, axis=1) + lax.psum(x, "x"), 4)
    (found,) = cv.linear_transpose(lambda x: over(W, x), X)(X)
    np.testing.assert_allclose(
        found, cv.vjp(lambda x: over(W, x), X)[1](X)[0], rtol=1e-5
    )
    alone = lambda x: cnp.cumsum(W * x, axis=1) + x.sum(0)  # noqa: E731
    (wanted,) = cv.linear_transpose(alone, X)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_as_a_program():
    over = on_devices(wave, 4)
    shape = cv.eval_shape(over, W, X)
    assert (shape.shape, shape.dtype) == ((4, 3), np.float32)
    text = str(cv.make_jaxpr(over)(W, X))
    assert "shard_map" in text and "f32[1,3]{x}" in text
    assert "pvary" in text  # the weights, where they meet the rows
    gradients = str(cv.make_jaxpr(cv.grad(lambda w: over(w, X).sum()))(W))
    assert gradients.count("psum") == 1


def test_a_batch_that_is_sharded_over_the_mesh():
    """vmap says over which axis of the mesh its batch goes, for shardings inside."""
    over = cv.vmap(wave, (None, 0), spmd_axis_name="y")
    mesh = cv.make_mesh((2, 2), ("x", "y"))
    mapped = cv.shard_map(
        over, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"), axis_names={"x"}
    )
    agree(with_derivatives(mapped)(W, X), with_derivatives(wave)(W, X))


def test_a_batch_around_a_shard_map_is_sharded_over_the_axis_that_vmap_names():
    mesh = cv.make_mesh((2, 2), ("x", "y"))

    def steps(w, x):
        return cv.lax.scan(lambda c, row: (c + lax.psum(row, "x"), None), w, x)[0]

    over_x = cv.shard_map(steps, mesh=mesh, in_specs=(P(), P(None, "x")), out_specs=P())
    batch = cnp.arange(96.0).reshape(4, 4, 6)
    over = cv.vmap(over_x, (None, 0), spmd_axis_name="y")
    w = cnp.ones(3)
    got = cv.jit(over)(w, batch)
    assert got.sharding.spec[0] == "y"
    np.testing.assert_allclose(got, cnp.stack([over_x(w, b) for b in batch]))

    def loss(over):
        return lambda w, x: (over(w, x) ** 2).sum()

    gradients = cv.jit(cv.grad(loss(over), (0, 1)))(w, batch)
    assert gradients[1].sharding.spec[0] == "y"
    alone = cv.grad(loss(cv.vmap(over_x, (None, 0))), (0, 1))(w, batch)
    np.testing.assert_allclose(gradients[0], alone[0])
    np.testing.assert_allclose(gradients[1], alone[1])


@pytest.mark.parametrize("spec", [P("x"), P("y")])
def test_a_batch_around_a_shard_map_stays_whole_where_the_axis_has_a_meaning(spec):
    mesh = cv.make_mesh((2, 2), ("x", "y"))
    over_x = cv.shard_map(
        lambda x: lax.psum(x, "y"), mesh=mesh, in_specs=spec, out_specs=P(None),
        check_vma=False,
    )  # fmt: skip
    batch = cnp.arange(32.0).reshape(4, 8)
    got = cv.vmap(over_x, spmd_axis_name="y")(batch)
    np.testing.assert_allclose(got, cnp.stack([over_x(row) for row in batch]))


def watched(seen):
    def f(w, x):
        cv.debug.callback(lambda x: seen.append(float(x[0, 0])), x)
        return wave(w, x)

    return f


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("checked", [True, False])
def test_callbacks_are_called_once_on_each_device(n, checked):
    seen = []
    over = on_devices(watched(seen), n, check_vma=checked)
    wanted = sorted(map(float, X[:: 4 // n, 0]))
    total = lambda w, x: over(w, x).sum()  # noqa: E731
    for f in (over, cv.jit(over), cv.grad(total), cv.jit(cv.grad(total))):
        seen.clear()
        cv.block_until_ready(f(W, X))
        cv.effects_barrier()
        assert sorted(seen) == wanted


def test_printing_says_it_on_each_device(capfd):
    def f(w, x):
        cv.debug.print("device {}: {}", lax.axis_index("x"), x.sum())
        return x

    ones = np.ones((4, 3), np.float32)
    cv.block_until_ready(cv.jit(on_devices(f, 4))(W, ones))
    cv.effects_barrier()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == [f"device {k}: 3.0" for k in range(4)]


def test_python_in_the_middle():
    def f(w, x):
        constant = lax.stop_gradient(x)
        return wave(w, x) + cv.pure_callback(lambda x: 2 * np.asarray(x), x, constant)

    def alone(w, x):
        return wave(w, x) + lax.stop_gradient(2 * x)

    agree(with_derivatives(on_devices(f, 4))(W, X), with_derivatives(alone)(W, X))


# -- over some axes --------------------------------------------------------------------


def test_what_devices_cannot_combine_is_compiled_over_some_axes():
    """A reduction by xor, and a maximum of complex numbers, over an axis that XLA has
    divided; and a stack of matrices that it divides stays so.
    """
    mesh = cv.make_mesh((2, 2), ("x", "y"))
    words = np.arange(24, dtype=np.uint8).reshape(4, 6) * 7
    numbers = (words - 80.0 + 1j * words[::-1]).astype(np.complex64)
    square = X.T @ X + np.eye(3, dtype=np.float32)
    stack = np.stack([square * k for k in range(1, 5)])

    def reduced(words, numbers):
        words, numbers = lax.with_sharding_constraint((words, numbers), P(None, "y"))
        return lax.reduce_xor(words, (1,)), numbers.max(1)

    def factored(stack):
        return lax.linalg.cholesky(lax.with_sharding_constraint(stack, P("y")))

    def over_x(f):
        mapped = cv.shard_map(
            f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
        )
        return cv.jit(mapped)

    with cv.set_mesh(mesh):
        xors, largest = over_x(reduced)(words, numbers)
        factors = over_x(factored)(stack)
        text = over_x(factored).lower(stack).compile().as_text()
    np.testing.assert_array_equal(xors, np.bitwise_xor.reduce(words, 1))
    np.testing.assert_array_equal(largest, numbers.max(1))
    np.testing.assert_allclose(factors, np.linalg.cholesky(stack), 1e-5, 1e-6)
    assert "all-gather" not in text
