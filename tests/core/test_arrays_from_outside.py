"""An array is what its values are, wherever it comes from.

The law: whatever made an array, functions that look at its bytes or at its dtype give
what they give for the same array made here.
"""

import array
import copy
import operator
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.core import dtypes
from covector.core.convert import as_array, from_numpy, type_of

WHOLE = [3, 1, 200, 0, 2, 200, 1, 7]
VALUES = {
    "bool": [n % 2 for n in WHOLE],
    "uint8": WHOLE,
    "uint32": [3, 1, 2**32 - 1, 0, 2**24 + 1, 2**32 - 1, 2**24, 7],
    "int32": [3, 1, -(2**31), 0, 2**24 + 1, -(2**31), 2**24, 7],
    "float32": [3, 1, np.inf, -0.0, 2**24, np.nan, 2.5, -7],
    "complex64": [3 + 1j, 3 - 1j, 0, -2j, 1, 1 + 1e-7j, 3 + 1j, 7],
    "bfloat16": [3, 1, np.inf, -0.0, 0.5, np.nan, 2.5, -7],
    "int64": [3, 1, -(2**63), 0, 2**53 + 1, -(2**63), 2**53, 7],
    "uint64": [3, 1, 2**64 - 1, 0, 2**53 + 1, 2**64 - 1, 2**53, 7],
    "float64": [3, 1, np.inf, -0.0, 2**53, np.nan, 2.5, -7],
}
WIDE = ("int64", "uint64", "float64")

every_dtype = pytest.mark.parametrize("dtype", VALUES)


def values(dtype: str) -> np.ndarray:
    """The values, made here."""
    return np.array(VALUES[dtype], dtypes.as_dtype(dtype))


class Labelled(np.ndarray):
    """A subclass, as libraries of units and labels have."""


class Tensor:
    """What other libraries have: nothing but DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **_: Any) -> Any:
        if dtypes.is_of_numpy(self.values.dtype):
            return self.values.__dlpack__()
        return from_numpy(self.values).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class Column:
    """What tables have: ``__array__``, which gives whatever it likes."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values


def with_dtype_of(change: Callable[[np.dtype], np.dtype]) -> Any:
    return lambda x, _: x.astype(change(x.dtype))


def reloaded(x: np.ndarray, _: Any) -> np.ndarray:
    return pickle.loads(pickle.dumps(x))


def reloaded_beside(x: np.ndarray, _: Any) -> np.ndarray:
    kept: list[Any] = []
    text = pickle.dumps(x, protocol=5, buffer_callback=kept.append)
    return pickle.loads(text, buffers=[bytearray(b.raw()) for b in kept])


def mapped(x: np.ndarray, folder: Any) -> np.ndarray:
    x.tofile(folder / "values")
    return np.memmap(folder / "values", x.dtype, "r")


def unaligned(x: np.ndarray, _: Any) -> np.ndarray:
    return np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1)


def field(x: np.ndarray, _: Any) -> np.ndarray:
    table = np.zeros(len(x), [("at", "i1"), ("value", x.dtype)])
    table["value"] = x
    return table["value"]


def field_of_records(x: np.ndarray, _: Any) -> np.ndarray:
    return reloaded(field(x, None).base.view(np.recarray), None).value


def read_only(x: np.ndarray, _: Any) -> np.ndarray:
    x.flags.writeable = False
    return x


MAKERS: dict[str, Callable[[np.ndarray, Any], Any]] = {
    "pickled": reloaded,
    "pickled with its memory beside": reloaded_beside,
    "with a copy of the dtype": with_dtype_of(copy.copy),
    "in native order, which was asked for": with_dtype_of(
        lambda d: d.newbyteorder("=")
    ),
    "in the other order of bytes": with_dtype_of(lambda d: d.newbyteorder("S")),
    "with gaps": lambda x, _: np.repeat(x, 3)[::3],
    "backwards": lambda x, _: np.ascontiguousarray(x[::-1])[::-1],
    "read-only": read_only,
    "memory-mapped": mapped,
    "unaligned": unaligned,
    "of a subclass": lambda x, _: x.view(Labelled),
    "a column of a structured array": field,
    "a column of a pickled record array": field_of_records,
    "by DLPack": lambda x, _: Tensor(x),
    "by __array__": lambda x, _: Column(reloaded(x, None)),
    "ours, pickled": lambda x, _: reloaded(from_numpy(x), None),
    "ours, pickled with its memory beside": lambda x, _: reloaded_beside(
        from_numpy(x), None
    ),
    "ours, copied deeply": lambda x, _: copy.deepcopy(from_numpy(x)),
}


