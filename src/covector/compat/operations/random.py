"""Operations on random keys."""

from typing import Any

from covector import random
from covector.compat.operation_primitives import composition, primitive
from covector.operations import random as keys
from covector.operations.random import THREEFRY

for _cls in [keys.RandomSplit, keys.RandomFoldIn, keys.RandomUnwrap]:
    primitive(_cls.name, _cls)
for _cls in [keys.RandomSeed, keys.RandomWrap]:
    primitive(_cls.name, _cls, derived={"impl": lambda op, types: THREEFRY})
primitive("random_bits", keys.RandomBits, bit_width="width")


def _gamma(key: Any, a: Any, *, log_space: bool = False) -> Any:
    draw = random.loggamma if log_space else random.gamma
    return draw(key, a, a.shape, a.dtype)


composition("random_gamma", _gamma)
