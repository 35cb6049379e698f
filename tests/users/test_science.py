"""Programs that users write, each checked against a known answer: science."""

import functools

import numpy as np
import scipy.optimize
import scipy.sparse.linalg

import covector as cv
import covector.numpy as cnp
import covector.scipy as csp
from covector import lax, nn, random


def test_scipy_minimizes_with_a_gradient():
    def rosenbrock(x):
        return cnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    with cv.enable_x64(True):
        found = scipy.optimize.minimize(
            cv.jit(rosenbrock),
            np.zeros(3),
            jac=cv.jit(cv.grad(rosenbrock)),
            method="BFGS",
        )
    assert found.success
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_a_linear_operator_of_scipy_multiplies_by_a_jacobian():
    def f(x):
        return cnp.sin(x) + 3 * x + 0.1 * cnp.roll(x, 1)

    x0 = cnp.linspace(0.0, 1.0, 20)
    forward = cv.jit(lambda v: cv.jvp(f, (x0,), (v,))[1])
    backward = cv.jit(lambda v: cv.vjp(f, x0)[1](v)[0])

    def on_host(product):
        return lambda v: np.asarray(product(v.ravel().astype(np.float32)), np.float64)

    operator = scipy.sparse.linalg.LinearOperator(
        (20, 20), matvec=on_host(forward), rmatvec=on_host(backward), dtype=np.float64
    )
    b = np.ones(20)
    x, info = scipy.sparse.linalg.gmres(operator, b, rtol=1e-5)
    assert info == 0
    np.testing.assert_allclose(np.asarray(cv.jacobian(f)(x0)) @ x, b, atol=1e-4)


