"""``x[index]`` and ``x.at[index]``: every kind of index, as NumPy reads and writes
it.
"""

import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core.convert import as_array
from covector.operations.slicing import Slice
from covector.random.keys import key_data, wrap_key_data

X = np.random.default_rng(0).normal(size=(4, 5, 6)).astype(np.float32)
I = np.array([0, 2, -1])  # noqa: E741  an index
J = np.array([[1], [-2]])
M1 = np.array([True, False, True, True])
M2 = np.arange(20).reshape(4, 5) % 3 == 0
M3 = X > 0

STATIC = [
    np.s_[1], np.s_[-1, 2], np.s_[1:3], np.s_[:], np.s_[...], np.s_[()], np.s_[None],
    np.s_[1, ::-2, None, 1:], np.s_[::-1], np.s_[3:1:-1, 1], np.s_[2:2], np.s_[3:1],
    np.s_[..., 0], np.s_[1, 2, 3], np.s_[::3, None, 0, None], np.s_[2, ..., None],
    np.s_[np.int64(2)], np.s_[np.array(1)], np.s_[:, np.uint8(4), -9:9],
]  # fmt: skip
ARRAYS = [
    np.s_[I], np.s_[:, I], np.s_[I, J], np.s_[I, :, J], np.s_[0, :, I], np.s_[:, 0, I],
    np.s_[I, None, J], np.s_[None, I], np.s_[:, None, I, J], np.s_[..., I],
    np.s_[1:3, I], np.s_[::-1, I, ::2], np.s_[::2, 1, I], np.s_[I, 1],
    np.s_[1, I, None, 2], np.s_[I, I, I], np.s_[2, np.array([1]), :],
    np.s_[np.zeros((0,), int)], np.s_[np.zeros((2, 0), int), :, 1],
    np.s_[I.astype(np.int8)], np.s_[np.array([3, 1], np.uint8)],
    np.s_[:, np.zeros((2, 3), int), 1:3],
]  # fmt: skip
MASKS = [
    np.s_[M1], np.s_[M2], np.s_[M3], np.s_[:, M2[0]], np.s_[..., M3[0, 0]],
    np.s_[M1, :, I], np.s_[M2, 1], np.s_[M2, 1:3], np.s_[True], np.s_[False],
    np.s_[True, I], np.s_[None, M1],
]  # fmt: skip


def entries(index):
    return index if isinstance(index, tuple) else (index,)


def is_array(entry):
    return isinstance(entry, np.ndarray) and entry.dtype != bool


def with_arrays(index, arrays):
    """The index with other arrays in place of its own."""
    given = iter(arrays)
    return tuple([next(given) if is_array(e) else e for e in entries(index)])


def arrays_of(index):
    return [as_array(e) for e in entries(index) if is_array(e)]


@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=str)
def test_reading_is_numpys(index):
    np.testing.assert_array_equal(as_array(X)[index], X[index])


@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=str)
def test_reading_compiled_with_traced_arrays(index):
    read = cv.jit(lambda x, *arrays: x[with_arrays(index, arrays)])
    np.testing.assert_array_equal(read(X, *arrays_of(index)), X[index])


@pytest.mark.parametrize("index", STATIC + ARRAYS[::3], ids=str)
def test_reading_over_a_batch(index):
    both = np.stack([X, X[::-1]])
    found = cv.vmap(lambda x: x[index])(both)
    np.testing.assert_array_equal(found, np.stack([x[index] for x in both]))


def test_reading_at_a_batch_of_indices():
    indices = np.array([[0, 1], [3, -4], [2, 2]])
    found = cv.vmap(lambda i: as_array(X)[i, 1])(indices)
    np.testing.assert_array_equal(found, X[indices, 1])
    rows = cv.vmap(lambda x, i: x[i], in_axes=(2, 0))(X, np.array([0, 1, 2, 3, 0, 1]))
    np.testing.assert_array_equal(rows, np.stack([X[i % 4, :, i] for i in range(6)]))


