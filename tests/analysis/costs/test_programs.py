"""The costs of whole programs, beside those that XLA counts.

XLA counts a loop's body once, and so it is here; what loops multiply is tested in
``test_count``.
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn
from covector.analysis import cost, dce
from covector.core.jaxpr import Equation, Jaxpr, Var
from tests.analysis.costs.by_xla import by_xla

#: calls of LAPACK, which XLA does not count
LAPACK = {"cholesky", "lu", "triangular_solve", "solve"}
PROGRAMS = {}


def some(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def on(*args):
    """Decorator: the function at these arguments is one of the programs."""

    def entered(f):
        PROGRAMS[f.__name__] = (f, args)
        return f

    return entered


def normalised(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def attended(q, k, v):
    return nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@on([some(64, 128), some(128), some(128, 10)], some(32, 64), some(32, 10))
def gradient_of_a_perceptron(params, x, y):
    def loss(params):
        w, b, out = params
        return -(nn.log_softmax(cnp.tanh(x @ w + b) @ out) * y).sum(-1).mean()

    return cv.grad(loss)(params)


@on(some(4, 64, 32), some(4, 64, 32), some(4, 64, 32))
def attention(q, k, v):
    return attended(q, k, v)


@on(some(256, 128), some(128), some(128))
def layer_norm(x, scale, shift):
    return normalised(x, scale, shift)


@on(
    {
        "qkv": some(64, 192),
        "out": some(64, 64),
        "up": some(64, 256),
        "down": some(256, 64),
        "norms": [some(64), some(64), some(64), some(64)],
    },
    some(64, 64),
)
def gradient_of_a_transformer_block(params, x):
    def block(params):
        a, b, c, d = params["norms"]
        qkv = cnp.split(normalised(x, a, b) @ params["qkv"], 3, -1)
        heads = [y.reshape(64, 4, 16).transpose(1, 0, 2) for y in qkv]
        mixed = attended(*heads).transpose(1, 0, 2).reshape(64, 64)
        y = x + mixed @ params["out"]
        y = y + nn.gelu(normalised(y, c, d) @ params["up"]) @ params["down"]
        return (y**2).mean()

    return cv.grad(block)(params)


@on([some(3, 3, 16, 32), some(3, 3, 32, 32), some(512, 10)], some(4, 16, 16, 16))
def gradient_of_a_convolutional_network(params, x):
    def layer(x, w):
        numbers = ("NHWC", "HWIO", "NHWC")
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)
        window = (1, 2, 2, 1)
        y = lax.reduce_window(nn.relu(y), 0.0, lax.add, window, window, "VALID")
        return y / 4

    def loss(params):
        first, second, out = params
        y = layer(layer(x, first), second)
        return (y.reshape(4, -1) @ out).mean()

    return cv.grad(loss)(params)


@on(some(32, 32), some(16, 32), some(20, 8, 16), some(8, 32))
def gradient_of_a_recurrent_network(w, u, xs, start):
    def loss(w, u):
        def step(h, x):
            h = cnp.tanh(h @ w + x @ u)
            return h, h

        return (lax.scan(step, start, xs)[1] ** 2).mean()

    return cv.grad(loss, (0, 1))(w, u)


@on(some(4, 256).astype(np.complex64), some(4, 256))
def filter_of_a_spectrum(x, k):
    return cnp.fft.ifft(cnp.fft.fft(x) * cnp.exp(-k * k))


@on(some(32, 32), some(16, 32), some(50, 16))
def kalman_filter(dynamics, observed, ys):
    noise, errors = cnp.eye(32), cnp.eye(16)

    def step(state, y):
        mean, covariance = state
        mean = dynamics @ mean
        covariance = dynamics @ covariance @ dynamics.T + noise
        seen = observed @ covariance
        gain = cnp.linalg.solve(seen @ observed.T + errors, seen).T
        mean = mean + gain @ (y - observed @ mean)
        return (mean, covariance - gain @ seen), mean

    return lax.scan(step, (cnp.zeros(32), noise), ys)[1]


@on(some(200, 32), some(200) > 0, some(32), some(32))
def leapfrog_of_hamiltonian_monte_carlo(x, y, position, momentum):
    def energy(q):
        logits = x @ q
        return cnp.mean(cnp.logaddexp(0.0, logits) - y * logits) + (q * q).mean()

    def step(state, _):
        q, p = state
        p = p - 0.05 * cv.grad(energy)(q)
        q = q + 0.1 * p
        return (q, p - 0.05 * cv.grad(energy)(q)), None

    return lax.scan(step, (position, momentum), None, length=10)[0]


@on(some(64, 16), some(64), np.float32(1.5))
def evidence_of_a_gaussian_process(x, y, scale):
    def evidence(scale):
        distances = ((x[:, None] - x[None]) ** 2).sum(-1)
        covariance = cnp.exp(-distances / scale) + cnp.eye(64) / 10
        lower = cnp.linalg.cholesky(covariance)
        white = cv.scipy.linalg.solve_triangular(lower, y, lower=True)
        return (white**2).mean() + cnp.log(cnp.diag(lower)).mean()

    return cv.value_and_grad(evidence)(scale)


@on(some(100, 32), some(32, 100), np.arange(160).reshape(8, 20) % 100)
def gradient_of_a_language_model(table, out, tokens):
    def loss(table, out):
        scores = nn.log_softmax(table[tokens[:, :-1]] @ out)
        return -cnp.take_along_axis(scores, tokens[:, 1:, None], -1).mean()

    return cv.grad(loss, (0, 1))(table, out)


@on(some(128, 8), some(128, 8))
def distances_of_all_pairs(xs, ys):
    def distance(x, y):
        return cnp.sqrt(((x - y) ** 2).sum() + 1e-6)

    return cv.vmap(lambda x: cv.vmap(lambda y: distance(x, y))(ys))(xs)


@on(some(300, 20), some(300), some(20))
def hessian_of_a_logistic_regression(x, y, w):
    return cv.hessian(lambda w: cnp.mean(cnp.log(1 + cnp.exp(-y * (x @ w)))))(w)


def by_itself(equation):
    """The program of one equation."""
    inputs = [Var(x.type) for x in equation.inputs]
    again = Equation(equation.op, inputs, equation.outputs, None)
    return Jaxpr(inputs, [again], equation.outputs, "f")


@pytest.mark.parametrize("name", PROGRAMS)
def test_flops_of_a_program_are_those_of_xla_within_one_percent(name):
    f, args = PROGRAMS[name]
    program = dce(cv.jit(f).trace(*args))
    found = cost(program)
    calls, others = [], []
    for e in found.equations:
        (calls if e.visit.equation.op.name in LAPACK else others).append(e)
    platform = "cpu" if calls else "gpu"
    flops, transcendentals = by_xla(program, platform)
    # What is around the calls of LAPACK, and -1 for each of them.
    flops -= sum([by_xla(by_itself(e.visit.equation), "cpu")[0] for e in calls])
    assert sum([e.once.flops for e in others]) == pytest.approx(flops, rel=0.01)
    assert sum([e.once.transcendentals for e in others]) == transcendentals
    assert found.known
