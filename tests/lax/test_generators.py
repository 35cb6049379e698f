"""XLA's generators of random bits: beside JAX's, to the bit."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax

jax = pytest.importorskip("jax")

STATE = np.array([1, 2, 2**32 - 2, 4], np.uint32)
SHAPES = [(), (4,), (5, 6), (3, 2, 4), (3, 3), (0, 3)]


@pytest.mark.parametrize("algorithm", lax.RandomAlgorithm)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_bits_and_states_are_those_of_jax(dtype, algorithm):
    theirs = jax.lax.RandomAlgorithm(int(algorithm))

    def ours(state, shape):
        return lax.rng_bit_generator(state, shape, dtype, algorithm)

    with cv.enable_x64(), jax.enable_x64(True):
        for shape in SHAPES:
            wanted = jax.lax.rng_bit_generator(STATE, shape, dtype, theirs)
            for x, y in zip(ours(STATE, shape), wanted, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_array_equal(x, y)
        for x, y in zip(
            cv.jit(ours, static_argnums=1)(STATE, (0, 3)), wanted, strict=True
        ):
            np.testing.assert_array_equal(x, y)


def test_a_state_of_64_bit_words_is_the_same_state():
    with cv.enable_x64():
        later, bits = lax.rng_bit_generator(STATE.view(np.uint64), (5,))
        same, wanted = lax.rng_bit_generator(STATE, (5,))
        assert later.dtype == np.uint64
        assert np.asarray(later).view(np.uint32).tolist() == same.tolist()
        np.testing.assert_array_equal(bits, wanted)


def test_each_state_of_a_batch_draws_by_itself():
    """In JAX all draw from the first one, and it alone is advanced."""
    states = np.stack([STATE, STATE + 1])
    later, bits = cv.vmap(lambda s: lax.rng_bit_generator(s, (3,)))(states)
    for i in range(2):
        one, drawn = lax.rng_bit_generator(states[i], (3,))
        np.testing.assert_array_equal(later[i], one)
        np.testing.assert_array_equal(bits[i], drawn)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: lax.rng_bit_generator(np.zeros(2, np.uint32), (3,)),
            errors.TypeMismatch,
            "rng_bit_generator needs the state of a generator, u32[4] or u64[2], but "
            "got u32[2]. covector.random draws from keys.",
        ),
        (
            lambda: lax.rng_bit_generator(STATE, (3,), "int32"),
            errors.DTypeKindError,
            "rng_bit_generator draws unsigned integers of 8 to 64 bits, and i32 is "
            "none.",
        ),
        (
            lambda: lax.rng_uniform(cnp.zeros(2), cnp.ones(2), (3,)),
            errors.TypeMismatch,
            "rng_uniform needs two scalars of one dtype, but got f32[2], f32[2].",
        ),
        (
            lambda: lax.rng_uniform(1j, 2j, (3,)),
            errors.DTypeError,
            "rng_uniform draws real numbers, but got c64[].",
        ),
    ],
)
def test_the_message_says_what_is_wanted(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_rng_uniform_draws_other_numbers_each_time():
    draw = cv.jit(
        lambda low: (lax.rng_uniform(low, 7.0, (99,)), lax.rng_uniform(low, 7.0, (99,)))
    )
    drawn = np.concatenate([*draw(5.0), *draw(5.0), lax.rng_uniform(5.0, 7.0, (99,))])
    assert ((drawn >= 5) & (drawn < 7)).all()
    assert len(np.unique(drawn)) > 480
    whole = lax.rng_uniform(3, 5, (99,))
    assert whole.dtype == np.int32
    assert set(whole.tolist()) == {3, 4}
    known = cv.jit(lambda: lax.rng_uniform(0.0, 1.0, (9,)))
    assert (known() != known()).any()


def test_bounds_of_rng_uniform_are_not_batched():
    with pytest.raises(errors.MissingRule, match="rng_uniform has no `batch` rule"):
        cv.vmap(lambda low: lax.rng_uniform(low, 1.0, (3,)))(cnp.zeros(2))