CHANGES = {
    "set": None,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


def changed(index, change, values):
    """What NumPy makes of it, in place, values of places that repeat one by one."""
    out = X.copy()
    if change == "set":
        out[index] = values
    else:
        CHANGES[change].at(out, index, values)
    return out


def values_for(index, kind):
    fresh = np.random.default_rng(1).normal(size=X[index].shape)
    return np.float32(2.5) if kind == "scalar" else fresh.astype(np.float32)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=str)
def test_writing_is_numpys(index, change):
    for kind in ("scalar", "full"):
        values = values_for(index, kind)
        found = getattr(as_array(X).at[index], change)(values)
        np.testing.assert_allclose(found, changed(index, change, values), rtol=1e-5)


@pytest.mark.parametrize("index", STATIC + ARRAYS + MASKS, ids=str)
def test_writing_compiled_with_traced_arrays(index):
    values = values_for(index, "full")

    def write(x, *arrays):
        at = x.at[with_arrays(index, arrays)]
        return at.set(values), at.add(values)

    set_, added = cv.jit(write)(X, *arrays_of(index))
    np.testing.assert_array_equal(set_, changed(index, "set", values))
    np.testing.assert_allclose(added, changed(index, "add", values), rtol=1e-5)


@pytest.mark.parametrize("index", [*STATIC[::3], *ARRAYS[::4], *MASKS[:3]], ids=str)
def test_writing_over_a_batch(index):
    both, values = np.stack([X, X[::-1]]), values_for(index, "full")
    found = cv.vmap(lambda x: x.at[index].set(values))(both)
    wanted = both.copy()
    for x in wanted:
        x[index] = values
    np.testing.assert_array_equal(found, wanted)


# -- indices outside -------------------------------------------------------------------

V = as_array(np.arange(4.0))


@pytest.mark.parametrize("index", [9, -9, np.array(9), np.array([9, -9, 1])], ids=str)
def test_outside_reads_the_nearest_and_changes_nothing(index):
    wanted = np.arange(4.0)[np.clip(index, 0, 3) * (np.asarray(index) > 0)]
    np.testing.assert_array_equal(V[index], wanted)
    np.testing.assert_array_equal(cv.jit(lambda x, i: x[i])(V, index), wanted)
    inside = np.arange(4.0)
    inside[[i for i in np.ravel(index) if -4 <= i < 4]] = 7
    np.testing.assert_array_equal(V.at[index].set(7), inside)
    np.testing.assert_array_equal(cv.jit(lambda x, i: x.at[i].set(7))(V, index), inside)


@pytest.mark.parametrize("index", [9, np.array(9), np.array([9])], ids=str)
def test_modes_of_reading(index):
    def get(**how):
        known = np.ravel(V.at[index].get(**how))[0]
        traced = cv.jit(lambda x, i: x.at[i].get(**how))(V, index)
        assert np.ravel(traced)[0] == known or (
            np.isnan(known) and np.isnan(traced).all()
        )
        return known

    assert np.isnan(get(mode="fill"))
    assert get(mode="fill", fill_value=-1) == -1
    assert get(mode="fill", fill_value=0.5) == 0.5
    assert get(mode="clip") == 3
    assert get(mode="promise_in_bounds") == 3


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("int8", -128), ("uint8", 255), ("bool", True), ("float32", np.nan)],
)
def test_fill_value_of_an_element_type(dtype, fill):
    found = cnp.ones(3, dtype).at[np.array([5])].get(mode="fill")
    np.testing.assert_array_equal(found, np.array([fill], dtype))


def test_modes_of_writing():
    index = np.array([9, -9, 1])
    assert V.at[index].set(7, mode="clip").tolist() == [7, 7, 2, 7]
    assert V.at[index].set(7, mode="drop").tolist() == [0, 7, 2, 3]
    clip = cv.jit(lambda x, i: x.at[i].set(7, mode="clip"))
    assert clip(V, 9).tolist() == [0, 1, 2, 7]
    assert V.at[9].set(7, mode="clip").tolist() == [0, 1, 2, 7]


