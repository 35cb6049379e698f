"""Symbolic sizes: how they are written, computed with and compared."""

import itertools

import jax
import numpy as np
import pytest
from jax import export as jax_export

import covector as cv
import covector.numpy as cnp
from covector import export
from covector.errors import ArgumentError, InconclusiveDimensionOperation
from covector.export.parsing import parse

TEXTS = [
    "b", "2*b + 1", "b*c - c", "floordiv(b + 3, 2)", "-floordiv(-b, 2)",
    "mod(b + 3, 2)", "mod(-b, 3)", "floordiv(2*b - c, 3)", "mod(6*b + c + 4, 3)",
    "floordiv(b*c, c)", "floordiv(-2*b + 7, 4)", "max(b, c)*2 - min(b, 4)",
    "mod(4 - b, 4)", "floordiv(c - b, 2)", "mod(b*c, c)", "b*b*c - 3*b*b",
    "b // 2 + c % 3", "floordiv(b, c) + mod(b, c)",
]  # fmt: skip
FUNCTIONS = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("text", TEXTS)
def test_an_expression_has_the_values_of_its_text(text):
    expression = parse(text)
    assert parse(str(expression)) == expression
    for b, c in itertools.product(range(1, 12), range(1, 9)):
        values = {"b": b, "c": c}
        assert expression.evaluate(values) == eval(text, FUNCTIONS, values)


COMPARISONS = [
    "b >= 1", "b > 0", "b >= 2", "b == 1", "b == b", "2*b >= b", "b + c >= 2",
    "b - 1 >= 0", "b*c >= b", "b*c > 0", "b == c", "b != b + 1", "b + 1 > b",
    "(b + 3) % 4 < 4", "b // 2 <= b", "b % 3 >= 0", "b - c < 0", "3 <= b",
    "2*(b // 2) <= b", "b == 2*b - b", "b*2 // 2 == b", "b*c // c == b", "0 < b",
]  # fmt: skip


@pytest.mark.parametrize("text", COMPARISONS)
def test_comparisons_are_decided_where_they_hold_for_all_sizes(text):
    names = dict(zip("bc", export.symbolic_shape("b, c"), strict=True))
    theirs = dict(zip("bc", jax_export.symbolic_shape("b, c"), strict=True))
    try:
        wanted = eval(text, {}, theirs)
    except jax.errors.InconclusiveDimensionOperation:
        with pytest.raises(InconclusiveDimensionOperation, match=r"some sizes and not"):
            eval(text, {}, names)
    else:
        assert eval(text, {}, names) == wanted


def test_sizes_of_at_least_1_are_compared_with_fractions():
    b, _ = export.symbolic_shape("b, c")
    assert b > 0.5
    assert b >= 0.5
    assert not b < 0.5
    assert not b <= 0.5
    assert str(abs(b - 3 + 3)) == "b"
    assert (b << 1) >> 1 == b


def test_constraints_decide_more():
    known = ["b >= 4", "mod(c, 8) == 0", "d == 2*b", "e <= b", "e >= 2"]
    scope = export.SymbolicScope(known)
    b, c, d, e = export.symbolic_shape("b, c, d, e", scope=scope)
    assert b > 3
    assert c % 8 == 0
    assert 8 * (c // 8) == c
    assert d == 2 * b
    assert d - b >= 4
    assert b - e >= 0
    assert d - 2 * e + 1 > 0
    assert not e == 1  # noqa: SIM201  that is the question
    values = scope.values()
    assert all([constraint.holds(values) for constraint in scope.constraints])
    with pytest.raises(ArgumentError, match="no sizes were found for which all of b"):
        export.symbolic_shape("b", constraints=["b >= 4", "b <= 3"])


def test_a_size_is_an_integer_and_prints_as_its_expression():
    b, c = export.symbolic_shape("b, c")
    assert isinstance(b, int)
    assert export.is_symbolic_dim(b)
    assert export.is_symbolic_dim(2 * b - c)
    assert not export.is_symbolic_dim(b - b)
    assert (str(2 * b - c), repr((b, 3))) == ("2*b - c", "(b, 3)")
    assert {b: 1}[b] == 1
    assert divmod(2 * b + 1, 2) == (b, 1)
    assert b**2 == b * b
    assert -b + b == 0
    assert bool(b)
    struct = cv.ShapeDtypeStruct((b, 3), "float32")
    assert (str(struct.type), struct.size) == ("f32[b,3]", 3 * b)
    with pytest.raises(InconclusiveDimensionOperation, match="size b has no value"):
        cv.tree.map(lambda x: x.__reduce__(), [b])


def test_shapes_of_abstract_evaluation_are_symbolic():
    b, c = export.symbolic_shape("b, c")
    out = cv.eval_shape(
        lambda x, y: (x @ y, cnp.concatenate([x, x]).reshape(-1)),
        cv.ShapeDtypeStruct((b, 3), "float32"),
        cv.ShapeDtypeStruct((3, c), "float32"),
    )
    assert [x.shape for x in out] == [(b, c), (6 * b,)]


def test_placeholders_take_sizes_from_another_shape():
    shape = export.symbolic_shape("b, _, ...", like=(7, 5, 3, 2))
    assert shape[1:] == (5, 3, 2)
    assert export.symbolic_shape(None, like=(2, 3)) == (2, 3)
    assert export.symbolic_shape("...", like=()) == ()
    assert export.symbolic_shape("(b,)")[0] > 0
    assert export.symbolic_shape("") == ()
    x, w = np.ones((4, 3), np.float32), {"w": np.ones(3, np.int32)}
    specs = export.symbolic_args_specs((x, w), ("b, ...", None))
    assert str(specs[0].type) == "f32[b,3]"
    assert str(specs[1]["w"].type) == "i32[3]"
    b, c = (s.shape[0] for s in export.symbolic_args_specs((x, x), ("b, _", "c, _")))
    assert b + c > 1


def test_what_cannot_be_read_is_refused():
    for text in ("b^", "b c", "foo(b)", "1.5", "b, 'c'", "floordiv(b)", "b >= 2"):
        with pytest.raises(ArgumentError, match="symbolic sizes are like 'b'"):
            export.symbolic_shape(text)
    for text in ("b", "b > 4", "b >= "):
        with pytest.raises(ArgumentError, match=r"a constraint is like|sizes are like"):
            export.SymbolicScope([text])
    with pytest.raises(ArgumentError, match=r"placeholders, whose sizes .*like="):
        export.symbolic_shape("b, ...")
    with pytest.raises(ArgumentError, match=r"placeholders, whose sizes .*like="):
        export.symbolic_shape("b, _", like=(3, None))
    with pytest.raises(ArgumentError, match=r"has 2 axes, but .* like has 3"):
        export.symbolic_shape("b, c", like=(1, 2, 3))
    with pytest.raises(ArgumentError, match=r"has 4 where .* like has 2"):
        export.symbolic_shape("b, 4", like=(1, 2))
    scope = export.SymbolicScope()
    for make in (
        lambda **kw: export.symbolic_shape("b", **kw),
        lambda **kw: export.symbolic_args_specs(1.0, "", **kw),
    ):
        with pytest.raises(ArgumentError, match="got a scope and constraints"):
            make(scope=scope, constraints=["b >= 2"])
