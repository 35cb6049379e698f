"""What ``custom_root`` and ``custom_linear_solve`` have in common.

Both are given functions of *vectors*: trees of arrays, all of one structure and of the
same types. Their operations hold those functions as programs,

    (consts, vector, …) → (vector, further results)

which share consts: all that any of the functions closes over. So derivatives with
respect to what a function closes over are derivatives of an operation with respect to
its operands.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import options, tree
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, arrays, split_aux
from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import Primitive
from covector.core.staging import Staged, stage
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, Varying, of_programs
from covector.errors import NotDifferentiable, TreeMismatch, TypeMismatch
from covector.lowering.tokens import with_token
from covector.ops.casting import convert
from covector.programs.control_flow.branches import with_captured_inputs
from covector.programs.control_flow.scan_rules import fixpoint
from covector.programs.higher_order.call import Call, call, named_axes
from covector.programs.higher_order.hash_consing import intern
from covector.transforms.batch import batch_jaxpr, front_dims


class Solver(Primitive):
    """Run ``solve``; operands are the consts of all programs, and a vector."""

    interned = False
    multiple_results = True

    solve: Jaxpr
    who: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.who})"

    @property
    def equation(self) -> Jaxpr:
        """The program of which the result is a solution: (consts, x) → a vector."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Of how many leaves a vector is."""
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

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        return of_programs(self.solve.in_types)

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return run(self.solve, args)

    def with_token(self) -> tuple[Call, int]:
        return call(self.solve.memo(with_token)), 0

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.inline(self.solve, operands)

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        programs = [p for p in self.parameters.values() if isinstance(p, Jaxpr)]
        return tuple(dict.fromkeys([n for p in programs for n in p.memo(named_axes)]))


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

    def flat(
        self, fun: Callable[..., Any], whose: str, has_aux: bool = False
    ) -> "FlatSolver":
        """A function of vectors, as one of their leaves side by side."""
        return FlatSolver(self, fun, whose, has_aux)


class FlatSolver:
    """A function of the leaves of vectors, which remembers the tree of its aux."""

    def __init__(self, space: Vector, fun: Any, whose: str, has_aux: bool) -> None:
        self.space = space
        self.fun = fun
        self.whose = whose
        self.has_aux = has_aux
        self.aux_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
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


def trace(fun: Any, types: Sequence[ArrayType], name: str) -> Staged:
    """A function of a solver as a program; loops stay loops, though jit be off."""
    with options.override(disable_jit=False):
        return stage(fun, types, name)


def with_shared_consts(programs: Sequence[Staged]) -> tuple[list[Jaxpr], list[Any]]:
    """Programs that begin with the same inputs, and the values of those."""
    captured = list({id(x): x for p in programs for x in p.captured}.values())
    return [intern(with_captured_inputs(p, captured)) for p in programs], captured


def batch_together(
    programs: Sequence[Jaxpr],
    count: int,
    size: int,
    dims: Sequence[int | None],
    axis: Any,
) -> tuple[list[Jaxpr], tuple[bool, ...], list[int | None]]:
    """The programs over a batch, which leaves of vectors are batched, and further
    results of the first.

    ``dims`` are those of the consts and of one vector, of ``count`` leaves. If any
    program makes a batch of a leaf, it is batched in all vectors; consts stay as they
    are.
    """
    split = len(dims) - count
    const_dims, vector_dims = tuple(dims[:split]), dims[split:]

    def step(mask: Sequence[bool]) -> Any:
        given = front_dims(mask)
        made = []
        for program in programs:
            copies = (len(program.inputs) - split) // count if count else 0
            still = (False,) * (len(program.outputs) - count)
            made.append(
                program.memo(
                    batch_jaxpr,
                    size,
                    (*const_dims, *given * copies),
                    (*mask, *still),
                    axis,
                )
            )
        columns = zip(*[out_dims[:count] for _, out_dims in made], strict=True)
        return made, [any([d is not None for d in column]) for column in columns]

    made, mask = fixpoint([d is not None for d in vector_dims], step)
    return [program for program, _ in made], mask, list(made[0][1][count:])