def test_negative_indices_can_be_kept_outside():
    index = np.array([-1])
    assert V.at[index].get(wrap_negative_indices=False).tolist() == [0]
    assert V.at[index].set(7, wrap_negative_indices=False).tolist() == V.tolist()


def test_nothing_can_be_read_where_there_is_nothing():
    empty = as_array(np.zeros(0, np.float32))
    assert empty[np.zeros(0, int)].shape == (0,)
    assert empty.at[np.array([0])].set(1).shape == (0,)
    assert np.isnan(empty.at[np.array([0])].get(mode="fill")[0])


# -- masks -----------------------------------------------------------------------------


def test_traced_masks_choose():
    mask = np.array([True, False, True, False])
    given = np.array([5.0, 6, 7, 8], np.float32)

    @cv.jit
    def change(x, m):
        return (
            x.at[m].set(9),
            x.at[m].set(given),
            x.at[m].add(given[:1]),
            x.at[m].divide(2),
            x.at[m].power(2),
            x.at[m].apply(cnp.exp),
        )

    found = [out.tolist() for out in change(V, mask)]
    assert found[:5] == [
        [9, 1, 9, 3],
        [5, 1, 7, 3],
        [5, 1, 7, 3],
        [0, 1, 1, 3],
        [0, 1, 4, 3],
    ]
    np.testing.assert_allclose(found[5], [1, 1, np.exp(2), 3], rtol=1e-6)


def test_traced_masks_of_some_axes_choose():
    rows = cv.jit(lambda x, m: x.at[m].set(np.arange(6.0, dtype=np.float32)))
    wanted = X.copy()
    wanted[M1] = np.arange(6)
    np.testing.assert_array_equal(rows(X, M1), wanted)
    columns = cv.jit(lambda x, m: x.at[:, m].add(1))
    wanted = X.copy()
    wanted[:, M2[0]] += 1
    np.testing.assert_allclose(columns(X, M2[0]), wanted, rtol=1e-6)
    last = cv.jit(lambda x, m: x.at[..., m].multiply(2))
    wanted = X.copy()
    wanted[..., M3[0, 0]] *= 2
    np.testing.assert_array_equal(last(X, M3[0, 0]), wanted)


def test_values_for_the_selected_need_a_known_mask():
    mask = np.array([True, False, True, False])
    assert V.at[mask].set(cnp.array([7.0, 8.0])).tolist() == [7, 1, 8, 3]


# -- what values become ----------------------------------------------------------------


def test_values_take_the_element_type_of_the_array():
    x = cnp.arange(3)
    assert x.at[0].set(True).dtype == cnp.int32
    with pytest.warns(FutureWarning, match="safely cast values of f32 to the i32"):
        assert x.at[0].set(2.7).tolist() == [2, 1, 2]
    assert cnp.zeros(2, "bfloat16").at[0].add(1).dtype == cnp.bfloat16
    assert cnp.zeros(2, "complex64").at[1].set(2j).tolist() == [0, 2j]
    assert x.at[0].divide(2).dtype == cnp.float32
    assert x.at[:2].set([7, 8]).tolist() == [7, 8, 2]


def test_repeated_indices_all_count():
    indices = np.array([1, 1, 3])
    assert V.at[indices].add(1).tolist() == [0, 3, 2, 4]
    assert V.at[indices].multiply(2).tolist() == [0, 4, 2, 6]
    assert V.at[indices].divide(2).tolist() == [0, 0.25, 2, 1.5]
    assert V.at[indices].min(np.array([0.5, -1, 9], "f")).tolist() == [0, -1, 2, 3]
    assert V.at[indices].apply(lambda v: v + 1).tolist() == [0, 3, 2, 4]


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "bfloat16", "float8_e4m3fn", "complex64"]
)
def test_every_element_type_is_read_and_set(dtype):
    x = cnp.asarray(np.array([1, 0, 1]), dtype)
    for index in (1, np.s_[::2], np.array([0, 2]), np.array([True, False, True])):
        wanted = np.array([1, 0, 1])
        np.testing.assert_array_equal(x[index].astype(cnp.complex64), wanted[index])
        done = x.at[index].set(cnp.asarray(0, dtype))
        wanted[index] = 0
        assert done.dtype == x.dtype
        np.testing.assert_array_equal(done.astype(cnp.complex64), wanted)


