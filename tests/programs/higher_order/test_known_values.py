"""What is known stays known: shapes, indices and branches from numbers, everywhere."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax

X = cnp.asarray(np.arange(6, dtype=np.float32).reshape(3, 2))

#: an integer made of known values, in the ways in which programs make them
NUMBERS = {
    "minimum of maximum": (lambda x, k, n: cnp.minimum(cnp.maximum(k, 1), n), 3),
    "clip": (lambda x, k, n: cnp.clip(k, 1, 2), 2),
    "prod of a shape": (lambda x, k, n: cnp.prod(cnp.array(x.shape)), 6),
    "sum of a shape": (lambda x, k, n: cnp.sum(cnp.array(x.shape)), 5),
    "entry of a shape": (lambda x, k, n: cnp.array(x.shape)[-1], 2),
    "entry of arange": (lambda x, k, n: cnp.arange(3)[1], 1),
    "where": (lambda x, k, n: cnp.where(k > 2, k, n), 3),
    "ceil": (lambda x, k, n: cnp.ceil(n / 2).astype(int), 3),
    "floor division": (lambda x, k, n: -(-n // cnp.array(2)), 3),
    "sqrt": (lambda x, k, n: cnp.sqrt(cnp.float32(16)).astype(int), 4),
    "log2": (lambda x, k, n: cnp.log2(8.0).astype(int), 3),
    "power": (lambda x, k, n: cnp.power(2, k), 8),
    "round": (lambda x, k, n: cnp.round(2.6).astype(int), 3),
    "hypot": (lambda x, k, n: cnp.hypot(3.0, 4.0).astype(int), 5),
    "gcd": (lambda x, k, n: cnp.gcd(4, 6), 2),
    "cumsum": (lambda x, k, n: cnp.cumsum(cnp.array([1, 2]))[-1], 3),
    "sort": (lambda x, k, n: cnp.sort(cnp.array([3, 1]))[0], 1),
    "argmax": (lambda x, k, n: cnp.argmax(cnp.array([1, 3])), 1),
    "dot": (lambda x, k, n: cnp.dot(cnp.array([1, 2]), cnp.array([1, 1])), 3),
    "einsum": (lambda x, k, n: cnp.einsum("i,i->", cnp.arange(3), cnp.arange(3)), 5),
    "mean": (lambda x, k, n: cnp.mean(cnp.array([2, 4])).astype(int), 3),
    "median": (lambda x, k, n: cnp.median(cnp.arange(5.0)).astype(int), 2),
    "percentile": (lambda x, k, n: cnp.percentile(cnp.arange(5.0), 50).astype(int), 2),
    "linspace": (lambda x, k, n: cnp.linspace(0, 4, 5)[-1].astype(int), 4),
    "searchsorted": (lambda x, k, n: cnp.searchsorted(cnp.array([1, 2, 3]), 2), 1),
    "bincount": (lambda x, k, n: cnp.bincount(cnp.array([0, 1, 1]))[1], 2),
    "count_nonzero": (lambda x, k, n: cnp.count_nonzero(cnp.array([0, 1])), 1),
    "nonzero": (lambda x, k, n: cnp.nonzero(cnp.array([0, 1]))[0][0], 1),
    "unique": (lambda x, k, n: cnp.unique(cnp.array([1, 1, 2]))[-1], 2),
    "interp": (lambda x, k, n: cnp.interp(0.5, X[:2, 0], X[:2, 1]).astype(int), 1),
    "diff": (lambda x, k, n: cnp.diff(cnp.array([1, 4]))[0], 3),
    "transposed": (lambda x, k, n: cnp.array([[1, 2], [3, 4]]).T[0, 1], 3),
    "lax.max": (lambda x, k, n: lax.max(k, n), 5),
    "lax.clamp": (lambda x, k, n: lax.clamp(1, k, n), 3),
    "lax.cond": (lambda x, k, n: lax.cond(k > 1, lambda: 2, lambda: 3), 2),
    "jitted by the user": (lambda x, k, n: cv.jit(lambda k: cnp.maximum(k, 1))(k), 3),
    "vmapped": (lambda x, k, n: cv.vmap(lambda k: k + 1)(cnp.arange(3))[2], 3),
    "differentiated": (lambda x, k, n: cv.grad(lambda k: k**2)(2.0).astype(int), 4),
}

#: where the function of x runs
WRAPPERS = {
    "eagerly": lambda f: f(X),
    "jit": lambda f: cv.jit(f)(X),
    "jit in jit": lambda f: cv.jit(lambda x: cv.jit(f)(x) + 0)(X),
    "vmap": lambda f: cv.vmap(f)(cnp.stack([X, X]))[0],
    "grad": lambda f: cv.value_and_grad(f)(X)[0],
    "jit of grad": lambda f: cv.jit(cv.value_and_grad(f))(X)[0],
    "vmap of grad of jit": lambda f: cv.vmap(cv.value_and_grad(cv.jit(f)))(X[None])[0][
        0
    ],
    "jvp": lambda f: cv.jvp(f, (X,), (X,))[0],
    "checkpoint": lambda f: cv.value_and_grad(cv.checkpoint(f))(X)[0],
    "scan": lambda f: lax.scan(lambda c, x: (c, f(x)), 0.0, X[None])[1][0],
    "scan under jit": lambda f: cv.jit(
        lambda x: lax.scan(lambda c, x: (c, f(x)), 0.0, x[None])[1][0]
    )(X),
    "cond": lambda f: cv.jit(
        lambda x: lax.cond(x[0, 0] < 1, f, lambda x: 0.0, x),
    )(X),
    "while_loop": lambda f: cv.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (1, f(x)), (0, 0.0))[1]
    )(X),
    "map": lambda f: lax.map(f, X[None])[0],
    "eval_shape": lambda f: cv.eval_shape(f, X),
}


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_known_numbers_are_shapes_indices_and_conditions(wrapper):
    def f(x, k=3, n=5):
        for name, (number, wanted) in NUMBERS.items():
            found = number(x, k, n)
            assert cnp.zeros((found, 2)).shape == (wanted, 2), name
            assert [*range(10)][found] == len(range(found)) == int(found) == wanted
            assert (True if found == wanted else None) and not found > wanted, name
            assert cnp.arange(20)[:found].shape == (wanted,)
        return cnp.sum(x.reshape(cnp.prod(cnp.array(x.shape))))

    out = wrapper(f)
    assert out.shape == ()
    if isinstance(out, cv.Array):
        assert float(out) == 15.0


def test_static_arguments_are_known():
    f = cv.jit(lambda x, k: x[: cnp.minimum(k, 2)], static_argnames="k")
    assert [f(X, k=k).shape for k in (1, 2, 3)] == [(1, 2), (2, 2), (2, 2)]


def test_what_depends_on_an_argument_is_not_known():
    with pytest.raises(errors.TracerIntegerConversionError, match="static_argnums"):
        cv.jit(lambda k: cnp.zeros(cnp.maximum(k, 1)))(3)
    with pytest.raises(errors.TracerBoolConversionError, match="where"):
        cv.jit(lambda x: 1 if cnp.any(x > 0) else 0)(X)


def trace_estimate(matvec, n, k, key):
    k = cnp.minimum(cnp.maximum(k, 1), n)
    z = cv.random.rademacher(key, (n, k), dtype=cnp.float32)
    return cnp.sum(z * cv.vmap(matvec, in_axes=1, out_axes=1)(z)) / k


@pytest.mark.parametrize("k", [0, 1, 3, 4, 100])
def test_a_trace_estimator_runs_as_it_is_written(k):
    a = cnp.diag(cnp.arange(1.0, 5.0))
    keys = cv.random.split(cv.random.key(0), 2)

    def estimate(a, key=keys[0]):
        return trace_estimate(lambda v: a @ v, 4, k, key)

    assert float(estimate(a)) == float(cv.jit(estimate)(a)) == 10.0
    assert cv.eval_shape(estimate, a).shape == ()
    both = cnp.stack([a, 2 * a])
    for transformed in (cv.vmap(estimate), cv.jit(cv.vmap(estimate))):
        assert transformed(both, keys).tolist() == [10.0, 20.0]
    for transformed in (cv.grad(estimate), cv.jit(cv.grad(estimate))):
        assert cnp.diag(transformed(a)).tolist() == [1.0] * 4
