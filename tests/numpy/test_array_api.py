"""The array API standard, beside ``array_api_strict``, which is nothing but it."""

import inspect
from collections.abc import Iterator
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
