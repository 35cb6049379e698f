"""The array API standard, beside ``array_api_strict``, which is nothing but it."""

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import covector as cv
import covector.numpy as cnp

KINDS = inspect.Parameter


def functions() -> Iterator[tuple[str, Any]]:
    """The functions of the standard, but those that switch the reference itself."""
    for prefix, space in [
        ("", array_api_strict),
        ("linalg.", array_api_strict.linalg),
        ("fft.", array_api_strict.fft),
    ]:
        for name in space.__all__:
            function = getattr(space, name)
            if inspect.isfunction(function) and "strict_flags" not in name:
                yield prefix + name, function


STANDARD = dict(functions())


def ours(name: str) -> Any:
    space: Any = cnp
    for part in name.split("."):
        space = getattr(space, part)
    return space


def without(wanted: inspect.Signature, given: inspect.Signature) -> list[str]:
    """The parameters of the standard that cannot be given as it says."""
    parameters = list(given.parameters.values())
    positional = [p for p in parameters if p.kind is not KINDS.KEYWORD_ONLY]
    missing = []
    for k, p in enumerate(wanted.parameters.values()):
        found = given.parameters.get(p.name)
        if p.kind is KINDS.VAR_POSITIONAL:
            fits = any(q.kind is p.kind for q in parameters)
        elif p.kind is KINDS.POSITIONAL_ONLY:
            fits = k < len(positional) or positional[-1].kind is KINDS.VAR_POSITIONAL
        elif found is None:
            fits = False
        else:
            by_position = p.kind is KINDS.POSITIONAL_OR_KEYWORD
            is_optional = p.default is KINDS.empty or found.default is not KINDS.empty
            fits = is_optional and not (by_position and found.kind is not p.kind)
        if not fits:
            missing.append(p.name)
    return missing


@pytest.mark.parametrize("name", STANDARD)
def test_a_function_of_the_standard_takes_the_arguments_of_the_standard(name):
    wanted = inspect.signature(STANDARD[name])
    assert not without(wanted, inspect.signature(ours(name)))


def test_arrays_have_the_members_of_the_standard():
    x, standard = cnp.ones((2, 2)), array_api_strict.ones((2, 2))
    public = [n for n in dir(standard) if not n.startswith("_")]
    operators = [
        n for n in dir(standard) if n.startswith("__") and n not in dir(object())
    ]
    # Arrays are immutable: x[i] = v says that it must be x.at[i].set(v). What operators
    # do in place, Python does with the others.
    inplace = [n for n in operators if n[2] == "i" and f"__{n[3:]}" in operators]
    missing = {n for n in (*public, *operators) if not hasattr(x, n)}
    assert missing <= {*inplace, "__annotations__", "__orig_bases__"}


def test_constants_are_those_of_the_standard():
    for name in ("e", "pi", "inf", "nan", "newaxis"):
        found, wanted = getattr(cnp, name), getattr(array_api_strict, name)
        assert repr(found) == repr(wanted)


def test_the_namespace_is_given_for_every_version_that_it_has():
    x = cnp.ones(2)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is cnp
    with pytest.raises(cv.errors.ArgumentError, match=r"2020\.01"):
        x.__array_namespace__(api_version="2020.01")


def test_limits_are_python_numbers():
    for dtype in ("float32", "float64", "complex64", "bfloat16"):
        info = cnp.finfo(dtype)
        for field in ("eps", "max", "min", "smallest_normal", "tiny", "resolution"):
            assert type(getattr(info, field)) is float
        assert type(info.bits) is int
    assert cnp.finfo("float32").eps == float(np.finfo(np.float32).eps)
    # They leave the dtype of an array as it is.
    assert (cnp.ones(2, "float16") * cnp.finfo("float32").eps).dtype == "float16"


def test_several_arrays_come_as_tuples():
    x = cnp.ones(2)
    info = cnp.__array_namespace_info__()
    for found in (cnp.meshgrid(x, x), cnp.broadcast_arrays(x, x), info.devices()):
        assert type(found) is tuple
    assert x.device in info.devices()


