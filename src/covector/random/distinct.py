"""Few of many, all different, without an order of all of them."""

from collections.abc import Sequence
from math import prod

from covector import numpy as cnp
from covector import options
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.types import Shape
from covector.numpy.updating import at
from covector.operations.creation import Iota
from covector.operations.sorting import Sort
from covector.random.arguments import repeat, sampler, subkeys
from covector.random.bits import draw_integers


@sampler
def draw_distinct(key: Value, *, shape: Shape, count: int) -> Array:
    """Different indices below ``count``, all tuples of them equally likely.

    They are drawn with replacement, and what repeats is drawn again until nothing does;
    of equal ones one stays, an earlier one if there is. Which indices are equal does
    not depend on what they are called, so no tuple is preferred.
    """
    dtype = dtypes.default_int(options.current().enable_x64)
    wanted = prod(shape)
    low, high = scalar(0, dtype), scalar(count, dtype)
    place = Iota(dtypes.int32, (wanted,), 0)()

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        key, indices, repeats = carry
        key, now = subkeys(key, 2)
        beyond = scalar(False, dtypes.bool_)
        drawn = draw_integers(now, low, high, beyond, shape=(wanted,))
        indices = cnp.where(repeats, drawn, indices)
        # Equal ones come together, and first what was there before.
        ordered, _, places = Sort(0, num_keys=2)(indices, repeats, place)
        follows = cnp.pad(ordered[1:] == ordered[:-1], (1, 0))
        return key, indices, at(repeats)[places].set(follows)

    nothing = cnp.zeros((wanted,), dtype)
    everything = cnp.ones((wanted,), dtypes.bool_)
    carry = key, nothing, everything
    return repeat(_repeats, step, carry)[1].reshape(shape)


def _repeats(carry: Sequence[Value]) -> Array:
    return carry[2].any()
