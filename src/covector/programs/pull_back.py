"""``PullBack``: what ``custom_vjp`` leaves in a linear program.

It can be transposed and batched, but not run forwards: there is no rule for it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.primitive import AnyAxis, Primitive, operation
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable
from covector.ops.broadcasting import ReduceSum, batched, move_axis
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import moves


def batched_bwd(
    bwd: Callable, size: int, axis: Any, res_dims: Sequence[Any], in_dims: Sequence[Any]
) -> Callable[[Sequence[Any], Sequence[Any]], list[Any]]:
    """``bwd`` over a batch: what belongs to an operand that all share is summed."""

    def over(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        present = [ct is not None for ct in cotangents]
        marks: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            cts = iter(values[len(residuals) :])
            leaving = bwd(
                values[: len(residuals)], [next(cts) if p else None for p in present]
            )
            marks[:] = [ct is not None for ct in leaving]
            return [ct for ct in leaving if ct is not None]

        given = [ct for ct in cotangents if ct is not None]
        values, found = batch_flat(
            flat, size, [*residuals, *given], [*res_dims, *[0] * len(given)], axis
        )
        leaving = iter(zip(values, found, strict=True))
        return [
            _placed(size, *next(leaving), d) if m else None
            for m, d in zip(marks, in_dims, strict=True)
        ]

    return over


def _placed(size: int, x: Any, found: int | None, wanted: int | None) -> Any:
    if wanted is None:
        x = batched(size, x, found)
        return ReduceSum((0,))(x)
    return (
        move_axis(x, found, wanted)
        if found is not None
        else batched(size, x, None, wanted)
    )


@operation
class PullBack(Primitive):
    """The linear map whose adjoint is ``bwd``; operands: residuals, then tangents."""

    interned = False
    multiple_results = True
    name = "custom_vjp_pull_back"
    axis_names = (AnyAxis(),)

    bwd: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
    residual_count: int
    active: tuple[bool, ...]
    out_types: tuple[ArrayType, ...]
    who: str

    def __repr__(self) -> str:
        return f"PullBack({self.who})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return tuple([t.strong() for t in self.out_types if moves(t)])

    def evaluate(self, *args: Any) -> Sequence[Any]:
        raise NotDifferentiable(
            f"forward-mode differentiation (jvp, jacfwd, linearize) of {self.who}, "
            "which has only a reverse-mode rule. Give it a forward rule by using "
            "custom_jvp, whose one rule serves both modes; or use grad, vjp or jacrev."
        )

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return self.evaluate()

    def transpose(self, cotangents: Any, *args: Any) -> Any:
        arriving = iter(cotangents)
        cts = [next(arriving) if moves(t) else None for t in self.out_types]
        leaving = self.bwd(args[: self.residual_count], cts)
        wanted = [ct for ct, a in zip(leaving, self.active, strict=True) if a]
        return [*[None] * self.residual_count, *wanted]

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        n = self.residual_count
        tangent_dims = iter(dims[n:])
        in_dims = [next(tangent_dims) if a else None for a in self.active]
        bwd = batched_bwd(self.bwd, size, axis, dims[:n], in_dims)
        out_types = tuple([t.with_shape((size, *t.shape)) for t in self.out_types])
        outs = PullBack(bwd, n, self.active, out_types, self.who)(*args)
        return outs, [0] * len(outs)