def largest_of_windows(x: Any) -> Any:
    x = cnp.asarray(x)
    if dtypes.is_complex(x.dtype):
        x = x.imag
    least = True if x.dtype == bool else lax.full((), -np.inf, x.dtype)
    if dtypes.is_integer(x.dtype):
        least = cnp.asarray(cnp.iinfo(x.dtype).min, x.dtype)
    step, least = (lax.bitwise_and, least) if x.dtype == bool else (lax.max, least)
    return lax.reduce_window(x, least, step, (3,), (1,), "VALID")


def gradient(x: Any) -> Any:
    if not cnp.issubdtype(type_of(x).dtype, cnp.floating):
        return None
    return cv.grad(lambda w: cnp.nansum(w * cnp.where(cnp.isfinite(x), x, 0)))(
        cnp.ones(8, cnp.asarray(x).dtype)
    )


def as_index(x: Any) -> Any:
    if not dtypes.is_integer(type_of(x).dtype):
        return None
    return cnp.arange(100).at[x].get(mode="clip"), cnp.arange(9)[x, None][:2]


def as_shape(x: Any) -> Any:
    if not dtypes.is_integer(type_of(x).dtype):
        return None
    return cnp.zeros(tuple(cnp.asarray(x)[:2])), cnp.ones(cnp.asarray(x)[1])


sorted_by_program = cv.jit(cnp.sort)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "type": lambda x: str(type_of(x)),
    "sort": cnp.sort,
    "argsort": cnp.argsort,
    "partition": lambda x: cnp.partition(x, 3),
    "unique": lambda x: cnp.unique(x, return_index=True),
    "searchsorted": lambda x: cnp.searchsorted(cnp.sort(x), x),
    "intersect1d": lambda x: cnp.intersect1d(x, x),
    "item": lambda x: [cnp.asarray(x).item(i) for i in range(8)],
    "tolist": lambda x: cnp.asarray(x).tolist(),
    "tobytes": lambda x: cnp.asarray(x).tobytes(),
    "max of windows": largest_of_windows,
    "pickle": lambda x: pickle.loads(pickle.dumps(cnp.asarray(x))),
    "as argument of a program": sorted_by_program,
    "in a closure of a program": lambda x: cv.jit(lambda: cnp.where(True, x, x))(),
    "gradient": gradient,
    "index": as_index,
    "shape": as_shape,
    "values of an update": lambda x: cnp.zeros(9, type_of(x).dtype).at[1:].set(x),
    "in a list": lambda x: cnp.array([x, x]),
    "stacked": lambda x: cnp.stack([x, x]),
}


def seen(x: Any) -> Any:
    """What can be compared: dtypes, shapes and bytes."""
    if isinstance(x, cv.Array):
        assert np.asarray(x.host()).dtype is x.type.storage
        return str(x.type), np.asarray(x).tobytes()
    return repr(x)  # NaN and -0.0 are told apart


@every_dtype
@pytest.mark.parametrize("maker", MAKERS)
def test_an_array_from_outside_is_as_one_made_here(maker, dtype, tmp_path):
    with cv.enable_x64(dtype in WIDE):
        made = MAKERS[maker](values(dtype), tmp_path)
        here = from_numpy(values(dtype))
        differ = {
            name: (got, want)
            for name, f in FUNCTIONS.items()
            if (got := cv.tree.map(seen, f(made)))
            != (want := cv.tree.map(seen, f(here)))
        }
    assert not differ


@pytest.mark.parametrize("maker", MAKERS)
def test_64_bits_from_outside_are_narrowed_to_32(maker, tmp_path):
    if maker.startswith("ours"):
        return
    made = MAKERS[maker](values("float64"), tmp_path)
    assert seen(as_array(made)) == seen(from_numpy(values("float64")))
    assert type_of(as_array(made)).dtype is dtypes.float32


