"""What is being explained: a compiled function, and what it was called with."""

import functools
from dataclasses import dataclass
from types import MethodType
from typing import Any

from covector import tree
from covector.analysis.compiled import kernels
from covector.analysis.compiled.compilation import reason
from covector.analysis.compiled.fusion_plan import FusionPlan, plan_of
from covector.analysis.compiled.hlo import Module
from covector.analysis.compiled.hlo import Origin as Line
from covector.analysis.compiled.programs import Subject, compiled
from covector.analysis.profile.attribution import shares_of_lines
from covector.core.flat import path_in_call, with_fixed
from covector.core.jaxpr import Jaxpr
from covector.core.trace import current
from covector.dispatch.jit import PjitFunction
from covector.dispatch.stages import Compiled, Lowered, Traced
from covector.errors import ArgumentError
from covector.lowering.evaluate import base


@dataclass(frozen=True)
class Origin:
    """A compiled function, and the arguments that it had.

    fun      takes the arguments that are traced, and knows their names; None where only
             a stage of it is known
    because  why it was compiled again for these arguments, if it was
    """

    subject: Subject
    fun: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    because: str | None

    @functools.cached_property
    def module(self) -> Module:
        """The program as XLA compiled it."""
        return self.subject.optimised()

    @functools.cached_property
    def plan(self) -> FusionPlan:
        """The kernels of the compiled program."""
        return plan_of(self.module)

    @functools.cached_property
    def kernel_parts(self) -> list[dict[Line, float]]:
        """For each kernel the part of its work that each of its operations has."""
        return [
            shares_of_lines(self.module, found.computation, found.instruction)
            for found in kernels.find(self.module)
        ]

    @property
    def traced(self) -> Traced:
        return self.subject.traced

    @property
    def jaxpr(self) -> Jaxpr:
        return self.traced.jaxpr

    @property
    def donated(self) -> list[int]:
        """The numbers of the inputs whose memory is given up."""
        captured = len(self.traced.program.captured)
        return [captured + i for i in self.traced.donate_argnums]

    @property
    def argument_names(self) -> list[str]:
        """The inputs of the program: what the function closes over, then the leaves of
        its arguments, as ``params['w']``.
        """
        captured = len(self.traced.program.captured)
        count = len(self.jaxpr.inputs) - captured
        closed = [f"closed over {i}" for i in range(captured)]
        return [*closed, *[self._argument(i) for i in range(count)]]

    def _argument(self, i: int) -> str:
        path = tree.leaf_path(self.traced.in_tree, i)
        return path_in_call(path, self.fun).rpartition("argument ")[2]

    @property
    def result_names(self) -> list[str]:
        """The outputs of the program: leaves of the result, then what references hold
        in the end.
        """
        out_tree = self.traced.out_tree
        count, leaves = len(self.jaxpr.outputs), out_tree.num_leaves
        paths = [tree.keystr(tree.leaf_path(out_tree, i)) for i in range(leaves)]
        held = [f"reference {i}" for i in range(count - leaves)]
        return [*[f"result{path}" for path in paths], *held]


def find_origin(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Origin:
    """The compiled function; one that was traced or compiled already is not again."""
    if current.trace is not base:
        raise ArgumentError(
            "explain looks at a whole program, but it was called while another one is "
            f"being traced ({current.trace.name or 'a transformation'}). Explain the "
            "function that is transformed, from outside."
        )
    if isinstance(fun, MethodType) and isinstance(fun.__func__, PjitFunction):
        fun, args = fun.__func__, (fun.__self__, *args)
    subject = compiled(fun, args, kwargs, "explain")
    if isinstance(fun, Traced | Lowered | Compiled):
        return Origin(subject, None, args, kwargs, None)
    statics = subject.traced.spec.split(args, kwargs)[2]
    inner = fun.fun if isinstance(fun, PjitFunction) else fun
    named = with_fixed(inner, {k: v for k, _, v in statics})
    return Origin(subject, named, args, kwargs, reason(fun, args, kwargs))
