"""Sparse arrays of every layout, with duplicates and padding; what they stand for."""

import numpy as np

from covector.experimental.sparse import BCOO, JAXSparse

#: n_batch, n_dense; which arrays are shared along the batch axes
LAYOUTS = [(0, 0, ""), (1, 0, "indices"), (1, 1, "data")]
SHAPE = (2, 3, 4)


def made(n_batch, n_dense, shared="", *, shape=SHAPE, nse=5, seed=0):
    """A BCOO, some of whose indices are out of bounds, and some of which are equal."""
    rng = np.random.default_rng(seed)
    end = len(shape) - n_dense
    batch, inner, dense = shape[:n_batch], shape[n_batch:end], shape[end:]
    one = (1,) * n_batch
    of_data = one if shared == "data" else batch
    of_indices = one if shared == "indices" else batch
    columns = [rng.integers(0, n + 1, (*of_indices, nse)) for n in inner]
    data = rng.integers(1, 5, (*of_data, nse, *dense)).astype(np.float32)
    indices = np.array(columns, np.int32).reshape(len(inner), *of_indices, nse)
    return BCOO((data, np.moveaxis(indices, 0, -1)), shape=shape)


def dense(mat):
    """What a BCOO stands for, element by element."""
    n = mat.n_batch
    data, indices = [
        np.broadcast_to(np.asarray(x), mat.batch_shape + x.shape[n:])
        for x in (mat.data, mat.indices)
    ]
    out = np.zeros(mat.shape, data.dtype)
    for at in np.ndindex(*mat.batch_shape):
        for element, index in zip(data[at], indices[at], strict=True):
            inside = [0 <= i < m for i, m in zip(index, mat.sparse_shape, strict=True)]
            if all(inside):
                out[(*at, *index)] += element
    return out


def check(found, wanted):
    """The array is this one, and if it is sparse, its parts fit."""
    if isinstance(found, BCOO):
        BCOO((found.data, found.indices), shape=found.shape)
        np.testing.assert_allclose(dense(found), wanted, rtol=1e-5)
    if isinstance(found, JAXSparse):
        found = found.todense()
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
