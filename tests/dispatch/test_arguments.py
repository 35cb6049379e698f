"""Warm calls of jitted functions whose arguments are not all arrays."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import IntegerOverflow, StaticArgumentError


class Setting:
    """A hashable object that can change."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return isinstance(other, Setting) and self.value == other.value


def again(f, *args, **kwargs):
    """The result of the third call: the first one compiles, the second is quick."""
    for _ in range(2):
        f(*args, **kwargs)
    return f(*args, **kwargs)


def described(f, x):
    out = again(f, x)
    return np.asarray(out).tolist(), out.dtype, out.weak_type


VALUES = [
    *(True, 1, 1.0, 1j, 0.0, -0.0, 0, False, float("inf")),
    *(np.float32(1), np.int8(1), np.bool_(True), np.float64(1), np.int64(1)),
    *(np.ones(2), np.ones(2, np.float16), np.ones((2, 2), np.int8).T, np.ones(4)[::2]),
    *(np.ones(2, ">f4"), np.zeros(0, np.float32), np.array(3, np.int32)),
]


@pytest.mark.parametrize("x64", [False, True])
def test_a_warm_call_takes_host_values_as_the_first_call_does(x64):
    with cv.options.override(enable_x64=x64):
        for f in (cv.jit(lambda x: x), cv.jit(lambda x: x, donate_argnums=0)):
            for x in VALUES:
                wanted = cnp.asarray(x)
                found = described(f, x)
                assert found == described(lambda x: x, wanted), repr(x)
                assert str(found[0]) == str(np.asarray(wanted).tolist()), repr(x)


def test_numbers_of_the_same_value_and_other_kinds_do_not_share_a_result():
    f = cv.jit(lambda x: 1 / x)
    for x in (0.0, -0.0, 2, 2.0, True, 0.0, -0.0):
        assert str(f(x)) == str(1 / cnp.asarray(x)), repr(x)


def test_a_warm_call_reads_an_array_of_numpy_as_it_is_now():
    f = cv.jit(lambda x: x * 2)
    values = np.zeros(3, np.float32)
    outs = []
    for i in range(4):
        values[:] = i
        outs.append(f(values))
    assert [float(out[0]) for out in outs] == [0, 2, 4, 6]


def test_a_tree_beside_a_mapping_is_not_taken_for_keywords():
    @cv.jit
    def count(*args, **kwargs):
        return 10 * len(args) + len(kwargs) + 0 * sum(cv.tree.leaves((args, kwargs)))

    x = cnp.array(1)
    for _ in range(2):
        assert count(x, k=x) == 11
        assert count((x,), {"k": x}) == 20


def test_warm_calls_tell_static_values_by_kind_and_sign():
    kinds = cv.jit(lambda x, n: x + len(repr(n)), static_argnums=1)
    for n in (1, 1.0, True, 0.0, -0.0, (1,), (True,), 1):
        assert again(kinds, 0, n) == len(repr(n)), repr(n)


def test_a_static_argument_that_changed_since_is_a_new_one():
    f = cv.jit(lambda x, s: x * s.value, static_argnames="s")
    setting = Setting(2)
    assert again(f, cnp.array(1), s=setting) == 2
    setting.value = 3
    assert again(f, cnp.array(1), s=setting) == 3


def test_positional_and_named_static_arguments_do_not_share_a_program():
    f = cv.jit(lambda x, *rest, **named: x + len(named), static_argnames="n")
    x = cnp.array(0)
    assert again(f, x, n=1) == 1
    assert again(f, x) == 0
    assert again(f, x, m=x) == 1


def test_a_list_in_place_of_a_static_argument_is_refused_in_warm_calls_too():
    f = cv.jit(lambda x, n: x, static_argnums=1)
    again(f, 1.0, (1,))
    with pytest.raises(StaticArgumentError, match="must be hashable"):
        f(1.0, [1])


def test_an_integer_that_does_not_fit_is_refused_in_warm_calls_too():
    f = cv.jit(lambda x: x)
    again(f, 1)
    with pytest.raises(IntegerOverflow, match="does not fit i32"):
        f(2**40)
    assert f(1) == 1


def test_a_donated_tree_beside_numpy_arrays_and_numbers_stays_quick():
    step = cv.jit(lambda s, x, rate: (s[0] - rate * x, s[1] + 1), donate_argnums=0)
    state, x = (cnp.zeros(3), 0), np.ones(3, np.float32)
    for _ in range(4):
        state = step(state, x, 0.5)
    assert state[0].tolist() == [-2, -2, -2]
    assert state[1] == 4


def test_a_number_goes_to_the_device_of_the_other_arguments():
    f = cv.jit(lambda x, y: x * y)
    for device in (*cv.devices()[:2], cv.devices()[0]):
        x = cv.device_put(cnp.ones(2), device)
        assert again(f, x, 3.0).devices() == {device}
    with cv.default_device(cv.devices()[1]):
        assert again(f, 2.0, 3.0) == 6
    assert again(f, 2.0, 3.0) == 6


def test_a_number_takes_part_in_a_sharded_call():
    mesh = cv.make_mesh((4,), ("d",))
    x = cv.device_put(cnp.arange(8.0), cv.NamedSharding(mesh, cv.P("d")))
    f = cv.jit(lambda x, y: x * y)
    assert again(f, x, 2.0).tolist() == [2.0 * i for i in range(8)]


def test_a_transfer_guard_refuses_host_values_in_warm_calls():
    f = cv.jit(lambda x: x)
    again(f, 1.0)
    with cv.transfer_guard("disallow"), pytest.raises(cv.errors.DisallowedTransfer):
        f(1.0)
    assert f(1.0) == 1
