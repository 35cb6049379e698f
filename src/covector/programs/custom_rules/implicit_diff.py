"""Shared parts of ``custom_root`` and ``custom_linear_solve``.

Both take functions of *vectors*: trees of arrays, all with one structure and the same
types. Their operations carry those functions as jaxprs,

    (consts, vector, …) → (vector, further results)

which share consts: everything that any of the functions closes over. So derivatives
with respect to closed-over values are derivatives of an operation with respect to its
operands.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from covector import options, tree
from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, arrays, split_aux
from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask, fixpoint, present_mask
from covector.core.primitive import Primitive
from covector.core.show import nested_programs
from covector.core.staging import Staged, stage
from covector.core.types import ArrayType, show_types
from covector.errors import NotDifferentiable, TreeMismatch, TypeMismatch
from covector.operations.broadcasting import batched
from covector.operations.casting import convert
from covector.programs.control_flow.branches import with_captured_inputs
from covector.programs.higher_order.call import Inlined
from covector.programs.higher_order.hash_consing import intern
from covector.programs.higher_order.jaxpr_passes import with_inputs
from covector.programs.higher_order.partition import Partition, Policy, with_all_inputs
from covector.programs.higher_order.regions import Region, call_region, rule_region
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.linearize import linearize_jaxpr


class Solver(Inlined):
    """Run ``solve``; operands are the consts of all programs, and a vector."""

    rules_read_operands = True
    #: whether derivatives run ``solve`` for other vectors
    solves_again = False

    solve: Jaxpr
    who: str
    #: the program of which the result is a solution: (consts, x) → a vector
    equation: Any

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.who})"

    @property
    def count(self) -> int:
        """The number of leaves of a vector."""
        return len(self.equation.outputs)

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Operands, or what is known of each, as consts and the vector."""
        at = len(self.equation.inputs) - self.count
        return [*operands[:at]], [*operands[at:]]

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        given = [(t.shape, t.dtype) for t in types]
        wanted = self.solve.in_types
        if given != [(t.shape, t.dtype) for t in wanted]:
            raise TypeMismatch(
                f"{self.who} needs operands of types {show_types(wanted)}, but got "
                f"{show_types(types)}."
            )
        return self.solve.out_types

    @property
    def program(self) -> Jaxpr:
        return self.solve

    @cached_property
    def regions(self) -> Sequence[Region]:
        """``solve``; the other programs are for derivatives."""
        rules = [p for p in nested_programs(self) if p is not self.solve]
        return [call_region(self.solve), *map(rule_region, rules)]

    def push_consts(self, active: Sequence[bool], operands: Sequence[Value]) -> Any:
        """The linear function from tangents of the consts to those of the equation, at
        these operands; None is zero.
        """
        if not any(active):
            return lambda *_: [None] * self.count
        split = self.equation.memo(linearize_jaxpr, (*active, *[False] * self.count))
        return split.at(operands)[1]

    # -- batches -----------------------------------------------------------------------

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """Over a batch of the vector alone, the equation is not batched.

        If any program makes a batch of a leaf, it is batched in all vectors.
        """
        consts, vector = self.split(args)
        const_dims, vector_dims = self.split(dims)

        def step(mask: Sequence[bool]) -> Any:
            made = {}
            for program in nested_programs(self):
                vectors = len(program.inputs) - len(consts)
                copies = vectors // self.count if self.count else 0
                given = (*const_dims, *front_dims(mask) * copies)
                force = (*mask, *[False] * (len(program.outputs) - self.count))
                made[program] = program.memo(batch_jaxpr, size, given, force, axis)
            columns = zip(*[d[: self.count] for _, d in made.values()], strict=True)
            return made, [any(present_mask(column)) for column in columns]

        made, mask = fixpoint(present_mask(vector_dims), step)
        vector = [
            batched(size, x, d) if m else x
            for x, d, m in zip(vector, vector_dims, mask, strict=True)
        ]
        outs = self.with_programs(lambda p: made[p][0])(*consts, *vector)
        return outs, [*front_dims(mask), *made[self.solve][1][self.count :]]

    # -- parts -------------------------------------------------------------------------

    def inseparable(self, results: set[int]) -> set[int]:
        """The leaves of a solution come together."""
        return results | set(range(self.count)) if results else results

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        return self.replace(solve=programs[0])

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition | None:
        """Values saved in ``solve`` become further results, and then further consts,
        which the other programs do not read.

        Where derivatives solve again, only what all vectors have in common is saved,
        such as the factors of a matrix.
        """
        whole = super().partition(types, later, policy)
        if whole is None or not any(whole.gives[: self.count]):
            return whole
        consts = len(self.solve.inputs) - self.count
        leaves = (True,) * self.count
        further = later[self.count :]
        keepable = (*[False] * self.count, *[True] * len(further))
        vector = (*[False] * consts, *[self.solves_again] * self.count)
        made = self.solve.memo(
            with_all_inputs, (*leaves, *further), policy, keepable, vector
        )
        if not made.saved:
            return whole
        kept = tuple([made.forward.out_types[k] for k in made.saved])
        body = made.recompute

        def vector_last(items: Sequence[Any]) -> tuple[Any, ...]:
            end = consts + self.count
            return (*items[:consts], *items[end:], *items[consts:end])

        ordered = vector_last(body.inputs)
        solve = Jaxpr(ordered, body.equations, body.outputs, body.name)
        others = self.with_programs(lambda p: p.memo(with_inputs, consts, kept))
        sources = vector_last(made.residual_sources)
        recompute = others.replace(solve=solve)
        return Partition(
            self.replace(solve=made.forward), recompute, sources, made.gives
        )