def test_a_mask_of_length_zero_chooses_nothing():
    mask = cnp.ones((0,), bool)
    assert cnp.ones((0, 3))[mask].shape == (0, 3)
    assert cnp.ones((0,))[mask].shape == (0,)
    assert cnp.ones(())[cnp.array(True)].shape == (1,)


def test_the_exchange_of_arrays_shows_its_keywords():
    names = inspect.signature(cnp.ones(2).__dlpack__).parameters
    assert list(names) == ["stream", "max_version", "dl_device", "copy"]


@pytest.fixture(scope="module", autouse=True)
def _wide():
    with cv.enable_x64(True):
        yield


# -- element by element ----------------------------------------------------------------

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = array_api_strict.__array_namespace_info__().dtypes()


def elementwise(*parameters: str) -> list[str]:
    """The functions of elements that take these arguments, by the reference."""
    home = array_api_strict.abs.__module__
    return [
        name
        for name, function in STANDARD.items()
        if function.__module__ == home
        and [*inspect.signature(function).parameters] == [*parameters]
    ]


ONE_ARGUMENT, TWO_ARGUMENTS = elementwise("x"), elementwise("x1", "x2")
SPECIAL = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, np.pi / 2, 1e30, np.inf, np.nan]
SPECIAL += [-x for x in SPECIAL[:-1]]


def numbers(dtype: str) -> np.ndarray:
    """Numbers that every dtype of the kind has."""
    return np.array([1, 0, 1]) > 0 if dtype == "bool" else np.array([1, 2, 3], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_have_the_dtypes_and_values_of_the_standard(dtype):
    """Wherever the standard says anything: the reference refuses all else."""
    x, compared = numbers(dtype), 0
    others = [numbers(other) for other in DTYPES]
    calls = [(name, (x,)) for name in ONE_ARGUMENT]
    calls += [(name, (x, y)) for name in TWO_ARGUMENTS for y in (*others, True, 2, 0.5)]
    calls += [(name, (2, x)) for name in TWO_ARGUMENTS]
    for name, args in calls:
        try:
            with np.errstate(all="ignore"):
                wanted = getattr(array_api_strict, name)(*map(strictly, args))
        except TypeError:
            continue
        found = getattr(cnp, name)(
            *[cnp.asarray(a) if is_array(a) else a for a in args]
        )
        assert str(found.dtype) == str(wanted.dtype).split(".")[-1], (name, args)
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-6, err_msg=name)
        compared += 1
    assert compared > 10


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def strictly(x: Any) -> Any:
    return array_api_strict.asarray(x) if is_array(x) else x


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_special_values_of_two_operands_are_those_of_the_standard(name, dtype):
    x, y = np.array(list(itertools.product(SPECIAL, SPECIAL)), dtype).T
    if name.startswith("bitwise") or name == "floor_divide":
        return  # of integers; where NumPy differs from the standard
    agree(name, x, y)


@pytest.mark.parametrize("dtype", (*REAL, *COMPLEX))
def test_special_values_of_one_operand_are_those_of_the_standard(dtype):
    values = SPECIAL
    if dtype in COMPLEX:
        parts = [0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan]
        values = [complex(*z) for z in itertools.product(parts, parts)]
    # NumPy's complex expm1 is not the standard's, which has no reciprocal of zeros, and
    # it forgets on which side of zero the parts of a sign are.
    skipped = {"expm1", "reciprocal", "sign"} if dtype in COMPLEX else set()
    for name in ONE_ARGUMENT:
        if name not in {"bitwise_invert", *skipped}:
            agree(name, np.array(values, dtype))


def agree(name: str, *operands: np.ndarray) -> None:
    """Compare with NumPy: values, and the signs of zeros."""
    with np.errstate(all="ignore"):
        try:
            wanted = getattr(np, name)(*operands)
        except TypeError:  # a function of real numbers
            return
    found = np.asarray(getattr(cnp, name)(*[cnp.asarray(x) for x in operands]))
    assert found.dtype == wanted.dtype
    for part in (np.real, np.imag):
        x, y = part(found), part(wanted)
        np.testing.assert_allclose(x, y, rtol=1e-5, err_msg=name)
        zeros = (y == 0) & (np.isfinite(wanted))
        np.testing.assert_array_equal(
            np.signbit(x[zeros]) if x.dtype.kind == "f" else x[zeros],
            np.signbit(y[zeros]) if y.dtype.kind == "f" else y[zeros],
            err_msg=name,
        )


