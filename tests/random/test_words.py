"""What the functions say when their arguments are wrong."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import random
from covector.errors import (
    ArgumentError,
    AxisError,
    CovectorError,
    DTypeError,
    DTypeKindError,
    IntegerOverflow,
    TypeMismatch,
)
from covector.operations import random as operations
from covector.operations import random_streams

KEY = random.key(0)
KEYS = random.split(KEY, 3)

MESSAGES = {
    "a probability above 1": (
        lambda: random.bernoulli(KEY, 2.0),
        ArgumentError,
        "bernoulli needs probabilities p from 0 to 1, but got 2.",
    ),
    "a probability that is no number": (
        lambda: random.bernoulli(KEY, cnp.nan),
        ArgumentError,
        "bernoulli needs probabilities p from 0 to 1, but got nan.",
    ),
    "negative probabilities of elements": (
        lambda: random.choice(KEY, 2, p=np.array([1.0, -1.0], np.float32)),
        ArgumentError,
        "choice needs probabilities p that are not negative, but got -1.",
    ),
    "a float to choose from": (
        lambda: random.choice(KEY, 5.5),
        ArgumentError,
        "choice draws from an array of one axis or more, or, given an integer n, from "
        "the numbers below n, but got f32[].",
    ),
    "an axis of a number to permute": (
        lambda: random.permutation(KEY, 4, axis=4),
        AxisError,
        "permutation: axis 4 is out of bounds for an array with 1 axis, which are -1 "
        "to 0.",
    ),
    "a mode that is empty": (
        lambda: random.gumbel(KEY, mode=""),
        ArgumentError,
        "gumbel: mode must be 'low' or 'high', but got ''.",
    ),
    "complex parameters": (
        lambda: random.gamma(KEY, 1 + 1j),
        DTypeError,
        "gamma needs real parameters, but got c64[]. real(x) and abs(x) make one of a "
        "complex number.",
    ),
    "a matrix of half a row": (
        lambda: random.orthogonal(KEY, 2.5),
        ArgumentError,
        "orthogonal: n must be an integer, but got 2.5 of type float.",
    ),
    "several dimensions of a ball": (
        lambda: random.ball(KEY, (0, 0)),
        ArgumentError,
        "ball: d must be an integer, but got (0, 0) of type tuple.",
    ),
    "a float for a seed": (
        lambda: random.key(1.5),
        DTypeError,
        "key needs an integer for a seed, but got f32[].",
    ),
    "an array for a seed": (
        lambda: random.key(np.arange(3)),
        TypeMismatch,
        "key needs one integer for a seed, but got i32[3]. For a key of each, use "
        "covector.vmap(key)(seeds).",
    ),
    "a seed of more than 64 bits": (
        lambda: random.PRNGKey(2**64),
        IntegerOverflow,
        "PRNGKey: the seed 18446744073709551616 needs more than 64 bits. Use its "
        "remainder, as in seed % 2**63.",
    ),
    "another generator": (
        lambda: random.key(0, impl="rgb"),
        ArgumentError,
        "key: there is no random generator 'rgb'. Did you mean 'rbg'? There are "
        "'threefry2x32', 'rbg', 'unsafe_rbg' and those of "
        "covector.random.define_generator.",
    ),
    "two generators": (
        lambda: random.key(0, impl="threefry2x32", dtype=KEY.dtype),
        ArgumentError,
        "key takes one of impl and dtype, but got both.",
    ),
    "a number for a key": (
        lambda: random.uniform(0),
        DTypeError,
        "uniform needs a random key (key<fry>[] or u32[2]), but got 0 of type int. "
        "A seed is not a key: use uniform(covector.random.key(0), ...).",
    ),
    "words of the wrong number": (
        lambda: random.split(np.zeros(3, np.uint32)),
        DTypeError,
        "split needs a random key (key<fry>[] or u32[2]), but got u32[3]. "
        "Make one and hand it over first: key = covector.random.key(0); split(key, "
        "...). covector.random.split(key) makes new ones, for one draw each.",
    ),
    "a shape, and no key": (
        lambda: random.normal((3,)),
        DTypeError,
        "normal needs a random key (key<fry>[] or u32[2]), but got (3,) of type tuple. "
        "Make one and hand it over first: key = covector.random.key(0); normal(key, "
        "...). covector.random.split(key) makes new ones, for one draw each.",
    ),
    "no key before what must be given": (
        lambda: random.randint(0, 5),
        DTypeError,
        "randint needs a random key (key<fry>[] or u32[2]), but got 0 of type int. "
        "A seed is not a key: use randint(covector.random.key(0), ...).",
    ),
    "what to choose from, and no key": (
        lambda: random.choice(np.ones(3)),
        DTypeError,
        "choice needs a random key (key<fry>[] or u32[2]), but got f32[3]. "
        "Make one and hand it over first: key = covector.random.key(0); choice(key, "
        "...). covector.random.split(key) makes new ones, for one draw each.",
    ),
    "words of the wrong dtype": (
        lambda: random.wrap_key_data(np.zeros(2, np.int32)),
        DTypeError,
        "wrap_key_data needs the words of key<fry> keys, u32[..., 2], but got "
        "array([0, 0], dtype=int32).",
    ),
    "several keys": (
        lambda: random.normal(KEYS),
        TypeMismatch,
        "normal needs one random key, but got an array of keys, key<fry>[3]. To draw "
        "from each, use covector.vmap(lambda key: normal(key, ...))(keys).",
    ),
    "several raw keys": (
        lambda: random.fold_in(random.key_data(KEYS), 1),
        TypeMismatch,
        "fold_in needs one random key, but got an array of keys, u32[3,2]. To draw "
        "from each, use covector.vmap(lambda key: fold_in(key, ...))(keys).",
    ),
    "a negative number folded in": (
        lambda: random.fold_in(KEY, -1),
        IntegerOverflow,
        "fold_in: the number -1 does not fit u32, which holds 0 to 2**32 - 1. Use its "
        "remainder, as in data % 2**32.",
    ),
    "a float folded in": (
        lambda: random.fold_in(KEY, 1.0),
        DTypeError,
        "fold_in needs an integer, but got f32[].",
    ),
    "numbers folded in": (
        lambda: random.fold_in(KEY, cnp.arange(2)),
        TypeMismatch,
        "fold_in needs one integer, but got i32[2]. For a key of each, use "
        "covector.vmap(fold_in, (None, 0))(key, data).",
    ),
    "a negative number of keys": (
        lambda: random.split(KEY, -1),
        ArgumentError,
        "split: num (-1,) has a negative length.",
    ),
    "a negative length": (
        lambda: random.uniform(KEY, (2, -3)),
        ArgumentError,
        "uniform: shape (2, -3) has a negative length.",
    ),
    "a float for a shape": (
        lambda: random.uniform(KEY, (2.5,)),
        ArgumentError,
        "uniform: shape must be an integer or a tuple of integers, but got 2.5 of type "
        "float.",
    ),
    "uniform integers": (
        lambda: random.uniform(KEY, (), int),
        DTypeKindError,
        "uniform draws floating-point numbers, but got the dtype i32.",
    ),
    "normal integers": (
        lambda: random.normal(KEY, (), "int8"),
        DTypeKindError,
        "normal draws floating-point numbers, but got the dtype i8.",
    ),
    "integers that are floats": (
        lambda: random.randint(KEY, (), 0, 3, "float32"),
        DTypeKindError,
        "randint draws integer numbers, but got the dtype f32.",
    ),
    "signed bits": (
        lambda: random.bits(KEY, (), "int32"),
        DTypeKindError,
        "bits draws unsigned integers of 8 to 64 bits, and i32 is none.",
    ),
    "an integer probability": (
        lambda: random.bernoulli(KEY, 1),
        DTypeKindError,
        "bernoulli needs floating-point probabilities, but got i32[].",
    ),
    "an unknown mode": (
        lambda: random.bernoulli(KEY, 0.5, mode="middle"),
        ArgumentError,
        "bernoulli: mode must be 'low' or 'high', but got 'middle'.",
    ),
    "parameters of other shapes": (
        lambda: random.gamma(KEY, cnp.ones(3), (2,)),
        TypeMismatch,
        "gamma: the parameters f32[3] do not broadcast to the shape (2,).",
    ),
    "parameters larger than the shape": (
        lambda: random.rayleigh(KEY, cnp.ones((2, 3)), (3,)),
        TypeMismatch,
        "rayleigh: the parameters f32[2,3] do not broadcast to the shape (3,).",
    ),
    "parameters that do not meet": (
        lambda: random.beta(KEY, cnp.ones(3), cnp.ones(2)),
        TypeMismatch,
        "beta: the parameters f32[3], f32[2] do not broadcast to one shape.",
    ),
    "a permutation of a float": (
        lambda: random.permutation(KEY, 2.5),
        ArgumentError,
        "permutation needs an array of one axis or more, or an integer n for the "
        "numbers below n, but got f32[].",
    ),
    "a permutation along no axis": (
        lambda: random.permutation(KEY, cnp.ones((2, 3)), 2),
        AxisError,
        "permutation: axis 2 is out of bounds for an array with 2 axes, which are -2 "
        "to 1.",
    ),
    "another method": (
        lambda: random.gamma(KEY, 2.0, method="slow"),
        ArgumentError,
        "gamma: method must be 'published' or 'fast', but is 'slow'.",
    ),
    "another method of choice": (
        lambda: random.choice(KEY, 5, (2,), method="quick"),
        ArgumentError,
        "choice: method must be 'published' or 'fast', but is 'quick'.",
    ),
    "a choice of nothing": (
        lambda: random.choice(KEY, 0, (2,)),
        ArgumentError,
        "choice: there is nothing to draw from in i32[] (0).",
    ),
    "a choice of too many": (
        lambda: random.choice(KEY, 5, (7,), replace=False),
        ArgumentError,
        "choice: 7 elements cannot be drawn from 5 without drawing some of them again; "
        "that is what replace=True allows.",
    ),
    "a choice with other probabilities": (
        lambda: random.choice(KEY, cnp.arange(5), (2,), p=cnp.ones(3)),
        TypeMismatch,
        "choice needs one probability for each of 5 elements, but got f32[3].",
    ),
    "integer logits": (
        lambda: random.categorical(KEY, cnp.arange(3)),
        DTypeKindError,
        "categorical needs logits that are floating-point numbers, but got i32[3]. "
        "Convert them, as in logits.astype('float32').",
    ),
    "categories of another shape": (
        lambda: random.categorical(KEY, cnp.ones((4, 5)), shape=(3,)),
        TypeMismatch,
        "categorical: the shape of the result, (3,), must end in what f32[4,5] without "
        "axis 1 broadcasts to.",
    ),
    "too many categories": (
        lambda: random.categorical(KEY, cnp.ones(3), shape=(4,), replace=False),
        ArgumentError,
        "categorical: 4 draws from 3 categories must repeat some; that is what "
        "replace=True allows.",
    ),
    "dirichlet of a scalar": (
        lambda: random.dirichlet(KEY, 1.0),
        TypeMismatch,
        "dirichlet needs parameters along a last axis, but got f32[].",
    ),
    "multinomial of a scalar": (
        lambda: random.multinomial(KEY, 3, 0.5),
        TypeMismatch,
        "multinomial needs probabilities along a last axis, but got f32[].",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message_says_who_and_what(name):
    fun, kind, message = MESSAGES[name]
    with pytest.raises(kind) as caught:
        fun()
    assert str(caught.value) == message
    assert isinstance(caught.value, CovectorError)


def test_operations_refuse_what_is_no_key():
    numbers = cnp.zeros((2,), "uint32")
    with pytest.raises(DTypeError, match=r"random_bits needs random keys, key<fry>\["):
        random_streams.RandomBits(32, ())(numbers)
    with pytest.raises(TypeMismatch, match=r"must be u32\[..., 2\], but got u32\[\]"):
        operations.random_wrap(cnp.asarray(0, "uint32"))
    with pytest.raises(DTypeError, match="folds in u32 numbers, but got i32"):
        operations.random_fold_in(KEY, cnp.asarray(1))
    with pytest.raises(TypeMismatch, match=r"key<fry>\[3\] and u32\[2\]"):
        operations.random_fold_in(KEYS, numbers)
    with pytest.raises(DTypeError, match="must be an integer, but got f32"):
        operations.random_seed(cnp.asarray(1.0))


def test_keys_are_not_numbers():
    with pytest.raises(TypeError, match="random keys are not numbers"):
        KEY + 1
    with pytest.raises(TypeError, match="key_data gives the bits"):
        KEY.astype(int)
    with pytest.raises(TypeError, match=r"key_data\(key\) gives their bits"):
        np.asarray(KEY)


def test_a_seed_that_is_traced_must_be_an_integer():
    with pytest.raises(
        DTypeError, match=r"key needs an integer for a seed, but got f32"
    ):
        cv.jit(random.key)(1.5)