def test_keys_are_read_and_set():
    data = np.arange(8, dtype=np.uint32).reshape(4, 2)
    keys = wrap_key_data(data)
    for index in (
        1,
        np.s_[::2],
        np.array([0, 2]),
        np.array([True, False, False, True]),
    ):
        assert keys[index].dtype == keys.dtype
        np.testing.assert_array_equal(key_data(keys[index]), data[index])
        moved = keys.at[index].set(keys[3])
        wanted = data.copy()
        wanted[index] = data[3]
        np.testing.assert_array_equal(key_data(moved), wanted)


# -- derivatives -----------------------------------------------------------------------


def test_derivatives_of_reading():
    w = cv.grad(lambda x: (x[np.array([0, 2, 2])] * np.array([1, 10, 100], "f")).sum())(
        V
    )
    assert w.tolist() == [1, 0, 110, 0]
    w = cv.grad(lambda x: x[1] * 3 + x[-1] + (x[::2] * 5).sum())(V)
    assert w.tolist() == [5, 3, 5, 1]
    w = cv.grad(lambda x: x[x > 1].sum())(V)
    assert w.tolist() == [0, 0, 1, 1]
    w = cv.jit(cv.grad(lambda x, i: x[i] * 2, argnums=0))(V, 9)
    assert w.tolist() == [0, 0, 0, 2]  # the nearest element was read


def test_derivatives_of_writing():
    def f(x, v):
        return (x.at[np.array([0, 2])].set(v) * np.array([1, 10, 100, 1000], "f")).sum()

    dx, dv = cv.grad(f, argnums=(0, 1))(V, cnp.array([5.0, 6.0]))
    assert dx.tolist() == [0, 10, 0, 1000]
    assert dv.tolist() == [1, 100]
    dx, dv = cv.grad(lambda x, v: (x.at[1:3].multiply(v) ** 2).sum(), (0, 1))(V, 3.0)
    assert dx.tolist() == [0, 18, 36, 6]
    assert float(dv) == pytest.approx(2 * 3 * (1 + 4))
    dx, dv = cv.grad(lambda x, v: x.at[9].set(v).sum(), (0, 1))(V, 3.0)
    assert (dx.tolist(), float(dv)) == ([1, 1, 1, 1], 0)


def test_derivative_is_finite_where_a_mask_leaves_out_a_pole():
    mask = np.array([False, True, True, True])
    slope = cv.grad(lambda x, m: x.at[m].apply(cnp.log).sum())(V, mask)
    assert np.isfinite(slope).all()
    slope = cv.grad(lambda x: V.at[mask].divide(x).sum())(V)
    assert np.isfinite(slope).all()


# -- programs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (1, ["slice"]),
        (np.s_[1:3], ["slice"]),
        (np.s_[..., 0], ["slice"]),
        (np.s_[1, 2], ["slice"]),
        (np.s_[None], ["reshape"]),
        (np.s_[...], []),
    ],
    ids=str,
)
def test_static_index_is_one_operation(index, names):
    jaxpr = cv.make_jaxpr(lambda x: x[index])(X)
    assert [e.primitive.name for e in jaxpr.eqns] == names


