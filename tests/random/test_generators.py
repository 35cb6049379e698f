"""Generators besides the default one: ``rbg``, ``unsafe_rbg``, and those of users."""

import pickle

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, random

jax = pytest.importorskip("jax")
theirs = jax.random

IMPLS = ["rbg", "unsafe_rbg"]
impls = pytest.mark.parametrize("impl", IMPLS)

#: keys whose halves, as floats, are NaNs of several kinds, subnormal, and −0
HARD = np.array(
    [
        [1, 0, 0, 0],
        [0, 0x7FF00001, 3, 0xFFF00000],
        [0, 0x80000000, 0, 0x80000000],
        [2**32 - 1] * 4,
    ],
    np.uint32,
)


def words(keys):
    return np.asarray(random.key_data(keys))


def hard_keys(impl="rbg"):
    return random.wrap_key_data(HARD, impl=impl)


# -- beside jax ------------------------------------------------------------------------


@impls
@pytest.mark.parametrize("partitionable", [True, False])
def test_keys_are_those_of_jax(impl, partitionable):
    def made(random, seed):
        key = random.key(seed, impl=impl)
        keys = random.split(key, (2, 3))
        folded = [random.fold_in(key, np.uint32(n)) for n in (0, 2**32 - 1)]
        none = random.split(key, 0)
        return [random.key_data(k) for k in (key, keys, *folded, none)]

    with (
        cv.threefry_partitionable(partitionable),
        jax.threefry_partitionable(partitionable),
    ):
        for seed in (0, -3, 2**31):
            wanted = made(theirs, seed)
            for found in (
                made(random, seed),
                cv.jit(made, static_argnums=(0, 1))(random, seed),
            ):
                for x, y in zip(found, wanted, strict=True):
                    np.testing.assert_array_equal(x, y)


@impls
def test_draws_are_those_of_jax(impl):
    """By all widths of bits, and so by what is made of them."""

    def drawn(random, key):
        return [
            *[random.bits(key, (2, 5), f"uint{w}") for w in (8, 16, 32, 64)],
            random.bits(key, (), "uint64"),
            random.bits(key, (0,)),
            random.uniform(key, (7,)),
            random.permutation(key, 9),
        ]

    with cv.enable_x64(), jax.enable_x64(True):
        wanted = drawn(theirs, theirs.key(7, impl=impl))
        key = random.key(7, impl=impl)
        for found in (drawn(random, key), cv.jit(lambda key: drawn(random, key))(key)):
            for x, y in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(x, y)


def test_draws_by_rejection_are_those_of_jax():
    wanted = theirs.gamma(theirs.key(7, impl="rbg"), 2.0, (9,))
    found = random.gamma(random.key(7, impl="rbg"), 2.0, (9,))
    np.testing.assert_allclose(found, wanted, 1e-6)


def test_many_draws_are_those_of_jax():
    """So many that they run as one program."""
    wanted = theirs.bits(theirs.key(1, impl="rbg"), (301, 101))
    np.testing.assert_array_equal(
        random.bits(random.key(1, impl="rbg"), (301, 101)), wanted
    )


def test_counters_carry_into_their_high_word():
    raw = np.array([1, 2, 2**32 - 1, 4], np.uint32)
    wanted = theirs.bits(theirs.wrap_key_data(raw, impl="rbg"), (9,))
    found = random.bits(random.wrap_key_data(raw, impl="rbg"), (9,))
    np.testing.assert_array_equal(found, wanted)


# -- batches ---------------------------------------------------------------------------


@impls
def test_a_batch_of_keys_draws_what_each_draws(impl):
    """In jax all are drawn from the first key."""

    def drawn(key, n):
        folded = random.fold_in(key, n)
        parts = random.split(folded, 2)
        return (
            random.key_data(parts),
            random.bits(parts[1], (3,)),
            random.poisson(key, 3.0),
        )

    keys, numbers = random.split(random.key(0, impl=impl), 4), cnp.arange(4)
    each = [drawn(keys[i], numbers[i]) for i in range(4)]
    for batch in (cv.vmap(drawn), cv.jit(cv.vmap(drawn))):
        for found, wanted in zip(
            batch(keys, numbers), zip(*each, strict=True), strict=True
        ):
            np.testing.assert_array_equal(
                found, np.stack([np.asarray(w) for w in wanted])
            )


