"""``sparsify``, and derivatives with respect to what is stored."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import MissingRule, TypeMismatch
from covector.experimental import sparse
from covector.experimental.sparse import BCSR, sparsify
from tests.experimental.sparse.layouts import check, dense, made

M = made(0, 0, shape=(3, 4))
X = dense(M)
V = np.arange(4.0, dtype=np.float32)


def test_functions_that_are_zero_at_zero_are_of_the_sum_of_duplicates():
    for function in (cnp.sin, cnp.sqrt, cnp.sign, cnp.tanh, cnp.expm1, cnp.floor):
        check(sparsify(function)(M), function(X))
    check(sparsify(lambda x: (0.5 * x).astype(int))(M), (0.5 * X).astype(int))
    check(sparsify(lambda x: x.astype(bool))(M), X.astype(bool))


def test_calls_branches_and_loops_inside():
    check(sparsify(cv.jit(lambda m, v: cnp.sin(m) @ v))(M, V), np.sin(X) @ V)
    branch = sparsify(lambda p, m: lax.cond(p, lambda m: 2 * m, lambda m: m, m))
    check(branch(True, M), 2 * X)
    check(cv.jit(branch)(False, M), X)
    loop = sparsify(
        lambda m: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 2 * c[1]), m)
    )
    check(loop((0, M))[1], 8 * X)
    carried = sparsify(
        lambda m: lax.scan(lambda c, _: (2 * c, c.sum()), m, None, length=3)
    )
    last, sums = carried(M)
    check(last, 8 * X)
    check(sums, X.sum() * np.array([1, 2, 4]))
    batched = made(1, 0)
    rows = sparsify(lambda m: lax.scan(lambda c, x: (c, (x @ V, 2 * x)), 0, m)[1])
    products, doubled = rows(batched)
    check(products, dense(batched) @ V)
    check(doubled, 2 * dense(batched))
    checkpointed = sparsify(cv.checkpoint(lambda m: (cnp.sin(m) @ V).sum()))
    check(checkpointed(M), (np.sin(X) @ V).sum())


def test_it_composes_with_derivatives_and_batches():
    def loss(m, v):
        return ((m @ v) ** 2).sum()

    check(sparsify(cv.grad(loss, 1))(M, V), 2 * X.T @ (X @ V))
    of_data = cv.grad(lambda d: sparsify(loss)(M.with_data(d), V))(M.data)
    np.testing.assert_allclose(of_data, sparse.grad(loss)(M, V).data, rtol=1e-6)
    batched = made(1, 0)
    many = np.stack([V, 2 * V])
    wanted = np.einsum("bij,bj->bi", dense(batched), many)
    check(cv.vmap(sparsify(cnp.matmul))(batched, many), wanted)
    check(sparsify(cv.vmap(cnp.matmul))(batched, many), wanted)


def test_dense_arrays_and_trees_pass():
    out = sparsify(lambda tree: {"sum": tree["m"] + tree["m"], "v": tree["v"] + 1})(
        {"m": M, "v": V}
    )
    check(out["sum"], 2 * X)
    check(out["v"], V + 1)
    assert sparsify(lambda x: x)(M) is M
    check(sparsify(lambda m: cnp.cos(sparse.todense(m)))(M), np.cos(X))
    check(cv.jit(sparsify(lambda m: sparse.todense(cv.jit(lambda m: m)(m))))(M), X)
    check(sparse.todense(V), V)
    parts = sparsify(lambda m: cnp.split(m, 2, axis=1))(M)
    check(parts[1], X[:, 2:])
    x = cnp.ones((1, 1, 3, 4))
    found = sparsify(lambda m: lax.conv(m[None, None], x, (1, 1), "SAME"))(M)
    check(found, lax.conv(X[None, None], x, (1, 1), "SAME"))


def test_what_would_fill_in_zeros_is_refused():
    with pytest.raises(MissingRule) as caught:
        sparsify(cnp.cos)(M)
    assert str(caught.value) == (
        "sparsify has no rule for cos of BCOO(float32[3, 4], nse=5), which is 1.0 "
        "where that is zero. If a dense result is meant, make the operand dense with "
        "sparse.todense(x)."
    )
    for refused, words in [
        (lambda m: m + 1, "which would fill in its zeros"),
        (lambda m: 1 / m, "in which zeros would divide"),
        (lambda m: m**0.0, "which is 1.0 where that is zero"),
        (lambda m: 2**m, "which is 1.0 where that is zero"),
        (sparsify(lambda m: cnp.concatenate([m, X])), "of which some are dense"),
        (sparsify(cnp.sort), "no rule for sort of BCOO"),
        (
            sparsify(lambda m: lax.dynamic_index_in_dim(V, m.astype(int)[0, 0])),
            "are dense",
        ),
        (sparsify(lambda m: cnp.where(m > 1, m, 0)), "no rule for select_n"),
    ]:
        with pytest.raises(MissingRule, match=words):
            refused(M)
    with pytest.raises(TypeError, match="sin needs an array or a number, but got BCOO"):
        cnp.sin(M)
    check(2 * M, 2 * X)  # nothing is left of the traces


def test_derivatives_are_at_the_indices_of_the_argument():
    def loss(m, v):
        return (cnp.sin(m @ v)).sum()

    value, (of_m, of_v) = sparse.value_and_grad(loss, (0, 1))(M, V)
    check(value, np.sin(X @ V).sum())
    check(of_v, X.T @ np.cos(X @ V))
    at = np.asarray(M.indices)
    inside = (at < [3, 4]).all(1)
    wanted = np.outer(np.cos(X @ V), V)[tuple(np.minimum(at, [2, 3]).T)] * inside
    np.testing.assert_allclose(of_m.data, wanted, rtol=1e-5, atol=1e-6)
    assert of_m.indices is M.indices
    gradient, aux = sparse.grad(lambda t: (loss(t["m"], V), 7), has_aux=True)({"m": M})
    np.testing.assert_allclose(gradient["m"].data, wanted, rtol=1e-5, atol=1e-6)
    assert aux == 7
    rows = sparse.grad(lambda m: loss(m, V))(BCSR.from_bcoo(M))
    assert isinstance(rows, BCSR)


@pytest.mark.parametrize("jacobian", [sparse.jacfwd, sparse.jacrev, sparse.jacobian])
def test_jacobians_have_the_axes_of_the_result_as_batch_axes(jacobian):
    m = sparse.eye(3, 4)
    blocks = jacobian(lambda m, v: {"y": m @ v}, (0, 1))(m, V)
    of_m, of_v = blocks["y"]
    assert (of_m.shape, of_m.n_batch) == ((3, 3, 4), 1)
    wanted = np.zeros((3, 3, 4))
    for i in range(3):
        wanted[i, i, i] = V[i]
    check(of_m, wanted)
    check(of_v, np.eye(3, 4))


def test_a_jacobian_of_rows_is_refused():
    with pytest.raises(TypeMismatch, match="has more axes, which only BCOO can have"):
        sparse.jacfwd(lambda m: m @ V)(BCSR.from_bcoo(M))
