"""What arrays answer by name and by operator, concrete and traced."""

import copy
import inspect
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core.methods import Methods
from covector.errors import (
    ArgumentError,
    AxisError,
    DeletedArrayError,
    DTypeError,
    ImmutableArrayError,
    TypeMismatch,
)

X = np.array([[3.0, 1.0, 2.0], [0.0, -1.0, 5.0]], np.float32)

#: an expression of an array, the same for NumPy
EXPRESSIONS = [
    lambda x: x.sum(),
    lambda x: x.sum(0, keepdims=True),
    lambda x: x.prod(axis=1),
    lambda x: x.max(1),
    lambda x: x.min(),
    lambda x: x.mean(0),
    lambda x: x.var(1, ddof=1),
    lambda x: x.std(),
    lambda x: x.all(0),
    lambda x: x.any(),
    lambda x: x.argmax(1),
    lambda x: x.argmin(),
    lambda x: x.cumsum(1),
    lambda x: x.cumprod(),
    lambda x: x.trace(1),
    lambda x: x.argsort(1),
    lambda x: x.searchsorted(x[0]) if x.ndim == 1 else x.ravel()[:1].searchsorted(1.0),
    lambda x: x.reshape(3, 2),
    lambda x: x.reshape((3, -1)),
    lambda x: x.reshape(-1, order="F"),
    lambda x: x.transpose(),
    lambda x: x.transpose(1, 0),
    lambda x: x.transpose((0, 1)),
    lambda x: x.ravel("F"),
    lambda x: x.flatten(),
    lambda x: x[None].squeeze(0),
    lambda x: x.swapaxes(0, 1),
    lambda x: x.diagonal(1),
    lambda x: x.repeat(2, 1),
    lambda x: x.take(np.array([1, 0]), 1),
    lambda x: x.clip(0, 2),
    lambda x: x.round(0),
    lambda x: x.conj(),
    lambda x: x.conjugate(),
    lambda x: x.dot(x.T),
    lambda x: x.astype("int32"),
    lambda x: x.view("int32"),
    lambda x: x.byteswap().view("int32"),
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: x.real,
    lambda x: x.imag,
    lambda x: x.copy(),
    lambda x: x.astype("int32").choose([x * 0, x, x + 1, x, x, x], mode="clip"),
    np.shape,
    lambda x: x.size,
    lambda x: x.ndim,
    lambda x: x.itemsize,
    lambda x: x.nbytes,
    len,
    lambda x: x + 1,
    lambda x: 1 + x,
    lambda x: x - x[0],
    lambda x: 2 - x,
    lambda x: x * 2.5,
    lambda x: 3 / (x + 7),
    lambda x: x / 4,
    lambda x: x // 2,
    lambda x: 7 // (x + 9),
    lambda x: x % 2,
    lambda x: 7 % (x + 9),
    lambda x: divmod(x, 2)[0],
    lambda x: divmod(7, x + 9)[1],
    lambda x: x**2,
    lambda x: 2**x,
    lambda x: abs(x) ** 0.5,
    lambda x: x @ x.T,
    lambda x: -x,
    lambda x: +x,
    abs,
    lambda x: (x > 0) & (x < 3),
    lambda x: (x > 0) | (x < -1),
    lambda x: (x > 0) ^ (x < 3),
    lambda x: ~(x > 0),
    lambda x: x == 1,
    lambda x: x != 1,
    lambda x: x >= 1,
    lambda x: x <= 1,
    lambda x: x.astype("int32") << 2,
    lambda x: x.astype("int32") >> 1,
    lambda x: 8 >> (x.astype("int32") & 3),
    lambda x: np.ones(3, np.float32) * x,
    lambda x: np.float32(2) - x,
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_members_and_operators_are_numpys(expression):
    got, wanted = expression(cnp.asarray(X)), expression(X)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-6)
    assert np.shape(got) == np.shape(wanted)


def test_members_and_operators_of_traced_arrays_are_those_of_concrete_ones():
    def everything(x):
        return [expression(x) for expression in EXPRESSIONS]

    got, wanted = cv.jit(everything)(X), everything(cnp.asarray(X))
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-4, atol=1e-6)


def test_members_with_results_of_unknown_length():
    x = cnp.asarray(X)
    assert [i.tolist() for i in x.nonzero()] == [i.tolist() for i in X.nonzero()]
    assert x.compress(np.array([True, False]), 0).tolist() == X[:1].tolist()
    assert x.ptp() == 6
    assert x.sort(1).tolist() == np.sort(X, 1).tolist()
    assert sorted(x.argpartition(1, 1)[:, :1].ravel().tolist()) == [1, 1]
    assert x.flat[4] == -1
    assert list(x.flat) == X.ravel().tolist()