# -- what is refused, in words ---------------------------------------------------------


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
MASKED_INDICES = np.ma.array([0, 1], mask=[False, True])


@pytest.mark.parametrize(
    "use",
    [
        cnp.asarray,
        cnp.sort,
        cv.jit(cnp.sin),
        lambda x: cnp.array([x, x]),
        lambda x: cnp.ones(2) + x,
        cnp.ones(2).at[:].set,
        lambda x: cnp.asarray(Column(x)),
        lambda x: cv.pure_callback(lambda: x, cv.ShapeDtypeStruct((2,), "float32")),
        lambda x: cv.device_put({"w": x}),
        lambda x: cv.eval_shape(cnp.sin, x),
        cnp.shape,
    ],
)
def test_a_masked_array_is_refused_and_not_taken_without_its_mask(use):
    words = r"masked array of float64 and shape \(2,\) .* x.filled\(0\)"
    with pytest.raises(errors.DTypeError, match=words):
        use(MASKED)


@pytest.mark.parametrize(
    "use",
    [
        lambda i: cnp.arange(3)[i],
        lambda i: cnp.arange(3)[i == 1],
        lambda i: cnp.ones((3, 3))[:, i],
        lambda i: cnp.arange(3).at[i].get(),
        lambda i: cnp.repeat(cnp.arange(2), i),
        lambda i: cnp.delete(cnp.arange(3), i),
        lambda i: cnp.insert(cnp.arange(3), i, 7),
        lambda i: cnp.roll(cnp.ones((2, 2)), i, (0, 1)),
        lambda i: cnp.pad(cnp.arange(3), i),
        lambda i: cnp.add.reduceat(cnp.arange(3), i),
    ],
)
def test_masked_indices_and_counts_are_refused_too(use):
    with pytest.raises(errors.DTypeError, match="masked array of"):
        use(MASKED_INDICES)


def test_an_element_type_has_no_order_of_bytes():
    with pytest.raises(errors.DTypeError, match="name it 'int32'"):
        cnp.zeros(3, ">i4")


def test_structured_and_text_arrays_are_refused_with_a_way_out():
    table = np.zeros(2, [("a", "i4")])
    with pytest.raises(errors.DTypeError, match="dict of its fields"):
        cnp.asarray(table)
    with pytest.raises(errors.DTypeError, match="Number the strings"):
        cv.jit(cnp.sin)(np.array(["a"]))


# -- what is not an array, and has the numbers of one ----------------------------------


