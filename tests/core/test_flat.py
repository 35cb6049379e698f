"""Functions of trees as functions of leaves, and arguments in words."""

import functools
import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import covector.numpy as cnp
from covector import tree
from covector.core.flat import (
    FlatFunction,
    argument_names,
    argument_numbers,
    argument_path,
    arrays,
    bind_arguments,
    describe,
    parameters_of,
    split_aux,
    who_of,
)
from covector.errors import ArgumentError, DTypeError, TypeMismatch


class Pair(NamedTuple):
    first: object
    second: object


X, Y = cnp.arange(3), cnp.ones((2, 2))
ARGUMENTS = [
    ((), {}),
    ((X,), {}),
    (({"a": X, "b": [Y, None]},), {"scale": Y}),
    ((Pair(X, (Y, X)), ()), {"a": X, "z": Y}),
]


def flattened(args, kwargs):
    return tree.flatten((args, kwargs))


def flat_of(fun, *args, **kwargs):
    leaves, in_tree = flattened(args, kwargs)
    return FlatFunction(fun, in_tree, "loss"), leaves


# -- FlatFunction ----------------------------------------------------------------------


@pytest.mark.parametrize(("args", "kwargs"), ARGUMENTS)
@pytest.mark.parametrize(
    "make",
    [lambda *a, **k: (a, k), lambda *a, **k: {"one": [a], "two": Pair(k, None)}],
)
def test_a_flat_function_unflattened_is_the_function(args, kwargs, make):
    leaves, in_tree = flattened(args, kwargs)
    flat = FlatFunction(make, in_tree, "make")
    outs = flat(*leaves)
    assert all(a is b for a, b in zip(outs, leaves, strict=True))
    assert str(flat.out_tree.unflatten(outs)) == str(make(*args, **kwargs))


def test_it_remembers_the_tree_of_its_last_result():
    results = iter([[X], {"a": X, "b": Y}])
    flat, leaves = flat_of(lambda: next(results))
    assert flat.out_tree is None
    for wanted in ([0], {"a": 0, "b": 0}):
        flat(*leaves)
        assert flat.out_tree == tree.flatten(wanted)[1]


def test_numbers_become_arrays_and_arrays_stay_what_they_are():
    flat, leaves = flat_of(lambda: (X, 2.0, np.int8(3)))
    x, two, three = flat(*leaves)
    assert x is X
    assert (float(two), two.weak_type) == (2.0, True)
    assert (int(three), three.dtype) == (3, "int8")


def test_what_is_beside_the_result_does_not_have_to_be_an_array():
    leaves, in_tree = flattened((X,), {})
    flat = FlatFunction(lambda x: (x, {"note": "text"}), in_tree, "loss", has_aux=True)
    (out,) = flat(*leaves)
    assert out is X
    assert flat.aux == {"note": "text"}


@pytest.mark.parametrize(
    ("result", "where"),
    [("text", ""), ([X, {"a": "text"}], r" at \[1\]\['a'\]")],
)
def test_a_result_that_is_no_array_is_named_with_its_path(result, where):
    flat, leaves = flat_of(lambda: result)
    words = (
        f"^loss must return arrays and numbers, but its result{where} is 'text' of "
        "type str"
    )
    with pytest.raises(TypeMismatch, match=words):
        flat(*leaves)


def test_a_pair_is_split_and_what_is_no_pair_is_described():
    assert split_aux((1, "aux"), "grad") == (1, "aux")
    assert split_aux([1, "aux"], "grad") == (1, "aux")
    for out, words in (
        (X, r"it returned i32\[3\]"),
        ((X, X, X), "it returned a tuple of 3"),
        ({"a": 1, "b": 2}, "it returned {'a': 1"),
    ):
        with pytest.raises(TypeMismatch, match=words):
            split_aux(out, "grad")


def test_arrays_are_described_by_type_sequences_by_length():
    assert describe(Y) == "f32[2,2]"
    assert describe([1, 2]) == "a list of 2"
    assert describe(Pair(1, 2)) == "a Pair of 2"
    assert describe("text") == "'text'"