def test_an_ode_is_integrated_by_scan_and_differentiated():
    def solve(rate, steps=100):
        dt = 1.0 / steps

        def f(y):
            return cnp.stack([y[1], -rate * y[0]])

        def rk4(y, _):
            k1 = f(y)
            k2 = f(y + dt / 2 * k1)
            k3 = f(y + dt / 2 * k2)
            k4 = f(y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return y, y[0]

        return lax.scan(rk4, cnp.array([1.0, 0.0]), length=steps)[1]

    path, slope = cv.jit(lambda r: cv.jvp(solve, (r,), (1.0,)))(4.0)
    times = np.linspace(0.01, 1, 100)
    np.testing.assert_allclose(path, np.cos(2 * times), atol=1e-5)
    np.testing.assert_allclose(slope, -times * np.sin(2 * times) / 4, atol=1e-5)


def test_a_fixed_point_is_differentiated_implicitly():
    @functools.partial(cv.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x):
        def moving(state):
            before, now = state
            return cnp.abs(before - now) > 1e-6

        return lax.while_loop(moving, lambda s: (s[1], f(a, s[1])), (x, f(a, x)))[1]

    def forward(f, a, x):
        found = fixed_point(f, a, x)
        return found, (a, found)

    def backward(f, saved, cotangent):
        a, x = saved
        _, by_a = cv.vjp(lambda a: f(a, x), a)
        _, by_x = cv.vjp(lambda x: f(a, x), x)
        u = fixed_point(lambda c, u: c + by_x(u)[0], cotangent, cotangent)
        return by_a(u)[0], cnp.zeros_like(x)

    fixed_point.defvjp(forward, backward)

    def root(a):
        return fixed_point(lambda a, x: (x + a / x) / 2, a, a)

    np.testing.assert_allclose(root(2.0), np.sqrt(2), rtol=1e-6)
    slope = cv.jit(cv.grad(root))(2.0)
    np.testing.assert_allclose(slope, 0.5 / np.sqrt(2), rtol=1e-4)


def test_k_means_finds_the_clusters():
    centers = cnp.array([[0.0, 0.0], [5.0, 5.0], [0.0, 5.0]])
    which = random.randint(random.key(0), (300,), 0, 3)
    points = centers[which] + 0.3 * random.normal(random.key(1), (300, 2))

    @cv.jit
    def step(means):
        distances = cnp.linalg.norm(points[:, None] - means, axis=-1)
        nearest = distances.argmin(1)
        sums = cv.ops.segment_sum(points, nearest, 3)
        counts = cnp.bincount(nearest, length=3)
        return sums / cnp.maximum(counts, 1)[:, None], nearest

    means = cnp.array([[1.0, 1.0], [4.0, 4.0], [1.0, 4.0]])
    for _ in range(5):
        means, nearest = step(means)
    np.testing.assert_allclose(means, centers, atol=0.1)
    assert (nearest == which).all()


def test_principal_components_by_svd():
    z = random.normal(random.key(0), (500, 1))
    direction = cnp.array([3.0, 4.0]) / 5
    x = 2 * z * direction + 0.1 * random.normal(random.key(1), (500, 2)) + 7
    centered = x - x.mean(0)
    _, s, vt = cnp.linalg.svd(centered, full_matrices=False)
    np.testing.assert_allclose(cnp.abs(vt[0]), direction, atol=0.01)
    explained = s**2 / (len(x) - 1)
    np.testing.assert_allclose(explained.sum(), x.var(0, ddof=1).sum(), rtol=1e-4)
    projected = centered @ vt[0]
    assert abs(cnp.corrcoef(projected, z[:, 0])[0, 1]) > 0.99


def test_a_gaussian_process_predicts_between_its_points():
    def kernel(a, b, length):
        return cnp.exp(-0.5 * ((a[:, None] - b) / length) ** 2)

    x = cnp.linspace(0, 6, 12)
    y = cnp.sin(x)

    def evidence(log_length):
        k = kernel(x, x, cnp.exp(log_length)) + 1e-4 * cnp.eye(12)
        low = cnp.linalg.cholesky(k)
        alpha = csp.linalg.cho_solve((low, True), y)
        return 0.5 * y @ alpha + cnp.log(cnp.diag(low)).sum()

    log_length = cnp.array(0.0)
    slope = cv.jit(cv.grad(evidence))
    for _ in range(40):
        log_length -= 0.05 * cnp.clip(slope(log_length), -1, 1)
    assert evidence(log_length) < evidence(0.0)
    length = cnp.exp(log_length)
    new = cnp.array([0.7, 2.3, 4.9])
    k = kernel(x, x, length) + 1e-4 * cnp.eye(12)
    mean = kernel(new, x, length) @ cnp.linalg.solve(k, y)
    np.testing.assert_allclose(mean, np.sin(new), atol=0.02)


def test_chains_of_hamiltonian_monte_carlo_side_by_side():
    def log_density(q):
        return -0.5 * cnp.sum(
            ((q - cnp.array([1.0, -1.0])) / cnp.array([1.0, 2.0])) ** 2
        )

    def step(q, key):
        first, second = random.split(key)
        p = random.normal(first, q.shape)

        def leap(_, state):
            q, p = state
            p = p + 0.15 * cv.grad(log_density)(q)
            q = q + 0.3 * p
            return q, p + 0.15 * cv.grad(log_density)(q)

        new_q, new_p = lax.fori_loop(0, 8, leap, (q, p))
        energy = log_density(new_q) - 0.5 * new_p @ new_p - log_density(q) + 0.5 * p @ p
        accept = cnp.log(random.uniform(second)) < energy
        q = cnp.where(accept, new_q, q)
        return q, (q, accept)

    @cv.jit
    @cv.vmap
    def chain(key):
        return lax.scan(step, cnp.zeros(2), random.split(key, 200))[1]

    samples, accepted = chain(random.split(random.key(0), 30))
    samples = samples[:, 50:].reshape(-1, 2)
    assert accepted.mean() > 0.8
    np.testing.assert_allclose(samples.mean(0), [1, -1], atol=0.15)
    np.testing.assert_allclose(samples.std(0), [1, 2], rtol=0.1)


def test_a_kalman_filter_as_an_associative_scan():
    # x' = a x + noise q, y = x + noise r: combine the elements of the filter
    a, q, r = 0.9, 0.1, 0.5
    ys = cnp.cumsum(random.normal(random.key(0), (50,))) / 3

    def combine(first, second):
        a1, b1, c1, e1, j1 = first
        a2, b2, c2, e2, j2 = second
        d = 1 / (1 + c1 * j2)
        return (
            a2 * a1 * d,
            a2 * d * (b1 + c1 * e2) + b2,
            a2 * a2 * c1 * d + c2,
            a1 * d * (e2 - j2 * b1) + e1,
            a1 * a1 * j2 * d + j1,
        )

    def element(y, first):
        prior = cnp.where(first, 1.0, q)
        gain = prior / (prior + r)
        slope = cnp.where(first, 0.0, (1 - gain) * a)
        eta = cnp.where(first, 0.0, a * y / (q + r))
        return slope, gain * y, (1 - gain) * prior, eta, a * a / (q + r) * (1 - first)

    @cv.jit
    def parallel(ys):
        elements = cv.vmap(element)(ys, cnp.arange(len(ys)) == 0)
        scanned = lax.associative_scan(cv.vmap(combine), elements)
        return scanned[1], scanned[2]

    means, variances = parallel(ys)
    m, p = 0.0, None
    for i, y in enumerate(np.asarray(ys)):
        m, p = (a * m, a * a * p + q) if i else (0.0, 1.0)
        gain = p / (p + r)
        m, p = m + gain * (y - m), (1 - gain) * p
        np.testing.assert_allclose(
            [means[i], variances[i]], [m, p], rtol=1e-3, atol=1e-5
        )


def test_rays_march_to_a_sphere():
    def distance(point):
        return cnp.linalg.norm(point - cnp.array([0.0, 0.0, 5.0])) - 1.0

    def march(direction):
        def step(_, t):
            return t + distance(t * direction)

        t = lax.fori_loop(0, 40, step, 0.0)
        hit = t < 20
        normal = cv.grad(distance)(t * direction)
        return cnp.where(hit, t, cnp.inf), normal

    directions = cnp.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.0], [1.0, 0.0, 0.0]])
    directions /= cnp.linalg.norm(directions, axis=-1, keepdims=True)
    depth, normals = cv.jit(cv.vmap(march))(directions)
    assert abs(depth[0] - 4) < 1e-5
    assert 4 < depth[1] < 5 and depth[2] == cnp.inf
    np.testing.assert_allclose(normals[0], [0, 0, -1], atol=1e-5)