BUFFERS = {
    "array.array": lambda: array.array("i", [3, 1, 2]),
    "memoryview": lambda: memoryview(np.array([3, 1, 2], "int32")),
    "range": lambda: range(3, 0, -1),
    "matrix": lambda: np.array([[3, 1, 2]]).view(np.matrix),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_asarray_reads_what_has_a_buffer(name):
    given = BUFFERS[name]()
    want = np.asarray(given)
    got = cnp.asarray(given)
    assert (got.shape, got.dtype) == (want.shape, dtypes.int32)
    assert got.tolist() == want.tolist()
    assert cnp.array(given, "float32").tolist() == want.tolist()


def test_bytes_are_no_array_since_they_may_be_a_text():
    with pytest.raises(errors.DTypeError, match="got b'ab' of type bytes"):
        cnp.asarray(b"ab")


def test_columns_of_pandas_are_arrays():
    pandas = pytest.importorskip("pandas")
    column = pandas.DataFrame({"a": [3, 1, 2**24 + 1], "b": [0.5, 1, 2]})["a"]
    assert cnp.sort(column).tolist() == [1, 3, 2**24 + 1]
    with pytest.raises(errors.DTypeError, match="object"):
        cnp.asarray(pandas.Series(["x", 1]))


def test_columns_of_arrow_are_arrays():
    arrow = pytest.importorskip("pyarrow")
    assert cnp.sort(arrow.array([3, 1, 2**24 + 1])).tolist() == [1, 3, 2**24 + 1]


# -- memory belongs to one -------------------------------------------------------------


@every_dtype
def test_who_writes_to_what_an_array_was_made_of_does_not_change_it(dtype):
    with cv.enable_x64(dtype in WIDE):
        given = values(dtype)
        made = [
            cnp.asarray(given),
            cnp.array(given),
            cnp.asarray(Tensor(given)),
            cnp.asarray(Column(given)),
            cv.device_put(given),
            cv.jit(lambda x: x)(given),
            cnp.from_dlpack(Tensor(given), copy=True),
        ]
        before = [seen(x) for x in made]
        given[:] = 1
    assert [seen(x) for x in made] == before


def test_an_unpickled_array_has_memory_of_its_own():
    kept: list[Any] = []
    text = pickle.dumps(cnp.arange(4.0), protocol=5, buffer_callback=kept.append)
    assert all(buffer.raw().readonly for buffer in kept)
    memory = [bytearray(buffer.raw()) for buffer in kept]
    x = pickle.loads(text, buffers=memory)
    for part in memory:
        part[:] = bytes(len(part))
    assert x.tolist() == [0, 1, 2, 3]


class Unversioned(Tensor):
    """An array that gives the capsules of before DLPack 1.0."""


def given_to(x: Any, transform: Any = lambda f: f) -> np.ndarray:
    """What a callback makes of its operand with NumPy."""
    kept: list[np.ndarray] = []

    def keep(v: Any) -> None:
        kept.append(np.asarray(v))

    transform(lambda x: cv.debug.callback(keep, x))(x)
    cv.effects_barrier()
    return kept[0]


VIEWS: dict[str, Callable[[Any], np.ndarray]] = {
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "__array__": lambda x: x.__array__(),
    "array without a copy": lambda x: np.array(x, copy=None, ndmin=2),
    "device_get": cv.device_get,
    "a tree": lambda x: cv.device_get({"x": [x]})["x"][0],
    "dlpack": np.from_dlpack,
    "dlpack of old": lambda x: np.from_dlpack(Unversioned(x)),
    "__buffer__": lambda x: np.asarray(x.__buffer__(0)),
    "shard": lambda x: np.asarray(x.addressable_shards[0].data),
    "callback": given_to,
    "callback of a program": lambda x: given_to(x, cv.jit),
}


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_an_array_cannot_be_made_writable(view, size):
    for x in (
        cnp.arange(size, dtype="float32"),
        cv.jit(cnp.arange, static_argnums=0)(size),
    ):
        seen_by_numpy = VIEWS[view](x)
        first = x[0].item()
        part: Any = seen_by_numpy
        while isinstance(part, np.ndarray):
            with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
                part[...] = 9
            with pytest.raises(ValueError, match="WRITEABLE"):
                part.flags.writeable = True
            part = part.base
        assert x[0].item() == first


@every_dtype
def test_a_copy_for_numpy_may_be_written_to(dtype):
    with cv.enable_x64(dtype in WIDE):
        x = from_numpy(values(dtype))
        before = seen(x)
        for copied in (np.array(x), np.asarray(x).copy(), np.asarray(x, "complex128")):
            copied[:] = 1
        assert seen(x) == before


def test_a_buffer_is_read_only_and_of_numbers_that_python_has():
    x = cnp.arange(3)
    assert x.__buffer__(0).readonly
    if sys.version_info >= (3, 12):
        assert memoryview(x).tolist() == [0, 1, 2]
    assert bytes(x.__buffer__(0)) == x.tobytes()
    with pytest.raises(BufferError, match="cannot be written to"):
        x.__buffer__(1)
    with pytest.raises(
        BufferError, match=r"no elements of bf16 .*\(x\).view\('uint16'\)"
    ):
        cnp.ones(2, "bfloat16").__buffer__(0)


# -- what is gone says so --------------------------------------------------------------


GONE: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1,
    "index": operator.itemgetter(0),
    "update": lambda x: x.at[0].set(1),
    "function": cnp.sort,
    "function of NumPy": lambda x: np.add(x, 1),
    "asarray": np.asarray,
    "list": lambda x: x.tolist(),
    "float": lambda x: float(x[0]),
    "bool": lambda x: bool(x.any()),
    "iteration": list,
    "jit": cv.jit(lambda x: x),
    "grad": cv.grad(lambda x: x.sum()),
    "pickle": pickle.dumps,
    "dlpack": lambda x: x.__dlpack__(),
    "dlpack 1.0": lambda x: x.__dlpack__(max_version=(1, 0)),
    "buffer": lambda x: x.__buffer__(0),
    "copy": lambda x: x.copy(),
    "deepcopy": copy.deepcopy,
    "device_get": cv.device_get,
    "device_put": cv.device_put,
    "device_put there": lambda x: cv.device_put(x, cv.devices()[0]),
    "to_device": lambda x: x.to_device(None),
    "wait": lambda x: x.block_until_ready(),
    "is_ready": lambda x: x.is_ready(),
    "shards": lambda x: x.addressable_shards,
    "callback": lambda x: cv.debug.callback(np.asarray, x),
    "in a list": lambda x: cnp.array([x]),
}