def test_large_arrays_are_read_without_an_operation_for_each_index():
    x = cnp.arange(100_000)
    before = len(Slice.instances)
    assert sum(int(x[i]) for i in range(0, 100_000, 1000)) == 4_950_000
    assert [int(x[i : i + 2].sum()) for i in range(3)] == [1, 3, 5]
    assert len(Slice.instances) <= before + 1


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (
            lambda: V[[0, 1]],
            r"f32\[4\] cannot be indexed with \[0, 1\] .*a list is not an index",
        ),
        (lambda: V[1.0], r"cannot be indexed with 1.0 at position 0.*not of float"),
        (lambda: V["a"], r"cannot be indexed with 'a'"),
        (lambda: V[V], r"an array of dtype float32 .*use .astype\(int\)"),
        (
            lambda: V[0, 0],
            r"too many indices: f32\[4\] has 1 axis, but the index has 2",
        ),
        (
            lambda: V[..., ...],
            r"may contain `...` once, but it is at positions \[0, 1\]",
        ),
        (lambda: V[1:3:0], r"the slice along axis 0 of f32\[4\] has the step 0"),
        (lambda: V[1.0:2], r"needs integers or None, but got slice\(1.0, 2, None\)"),
        (
            lambda: V[np.array([True])],
            r"has the shape \(1,\), but the axes it stands for",
        ),
        (lambda: cnp.zeros((0,))[0], r"axis 0 of f32\[0\] has no element 0"),
        (lambda: cnp.zeros((0,))[np.array([0])], "no element to read"),
        (
            lambda: cnp.ones((2, 2))[np.array([0, 1]), np.array([0, 1, 1])],
            r"must broadcast together, but they are i32\[2\], i32\[3\]",
        ),
        (lambda: V.at[[0]].set(1), "a list is not an index"),
    ],
)
def test_words_of_what_is_no_index(run, words):
    with pytest.raises(cv.errors.InvalidIndex, match=words) as info:
        run()
    assert isinstance(info.value, IndexError | TypeError)


def test_words_of_traced_bounds_and_masks():
    with pytest.raises(IndexError, match=r"traced bound .*lax.dynamic_slice_in_dim"):
        cv.jit(lambda x, i: x[i:])(V, 1)
    with pytest.raises(
        cv.errors.NonConcreteBooleanIndexError,
        match=r"where\(mask, new, x\).*size=\.\.\.",
    ):
        cv.jit(lambda x: x[x > 1])(V)
    with pytest.raises(
        IndexError, match=r"which value goes where.*one for each element"
    ):
        cv.jit(lambda x: x.at[x > 1].set(np.ones(2, "f")))(V)


def test_words_of_values_that_do_not_fit():
    with pytest.raises(
        ValueError, match=r"shape \(\), to which values of type f32\[2\]"
    ):
        V.at[0].set(cnp.ones(2))
    with pytest.raises(ValueError, match="there is no gather or scatter mode 'far'"):
        V.at[0].get(mode="far")
    with pytest.raises(TypeError, match=r"take the keywords .*but got \('modes',\)"):
        V.at[0].set(1, modes="clip")
    with pytest.raises(TypeError, match="needs an array or a number, but got 'a'"):
        V.at[0].set("a")


def test_results_can_be_placed():
    device = cv.devices()[0]
    for x in (
        V.at[0].set(1, out_sharding=device),
        V.at[0].get(out_sharding=device),
        cnp.reshape(V, (2, 2), out_sharding=device),
        cnp.dot(V, V, out_sharding=device),
        cnp.einsum("i->", V, out_sharding=device),
    ):
        assert x.committed
        assert x.devices() == {device}


def test_indices_print_what_they_are():
    assert repr(V.at[1]) == f"IndexUpdate({V!r}, 1)"
    assert repr(V.at) == f"At({V!r})"


def calls(run):
    """How many Python functions are called, once everything is known."""
    run()
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    run()
    sys.setprofile(None)
    return count - 1  # ``run`` itself


@pytest.mark.parametrize(
    ("run", "budget"),
    [
        (lambda: V[1], 8),
        (lambda: V[1:3], 20),
        (lambda: V[..., 0], 18),
        (lambda: V.at[1].set(2.0), 55),
    ],
)
def test_budget_of_python_calls(run, budget):
    assert calls(run) <= budget


def test_the_sharding_of_a_type_without_a_mesh_asks_for_nothing():
    nothing = cv.typeof(V).sharding
    for x in (
        V.at[0].get(out_sharding=nothing),
        cnp.zeros(3, out_sharding=nothing),
        cnp.ones_like(V, device=nothing),
        cnp.reshape(V, (2, 2), out_sharding=nothing),
        cv.lax.full((3,), 1.0, sharding=nothing),
    ):
        assert len(x.devices()) == 1