class Vector(NamedTuple):
    """The structure and the types that all vectors of one problem have.

    ``what`` is what the user calls the one that they are taken from.
    """

    who: str
    what: str
    tree: Any
    types: tuple[ArrayType, ...]

    @classmethod
    def of(cls, who: str, what: str, value: Any) -> tuple["Vector", list[Array]]:
        """The space of a vector, and its leaves."""
        leaves, structure = tree.flatten(value)
        leaves = arrays(leaves, who)
        for x in leaves:
            if not x.type.inexact:
                raise NotDifferentiable(
                    f"{who} needs {what} of floating-point or complex numbers, but got "
                    f"{x.type}. Convert it with .astype(float)."
                )
        leaves = [convert(x, x.type.dtype, False) for x in leaves]
        return cls(who, what, structure, tuple([x.type for x in leaves])), leaves

    def leaves(self, value: Any, whose: str) -> list[Array]:
        """The leaves of what a function of the user's returned, which must fit."""
        leaves, structure = tree.flatten(value)
        if structure != self.tree:
            difference = tree.describe_difference(
                self.tree, value, (self.what, "the result")
            )
            raise TreeMismatch(
                f"{whose} of {self.who} must return a result with the structure of "
                f"{self.what}, but {difference}."
            )
        leaves = arrays(leaves, self.who)
        wanted = [(t.shape, t.dtype) for t in self.types]
        if [(x.type.shape, x.type.dtype) for x in leaves] != wanted:
            raise TypeMismatch(
                f"{whose} of {self.who} must return a result of the types of "
                f"{self.what}, {show_types(self.types)}, but it returned "
                f"{show_types([x.type for x in leaves])}."
            )
        return [convert(x, x.type.dtype, False) for x in leaves]

    def checked(self, fun: Callable[[Any], Any], whose: str) -> Callable[[Any], Any]:
        """A function of one vector, whose results are looked at."""
        return lambda x: self.tree.unflatten(self.leaves(fun(x), whose))


class FlatSolver:
    """A function of the leaves of vectors, which remembers the tree of its aux."""

    def __init__(
        self, space: Vector, fun: Callable[..., Any], whose: str, has_aux: bool = False
    ) -> None:
        self.space = space
        self.fun = fun
        self.whose = whose
        self.has_aux = has_aux
        self.aux_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Array]:
        count = len(self.space.types)
        copies = len(leaves) // count if count else 1
        vectors = [
            self.space.tree.unflatten(leaves[k * count : (k + 1) * count])
            for k in range(copies)
        ]
        out, aux = self.fun(*vectors), []
        if self.has_aux:
            out, aux = split_aux(out, f"{self.whose} of {self.space.who}")
            keep = FlatFunction(lambda: aux, tree.structure(((), {})), self.space.who)
            aux = keep()
            self.aux_tree = keep.out_tree
        return [*self.space.leaves(out, self.whose), *aux]

    def solution(
        self, make: Callable[..., Solver], programs: Sequence[Staged], vector: Any
    ) -> Any:
        """The result of the operation that ``make`` gives of the programs, which share
        their consts; with its aux where there is one.
        """
        captured = list({id(x): x for p in programs for x in p.captured}.values())
        op = make(*[intern(with_captured_inputs(p, captured)) for p in programs])
        outs = op(*captured, *vector)
        x = self.space.tree.unflatten(outs[: op.count])
        return (x, self.aux_tree.unflatten(outs[op.count :])) if self.has_aux else x


def trace(fun: Callable[..., Any], types: Sequence[ArrayType], name: str) -> Staged:
    """A function of a solver as a program; loops stay loops, though jit be off."""
    with options.override(disable_jit=False):
        return stage(fun, types, name)