def deleted() -> cv.Array:
    x = cnp.arange(3.0)
    x.delete()
    return x


def donated() -> cv.Array:
    x = cv.jit(lambda n: cnp.arange(3.0) + n)(0)
    cv.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x


def sharing_a_donated_buffer() -> cv.Array:
    x = cv.jit(lambda n: cnp.arange(3.0) + n)(0)
    y = cv.device_put(x, cv.devices()[0])
    cv.jit(lambda x: x + 1, donate_argnums=0)(x)
    return y


@pytest.mark.parametrize("gone", [deleted, donated, sharing_a_donated_buffer])
@pytest.mark.parametrize("use", GONE)
def test_an_array_that_is_gone_says_so_wherever_it_is_used(use, gone):
    x = gone()
    assert x.is_deleted()
    with pytest.raises(errors.DeletedArrayError, match=r"(?i)deleted"):
        GONE[use](x)


@pytest.mark.parametrize("gone", [deleted, donated])
def test_an_array_that_is_gone_can_be_printed_and_still_has_its_type(gone):
    x = gone()
    assert repr(x) == str(x) == f"{x}" == "Array(deleted, f32[3])"
    assert (x.shape, x.dtype, len(x)) == ((3,), dtypes.float32, 3)
    x.delete()


WIDE_CASTS = {
    "asarray": lambda x: cnp.asarray(x, "float32"),
    "in a list": lambda x: cnp.asarray([x], "float32")[0],
    "scalar type": cnp.float32,
    "astype": lambda x: cnp.astype(x, "float32"),
    "full": lambda x: cnp.full((1,), x, "float32")[0],
    "full_like": lambda x: cnp.full_like(cnp.ones(1), x)[0],
    "convert_element_type": lambda x: cv.lax.convert_element_type(x, "float32"),
}


@pytest.mark.parametrize("how", WIDE_CASTS)
def test_a_number_beyond_32_bits_keeps_its_value_where_it_is_cast_to_a_float(how):
    for x in (np.int64(2**32), np.array(2**32), np.uint64(2**63)):
        assert WIDE_CASTS[how](x).tolist() == float(x)


def test_whole_numbers_in_float64_keep_their_digits_as_integers():
    x = np.array([16777217.0])
    assert cnp.asarray(x, "int32").tolist() == [16777217]
    assert cv.jit(lambda: cnp.asarray(x, "int32"))().tolist() == [16777217]
    assert cnp.asarray(np.int64(2**32), bool).tolist() is True
    assert cnp.asarray(np.int64(5), int).dtype == np.int32


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "uint8"])
@pytest.mark.parametrize("length", [3, 5000])
def test_no_base_of_what_numpy_is_given_can_be_written_to(dtype, length):
    sources = [cnp.ones(length, dtype), cnp.asarray(1).astype(dtype), cv.device_put(2)]
    for x in sources:
        view = np.asarray(x)
        assert np.shares_memory(view, np.asarray(x))
        while isinstance(view, np.ndarray | memoryview):
            if isinstance(view, np.ndarray):
                with pytest.raises(ValueError, match="WRITEABLE"):
                    view.flags.writeable = True
                view = view.base
            else:
                assert view.readonly
                view = view.obj
        assert not hasattr(view, "__array_interface__")
