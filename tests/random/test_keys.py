"""Keys: of seeds, of other keys, in arrays and under every transformation."""

import pickle

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax, options, random
from covector.operations.random import THREEFRY

jax = pytest.importorskip("jax")

SEEDS = [0, 1, -1, 2**31, 2**32 - 1, 2**32 + 5, -(2**40) - 7, 2**63 - 1, -(2**63), True]
ARRAYS = [np.int64(2**40 + 3), np.uint64(2**63 + 1), np.uint8(3), np.int32(-3)]


def words(key):
    return np.asarray(random.key_data(key)).tolist()


def theirs(key):
    return np.asarray(jax.random.key_data(key)).tolist()


@pytest.mark.parametrize("seed", [*SEEDS, *ARRAYS])
@pytest.mark.parametrize("x64", [False, True])
def test_seeds_give_the_keys_of_jax(seed, x64):
    with options.override(enable_x64=x64), jax.enable_x64(x64):
        wanted = theirs(jax.random.key(seed))
        assert words(random.key(seed)) == wanted
        assert np.asarray(random.PRNGKey(seed)).tolist() == wanted


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("num", [1, 2, 5, (), (3,), (2, 3), (0,), 0])
def test_split_gives_the_keys_of_jax(num, partitionable):
    with (
        options.override(threefry_partitionable=partitionable),
        jax.threefry_partitionable(partitionable),
    ):
        wanted = jax.random.key_data(jax.random.split(jax.random.key(7), num))
        np.testing.assert_array_equal(
            random.key_data(random.split(random.key(7), num)), wanted
        )
        raw = random.split(random.PRNGKey(7), num)
        np.testing.assert_array_equal(raw, wanted)
        assert raw.shape == wanted.shape


@pytest.mark.parametrize("data", [0, 1, 2**32 - 1, np.int32(-1), np.uint8(200)])
def test_fold_in_gives_the_keys_of_jax(data):
    wanted = theirs(jax.random.fold_in(jax.random.key(7), data))
    assert words(random.fold_in(random.key(7), data)) == wanted
    assert random.fold_in(random.PRNGKey(7), data).tolist() == wanted


def test_a_wide_number_is_folded_in_by_its_low_half():
    key = random.key(0)
    with options.override(enable_x64=True):
        folded = random.fold_in(key, np.int64(2**33 + 7))
    assert words(folded) == words(random.fold_in(key, 7))


# -- two forms -------------------------------------------------------------------------


def test_data_and_keys_are_each_others_inverse():
    keys = random.split(random.key(0), (2, 3))
    data = random.key_data(keys)
    assert (data.shape, data.dtype) == ((2, 3, 2), np.uint32)
    again = random.wrap_key_data(data)
    assert again.type is keys.type
    assert words(again) == words(keys)
    assert bool((again == keys).all())


def test_the_data_of_raw_keys_are_themselves():
    raw = random.PRNGKey(3)
    assert random.key_data(raw) is raw
    assert random.clone(raw) is raw
    assert random.key_data(np.array([1, 2], np.uint32)).tolist() == [1, 2]


def test_every_key_says_which_generator_it_belongs_to():
    assert random.key_impl(random.key(0)) == "threefry2x32"
    assert random.key_impl(random.PRNGKey(0)) == "threefry2x32"
    assert random.key_dtype("threefry2x32") is THREEFRY
    assert random.key(0, impl="threefry2x32").dtype is THREEFRY
    assert random.key(0, dtype=THREEFRY).dtype is THREEFRY
    assert cnp.issubdtype(THREEFRY, cv.dtypes.prng_key)


def test_typed_and_raw_keys_draw_the_same():
    typed, raw = random.key(5), random.PRNGKey(5)
    numpys = np.array([0, 5], np.uint32)
    wanted = random.bits(typed, (3,)).tolist()
    assert random.bits(raw, (3,)).tolist() == wanted
    assert random.bits(numpys, (3,)).tolist() == wanted


# -- arrays of keys --------------------------------------------------------------------