def test_updates_give_a_changed_copy():
    x = cnp.asarray(X)
    assert x.at[0].set(7.0).tolist() == [[7, 7, 7], [0, -1, 5]]
    assert x.at[0, 1].add(1.0)[0, 1] == 2
    np.testing.assert_array_equal(x, X)


def test_iteration_goes_along_the_first_axis():
    x = cnp.asarray(X)
    assert [row.tolist() for row in x] == X.tolist()
    assert [row.tolist() for row in reversed(x)] == X[::-1].tolist()
    total, _ = cv.jit(lambda x: sum(row.sum() for row in x))(X), None
    assert float(total) == 10
    assert 5.0 in x
    assert 6.0 not in x


def test_one_element_becomes_a_python_number():
    assert float(cnp.asarray(2.5)) == 2.5
    assert int(cnp.asarray(2.5)) == 2
    assert complex(cnp.asarray(2j)) == 2j
    assert bool(cnp.asarray(0.0)) is False
    assert list(range(5))[cnp.asarray(2)] == 2
    assert cnp.asarray(X).item(1, 2) == 5
    assert cnp.asarray(X).item(3) == 0
    assert f"{cnp.asarray(1.0):.2f}" == "1.00"
    assert isinstance(cnp.asarray(1.5, ml_dtypes.bfloat16).item(), float)
    assert isinstance(cnp.asarray(3, "int4").item(), int)
    assert cnp.asarray([1.5, 2], "float8_e5m2").tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("x", "want"),
    [
        (2.5, 2),
        ([2.5, -3.5], [2, -4]),
        (np.float16(1.7), 2),
        (np.int8(-3), -3),
        (1e20, 2**31 - 1),
        (np.nan, 0),
    ],
)
def test_round_without_digits_gives_integers_as_python_does(x, want):
    rounded = round(cnp.asarray(x))
    assert (rounded.dtype, rounded.weak_type) == (np.int32, False)
    assert rounded.tolist() == want
    assert round(cnp.asarray(x), 0).dtype == cnp.asarray(x).dtype


def test_rounding_and_division_by_builtin_functions():
    assert round(cnp.asarray(2.567), 1) == cnp.round(2.567, 1)
    quotient, rest = divmod(cnp.asarray(7), 2)
    assert (int(quotient), int(rest)) == (3, 1)


def test_arrays_are_pickled_and_copied():
    x = cnp.asarray(X)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.clone()):
        assert y.type == x.type
        np.testing.assert_array_equal(y, X)
    keyed = cnp.asarray([1.5], ml_dtypes.bfloat16)
    assert pickle.loads(pickle.dumps(keyed)).type == keyed.type


def test_an_array_knows_where_it_is():
    x = cnp.asarray(X)
    assert x.platform() == "cpu"
    assert x.devices() == {x.device}
    assert not x.committed
    y = x.to_device(cv.devices()[0])
    assert y.committed
    np.testing.assert_array_equal(y, X)
    (shard,) = x.addressable_shards
    assert (shard.device, shard.replica_id) == (x.device, 0)
    np.testing.assert_array_equal(X[shard.index], shard.data)
    assert x.global_shards == x.addressable_shards
    assert x.addressable_data(0) is shard.data
    assert x.is_fully_addressable
    assert x.is_fully_replicated
    assert x.on_device_size_in_bytes() >= X.nbytes
    assert x.unsafe_buffer_pointer() > 0
    assert x.block_until_ready() is x
    assert x.is_ready()
    assert x.copy_to_host_async() is None
    assert not hasattr(x, "__cuda_array_interface__")


def test_a_deleted_array_says_so():
    x = cnp.asarray(X)
    x.delete()
    assert x.is_deleted()
    with pytest.raises(DeletedArrayError, match="was used after it was deleted"):
        x.to_device(cv.devices()[0])


def test_the_namespace_of_an_array_is_this_one():
    x = cnp.asarray(X)
    assert x.__array_namespace__() is cnp
    assert isinstance(x, cnp.ndarray)
    assert cv.jit(lambda x: isinstance(x, cnp.ndarray) + x)(1) == 2


