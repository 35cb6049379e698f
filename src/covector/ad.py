"""What ``vjp(...)[1].with_refs`` takes, and what stands in its results.

>>> import covector as cv
>>> total = cv.new_ref(0.0)
>>> _, pull = cv.vjp(lambda x, y, z: x * y * z, 2.0, 3.0, 5.0)
>>> pull.with_refs(total, GradValue(), DontWant())(1.0)
(GradRef(), Array(10., dtype=float32, weak_type=True), DidntWant())
>>> float(total[...])
15.0
"""

from covector.transforms.pullback import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