KEYS = random.split(random.key(1), (4, 3))
DATA = np.asarray(random.key_data(KEYS))

STRUCTURAL = {
    "index": lambda k: k[1],
    "slice": lambda k: k[1:, ::2],
    "gather": lambda k: k[cnp.array([2, 0])],
    "reshape": lambda k: k.reshape(2, 6, *k.shape[2:]),
    "concatenate": lambda k: cnp.concatenate([k, k[:1]]),
    "stack": lambda k: cnp.stack([k[0], k[1]]),
    "roll": lambda k: cnp.roll(k, 1, 0),
    "set": lambda k: k.at[0].set(k[1]),
    "broadcast": lambda k: cnp.broadcast_to(k[0], (2, *k[0].shape)),
}


@pytest.mark.parametrize("name", STRUCTURAL)
def test_arrays_of_keys_are_arrays(name):
    """What moves elements moves keys as it moves their words."""
    fun = STRUCTURAL[name]
    wanted = np.asarray(fun(cnp.asarray(DATA)))
    np.testing.assert_array_equal(random.key_data(fun(KEYS)), wanted)
    np.testing.assert_array_equal(random.key_data(cv.jit(fun)(KEYS)), wanted)


def test_keys_are_chosen_and_compared():
    first, second = random.split(random.key(0))
    chosen = cnp.where(cnp.array([True, False]), first, second)
    assert words(chosen) == [words(first), words(second)]
    assert (chosen == first).tolist() == [True, False]


def test_keys_survive_pickling():
    again = pickle.loads(pickle.dumps(KEYS))
    assert again.type is KEYS.type
    assert words(again) == words(KEYS)


# -- transformations -------------------------------------------------------------------


def test_keys_can_be_made_split_and_folded_under_jit():
    def fun(seed):
        key = random.fold_in(random.key(seed), seed)
        return random.key_data(random.split(key, 3))

    np.testing.assert_array_equal(cv.jit(fun)(12), fun(12))
    np.testing.assert_array_equal(cv.vmap(fun)(cnp.arange(12, 14))[0], fun(12))


def test_a_batch_of_keys_draws_what_each_draws():
    drawn = cv.vmap(lambda k: random.bits(k, (2, 3)))(KEYS[0])
    for k, bits in zip(KEYS[0], drawn, strict=True):
        np.testing.assert_array_equal(random.bits(k, (2, 3)), bits)
    folded = cv.vmap(random.fold_in, (None, 0))(random.key(3), cnp.arange(4))
    wanted = [words(random.fold_in(random.key(3), i)) for i in range(4)]
    assert words(folded) == wanted


@pytest.mark.parametrize("partitionable", [True, False])
def test_raw_keys_can_be_batched_and_carried(partitionable):
    with options.override(threefry_partitionable=partitionable):
        raw = random.split(random.PRNGKey(0), 3)
        drawn = cv.vmap(lambda k: random.bits(k, (2,)))(raw)
        wanted = [random.bits(k, (2,)).tolist() for k in raw]
    assert drawn.tolist() == wanted


def test_keys_are_carried_by_loops():
    def step(key, _):
        key, now = random.split(key)
        return key, random.bits(now)

    key, wanted = random.key(2), []
    for _ in range(4):
        key, bits = step(key, None)
        wanted.append(int(bits))
    last, drawn = lax.scan(step, random.key(2), length=4)
    assert drawn.tolist() == wanted
    assert words(last) == words(key)
    folded = lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), random.key(0))
    assert words(folded) == words(
        random.fold_in(random.fold_in(random.fold_in(random.key(0), 0), 1), 2)
    )


def test_keys_pass_through_branches_and_derivatives():
    def loss(x, key):
        key = lax.cond(x > 0, lambda k: k, lambda k: random.fold_in(k, 1), key)
        return (x * random.normal(key, (3,))).sum()

    key = random.key(4)
    wanted = float(random.normal(key, (3,)).sum())
    assert float(cv.grad(loss)(2.0, key)) == pytest.approx(wanted, rel=1e-5)
    remembered = cv.grad(cv.checkpoint(loss))(2.0, key)
    assert float(remembered) == pytest.approx(wanted, rel=1e-5)


