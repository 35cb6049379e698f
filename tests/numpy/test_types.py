"""Questions about dtypes and shapes, casts, and what the namespace says of itself."""

import inspect

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, DTypeError, TruncatedDTypeWarning

DTYPES = [
    "bool",
    "int4",
    "int8",
    "uint32",
    "int64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "complex64",
]
NARROW = {"bool", "int8", "int16", "int32"}


@pytest.mark.parametrize("source", DTYPES)
def test_casts_are_possible_where_numpy_says_so(source):
    for target in DTYPES:
        for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
            wanted = np.can_cast(jnp.dtype(source), jnp.dtype(target), casting)
            assert cnp.can_cast(source, target, casting) == wanted
    assert cnp.can_cast(cnp.zeros(1, "int8"), "int16")


@pytest.mark.parametrize("a", [*DTYPES, int, float, complex])
def test_promoted_types_are_those_of_jax(a):
    for b in [*DTYPES, int, float, complex]:
        try:
            wanted = jnp.promote_types(a, b)
        except jax.dtypes.TypePromotionError:
            with pytest.raises(TypeError, match="no common dtype"):
                cnp.promote_types(a, b)
            continue
        assert cnp.promote_types(a, b) == wanted


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "int4"])
def test_kinds_are_those_of_the_standard(dtype):
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "numeric"):
        assert cnp.isdtype(dtype, kind) == jnp.isdtype(dtype, kind)
    for kind in ("real floating", "complex floating", ("bool", "integral"), "float32"):
        assert cnp.isdtype(dtype, kind) == jnp.isdtype(dtype, kind)


def test_facts_about_values():
    x = np.zeros((2, 3))
    for value in (x, 3.0, cnp.asarray(x), np.float32(1)):
        assert cnp.shape(value) == np.shape(value)
        assert cnp.ndim(value) == np.ndim(value)
        assert cnp.size(value) == np.size(value)
    assert cnp.size(x, 1) == 3
    assert cnp.size(x, (0, -1)) == 6
    assert [cnp.isscalar(v) for v in (1, 1j, cnp.asarray(1), cnp.ones(1), [1])] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert cnp.iterable(cnp.ones(2))
    assert not cnp.iterable(cnp.asarray(2))
    assert cnp.iscomplexobj(1j)
    assert cnp.isrealobj(cnp.ones(2))


def test_astype_saturates_truncates_and_drops_weakness():
    assert cnp.astype(np.float32([-1, 2.9, 300, np.nan]), "uint8").tolist() == [
        0,
        2,
        255,
        0,
    ]
    assert cnp.astype(cnp.asarray(1.0), float).weak_type is False
    assert cnp.astype(3, None).dtype == np.float32
    assert cnp.astype(np.array([0.5, 0, 1j]), bool).tolist() == [True, False, True]
    x = cnp.ones(2)
    assert cnp.astype(x, "float32") is x
    assert cnp.astype(x, "float32", copy=True) is not x
    assert cv.jit(lambda x: x.astype("float32", copy=True))(x).tolist() == [1, 1]


def test_the_loss_of_an_imaginary_part_is_warned_of():
    with pytest.warns(cnp.ComplexWarning, match="real.x. says that it is meant"):
        assert cnp.asarray([1 + 2j]).astype("float32").tolist() == [1.0]


def test_64_bits_need_the_option():
    with pytest.warns(TruncatedDTypeWarning):
        assert cnp.zeros(2).astype("float64").dtype == np.float32
    with cv.options.override(enable_x64=True):
        assert cnp.zeros(2).astype("float64").dtype == np.float64


def test_constants_are_those_of_numpy():
    for name in ("pi", "e", "euler_gamma", "inf"):
        assert getattr(cnp, name) == getattr(np, name)
    assert cnp.newaxis is None
    assert cnp.nan != cnp.nan


