"""Arguments that mean nothing are errors in words; none gives a number silently."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, CovectorError

X = np.arange(12, dtype=np.float32).reshape(3, 4)
V = X[0]

WORDS = {
    # a bool is no axis: Python takes True for 1
    "sum(x, True)": (lambda: cnp.sum(X, True), "axis must be .* got True of type bool"),
    "softmax(x, True)": (lambda: cv.nn.softmax(X, True), "got True of type bool"),
    "fft2(x, axes=True)": (lambda: cnp.fft.fft2(X, axes=True), "axes must be .* bool"),
    "sort(x, axis=False)": (lambda: cnp.sort(X, axis=False), "got False of type bool"),
    # numbers of something
    "nonzero(size=-1)": (lambda: cnp.nonzero(V, size=-1), "size must not be negative"),
    "argwhere(size=1.5)": (
        lambda: cnp.argwhere(V, size=1.5),
        "size must be an integer",
    ),
    "unique(size=-1)": (lambda: cnp.unique(V, size=-1), "size must not be negative"),
    "reshape(-1, an array)": (
        lambda: cv.numpy.array(X).reshape(-1, cnp.ones((4, 3))),
        r"shape must be an integer .*, but got f32\[4,3\]\.",
    ),
    "extract(size='x')": (
        lambda: cnp.extract(V > 0, V, size="x"),
        "must be an integer",
    ),
    "repeat(total_repeat_length=-1)": (
        lambda: cnp.repeat(V, 2, total_repeat_length=-1),
        "total_repeat_length must not be negative, but is -1",
    ),
    "bincount(minlength=-1)": (
        lambda: cnp.bincount(np.array([1]), minlength=-1),
        "minlength must not be negative",
    ),
    "indices((2, -1))": (lambda: cnp.indices((2, -1)), "must not be negative"),
    "diag_indices(2.5)": (lambda: cnp.diag_indices(2.5), "n must be an integer"),
    "triu_indices(2.5)": (lambda: cnp.triu_indices(2.5), "n must be an integer"),
    "tril_indices(-2)": (lambda: cnp.tril_indices(-2), "n must not be negative"),
    "tril_indices(2, 1.5)": (lambda: cnp.tril_indices(2, 1.5), "k must be an integer"),
    "mask_indices(-2)": (
        lambda: cnp.mask_indices(-2, cnp.triu),
        "must not be negative",
    ),
    "linspace(num=2.5)": (lambda: cnp.linspace(0, 1, 2.5), "num must be an integer"),
    "hamming(2.5)": (lambda: cnp.hamming(2.5), "hamming: M must be an integer"),
    "vander(N=1.5)": (lambda: cnp.vander(V, 1.5), "N must be an integer"),
    "polyfit(deg=1.5)": (lambda: cnp.polyfit(V, V, 1.5), "deg must be an integer"),
    "polyder(m=-1)": (lambda: cnp.polyder(V, -1), "the order m must not be negative"),
    "tensorinv(ind=1.5)": (
        lambda: cnp.linalg.tensorinv(X, 1.5),
        "ind must be an integ",
    ),
    "var(ddof='x')": (
        lambda: cnp.var(X, ddof="x"),
        "ddof must be a number, but got 'x'",
    ),
    "std(correction=[1])": (lambda: cnp.std(X, correction=[1]), "must be a number"),
    # which diagonal, element, decimal, position
    "eye(3, k='x')": (lambda: cnp.eye(3, k="x"), "k must be an integer, but got 'x'"),
    "eye(0, k=nan)": (
        lambda: cnp.eye(0, k=cnp.nan),
        "k must be an integer, but got nan",
    ),
    "tril(k=nan)": (lambda: cnp.tril(X, k=cnp.nan), "tril: k must be an integer"),
    "triu(k=traced float)": (
        lambda: cv.jit(cnp.triu)(X, 1.5),
        "a known integer, but got a traced",
    ),
    "trace(offset=1.5)": (lambda: cnp.trace(X[:0], 1.5), "offset must be an integer"),
    "diag(k=1.5)": (lambda: cnp.diag(X, 1.5), "k must be an integer, but got 1.5"),
    "partition(kth=1.5)": (lambda: cnp.partition(V, 1.5), "kth must be an integer"),
    "argpartition(kth='x')": (
        lambda: cnp.argpartition(V, "x"),
        "kth must be an integer",
    ),
    "round(decimals=1.5)": (lambda: cnp.round(V, 1.5), "decimals must be an integer"),
    "rot90(k=1.5)": (lambda: cnp.rot90(X, 1.5), "k must be an integer"),
    "roll(shift=1.5)": (lambda: cnp.roll(X, 1.5), "shift must be an integer"),
    "split(x, 1.5)": (lambda: cnp.split(X, 1.5), "indices_or_sections must be an int"),
    "insert(x, 99)": (
        lambda: cnp.insert(V, 99, 1.0),
        "takes indices from -4 to 4 along an axis of this length, but got 99",
    ),
    "x['a']": (lambda: cnp.asarray(V)[np.array(["a"])], "cannot be indexed"),
    "take(mode=['a'])": (
        lambda: cnp.take(V, 1, mode=["a"]),
        "no gather or scatter mode",
    ),
    "take(fill_value=vector)": (
        lambda: cnp.take(V, 1, mode="fill", fill_value=V),
        r"fill_value must be a scalar, but got f32\[4\]",
    ),
    # arrays that do not go together
    "take_along_axis(bools)": (
        lambda: cnp.take_along_axis(X, X > 5, 1),
        r"take_along_axis needs integers .* bool\[3,4\]",
    ),
    "put_along_axis(bools)": (
        lambda: cnp.put_along_axis(X, X > 5, 1, 1, inplace=False),
        "put_along_axis needs integers",
    ),
    "searchsorted(sorter=bools)": (
        lambda: cnp.searchsorted(V, V, sorter=V > 1),
        r"a sorter of as many integers, such as argsort\(a\), but got bool\[4\]",
    ),
    "searchsorted(sorter=short)": (
        lambda: cnp.searchsorted(V, V, sorter=np.array([1])),
        "a sorter of as many integers",
    ),
    "piecewise(conditions of another shape)": (
        lambda: cnp.piecewise(V, [V[:3] > 1], [1.0, 2.0]),
        r"conditions of its shape, or scalars, but got bool\[3\]",
    ),
    "piecewise(functions='x')": (
        lambda: cnp.piecewise(V, [V > 1], "x"),
        "needs a list",
    ),
    # ranges and edges
    "histogram(range=(5, 1))": (
        lambda: cnp.histogram(X, range=(5, 1)),
        r"the smaller one first, but got \(5.0, 1.0\)",
    ),
    "histogram(range=(nan, 1))": (
        lambda: cnp.histogram(X, range=(cnp.nan, 1)),
        "two finite numbers",
    ),
    "histogram(range=(1,))": (lambda: cnp.histogram(X, range=(1,)), "two bounds"),
    "histogram(bins=[2, 1])": (
        lambda: cnp.histogram(X, np.array([2.0, 1.0])),
        r"edges that ascend, but got \[2.0, 1.0\]",
    ),
    "histogram(bins=1.5)": (lambda: cnp.histogram(X, 1.5), "bins must be an integer"),
    "digitize(bins=[3, 1, 2])": (
        lambda: cnp.digitize(V, np.array([3, 1, 2])),
        "edges that ascend or descend",
    ),
    "hilbert(2.5)": (lambda: cv.scipy.linalg.hilbert(2.5), "n must be an integer"),
}


@pytest.mark.parametrize("call", WORDS)
def test_words_of_arguments(call):
    run, words = WORDS[call]
    with pytest.raises(CovectorError, match=words) as info:
        run()
    assert isinstance(info.value, TypeError | ValueError | IndexError)


def test_a_traced_diagonal_and_traced_edges_are_taken_as_they_are():
    np.testing.assert_array_equal(cv.jit(cnp.triu)(X, 1), np.triu(X, 1))
    edges = np.array([0.0, 2.0, 5.0], np.float32)
    found = cv.jit(cnp.digitize)(V, edges)
    np.testing.assert_array_equal(found, np.digitize(V, edges))
    np.testing.assert_array_equal(
        cnp.digitize(V, edges[::-1]), np.digitize(V, edges[::-1])
    )


def test_a_traced_index_of_insert_counts_as_the_nearest():
    out = cv.jit(lambda i: cnp.insert(V, i, 9.0))(99)
    np.testing.assert_array_equal(out, [*V, 9.0])


def test_an_axis_as_an_array_of_numpy_is_an_axis():
    np.testing.assert_array_equal(cnp.sum(X, np.int64(1)), X.sum(1))
    with pytest.raises(ArgumentError, match="bool"):
        cnp.sum(X, (True, 0))
