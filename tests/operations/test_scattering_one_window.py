"""Scatters and paddings over several devices, which XLA's partitioner gets wrong."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.sharding import NamedSharding
from covector.sharding import PartitionSpec as P

X = np.array([3, -2, 5, 7, 1, 10, 0, 4], np.int32)
SPECS = [P("a"), P(("a", "b")), P()]


@pytest.fixture
def mesh():
    if cv.device_count() < 4:
        pytest.skip("needs four devices")
    return cv.make_mesh((2, 2), ("a", "b"), devices=cv.devices()[:4])


def check(fun, mesh, spec, *args):
    placed = [cv.device_put(x, NamedSharding(mesh, spec)) for x in args]
    for found, wanted in zip(
        cv.jit(fun)(*placed), fun(*map(cnp.asarray, args)), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("k", [1, -7, 3, 7, 9, -20])
def test_one_window_is_written_by_the_device_that_has_it(k, spec, mesh):
    """The others wrote elements of its part into theirs."""

    def written(x):
        y = cnp.roll(x, -1)
        index = cnp.asarray([k]) + cnp.argmin(x) * 0
        at = y.at[index]
        pair = lax.ScatterDimensionNumbers((0,), (), (0,))
        window = lax.scatter(y, index, y[3:5] * 2, pair)
        added = lax.scatter_add(y, index, y[3:5], pair, mode="clip")
        return at.set(y[:1]), at.add(y[5:6]), at.max(4), window, added

    check(written, mesh, spec, X)


@pytest.mark.parametrize("spec", SPECS)
def test_one_window_of_rows_and_of_columns_is_written(spec, mesh):
    def written(x):
        y = cnp.roll(x, -1, 0) + cnp.roll(x, 1, 1)
        k = cnp.argmin(y[0]) * 0
        row = y.at[cnp.asarray([5]) + k].set(y[:1])
        column = y.at[:, cnp.asarray([1]) + k].add(y[:, :1])
        number = y.at[cnp.asarray([2]) + k, cnp.asarray([3])].multiply(7)
        return row, column, number

    check(written, mesh, spec, np.arange(32, dtype=np.int32).reshape(8, 4))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("count", [5, 12, 13, 16])
def test_uneven_numbers_of_indices_add_nothing_of_their_own(count, spec, mesh):
    """What filled the last device's part up was added as well."""
    x = np.random.default_rng(0).integers(0, 12, 16).astype(np.int32)
    k = np.random.default_rng(1).integers(-12, 12, 16).astype(np.int32)

    def summed(x, k):
        longer = cnp.pad(x, (0, 1), constant_values=1)
        some = cnp.pad(k, (1, 0), constant_values=2)[:count]
        by_itself = longer.at[longer].add(x[0])
        return longer.at[some].add(x[0]), by_itself, x[1:].at[some].max(some + 3)

    check(summed, mesh, spec, x, k)


@pytest.mark.parametrize("edges", [(0, -1), (0, -3), (-1, 0), (-1, 2)])
@pytest.mark.parametrize("spec", SPECS)
def test_what_a_padding_cuts_off_is_gone(edges, spec, mesh):
    """The array was as long as before, where all of it was needed elsewhere."""

    def cut(x):
        return lax.pad(x, cnp.int32(1), [(*edges, 0)]), cnp.sort(x), cnp.cumsum(x)

    check(cut, mesh, spec, np.arange(64, dtype=np.int32) * 7 % 17)
