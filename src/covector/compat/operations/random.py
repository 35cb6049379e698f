"""Operations on random keys."""

from typing import Any

from covector import lax, random
from covector.compat.operation_primitives import composition, primitive
from covector.operations import random as keys
from covector.operations import random_streams
from covector.operations.platform_random import RngUniform

for _cls in [random_streams.RandomSplit, keys.RandomFoldIn, keys.RandomUnwrap]:
    primitive(_cls.name, _cls)
primitive("random_seed", keys.RandomSeed, constant={"impl": keys.THREEFRY})
primitive("random_wrap", keys.RandomWrap, impl="kind")
primitive("random_bits", random_streams.RandomBits, bit_width="width")


def _gamma(key: Any, a: Any, *, log_space: bool = False) -> Any:
    draw = random.loggamma if log_space else random.gamma
    return draw(key, a, a.shape, a.dtype)


composition("random_gamma", _gamma)
composition("rng_bit_generator", lax.rng_bit_generator, multiple_results=True)
primitive("rng_uniform", RngUniform)