def test_leaves_become_arrays_and_a_bad_one_names_who_asked():
    made = arrays([X, 1, np.ones(2)], "grad of loss")
    assert made[0] is X
    assert [str(x.type) for x in made] == ["i32[3]", "i32[]", "f32[2]"]
    with pytest.raises(DTypeError, match=r"grad of loss needs an array or a number"):
        arrays([object()], "grad of loss")


# -- arguments in words ----------------------------------------------------------------


def test_each_leaf_of_the_arguments_has_a_path():
    args, kwargs = ({"a": X, "b": [Y, X]}, Y), {"scale": [X]}
    leaves, in_tree = flattened(args, kwargs)
    assert [argument_path(in_tree, i) for i in range(len(leaves))] == [
        "argument 0['a']",
        "argument 0['b'][0]",
        "argument 0['b'][1]",
        "argument 1",
        "keyword argument scale[0]",
    ]


def test_argument_numbers_are_an_integer_or_several():
    assert argument_numbers("grad", "argnums", 2) == (2,)
    assert argument_numbers("grad", "argnums", np.int64(2)) == (2,)
    assert argument_numbers("grad", "argnums", [0, np.int8(-1)]) == (0, -1)
    assert argument_numbers("grad", "argnums", ()) == ()
    for given in ("01", 1.0, [0.5], None, ["x"]):
        with pytest.raises(ArgumentError, match="grad: argnums must be an integer or"):
            argument_numbers("grad", "argnums", given)


def test_argument_names_are_a_string_or_several():
    assert argument_names("jit", "static_argnames", "size") == ("size",)
    assert argument_names("jit", "static_argnames", ["a", "b"]) == ("a", "b")
    assert argument_names("jit", "static_argnames", ()) == ()
    for given in (1, None, ["a", 1]):
        with pytest.raises(ArgumentError, match="static_argnames must be a string or"):
            argument_names("jit", "static_argnames", given)


# -- functions -------------------------------------------------------------------------


def positional(x, y=2, *rest):
    return x, y, rest


def test_arguments_bound_by_position_call_the_function_alike():
    for args, kwargs in (((1,), {}), ((), {"x": 1}), ((1,), {"y": 5}), ((1, 2, 3), {})):
        bound = bind_arguments(positional, args, kwargs)
        assert positional(*bound) == positional(*args, **kwargs)
        assert len(bound) >= 2, "defaults are filled in"


def test_what_can_only_be_passed_by_keyword_is_refused_or_left_to_its_default():
    def fun(x, *, scale=2):
        return x * scale

    assert bind_arguments(fun, (), {"x": 1}) == (1,)
    with pytest.raises(TypeMismatch, match="scale can only be passed by keyword"):
        bind_arguments(fun, (1,), {"scale": 3})


def test_a_function_without_a_signature_is_called_as_it_is():
    assert parameters_of(dict) == []
    assert bind_arguments(dict, (1, 2), {}) == (1, 2)


def test_parameters_are_named_also_of_partials_and_methods():
    assert parameters_of(positional) == ["x", "y", "rest"]
    assert parameters_of(functools.partial(positional, 1)) == ["y", "rest"]
    assert parameters_of(Pair(1, 2).count) == ["value"]


def test_to_ask_for_the_signature_of_a_function_does_not_keep_it_alive():
    def fun(x):
        return x

    parameters_of(fun)
    gone = weakref.ref(fun)
    del fun
    gc.collect(0)
    assert gone() is None


def test_the_subject_of_messages_is_a_function_with_its_line():
    line = positional.__code__.co_firstlineno
    assert who_of("grad", positional) == f"grad of positional (test_flat.py:{line})"


def test_what_cannot_be_transformed_is_refused():
    def yields():
        yield 1

    async def waits():
        return 1

    async def both():
        yield 1

    with pytest.raises(TypeMismatch, match=r"grad needs a function, but got f32\[2,2"):
        who_of("grad", Y)
    for fun in (yields, waits, both):
        with pytest.raises(TypeMismatch, match="is a generator or a coroutine"):
            who_of("grad", fun)
