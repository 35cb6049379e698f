"""Functions with transformations around them."""

import pytest

from covector.compat.linear_util import (
    StoreException,
    cache,
    merge_linear_aux,
    transformation,
    transformation2,
    transformation_with_aux,
    transformation_with_aux2,
    wrap_init,
)


@transformation
def scaled(factor, *args):
    out = yield [factor * x for x in args], {}
    yield out + 1


@transformation_with_aux
def counted(*args):
    out = yield args, {}
    yield out, len(args)


def test_the_transformation_that_was_added_last_is_outermost():
    wrapped = scaled(scaled(wrap_init(lambda x: x), 2), 10)
    assert wrapped.call_wrapped(1) == 22
    assert wrapped.f(1) == 1
    other = transformation2(lambda f, k, x: f(x) * k, wrap_init(lambda x: x + 1), 3)
    assert other.call_wrapped(1) == 6


def test_keyword_arguments_of_a_function_are_given_when_it_is_wrapped():
    assert wrap_init(lambda x, y: x - y, {"y": 2}).call_wrapped(5) == 3


def test_what_stands_beside_the_results_is_there_after_the_call():
    wrapped, count = counted(wrap_init(max))
    with pytest.raises(StoreException, match="was asked for before"):
        count()
    assert wrapped.call_wrapped(1, 3, 2) == 3
    assert count() == 3

    @transformation_with_aux2
    def noted(f, store, *args):
        store.store("noted")
        return f(*args)

    wrapped, said = noted(wrap_init(max))
    assert (wrapped.call_wrapped(1, 2), said()) == (2, "noted")


def test_of_two_transformations_the_one_that_ran_speaks():
    first, one = counted(wrap_init(max))
    second, other = counted(wrap_init(min))
    second.call_wrapped(1, 2)
    assert merge_linear_aux(one, other) == (False, 2)
    first.call_wrapped(1, 2, 3)
    with pytest.raises(StoreException, match="but 2 have"):
        merge_linear_aux(one, other)


def test_equal_functions_with_equal_transformations_are_traced_once():
    calls = []

    @cache
    def traced(fun, x):
        calls.append(x)
        return fun.call_wrapped(x)

    def f(x):
        return 2 * x

    (one, said), (two, again) = counted(wrap_init(f)), counted(wrap_init(f))
    assert one == two and hash(one) == hash(two)
    assert (traced(one, 1), traced(two, 1), traced(one, 2)) == (2, 2, 4)
    assert calls == [1, 2]
    assert said() == again() == 1
