"""Observers: who takes part while functions are traced over lanes and steps.

``vmap`` and the loops ask ``current.observer``, if there is one, how the function of
the user is to be run. The debugger adds the number of the step to what a step is given;
the search for a NaN makes a loop of a ``vmap``.
"""

from collections.abc import Callable
from typing import Any

from covector.transforms.batch import batch_flat


class Observer:
    """An observer that leaves everything as it is."""

    #: in place of ``batch_flat``, where ``vmap`` is called
    batch: Callable[..., Any] = staticmethod(batch_flat)

    def scan(self, step: Any, xs: Any, length: int) -> tuple[Any, Any]:
        """The step of a scan as it is run, and its operands."""
        return step, xs

    def run_while(
        self, loop: Any, test: Any, step: Any, init: Any, checkpoints: int
    ) -> Any:
        """The result of a while loop; ``loop`` runs one as it is given."""
        return loop.run_while(test, step, init, checkpoints)

    def computed(self, op: Any, args: Any, values: Any) -> None:
        """The results of an operation on known values, while a function was traced."""