#: of a namespace, a matrix x [2, 3] and its rows a and b; all results are compared
CALLS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda xp, x, a, b: [
        xp.sum(x),
        xp.sum(x, axis=(0, -1), keepdims=True),
        xp.sum(x[:0, :]),
    ],
    lambda xp, x, a, b: [xp.sum(x, axis=0, dtype=xp.complex128), xp.sum(a, axis=())],
    lambda xp, x, a, b: [xp.prod(x, axis=0), xp.prod(x[:, :0], axis=1)],
    lambda xp, x, a, b: [xp.max(x), xp.min(x, axis=1, keepdims=True)],
    lambda xp, x, a, b: [xp.mean(x, axis=1), xp.mean(x), xp.std(x, correction=1.0)],
    lambda xp, x, a, b: [xp.var(x, axis=0, correction=1), xp.var(x, keepdims=True)],
    lambda xp, x, a, b: [xp.any(x, axis=0), xp.all(x), xp.all(x[:0, :], axis=0)],
    lambda xp, x, a, b: [
        xp.count_nonzero(x),
        xp.count_nonzero(x, axis=0, keepdims=True),
    ],
    lambda xp, x, a, b: [xp.cumulative_sum(x, axis=1), xp.cumulative_sum(a)],
    lambda xp, x, a, b: xp.cumulative_sum(
        x, axis=0, include_initial=True, dtype=xp.complex128
    ),
    lambda xp, x, a, b: xp.cumulative_prod(x, axis=-1, include_initial=True),
    lambda xp, x, a, b: [xp.argmax(x), xp.argmin(x, axis=1, keepdims=True)],
    lambda xp, x, a, b: [xp.sort(x, axis=0), xp.sort(x, descending=True)],
    lambda xp, x, a, b: [xp.argsort(x, descending=True, stable=True), xp.argsort(a)],
    lambda xp, x, a, b: xp.searchsorted(a, x, side="right"),
    lambda xp, x, a, b: [*xp.unique_all(x), *xp.unique_counts(x[:0, :])],
    lambda xp, x, a, b: [*xp.unique_inverse(x), xp.unique_values(xp.concat([x, x]))],
    lambda xp, x, a, b: [xp.diff(x), xp.diff(x, axis=0, n=2), xp.diff(x, n=0)],
    lambda xp, x, a, b: xp.diff(x, axis=1, prepend=x[:, :1], append=x[:, 1:]),
    lambda xp, x, a, b: xp.take(x, xp.asarray([2, 0]), axis=1),
    lambda xp, x, a, b: xp.take_along_axis(x, xp.asarray([[0, 2], [1, -1]])),
    lambda xp, x, a, b: [*xp.nonzero(x), xp.isin(x, a), xp.isin(x, 2)],
    lambda xp, x, a, b: [xp.where(x == a, x, a), xp.where(a == b, 1, x)],
    lambda xp, x, a, b: [xp.clip(x, 2, None), xp.clip(x, a, a), xp.clip(x)],
    lambda xp, x, a, b: [xp.repeat(x, 2), xp.repeat(x, xp.asarray([0, 2]), axis=0)],
    lambda xp, x, a, b: [xp.tile(x, (2, 1, 2)), xp.roll(x, (1, -2), axis=(0, 1))],
    lambda xp, x, a, b: [
        xp.roll(x, 1),
        xp.flip(x),
        xp.flip(x, axis=0),
        xp.moveaxis(x, 0, 1),
    ],
    lambda xp, x, a, b: [xp.concat([x, x], axis=None), xp.stack([x, x], axis=-1)],
    lambda xp, x, a, b: [*xp.unstack(x, axis=1), *xp.meshgrid(a, b, indexing="ij")],
    lambda xp, x, a, b: [*xp.broadcast_arrays(x, a), xp.broadcast_to(x, (2, 2, 3))],
    lambda xp, x, a, b: [xp.expand_dims(x, axis=(0, 2)), xp.squeeze(x[:1, :], (0,))],
    lambda xp, x, a, b: [xp.reshape(x, (3, -1), copy=True), xp.permute_dims(x, (1, 0))],
    lambda xp, x, a, b: [
        xp.tril(x, k=1),
        xp.triu(x),
        xp.full_like(x, 1),
        xp.zeros_like(x),
    ],
    lambda xp, x, a, b: [
        xp.matmul(x, xp.matrix_transpose(x)),
        xp.vecdot(x, x, axis=-2),
    ],
    lambda xp, x, a, b: [xp.tensordot(x, x, axes=2), xp.linalg.outer(a, b)],
    lambda xp, x, a, b: [
        xp.linalg.trace(x, offset=1),
        xp.linalg.diagonal(x, offset=-1),
    ],
    lambda xp, x, a, b: [xp.linalg.vector_norm(x, ord=k) for k in (0, 1, 2, np.inf)],
    lambda xp, x, a, b: xp.linalg.vector_norm(x, axis=0, keepdims=True, ord=-np.inf),
    lambda xp, x, a, b: [
        xp.linalg.matrix_norm(x, ord=k) for k in ("fro", "nuc", 1, -2)
    ],
    lambda xp, x, a, b: [xp.linalg.cross(x, a), xp.linalg.matrix_power(x[:, :2], 2)],
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_whole_arrays_have_the_dtypes_and_values_of_the_standard(dtype):
    x, compared = np.array([[3, 1, 2], [0, 1, 5]]).astype(dtype), 0
    for call in CALLS:
        try:
            rows = (array_api_strict.asarray(y) for y in (x, *x))
            wanted = call(array_api_strict, *rows)
        except TypeError:  # not of this dtype
            continue
        found = call(cnp, *(cnp.asarray(y) for y in (x, *x)))
        pairs = [(found, wanted)]
        if isinstance(wanted, list):
            pairs = zip(found, wanted, strict=True)
        for got, want in pairs:
            assert str(got.dtype) == str(want.dtype).split(".")[-1]
            np.testing.assert_allclose(got, np.asarray(want), rtol=1e-5, atol=1e-6)
            compared += 1
    assert compared > 30


