"""``Slerp``: interpolation of rotations along the shortest way."""

from dataclasses import dataclass

import numpy as np

from covector import numpy as cnp
from covector import tree_util
from covector.core.annotations import ArrayLike
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy.promote import inexact
from covector.scipy.spatial.transform.rotation import Rotation

__all__ = ["Slerp"]


@tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Slerp:
    """Rotations at times between given ones; made by ``Slerp.init``.

    Between two times the body turns about one axis at a constant speed. It is a pytree.

    Attributes:
      times: ``[n]``. timedelta: ``[n - 1]``. rotations: the first n − 1 of them.
      rotvecs: ``[n - 1, 3]``, the vector of the turn that follows each.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.spatial.transform import Rotation, Slerp
    >>> turns = Rotation.from_euler("z", cnp.array([0.0, 90.0]), degrees=True)
    >>> between = Slerp.init(cnp.array([0.0, 1.0]), turns)
    >>> print(cnp.rad2deg(between(0.5).magnitude()).round(3))
    45.0
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> "Slerp":
        """Of ascending times ``[n]`` and as many rotations, two or more.

        Raises:
          TypeMismatch: there are not as many. ArgumentError: times are known, and do
            not ascend.
        """
        t = inexact("Slerp.init", times)
        if rotations.single or len(rotations) < 2 or t.shape != (len(rotations),):
            raise TypeMismatch(
                "Slerp.init needs two rotations or more and a time for each, but got "
                f"quaternions {rotations.quat.type} and times {t.type}."
            )
        if isinstance(t, ConcreteArray) and not (np.diff(np.asarray(t)) > 0).all():
            raise ArgumentError("Slerp.init needs times that ascend.")
        start = rotations[:-1]
        turns = (start.inv() * rotations[1:]).as_rotvec()
        return cls(t, cnp.diff(t), start, turns)

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times ``[]`` or ``[m]``, also before and after the given."""
        t = inexact("Slerp", times)
        if t.ndim > 1:
            raise TypeMismatch(f"Slerp needs a time or a vector of them, not {t.type}.")
        k = cnp.searchsorted(self.times, t, side="right") - 1
        k = cnp.clip(k, 0, self.timedelta.size - 1)
        part = (t - self.times[k]) / self.timedelta[k]
        turn = Rotation.from_rotvec(self.rotvecs[k] * part[..., None])
        return Rotation(self.rotations.quat[k]) * turn
