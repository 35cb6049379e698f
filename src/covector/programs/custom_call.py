"""``CustomCall``: a function with derivative rules of its own, as one operation.

Before it is written down its fields are Python functions; after, ``jaxpr`` is the
function, and what the functions closed over of traced values stands before the
arguments. What is common to ``CustomJVP`` and ``CustomVJP`` is here.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.flat import arrays
from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import AnyAxis, Primitive
from covector.core.types import ArrayType
from covector.programs.closures import Written
from covector.programs.rules import unread
from covector.transforms.transpose import backward


class CustomCall(Primitive):
    """Run ``fun``; differentiate by rules, which are the second field of members."""

    interned = False
    multiple_results = True
    axis_names = (AnyAxis(),)

    fun: Callable[..., Sequence[Any]]
    #: whose rules these are, for messages
    who: str
    #: ``fun``, once it is written down
    jaxpr: Jaxpr | None = None
    #: how many leading operands are what the functions closed over: they do not move
    still: int = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.who})"

    def written_rules(self, types: Sequence[ArrayType]) -> tuple[Callable, list[Any]]:
        """The rules as functions of what they captured and of operands; the former."""
        raise NotImplementedError

    def closed_rule(self, rule: Any, n: int, m: int, jaxpr: Jaxpr) -> Any:
        """The rules on all operands: n captured by ``fun``, m in all, arguments."""
        raise NotImplementedError

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        assert self.jaxpr is not None, "written down before it is typed"
        return self.jaxpr.out_types

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return self.fun(*args)

    def stage(self, trace: Any, args: Sequence[Any]) -> Sequence[Any] | None:
        """Once written down, as it is; before, the form that is."""
        if self.jaxpr is not None:
            return None
        op, operands = self.written(args)
        return trace.process(op, operands)

    def with_programs(self, change: Callable[[Jaxpr], Jaxpr]) -> Any:
        """This operation with another program, which is also its function."""
        assert self.jaxpr is not None, "what carries a program is written down"
        jaxpr = change(self.jaxpr)
        return self.replace(jaxpr=jaxpr, fun=lambda *args: run(jaxpr, args))

    def written(self, args: Sequence[Any]) -> tuple[Any, list[Any]]:
        """This operation with its functions written down, and its operands."""
        args = arrays(args, self.who)
        types = [a.type for a in args]
        fun = Written(self.fun, types, self.who)
        rule, captured = self.written_rules(types)
        n, m = len(fun.captured), len(fun.captured) + len(captured)

        def on_all(*operands: Any) -> list[Any]:
            return fun(operands[:n], operands[m:])

        jaxpr = Jaxpr(
            [*fun.jaxpr.inputs[:n], *unread(captured), *fun.jaxpr.inputs[n:]],
            fun.jaxpr.equations,
            fun.jaxpr.outputs,
            fun.jaxpr.name,
        )
        closed = self.closed_rule(rule, n, m, jaxpr)
        operands = [*fun.captured, *captured, *args]
        return type(self)(on_all, closed, self.who, jaxpr, m + self.still), operands

    def transpose(self, cotangents: Any, *args: Any) -> Any:
        assert self.jaxpr is not None, "linear programs are written down"
        return backward(self.jaxpr, args, cotangents)

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.inline(self.jaxpr, operands)
