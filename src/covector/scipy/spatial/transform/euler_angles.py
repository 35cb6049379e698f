"""Rotations about coordinate axes, one after the other.

A sequence such as ``"xyz"`` names the axes. Small letters: the axes stay as they are
(extrinsic rotations); capitals: they are rotated with the body (intrinsic ones).
"""

import itertools

import numpy as np

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.errors import ArgumentError, how_many
from covector.scipy.spatial.transform.quaternions import Quaternion, product


def axes_of(who: str, seq: str, numbers: tuple[int, ...]) -> tuple[list[int], bool]:
    """The axes of a sequence, 0 to 2, and whether they stay as they are."""
    known = isinstance(seq, str) and len(seq) in numbers
    known = known and (set(seq) <= set("xyz") or set(seq) <= set("XYZ"))
    if not known or any(a == b for a, b in itertools.pairwise(seq)):
        size = "three" if numbers == (3,) else "one to three"
        raise ArgumentError(
            f"{who} needs a sequence of {how_many(size, 'axis', 'axes')}, all of 'xyz' "
            f"or all of 'XYZ', no two neighbours equal, but got {seq!r}."
        )
    return ["xyz".index(letter) for letter in seq.lower()], seq.islower()


def of_angles(axes: list[int], fixed: bool, angles: Array) -> Quaternion:
    """The rotations by ``angles`` ``[..., k]`` about these k axes."""
    found = _about(axes[0], angles[..., 0])
    for k, axis in enumerate(axes[1:], 1):
        step = _about(axis, angles[..., k])
        found = product(step, found) if fixed else product(found, step)
    return found


def _about(axis: int, angle: Array) -> Quaternion:
    parts = [cnp.zeros_like(angle)] * 3 + [cnp.cos(angle / 2)]
    parts[axis] = cnp.sin(angle / 2)
    return cnp.stack(parts, -1)


def to_angles(q: Quaternion, axes: list[int], fixed: bool) -> Array:
    """The three angles ``[..., 3]``, the outer ones from −π to π.

    The quaternion is read as two complex numbers, whose phases are half the sum and
    half the difference of the outer angles (Bernardes & Viollet 2022). Where one of the
    two is 0 its phase means nothing: then the third angle is 0.
    """
    first, second, third = axes if fixed else axes[::-1]
    proper = first == third  # as in "zxz"
    other = 3 - first - second if proper else third
    sign = (first - second) * (second - other) * (other - first) // 2
    w, u, v, x = (q[..., k] for k in (3, first, second, other))
    x = x * sign
    if not proper:
        w, u, v, x = w - v, u + x, v + w, x - u
    middle = 2 * cnp.arctan2(cnp.hypot(v, x), cnp.hypot(w, u))
    half_sum, half_difference = cnp.arctan2(u, w), cnp.arctan2(x, v)
    none = cnp.abs(middle) < 1e-7
    half_turn = cnp.abs(middle - np.pi) < 1e-7
    outer = half_sum - half_difference, half_sum + half_difference
    turned = -2 * half_difference if fixed else 2 * half_difference
    begin, end = outer if fixed else outer[::-1]
    begin = cnp.where(none, 2 * half_sum, cnp.where(half_turn, turned, begin))
    end = cnp.where(none | half_turn, 0.0, end)
    if not proper:
        middle = middle - np.pi / 2
        begin, end = (begin, end * sign) if fixed else (begin * sign, end)
    begin, end = (a - 2 * np.pi * cnp.round(a / (2 * np.pi)) for a in (begin, end))
    return cnp.stack([begin, middle, end], -1)