def test_the_shape_of_keys_is_known_without_making_them():
    made = cv.eval_shape(lambda s: random.split(random.key(s), (2, 3)), 0)
    assert (made.shape, made.dtype) == ((2, 3), THREEFRY)


# -- keys stay keys --------------------------------------------------------------------

KEY, FOUR = random.key(3), random.split(random.key(4), 4)
MAKERS_OF_KEYS = {
    "full": lambda: (cnp.full(2, KEY), [KEY, KEY]),
    "full with dtype": lambda: (cnp.full(1, KEY, KEY.dtype), [KEY]),
    "full_like": lambda: (cnp.full_like(FOUR[:2], KEY), [KEY, KEY]),
    "get": lambda: (FOUR.at[9].get(mode="fill", fill_value=KEY), KEY),
    "get of several": lambda: (
        FOUR.at[cnp.array([1, 9])].get(mode="fill", fill_value=KEY),
        [FOUR[1], KEY],
    ),
    "get in a program": lambda: (
        cv.jit(lambda k: k.at[cnp.array([1, 9])].get(mode="fill", fill_value=KEY))(
            FOUR
        ),
        [FOUR[1], KEY],
    ),
    "take": lambda: (cnp.take(FOUR, cnp.array([0, 7]), fill_value=KEY), [FOUR[0], KEY]),
    "make_array_from_callback": lambda: (
        cv.make_array_from_callback((4,), cv.devices()[0], lambda index: FOUR[index]),
        list(FOUR),
    ),
    "make_array_from_process_local_data": lambda: (
        cv.make_array_from_process_local_data(
            cv.sharding.SingleDeviceSharding(cv.devices()[0]), FOUR
        ),
        list(FOUR),
    ),
    "pure_callback": lambda: (cv.pure_callback(lambda k: k[0], KEY, FOUR), FOUR[0]),
    "pure_callback in a program": lambda: (
        cv.jit(lambda k: cv.pure_callback(lambda k: k[0], KEY, k))(FOUR),
        FOUR[0],
    ),
    "tril": lambda: (cnp.tril(FOUR.reshape(2, 2))[1], list(FOUR[2:])),
    "large": lambda: (cnp.zeros((300, 300), KEY.dtype)[0, 0], cnp.zeros((), KEY.dtype)),
}


@pytest.mark.parametrize("maker", MAKERS_OF_KEYS)
def test_an_array_made_of_keys_has_their_dtype_and_not_that_of_their_bits(maker):
    got, want = MAKERS_OF_KEYS[maker]()
    assert got.dtype is KEY.dtype
    want = [want] if isinstance(want, cv.Array) else want
    want_bits = [random.key_data(k).tolist() for k in want]
    assert random.key_data(got).reshape(len(want), -1).tolist() == want_bits


LEAKS_OF_BITS = {
    "int": int,
    "float": float,
    "bool": bool,
    "complex": complex,
    "item": lambda k: k.item(),
    "tolist": lambda k: k.tolist(),
    "tobytes": lambda k: k.tobytes(),
    "asarray": np.asarray,
    "a number as a key": lambda k: cnp.full(2, 7, k.dtype),
    "a number for what is outside": lambda k: FOUR.at[9].get(fill_value=7, mode="fill"),
    "a key for what is outside": lambda k: (
        cnp.ones(2, "uint32").at[9].get(fill_value=k, mode="fill")
    ),
}


@pytest.mark.parametrize("leak", LEAKS_OF_BITS)
def test_the_bits_of_a_key_are_numbers_only_where_they_are_asked_for(leak):
    with pytest.raises(errors.DTypeError, match="random keys"):
        LEAKS_OF_BITS[leak](KEY)


def test_the_bits_of_a_key_do_not_leave_by_dlpack_or_in_a_text():
    with pytest.raises(errors.DLPackError, match="key_data"):
        KEY.__dlpack__()
    assert f"{KEY}" == repr(KEY)