def test_loops_over_a_batch_of_keys_end_for_each_by_itself():
    keys = random.split(random.key(0, impl="rbg"), 5)
    found = cv.jit(cv.vmap(lambda k: random.gamma(k, 0.1, (3,))))(keys)
    wanted = [random.gamma(k, 0.1, (3,)) for k in keys]
    np.testing.assert_allclose(found, np.stack([np.asarray(w) for w in wanted]), 1e-5)


# -- keys are elements like others -----------------------------------------------------


def test_what_moves_keys_keeps_their_bits():
    def moved(k, i):
        changed = k.at[i].set(k[0]).at[cnp.stack([i, i - 1])].set(k[:2])
        read = k.at[cnp.asarray([9, 1])].get(mode="fill"), k[cnp.asarray([2, 0])]
        scanned = cv.lax.scan(lambda c, k: (k, c), k[0], k)[1]
        return [
            *(k[i], changed, *read, scanned, k.reshape(2, 2).T, k[::-1]),
            *(cnp.stack([k, k]), cnp.concatenate([k, k]), cnp.where(i > 5, k, k[::-1])),
        ]

    keys, i = hard_keys(), cnp.asarray(3)
    eager = list(map(words, moved(keys, i)))
    compiled = list(map(words, cv.jit(moved)(keys, i)))
    constant = list(map(words, cv.jit(lambda i: moved(keys, i))(i)))
    for one, *others in zip(eager, compiled, constant, strict=True):
        for other in others:
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(eager[0], HARD[3])
    np.testing.assert_array_equal(eager[2], [[2**32 - 1] * 4, HARD[1]])


def test_keys_are_equal_where_their_bits_are():
    keys = hard_keys()
    for equal in (lambda a, b: (a == b, a != b), cv.jit(lambda a, b: (a == b, a != b))):
        same, different = equal(keys, keys)
        assert same.all()
        assert not different.any()
        same, different = equal(keys, keys[1])
        assert same.tolist() == [False, True, False, False]
        assert different.tolist() == [True, False, True, True]


def test_keys_over_several_devices_keep_their_bits():
    mesh = cv.make_mesh((4,), ("x",))
    sharding = cv.NamedSharding(mesh, cv.P("x"))
    keys = cv.device_put(hard_keys(), sharding)
    at = cnp.asarray([3, 1, 0, 2, 1])
    np.testing.assert_array_equal(words(keys), HARD)
    np.testing.assert_array_equal(words(cv.jit(lambda k, i: k[i])(keys, at)), HARD[at])
    joined = cv.jit(lambda k: cnp.concatenate([k, k[1:]]))(keys)
    np.testing.assert_array_equal(words(joined), np.concatenate([HARD, HARD[1:]]))

    def draw(k):
        return random.bits(k[0], (2,))

    each = cv.shard_map(draw, mesh=mesh, in_specs=cv.P("x"), out_specs=cv.P("x"))
    wanted = np.concatenate([np.asarray(random.bits(k, (2,))) for k in hard_keys()])
    np.testing.assert_array_equal(cv.jit(each)(keys), wanted)
    over = cv.jit(lambda k: random.bits(k, (8,)), out_shardings=sharding)(
        hard_keys()[3]
    )
    np.testing.assert_array_equal(over, random.bits(hard_keys()[3], (8,)))


def test_keys_are_written_and_read():
    keys = hard_keys("unsafe_rbg")
    again = pickle.loads(pickle.dumps(keys))
    assert again.type is keys.type
    np.testing.assert_array_equal(words(again), HARD)


def test_wide_keys_are_shown_as_words():
    assert repr(hard_keys()[0]) == "Array((), dtype=key<rbg>) overlaying:\n[1 0 0 0]"


# -- which generator -------------------------------------------------------------------


