"""Functions of BCOO are those of the dense arrays, in every layout."""

import numpy as np
import pytest

import covector.numpy as cnp
from covector import lax
from covector.experimental import sparse
from covector.experimental.sparse import BCOO
from tests.experimental.sparse.layouts import LAYOUTS, SHAPE, check, dense, made

every_layout = pytest.mark.parametrize(
    "layout",
    [LAYOUTS[0], LAYOUTS[2]],
    ids=lambda layout: "batch{}-dense{}-{}".format(*layout),
)


@every_layout
def test_elements_keep_their_values_whatever_their_order(layout):
    m = made(*layout)
    x = dense(m)
    check(m.todense(), x)
    check(m.sort_indices(), x)
    united = m.sum_duplicates()
    check(united, x)
    assert united.nse <= m.nse
    check(m.sum_duplicates(nse=7), x)
    again = BCOO.fromdense(x, n_batch=layout[0], n_dense=layout[1])
    check(again, x)
    check(sparse.bcoo_extract(m, x), x)


@every_layout
def test_axes_change_their_kind(layout):
    m = made(*layout)
    x = dense(m)
    for n_batch, n_dense in [(0, 0), (1, 0), (0, 2), (1, 1)]:
        changed = m.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
        assert (changed.n_batch, changed.n_dense) == (n_batch, n_dense)
        check(changed, x)


@every_layout
def test_elements_move_with_their_indices(layout):
    m = made(*layout)
    x = dense(m)
    check(m[1], x[1])
    check(m[:, ::-1, 1:3], x[:, ::-1, 1:3])
    check(m[-1, 2, 0], x[-1, 2, 0])
    check(m[:, None], x[:, None])
    check(m[cnp.array([1, 0, 1])], x[[1, 0, 1]])
    check(m.reshape(-1), x.reshape(-1))
    check(m.reshape(2, 12), x.reshape(2, 12))
    check(m.T if layout == LAYOUTS[0] else sparse.sparsify(cnp.transpose)(m), x.T)
    check(sparse.bcoo_rev(m, (0, 1, 2)), x[::-1, ::-1, ::-1])
    window = sparse.bcoo_dynamic_slice(m, (1, cnp.array(9), -5), (1, 2, 3))
    check(window, x[1:, 1:, :3])
    cut = sparse.bcoo_slice(
        m, start_indices=(0, 1, 1), limit_indices=(1, 3, 4), strides=(1, 2, 2)
    )
    check(cut, x[:1, 1:3:2, 1:4:2])


@every_layout
def test_sums_along_any_axes(layout):
    m = made(*layout)
    x = dense(m)
    for axes in [(0,), (1,), (2,), (0, 2), (0, 1, 2)]:
        check(sparse.bcoo_reduce_sum(m, axes=axes), x.sum(axes))
    check(m.sum(), x.sum())


@every_layout
def test_elementwise_functions(layout):
    m, other = made(*layout), made(0, 1, seed=1)
    x, y = dense(m), dense(other)
    row = np.array([1.0, 2.0, 4.0, 8.0], np.float32)
    column = np.array([[2.0], [4.0], [8.0]], np.float32)
    check(m * row, x * row)
    check(m / column, x / column)
    check(2 * m, 2 * x)
    check(-m, -x)
    check(m**2, x**2)
    check(abs(-m), abs(x))
    check(m + other, x + y)
    check(m - other, x - y)
    check(m * other, x * y)
    check(m + y, x + y)
    check(y - m, y - x)
    check(m == y, x == y)
    check(m > 2, x > 2)
    check(sparse.sparsify(cnp.maximum)(m, 0), np.maximum(x, 0))


@every_layout
def test_joining(layout):
    m = made(*layout)
    x = dense(m)
    for axis in range(3):
        check(
            sparse.bcoo_concatenate([m, m], dimension=axis),
            np.concatenate([x, x], axis),
        )
    check(sparse.sparsify(cnp.stack)([m, m]), np.stack([x, x]))


@every_layout
def test_broadcasting(layout):
    m = made(*layout, shape=(2, 1, 4))
    shape = (3, 2, 5, 4)
    broadcast = sparse.sparsify(lambda m: cnp.broadcast_to(m, shape))
    check(broadcast(m), np.broadcast_to(dense(m), shape))
    check(sparse.bcoo_squeeze(m, dimensions=(1,)), dense(m)[:, 0])


def test_new_axes_before_the_sparse_ones_are_batch_axes():
    m = sparse.eye(2)
    out = sparse.bcoo_broadcast_in_dim(m, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
    assert (out.n_batch, out.nse) == (1, 2)
    out = sparse.bcoo_broadcast_in_dim(m, shape=(2, 3, 2), broadcast_dimensions=(0, 2))
    assert (out.n_batch, out.nse) == (0, 6)


def test_a_gather_whose_windows_come_last_makes_its_axes_sparse():
    m = made(0, 0)
    numbers = lax.GatherDimensionNumbers((0, 1), (1,), (1,))
    at = np.array([[2], [0]])
    found = sparse.bcoo_gather(m, at, numbers, (2, 1, 4))
    check(found, np.moveaxis(dense(m)[:, [2, 0]], 1, 2))
    far = np.array([[2], [7]])
    found = sparse.bcoo_gather(m, far, numbers, (2, 1, 4), mode="fill")
    wanted = np.moveaxis(dense(m)[:, [2, 0]], 1, 2)
    wanted[..., 1] = 0
    check(found, wanted)


def test_an_element_of_a_small_window_is_stored_once():
    m = BCOO.fromdense(np.ones((30, 40), np.float32))
    assert m[3].nse == 40
    assert m[:2, :3].nse == 6


def test_reshaping_does_not_count_the_elements_of_a_huge_matrix():
    at = np.array([[7, 99_999], [99_999, 5]], np.int32)
    m = BCOO((np.ones(2, np.float32), at), shape=(100_000, 100_000))
    assert m[None].sum_duplicates().indices.tolist() == [[0, *i] for i in at.tolist()]
    with pytest.raises(ValueError, match="int32 cannot count its elements"):
        m.reshape(-1)


def test_the_shape_of_the_examples_has_no_two_equal_axes():
    assert len(set(SHAPE)) == 3
