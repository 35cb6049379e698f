"""``ChunkedFunction``: a user's function over batches in chunks, for ``vmap(memory=)``.

It finds the program of one lane, and hands it to ``chunks``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import tree
from covector.core.annotations import AxisName
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.masks import present_mask
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.dispatch.arguments import JitSpec
from covector.dispatch.jit import PjitFunction
from covector.errors import AxisError, RefError
from covector.memory_budgets.chunks import Budget, Chunked
from covector.operations.broadcasting import in_front
from covector.programs.higher_order.regions import communicates
from covector.transforms.batch import BatchTrace


class ChunkedFunction:
    """A function over batches in chunks, for ``vmap(fun, memory=)``."""

    def __init__(self, fun: Callable[..., Any], limit: int, who: str) -> None:
        self.fun = fun
        self.budget = Budget(limit, who)
        self._traced: dict[tuple[int | str, ...], PjitFunction[..., Any]] = {}

    def __call__(
        self,
        leaves: Sequence[Any],
        dims: Sequence[int | None],
        size: int,
        in_tree: Any,
        axis_name: AxisName | None,
    ) -> tuple[Sequence[Any], list[int | None], Any]:
        """The results for all lanes, their batch axes, and the tree of the result.

        Arguments that all lanes share, and that hold what is not an array or a number,
        are what they are in the program; so are integers, which Python may decide by.
        """
        who = self.budget.who
        lane = [_of_lane(x, d, who) for x, d in zip(leaves, dims, strict=True)]
        args, kwargs = in_tree.unflatten(lane)
        items = [*enumerate(args), *sorted(kwargs.items())]
        static = tuple([k for k, part in items if _is_static(part)])
        traced = self._traced.get(static)
        if traced is None:
            traced = PjitFunction(self.fun, JitSpec(static), who)
            self._traced[static] = traced
        program = self._program(traced, args, kwargs, size, axis_name)
        numbers = in_tree.unflatten(range(len(leaves)))
        given = tree.leaves(traced.spec.split(*numbers)[:2])
        arrays = [as_array(leaves[i], who) for i in given]
        before = len(program.captured)
        dims = [*[None] * before, *[dims[i] for i in given]]
        operands = in_front([*program.captured, *arrays], dims)
        mapped = present_mask(dims)
        op = program.jaxpr.memo(Chunked, size, mapped, self.budget)
        found: list[int | None] = [0 if b else None for b in op.batched_results]
        return op(*operands), found, program.out_tree

    def _program(
        self, traced: Any, args: Any, kwargs: Any, size: int, axis_name: AxisName | None
    ) -> Any:
        """The program of one lane."""
        outer, who = current.trace, self.budget.who
        if axis_name is not None:
            current.trace = BatchTrace(outer, size, axis_name, who)
        try:
            program = traced.program(traced.signature(args, kwargs))
        finally:
            current.trace = outer
        if program.references is not None:
            raise RefError(
                f"{who} with memory= reads or writes references, but lanes in chunks "
                "are run one after the other. Pass values, and return what is written."
            )
        if axis_name is not None and communicates(program.jaxpr, axis_name):
            raise AxisError(
                f"{who} with memory= runs the batch in chunks, but the function "
                f"communicates over its axis {axis_name!r}: a lane would need those of "
                "other chunks. Leave memory= out, or do what communicates after the "
                "vmap, as in f(x).sum(0) for a psum."
            )
        return program


def _of_lane(x: Any, d: int | None, who: str) -> Any:
    """An argument as one lane has it: a type, or an object as it is."""
    if isinstance(x, float | complex | np.generic):
        x = as_array(x, who)
    if not isinstance(x, Array):
        return x
    shape = x.type.shape
    return x.type if d is None else x.type.with_shape((*shape[:d], *shape[d + 1 :]))


def _is_static(part: Any) -> bool:
    """Whether an argument is a part of the program."""
    if isinstance(part, int):
        return True
    return any([not isinstance(x, ArrayType | int) for x in tree.leaves(part)])