def test_the_option_says_which_keys_are_made_and_what_raw_ones_are():
    with cv.default_prng_impl("rbg"):
        raw = random.PRNGKey(3)
        assert raw.tolist() == [0, 3, 0, 3]
        assert random.key_impl(raw) == "rbg"
        assert str(random.key(3).dtype) == "key<rbg>"
        np.testing.assert_array_equal(
            random.split(raw), random.key_data(random.split(random.key(3)))
        )
        wanted = random.uniform(random.key(3))
        assert random.uniform(raw) == wanted
    assert random.uniform(random.wrap_key_data(raw, impl="rbg")) == wanted
    assert random.key_impl(random.key(3)) == "threefry2x32"
    with pytest.raises(errors.DTypeError) as caught:
        random.split(raw)
    assert str(caught.value) == (
        "split needs a random key (key<fry>[] or u32[2]), but got u32[4]. "
        "Raw keys are taken for keys of the option default_prng_impl; "
        "covector.random.wrap_key_data(key, impl='rbg') says which they are."
    )
    with pytest.raises(errors.SettingError, match="one of 'threefry2x32', 'rbg'"):
        cv.default_prng_impl("philox").__enter__()


def test_keys_of_different_generators_do_not_mix():
    with pytest.raises(TypeError, match=r"key<rbg>.*key<fry>|key<fry>.*key<rbg>"):
        cnp.stack([random.key(0), random.key(0, impl="rbg")])


# -- generators of users ---------------------------------------------------------------


def counting(name, **changes):
    """A generator of one word, which its draws show."""
    functions = {
        "seed": lambda n: n.astype("uint32").reshape(1),
        "split": lambda key, shape: (
            key
            + cnp.arange(1, 1 + np.prod(shape, dtype=int), dtype="uint32").reshape(
                *shape, 1
            )
        ),
        "random_bits": lambda key, width, shape: cnp.full(
            shape, key[0], f"uint{width}"
        ),
        "fold_in": lambda key, number: key * 10 + number,
    }
    return random.define_generator(
        name=name, key_shape=(1,), **(functions | changes), tag="n"
    )


def test_a_generator_of_the_user_makes_and_batches_keys():
    kind = counting("counting test")
    key = random.key(3, impl="counting test")
    assert str(key.type) == "key<n>[]"
    assert random.key_impl(key) == "counting test"
    assert words(random.split(key, (2, 2))).tolist() == [[[4], [5]], [[6], [7]]]
    keys = random.split(key, 3)
    folded = cv.jit(cv.vmap(random.fold_in, (0, None)))(keys, 7)
    assert words(folded).tolist() == [[47], [57], [67]]
    assert folded.dtype is kind
    drawn = cv.vmap(lambda k: random.bits(k, (2,), "uint8"))(keys)
    assert drawn.tolist() == [[4, 4], [5, 5], [6, 6]]
    assert random.gamma(random.key(9, dtype=kind), cnp.ones(0)).shape == (0,)


def test_a_generator_may_be_defined_again_by_functions_that_say_the_same():
    def define(step):
        return random.define_generator(
            name="stepping",
            key_shape=(1,),
            seed=lambda n: n.astype("uint32")[None],
            split=lambda key, shape: cnp.zeros((*shape, 1), "uint32"),
            random_bits=lambda key, width, shape: cnp.full(
                shape, key[0] + step, key.dtype
            ),
            fold_in=lambda key, number: key + number,
        )

    assert define(1) is define(1)
    with pytest.raises(errors.ArgumentError, match="'stepping' already"):
        define(2)


def test_a_generator_of_the_user_is_checked():
    def split(key, shape):
        return key

    counting("short", split=split)
    with pytest.raises(errors.TypeMismatch) as caught:
        random.split(random.key(0, impl="short"))
    assert str(caught.value) == (
        "the function split of the generator 'short' should give u32[2,1], but gave "
        "u32[1]."
    )
    with pytest.raises(errors.ArgumentError, match=r"already\. Programs with its"):
        counting("short")
    with pytest.raises(
        errors.ArgumentError, match="has 3 words, but there are keys of"
    ):
        random.define_generator(
            name="three",
            key_shape=(3,),
            seed=split,
            split=split,
            random_bits=split,
            fold_in=split,
        )


def test_a_generator_needs_no_name():
    kinds = [
        cv.random.define_generator(
            key_shape=(1,),
            seed=lambda n: n.astype("uint32")[None],
            split=lambda key, shape: cnp.broadcast_to(key, (*shape, 1)),
            random_bits=lambda key, width, shape: cnp.full(
                shape, key[0], f"u{width // 8}"
            ),
            fold_in=lambda key, number: key + number,
        )
        for _ in range(2)
    ]
    assert kinds[0] != kinds[1]
    assert cv.random.bits(cv.random.key(7, impl=kinds[0])) == 7
