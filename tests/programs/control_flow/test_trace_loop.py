"""A carry has the least type that holds what it starts as and what comes back."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax, random


def by_scan(step, start):
    return lax.scan(lambda c, _: (step(c), None), start, length=2)[0]


def by_scan_backwards(step, start):
    xs = np.zeros((2, 0), np.float32)
    return lax.scan(lambda c, _: (step(c), None), start, xs, reverse=True, unroll=2)[0]


def by_while(step, start):
    more = lambda c: c[0] < 2  # noqa: E731
    return lax.while_loop(more, lambda c: (c[0] + 1, step(c[1])), (0, start))[1]


def by_fori(step, start):
    return lax.fori_loop(0, 2, lambda _, c: step(c), start)


def by_fori_of_traced_bounds(step, start):
    loop = lambda n: lax.fori_loop(0, n, lambda _, c: step(c), start)  # noqa: E731
    return cv.jit(loop)(2)


def nested(step, start):
    return by_fori(lambda c: by_while(step, c), start)


LOOPS = [
    by_scan,
    by_scan_backwards,
    by_while,
    by_fori,
    by_fori_of_traced_bounds,
    nested,
]


class Row(NamedTuple):
    start: Any
    step: Any
    narrow: str
    wide: str


ROWS = {
    "int to float": Row(0, lambda c: c + 0.5, "f32 weak", "f64 weak"),
    "int to strong float": Row(0, lambda c: c + np.float32(1), "f32", "f32"),
    "weak to half": Row(1.0, lambda c: c * np.float16(2), "f16", "f16"),
    "weak to byte": Row(1, lambda c: c + np.int8(1), "i8", "i8"),
    "bool to int": Row(True, lambda c: c + 1, "i32 weak", "i64 weak"),
    "bool to strong int": Row(np.bool_(True), lambda c: c + np.int16(1), "i16", "i16"),
    "half to single": Row(np.float16(1), lambda c: c * np.float32(2), "f32", "f32"),
    "int to complex": Row(np.int32(1), lambda c: c * 1j, "c64 weak", "c128 weak"),
    "half and bfloat16": Row(
        np.float16(1), lambda c: c.astype("bfloat16"), "f32", "f32"
    ),
    "single to half": Row(np.float32(1), lambda c: c.astype("float16"), "f32", "f32"),
    "int to bool": Row(np.int32(3), lambda c: c > 0, "i32", "i32"),
    "unsigned and signed": Row(np.uint8(3), lambda c: c.astype("int8"), "i16", "i16"),
    "as it is": Row(np.float32(3), lambda c: c * 2, "f32", "f32"),
}


@pytest.mark.parametrize("wide", [False, True], ids=["32 bit", "64 bit"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ROWS)
def test_the_type_of_a_carry_is_the_least_that_is_kept(name, loop, wide):
    row = ROWS[name]
    with cv.enable_x64(wide):
        out = loop(row.step, row.start)
        wanted = (row.wide if wide else row.narrow).split()
        assert str(out.type) == wanted[0] + "[]"
        assert out.type.weak == (len(wanted) > 1)
        value = cnp.asarray(row.start).astype(out.dtype)
        for _ in range(4 if loop is nested else 2):
            value = cnp.asarray(row.step(value)).astype(out.dtype)
        np.testing.assert_allclose(
            np.asarray(out).astype(complex), np.asarray(value).astype(complex)
        )


@pytest.mark.parametrize("loop", [by_scan, by_while, by_fori, nested])
def test_keys_are_carried(loop):
    out = loop(lambda k: random.split(k)[0], random.key(3))
    assert str(out.type) == "key<fry>[]"


@pytest.mark.parametrize("loop", [by_scan, by_fori, by_scan_backwards])
def test_a_converted_carry_has_a_derivative(loop):
    """c ← c·x + x from an integer 0, and h ← h·x from a half."""
    assert float(cv.grad(lambda x: loop(lambda c: c * x + x, 0))(3.0)) == 7
    slope = cv.grad(lambda h: loop(lambda c: c * np.float32(3), h))(np.float16(2))
    assert slope.dtype == np.float16
    assert float(slope) == 9
    tangent = cv.jvp(lambda x: loop(lambda c: c * x + x, 0), (3.0,), (1.0,))[1]
    assert float(tangent) == 7


def test_one_carry_widens_another():
    def step(c):
        return {"a": c["b"], "b": c["a"] + 0.5, "n": c["n"] + 1}

    out = by_while(step, {"a": 0, "b": False, "n": np.int8(0)})
    assert [str(out[k].type) for k in "abn"] == ["f32[]", "f32[]", "i8[]"]


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize("loop", [by_scan, by_while, by_fori])
def test_a_carry_without_a_common_type_is_named_with_its_line(loop):
    def step(c):
        lost = cnp.float32(2.0) * c["n"]
        return {"k": [lost], "n": c["n"]}

    with pytest.raises(errors.TypeMismatch) as caught:
        loop(step, {"k": [random.key(0)], "n": 1})
    words = str(caught.value)
    assert "['k'][0] starts as key<fry>[] but comes back from a step as f32[]" in words
    assert f"{__file__}:{step.__code__.co_firstlineno + 1}" in words
    assert "random keys are not numbers" in words


@pytest.mark.parametrize("loop", [by_scan, by_while, by_fori])
def test_under_strict_promotion_a_carry_is_converted_by_its_user(loop):
    with cv.numpy_dtype_promotion("strict"):
        assert str(loop(lambda c: c * np.float32(2), 1.0).type) == "f32[]"
        with pytest.raises(errors.TypeMismatch) as caught:
            loop(lambda c: {"a": np.float32(2)}, {"a": np.int32(1)})
    words = str(caught.value)
    assert "['a'] starts as i32[] but comes back from a step as f32[]" in words
    assert "i32 with f32: no dtype changes by itself under strict promotion" in words


@pytest.mark.parametrize("loop", [by_scan, by_while, by_fori])
def test_a_carry_of_another_shape_is_named(loop):
    with pytest.raises(errors.TypeMismatch) as caught:
        loop(lambda c: (c[0], np.ones(2, np.float32)), (1, 2.0))
    words = str(caught.value)
    assert "[1] starts as f32[] but comes back from a step as f32[2]" in words
    assert "A carry keeps its shape" in words