def test_what_only_values_have_is_refused_in_words_under_jit():
    def asks(x):
        assert not hasattr(x, "devices")
        assert not hasattr(x, "no_such_thing")
        return x.block_until_ready()

    with pytest.raises(AttributeError) as caught:
        cv.jit(asks)(X)
    words = str(caught.value)
    assert "`block_until_ready` is of arrays that have their values" in words
    assert "but got a traced f32[2,3]" in words


class Wrapped:
    def __jax_array__(self):
        return cnp.asarray(2.0)


class Reflecting:
    def __radd__(self, other):
        return "mine"


def test_operands_of_other_kinds():
    x = cnp.asarray(X)
    assert float((x + Wrapped()).sum()) == 22
    assert float((Wrapped() * x).sum()) == 20
    assert x + Reflecting() == "mine"
    assert (x == None) is False  # noqa: E711  it is what is asked here
    assert (x != "a") is True
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None
    with pytest.raises(TypeError, match="unsupported operand"):
        "a" - x
    with pytest.raises(TypeError, match="not supported between"):
        x < "a"  # noqa: B015  it raises
    for mixed in (operator.add, operator.eq, operator.lt):
        with pytest.raises(DTypeError, match="needs an array, but got a list"):
            mixed(x, [1, 2, 3])
    with pytest.raises(DTypeError, match=r"use covector.numpy.array\(...\)"):
        operator.add([1, 2, 3], x)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: operator.setitem(x, 0, 1),
            ImmutableArrayError,
            "an array (f32[2,3]) cannot be changed: x[i] = v is not possible. Make a "
            "changed copy with x = x.at[i].set(v)",
        ),
        (hash, TypeError, "unhashable type"),
        (
            lambda x: iter(x[0, 0]),
            TypeError,
            "a scalar array (f32[]) cannot be iterated",
        ),
        (lambda x: len(x[0, 0]), TypeError, "f32[] has no length"),
        (
            lambda x: operator.index(x[0, 0]),
            TypeError,
            "only integer scalars can be an",
        ),
        (bool, ValueError, "more than one element is ambiguous"),
        (lambda x: x.addressable_data(1), AxisError, "which has 1 shard here"),
        (lambda x: x.view("complex64"), TypeMismatch, "do not make whole elements"),
        (lambda x: x.view(type=np.ndarray), ArgumentError, "view knows no array class"),
        (lambda x: -(x > 0), DTypeError, "Of bools, use ~x."),
        (
            lambda x: (x > 0) - (x > 1),
            DTypeError,
            "Of bools, x ^ y is where they differ.",
        ),
        (
            lambda x: x.astype("int32") ** -1,
            DTypeError,
            "an exponent that is not negative",
        ),
        (lambda x: x & 1, DTypeError, "and needs integers or bools"),
        (
            lambda x: x + cnp.ones(2),
            TypeMismatch,
            "add got incompatible shapes for broadcasting",
        ),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call(cnp.asarray(X))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("float32", "uint8"),
        ("float32", "float64"),
        ("int16", "int64"),
        ("bool", "int8"),
        ("uint8", "bool"),
        ("complex64", "float32"),
        ("complex64", "int16"),
        ("float32", "complex64"),
        ("int8", "complex64"),
        ("complex64", "complex128"),
    ],
)
def test_views_have_the_bits_of_numpys(source, target):
    values = (np.arange(32).reshape(2, 16) % 2).astype(source)
    with cv.options.override(enable_x64=True):
        for view in (lambda x: x.view(target), cv.jit(lambda x: x.view(target))):
            np.testing.assert_array_equal(
                view(cnp.asarray(values)), values.view(target)
            )


def test_views_of_scalars():
    assert cnp.asarray(1.0).view("int32") == 1065353216
    assert cnp.asarray(1j).view("float32").shape == (2,)
    swapped = cnp.asarray([1 + 2j], "complex64").byteswap().byteswap()
    assert swapped.tolist() == [1 + 2j]


def methods():
    """Those that are a function of the namespace, with their parameters one by one."""
    for name, method in inspect.getmembers(Methods, inspect.isfunction):
        if hasattr(cnp, name) and name not in ("reshape", "transpose"):
            yield name, method


def test_a_method_takes_what_its_function_takes():
    for name, method in methods():
        ours = list(inspect.signature(method).parameters.values())[1:]
        theirs = inspect.signature(getattr(cnp, name)).parameters
        assert [p.name for p in ours if p.name not in theirs] == [], name
        assert [p.default for p in ours] == [theirs[p.name].default for p in ours], name
