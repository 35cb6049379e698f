"""Candidates for gamma numbers, drawn until one is accepted for each.

Marsaglia and Tsang ("A simple method for generating gamma variables", 2000) accept
d (1 + c·x)³ for normal x with a probability above 0.95, where d = a − 1/3 ≥ 2/3 and
c = 1/√(9d). For a < 1, a number for a + 1 is multiplied by u^(1/a), u uniform.

In the published stream each number has a key of its own, and draws its candidates with
keys that follow from it: eight blocks of the cipher for a number. With one key for all
of them it is one.
"""

from collections.abc import Sequence

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.lax.identities import optimization_barrier
from covector.numpy.updating import at
from covector.operations.selection import where
from covector.random.arguments import repeat, subkeys
from covector.random.bits import draw_unit
from covector.random.normal import draw_normal

#: elements from which those that are rejected are gathered
_MANY = 4096
#: elements that are drawn at least for those
_FEW = 128


def accepted(keys: Value, a: Value) -> tuple[Array, Array, Array]:
    """Keys to spare, d, and (1 + c·x)³ of an accepted x for each number: with a key for
    each, or one for all.
    """
    d = cnp.where(a >= 1, a, a + 1) - 1 / 3
    c = (1 / 3) / cnp.sqrt(d)
    keys, spare = subkeys(keys, 2)
    if keys.type.shape != a.type.shape:
        cubes = _cubes_of_one_key
    elif type(a.type.size) is not int or a.type.size < _MANY:  # or symbolic
        cubes = _accepted_cubes
    else:
        cubes = _mostly_first_cubes
    return spare, d, cubes(keys, c, d)


def _cubes_of_one_key(key: Value, c: Value, d: Value) -> Array:
    """Candidates for all, and then for those that are rejected, so many at a time."""
    shape, count = c.type.shape, c.type.size
    c, d = [cnp.reshape(x, (count,)) for x in (c, d)]
    few = count if type(count) is not int else min(count, max(count // 32, _FEW))

    def candidates(key: Value, c: Value, d: Value) -> Array:
        for_x, for_u = subkeys(key, 2)
        x = draw_normal(for_x, shape=c.type.shape, dtype=c.type.dtype)
        u = draw_unit(for_u, shape=c.type.shape, dtype=c.type.dtype)
        inside, cube = _inside(x, c)
        return cnp.where(inside & ~_rejects(x * x, cube, u, d), cube, 0)

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        cube, key = carry
        key, now = subkeys(key, 2)
        rest = _rejected(cube, few)
        found = candidates(now, *[cnp.take(x, rest, mode="clip") for x in (c, d)])
        return at(cube)[rest].set(found, mode="drop"), key

    key, now = subkeys(key, 2)
    return repeat(_going, step, (candidates(now, c, d), key))[0].reshape(shape)


def _going(carry: Sequence[Value]) -> Array:
    """Whether there are numbers without an accepted candidate."""
    return (carry[0] == 0).any()


def _rejected(cube: Value, few: int) -> Array:
    """The positions of the first ``few`` of those; the end, where there are less."""
    return cnp.nonzero(cube == 0, size=few, fill_value=cube.type.size)[0]


def _mostly_first_cubes(keys: Value, c: Value, d: Value) -> Array:
    """What ``_accepted_cubes`` gives, where there are many: of the few whose first
    candidate fails, the rest is done without the others.
    """
    shape, count = c.type.shape, c.type.size
    keys, c, d = [cnp.reshape(x, (count,)) for x in (keys, c, d)]
    *_, x, u = _next_candidates(keys, keys, cnp.ones_like(c, dtypes.bool_), c, c)
    x, u = optimization_barrier((x, u))
    inside, cube = _inside(x, c)

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        (cube,) = carry
        rest = _rejected(cube, count // 32)
        found = _accepted_cubes(*[cnp.take(x, rest, mode="clip") for x in (keys, c, d)])
        return (at(cube)[rest].set(found, mode="drop"),)

    first = cnp.where(inside & ~_rejects(x * x, cube, u, d), cube, 0)
    return repeat(_going, step, (first,))[0].reshape(shape)


def _accepted_cubes(keys: Value, c: Value, d: Value) -> Array:
    """(1 + c·x)³ of an accepted x for each key.

    A candidate needs 1 + c·x > 0. Those that fail this draw another x, and those that
    are then rejected begin again; whichever happens, all elements take a step at once.
    A step judges the candidates of the step before: so each number that it needs comes
    from memory, and XLA has no reason to encrypt a counter for every use of the result.
    """

    def step(carry: Sequence[Value]) -> tuple[Array, ...]:
        cube, key, for_x, x, u = carry
        inside, found = _inside(x, c)
        accepted = inside & ~_rejects(x * x, found, u, d)
        cube = cnp.where(accepted & (cube == 0), found, cube)
        return cube, *_next_candidates(key, for_x, inside, x, u)

    # The first candidates are inside, and are rejected.
    nothing = cnp.zeros_like(c)
    carry = nothing, keys, keys, nothing, cnp.full_like(c, 2)
    return repeat(_going, step, carry)[0]


def _next_candidates(
    key: Value, for_x: Value, inside: Value, x: Value, u: Value
) -> tuple[Array, ...]:
    """The keys for the candidates after the next, and x and u of the next ones: u stays
    where it was not asked for, since the candidate before was not ``inside``.
    """
    dtype = x.type.dtype
    again, fresh_x, fresh_u = subkeys(key, 3)
    for_x, now = subkeys(where(inside, fresh_x, for_x), 2)
    x = draw_normal(now, shape=(), dtype=dtype)
    u = cnp.where(inside, draw_unit(fresh_u, shape=(), dtype=dtype), u)
    return where(inside, again, key), for_x, x, u


def _inside(x: Value, c: Value) -> tuple[Array, Array]:
    """Whether 1 + c·x is positive, and its cube. Where c is NaN, so is the cube, and is
    accepted as it is.
    """
    v = 1 + x * c
    return ~(v <= 0), v * v * v


def _rejects(square: Value, cube: Value, u: Value, d: Value) -> Array:
    """Whether u rules the candidate out: by a bound that decides most, and exactly."""
    exact = cnp.log(u) >= square / 2 + d * (1 - cube + cnp.log(cube))
    return (u >= 1 - 0.0331 * (square * square)) & exact