def test_positions_have_the_dtype_of_indices():
    x = cnp.ones((2, 3))
    wanted = cnp.__array_namespace_info__().default_dtypes()["indexing"]
    unique = cnp.unique_all(x)
    found = [cnp.argmax(x), cnp.argmin(x), cnp.argsort(x), *cnp.nonzero(x)]
    found += [cnp.count_nonzero(x), cnp.searchsorted(x[0], x), unique.indices]
    found += [unique.inverse_indices, unique.counts, cnp.searchsorted(x[0, :0], 1.0)]
    assert {y.dtype for y in found} == {wanted}


# -- drawn -----------------------------------------------------------------------------

xps = make_strategies_namespace(cnp, api_version="2024.12")


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_strategies_for_arrays_of_the_standard_make_arrays(data):
    dtype = data.draw(xps.scalar_dtypes())
    x = data.draw(xps.arrays(dtype, xps.array_shapes(max_dims=3, max_side=3)))
    index = data.draw(xps.indices(x.shape, allow_newaxis=True))
    axes = data.draw(xps.valid_tuple_axes(x.ndim))
    same = array_api_strict.asarray(np.asarray(x))
    assert x.dtype == dtype
    np.testing.assert_array_equal(np.asarray(x[index]), np.asarray(same[index]))
    if not cnp.isdtype(dtype, "bool") and cnp.isdtype(dtype, "numeric"):
        with np.errstate(all="ignore"):
            got, wanted = cnp.sum(x, axis=axes), array_api_strict.sum(same, axis=axes)
        assert str(got.dtype) == str(wanted.dtype).split(".")[-1]
        assert got.shape == wanted.shape
