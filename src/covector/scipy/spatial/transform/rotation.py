"""``Rotation``, SciPy's class of rotations of space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covector import numpy as cnp
from covector import random, tree_util
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy.promote import inexact
from covector.scipy.spatial.transform import euler_angles, quaternions

__all__ = ["Rotation"]


@tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Rotation:
    """One rotation, or an array of n of them; made by the ``from_`` methods.

    Attributes:
      quat: unit quaternions ``[4]`` or ``[n, 4]``, the scalar part last.

    A rotation is a pytree. Products apply the right one first, and an index picks some
    of several.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.spatial.transform import Rotation
    >>> quarter = Rotation.from_euler("z", 90, degrees=True)
    >>> print((quarter * quarter).apply(cnp.array([1.0, 2.0, 3.0])).round(5))
    [-1. -2.  3.]
    """

    quat: Array

    # -- making rotations --------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> "Rotation":
        """Of quaternions ``[4]`` or ``[n, 4]``, the scalar part last, of any length.

        Raises:
          TypeMismatch: the shape is another. ArgumentError: one is known to be 0.
        """
        q = _numbers("from_quat", quat, (4,))
        if isinstance(q, ConcreteArray) and not np.any(np.asarray(q), -1).all():
            raise ArgumentError(
                "Rotation.from_quat needs quaternions that are not 0, whose direction "
                "is the rotation."
            )
        return cls(quaternions.normalized(q))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> "Rotation":
        """Of orthogonal matrices ``[3, 3]`` or ``[n, 3, 3]`` with the determinant 1."""
        return cls(quaternions.of_matrix(_numbers("from_matrix", matrix, (3, 3))))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> "Rotation":
        """Of vectors ``[3]`` or ``[n, 3]`` along the axis, as long as the angle."""
        v = _numbers("from_rotvec", rotvec, (3,))
        return cls(quaternions.of_rotation_vector(cnp.deg2rad(v) if degrees else v))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> "Rotation":
        """Of vectors axis · tan(angle / 4), ``[3]`` or ``[n, 3]``."""
        return cls(quaternions.of_rodrigues(_numbers("from_mrp", mrp, (3,))))

    @classmethod
    def from_euler(
        cls, seq: str, angles: ArrayLike, degrees: bool = False
    ) -> "Rotation":
        """Of rotations about coordinate axes, one after the other.

        Args:
          seq: one to three axes: of ``"xyz"``, which stay as they are, or of ``"XYZ"``,
            which are rotated along.
          angles: ``[k]`` or ``[n, k]``, for k axes; for one axis also a number or
            ``[n]``.

        Raises:
          ArgumentError: there is no such sequence. TypeMismatch: angles do not fit it.
        """
        axes, fixed = euler_angles.axes_of("Rotation.from_euler", seq, (1, 2, 3))
        given = inexact("Rotation.from_euler", angles)
        if len(axes) == 1 and given.shape[-1:] != (1,):
            given = given[..., None]
        if given.ndim not in (1, 2) or given.shape[-1] != len(axes):
            raise TypeMismatch(
                f"Rotation.from_euler needs an angle for each axis of {seq!r}, but got "
                f"{given.type}."
            )
        given = cnp.deg2rad(given) if degrees else given
        return cls(euler_angles.of_angles(axes, fixed, given))

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> "Rotation":
        """No rotation; ``num`` of them."""
        q = cnp.array([0, 0, 0, 1], dtype)
        return cls(q if num is None else cnp.tile(q, (num, 1)))

    @classmethod
    def random(cls, random_key: ArrayLike, num: int | None = None) -> "Rotation":
        """A rotation, all equally likely; ``num`` of them."""
        shape = (4,) if num is None else (num, 4)
        return cls(quaternions.normalized(random.normal(random_key, shape)))

    @classmethod
    def concatenate(cls, rotations: Sequence["Rotation"]) -> "Rotation":
        """Several rotations as one array of them."""
        return cls(cnp.concatenate([cnp.atleast_2d(r.quat) for r in rotations]))

    # -- what they are -----------------------------------------------------------------

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions ``[..., 4]``.

        Args:
          canonical: the one of q and −q with a positive scalar part.
          scalar_first: the scalar part first.
        """
        q = quaternions.canonical(self.quat) if canonical else self.quat
        return cnp.roll(q, 1, -1) if scalar_first else q

    def as_matrix(self) -> Array:
        """Matrices ``[..., 3, 3]``."""
        return quaternions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors ``[..., 3]`` along the axis, as long as the angle, at most π."""
        found = quaternions.to_rotation_vector(self.quat)
        return cnp.rad2deg(found) if degrees else found

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters ``[..., 3]``."""
        return quaternions.to_rodrigues(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """The angles ``[..., 3]`` of rotations about three axes, as ``from_euler``.

        Where the middle axis brings the outer ones together the third angle is 0.

        Raises:
          ArgumentError: there is no such sequence.
        """
        axes, fixed = euler_angles.axes_of("Rotation.as_euler", seq, (3,))
        found = euler_angles.to_angles(self.quat, axes, fixed)
        return cnp.rad2deg(found) if degrees else found

    def magnitude(self) -> Array:
        """The angles ``[...]``, from 0 to π."""
        return quaternions.angle_of(self.quat)

    @property
    def single(self) -> bool:
        """Whether it is one rotation and no array of them."""
        return self.quat.ndim == 1

    # -- what they do ------------------------------------------------------------------

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Vectors ``[3]`` or ``[n, 3]``, rotated, or rotated back.

        One rotation is applied to all vectors, several to one vector or as many.

        Raises:
          TypeMismatch: shapes do not fit.
        """
        v = _numbers("apply", vectors, (3,))
        if v.ndim == 2:
            self._check_as_many("apply", len(v), "vectors")
        q = quaternions.inverse(self.quat) if inverse else self.quat
        shape = np.broadcast_shapes((*q.shape[:-1], 3), v.shape)
        return quaternions.rotated(q, cnp.broadcast_to(v, shape))

    def inv(self) -> "Rotation":
        """The rotations back."""
        return Rotation(quaternions.inverse(self.quat))

    def mean(self, weights: ArrayLike | None = None) -> "Rotation":
        """The rotation that has the least mean square of distances to all.

        Args:
          weights: ``[n]``, not negative; equal by default.
        """
        q = cnp.atleast_2d(self.quat)
        w = cnp.ones(len(q), q.dtype) if weights is None else cnp.asarray(weights)
        if w.shape != (len(q),):
            raise TypeMismatch(
                f"Rotation.mean needs a weight for each of {len(q)} rotations, but got "
                f"{w.type}."
            )
        # Of q and −q alike: the largest eigenvector of the sum of q qᵀ.
        _, vectors = cnp.linalg.eigh((q * w[:, None]).T @ q)
        return Rotation(vectors[:, -1])

    def _check_as_many(self, method: str, count: int, what: str) -> None:
        """Raise unless there are as many, or one of one of them."""
        if not self.single and len(self) != count and 1 not in (len(self), count):
            raise TypeMismatch(
                f"Rotation.{method}: there are {len(self)} rotations, but {count} "
                f"{what}."
            )

    def __mul__(self, other: "Rotation") -> "Rotation":
        """First ``other``, then this one."""
        if not other.single:
            self._check_as_many("__mul__", len(other), "others")
        both = cnp.broadcast_arrays(self.quat, other.quat)
        return Rotation(quaternions.product(*both))

    def __len__(self) -> int:
        """The number of rotations."""
        if self.single:
            raise TypeMismatch("one Rotation has no length, and no elements.")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> "Rotation":
        """Some of several rotations."""
        if self.single:
            raise TypeMismatch("one Rotation has no length, and no elements.")
        return Rotation(self.quat[indexer])


def _numbers(method: str, x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Arrays of a shape, or n of them."""
    found = inexact(f"Rotation.{method}", x)
    if found.shape[-len(shape) :] != shape or found.ndim > len(shape) + 1:
        one = ", ".join(map(str, shape))
        raise TypeMismatch(
            f"Rotation.{method} needs [{one}] or [n, {one}], but got {found.type}."
        )
    return found
