"""Arguments of NumPy and numbers go through memory that the next call fills again."""

import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import DisallowedTransfer, IntegerOverflow


def stages_of(f):
    """What the last call of a jitted function staged its arguments in."""
    call = f._caches.last_call.call
    names = call.__code__.co_freevars
    if "stages" not in names:
        return []
    return call.__closure__[names.index("stages")].cell_contents


def warm(f, *args):
    for _ in range(3):
        f(*args)
    return f


def test_later_calls_do_not_change_results_of_earlier_ones():
    for fun in (
        lambda x: x,
        lambda x: x + 0,
        lambda x: x[:2],
        lambda x: x.reshape(2, 2),
    ):
        f = warm(cv.jit(fun), np.zeros(4, np.float32))
        assert any(stages_of(f))
        results = [f(np.full(4, i, np.float32)) for i in range(5)]
        for i, result in enumerate(results):
            assert np.asarray(result).tolist() == fun(np.full(4, i)).tolist()


def test_an_array_that_changes_in_place_is_read_again():
    x = np.zeros(3, np.float32)
    f = warm(cv.jit(lambda x: x * 2), x)
    x[:] = 3
    assert f(x).tolist() == [6, 6, 6]


@pytest.mark.parametrize(
    "x",
    [
        *(np.arange(6.0, dtype=np.float32)[::2], np.ones((2, 3), np.int8).T),
        *(np.float32(2), np.bool_(True), np.uint8(255), np.array(1j, np.complex64)),
        *(2.5, -0.0, float("nan"), float("inf"), 7, True, 1j),
        *(np.zeros(0, np.float32), np.ones(2, ">f4"), np.ones(2), np.float64(1)),
        *(np.ones(2**16, np.float32), np.ones(2**16 + 1, np.float32)),
    ],
    ids=lambda x: f"{type(x).__name__}{np.shape(x)}",
)
def test_a_staged_value_is_what_an_array_of_it_is(x):
    f = warm(cv.jit(lambda x: x), x)
    found, wanted = f(x), cnp.asarray(x)
    assert (found.dtype, found.weak_type) == (wanted.dtype, wanted.weak_type)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    assert np.array_equal(np.signbit(found.real), np.signbit(wanted.real))


def test_large_arrays_are_not_staged():
    f = warm(cv.jit(lambda x: x), np.ones(2**16 + 1, np.float32))
    assert stages_of(f) == [None]


@pytest.mark.parametrize(
    "other",
    [
        *(np.ones(3, np.float32), np.ones(4, np.int32), np.ones((2, 2), np.float32)),
        *(2.0, 2, np.float32(2), cnp.ones(4), [np.ones(4, np.float32)]),
    ],
    ids=str,
)
def test_an_argument_of_another_kind_gets_its_own_program(other):
    f = warm(cv.jit(lambda x: cv.tree.map(lambda y: y * 2, x)), np.ones(4, np.float32))
    wanted = cv.tree.map(lambda y: cnp.asarray(y) * 2, other)
    cv.tree.map(np.testing.assert_array_equal, f(other), wanted)
    assert f(np.ones(4, np.float32)).tolist() == [2, 2, 2, 2]


def test_an_integer_that_does_not_fit_is_refused_after_many_that_did():
    f = warm(cv.jit(lambda x, i: x + i), cnp.ones(2), 3)
    with pytest.raises(IntegerOverflow, match="2147483648 does not fit i32"):
        f(cnp.ones(2), 2**31)
    assert f(cnp.ones(2), 4).tolist() == [5, 5]


def test_a_transfer_guard_sees_arguments_that_would_be_staged():
    f = warm(cv.jit(lambda x: x + 1), np.ones(2, np.float32))
    with cv.transfer_guard("disallow"), pytest.raises(DisallowedTransfer):
        f(np.ones(2, np.float32))


def test_threads_do_not_share_the_memory_of_a_call():
    f = warm(cv.jit(lambda x, i: (x - i, x[::-1])), np.zeros(100, np.float32), 0)
    wrong = []

    def call(k):
        for i in range(k, 2000, 4):
            difference, reversed_ = f(np.full(100, i, np.float32), i)
            if np.any(np.asarray(difference)) or np.any(np.asarray(reversed_) != i):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_a_callback_keeps_of_an_argument_does_not_change():
    kept = []
    f = cv.jit(lambda x: cv.debug.callback(kept.append, x))
    for i in range(5):
        f(np.full(3, i, np.float32))
    cv.effects_barrier()
    assert [np.asarray(x).tolist() for x in kept] == [[i] * 3 for i in range(5)]


def test_a_reference_that_was_given_an_argument_keeps_it():
    f = cv.jit(lambda ref, x: ref.__setitem__(..., x))
    ref = cv.new_ref(cnp.zeros(2))
    found = []
    for i in range(4):
        f(ref, np.full(2, i, np.float32))
        found.append(ref[...])
    assert [x.tolist() for x in found] == [[i, i] for i in range(4)]


def test_arguments_of_a_mesh_are_read_anew():
    mesh = cv.make_mesh((1,), ("x",))
    sharding = cv.sharding.NamedSharding(mesh, cv.sharding.PartitionSpec("x"))
    there = cv.device_put(np.zeros(4, np.float32), sharding)
    f = warm(cv.jit(lambda x, y: x + y), there, np.zeros(4, np.float32))
    assert f(there, np.full(4, 3, np.float32)).tolist() == [3, 3, 3, 3]
