"""Functions of trees as functions of leaves."""

import inspect

import pytest

import covector as cv
import covector.numpy as cnp
from covector import tree
from covector.compat import finder
from covector.compat.api_util import (
    argnums_partial,
    debug_info,
    flatten_axes,
    flatten_fun,
    flatten_fun_nokwargs,
    infer_argnums_and_argnames,
)
from covector.compat.linear_util import wrap_init
from covector.compat.programs import make_jaxpr
from covector.errors import ArgumentError


def test_a_function_of_trees_becomes_one_of_leaves_and_says_the_tree_of_its_result():
    def f(pair, *, scale):
        return {"sum": pair[0] + pair[1], "scaled": scale * pair[0]}

    leaves, in_tree = tree.flatten((((1.0, 2.0),), {"scale": 3.0}))
    info = debug_info("test", f, (), {})
    flat, out_tree = flatten_fun(wrap_init(f, debug_info=info), in_tree)
    closed = make_jaxpr(flat.call_wrapped)(*leaves)
    assert [e.primitive.name for e in closed.eqns] == ["add", "mul"]
    assert tree.unflatten(out_tree(), [1, 2]) == {"scaled": 1, "sum": 2}
    assert (info.traced_for, info.func_name) == ("test", f.__name__)

    leaves, in_tree = tree.flatten(((1, 2),))
    flat, out_tree = flatten_fun_nokwargs(wrap_init(lambda p: [p[1], p[0]]), in_tree)
    assert flat.call_wrapped(*leaves) == [2, 1]
    assert out_tree() == tree.structure([0, 0])


def test_arguments_without_these_numbers_are_fixed():
    def f(a, b, c):
        return a, b, c

    part, dynamic = argnums_partial(wrap_init(f), (0, -1), ("x", "y", "z"))
    assert dynamic == ("x", "z")
    assert part.call_wrapped("X", "Z") == ("X", "y", "Z")
    with pytest.raises(ArgumentError, match=r"hashable, but got {1: \[\]"):
        argnums_partial(wrap_init(f), 0, (1, [], 2))


def test_axes_are_given_for_each_leaf():
    structure = tree.structure((1, (2, 3)))
    assert flatten_axes("axes", structure, (0, None)) == [0, None, None]


def test_numbers_and_names_of_the_same_arguments_complete_each_other():
    signature = inspect.signature(lambda a, b, *, c: None)
    assert infer_argnums_and_argnames(signature, 1, None) == ((1,), ("b",))
    assert infer_argnums_and_argnames(signature, None, "a") == ((0,), ("a",))
    assert infer_argnums_and_argnames(signature, (0,), ["c"]) == ((0,), ("c",))
    assert infer_argnums_and_argnames(signature, None, None) == ((), ())


def test_the_type_of_an_argument_is_that_of_its_array():
    shaped_abstractify = finder.find("jax.api_util", "shaped_abstractify")
    assert str(shaped_abstractify(cnp.ones(3))) == "f32[3]"
    assert shaped_abstractify(cv.ShapeDtypeStruct((2,), "int32")).shape == (2,)