def test_planets_keep_their_energy():
    masses = cnp.array([1.0, 1e-3])

    def potential(x):
        return -masses[0] * masses[1] / cnp.linalg.norm(x[0] - x[1])

    def energy(x, v):
        return potential(x) + 0.5 * cnp.sum(masses[:, None] * v**2)

    def verlet(state, _):
        x, v = state
        v = v - 0.005 * cv.grad(potential)(x) / masses[:, None]
        x = x + 0.01 * v
        v = v - 0.005 * cv.grad(potential)(x) / masses[:, None]
        return (x, v), energy(x, v)

    x = cnp.array([[0.0, 0.0], [1.0, 0.0]])
    v = cnp.array([[0.0, 0.0], [0.0, 1.0]])
    (x, v), energies = cv.jit(lambda s: lax.scan(verlet, s, length=628))((x, v))
    np.testing.assert_allclose(energies, energy(x, v), rtol=1e-3)
    np.testing.assert_allclose(x[1], [1, 0], atol=0.02)  # once around


def test_image_patches_by_reshaping_as_einops_does():
    images = cnp.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3)
    # from (b, h·p, w·q, c) to (b, h·w, p·q·c)
    patches = (
        images.reshape(2, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 6, 12)
    )
    np.testing.assert_array_equal(patches[1, 0], images[1, :2, :2].ravel())
    mixed = cnp.einsum("bnp,pd->bnd", patches, cnp.ones((12, 2)))
    np.testing.assert_allclose(mixed[..., 0], patches.sum(-1))
    attention = cnp.einsum("bid,bjd->bij", mixed, mixed, optimize=True)
    assert nn.softmax(attention, -1).shape == (2, 6, 6)
    trace = cnp.einsum("bii->b", attention)
    np.testing.assert_allclose(trace, cnp.trace(attention, axis1=1, axis2=2))