def test_dtypes_make_arrays():
    assert cnp.float32(1).dtype == np.float32
    assert cnp.bfloat16([1, 2]).dtype == np.dtype(ml_dtypes.bfloat16)
    assert not cnp.int8(3).weak_type
    assert isinstance(cnp.int8(3), cnp.ndarray)


def test_the_namespace_says_what_it_offers():
    info = cnp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.capabilities()["max dimensions"] == 64
    assert info.default_device() is None
    assert info.devices() == (None, *cv.devices())
    assert info.default_dtypes() == {
        "real floating": np.float32,
        "complex floating": np.complex64,
        "integral": np.int32,
        "indexing": np.int32,
    }
    wider = {"uint8", "uint16", "uint32", "float32", "complex64"}
    assert set(info.dtypes()) == NARROW | wider
    assert set(info.dtypes(kind=("bool", "signed integer"))) == NARROW
    with cv.options.override(enable_x64=True):
        assert "float64" in info.dtypes(kind="real floating")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cnp.isdtype("int8", "foo"),
            ArgumentError,
            "isdtype knows the kinds 'bool'",
        ),
        (lambda: cnp.can_cast(1, "int8"), DTypeError, "but got the number 1"),
        (lambda: cnp.astype(cnp.ones(1), "U3"), DTypeError, "U3"),
        (lambda: cnp.promote_types("int4", "int8"), TypeError, "no common dtype"),
        (
            lambda: cnp.finfo("int8"),
            ValueError,
            "finfo needs a floating or complex dtype",
        ),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


#: names of JAX that are not here, and why
ABSENT = {
    "int1": "no array has elements of one bit",
    "uint1": "no array has elements of one bit",
}
#: parameters of JAX that are not taken: where the parts of a result are to be is not
#: said to each function, and dtypes are given by position
UNUSED = {"out_sharding", "args", "int_type", "arg1", "arg2"}


def public_names():
    return sorted(n for n in dir(jnp) if not n.startswith("_"))


def test_the_namespace_has_every_name_of_jax():
    missing = [n for n in public_names() if n not in ABSENT and not hasattr(cnp, n)]
    assert missing == []
    assert [n for n in cnp.__all__ if not hasattr(cnp, n)] == []
    assert [n for n in ABSENT if hasattr(cnp, n)] == []


@pytest.mark.parametrize("name", [n for n in public_names() if n not in ABSENT])
def test_functions_take_the_arguments_that_they_take_in_jax(name):
    ours, theirs = getattr(cnp, name, None), getattr(jnp, name)
    if not inspect.isfunction(ours) or not callable(theirs):
        return
    try:
        wanted = inspect.signature(theirs).parameters.values()
    except ValueError:
        return
    found = inspect.signature(ours).parameters
    if any(p.kind is p.VAR_KEYWORD for p in found.values()):
        return
    named = [p for p in wanted if p.name not in UNUSED]
    missing = [
        p.name
        for p in named
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in found
    ]
    assert missing == []
    # What may be given by position comes in the same order.
    in_order = [p.name for p in named if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [n for n in found if n in in_order] == in_order


@pytest.mark.parametrize(
    "x", [[1, 2], [[1.0], [2j]], (), [np.ones((2, 3))], [[True, False]]]
)
def test_lists_have_the_shape_and_kind_of_the_array_they_would_become(x):
    want = np.asarray(x)
    assert cnp.shape(x) == np.shape(x)
    assert cnp.ndim(x) == np.ndim(x)
    assert cnp.size(x) == np.size(x)
    assert cnp.iscomplexobj(x) == np.iscomplexobj(want)
    assert cnp.isrealobj(x) == np.isrealobj(want)


def test_dtypes_and_nothing_have_a_kind_and_a_shape():
    assert cnp.iscomplexobj(cnp.complex64)
    assert cnp.iscomplexobj(np.dtype("complex128"))
    assert not cnp.iscomplexobj(cnp.float32)
    assert not cnp.iscomplexobj(None)
    assert cnp.isrealobj(float)
    assert (cnp.shape(None), cnp.ndim(None), cnp.size(None)) == ((), 0, 1)
