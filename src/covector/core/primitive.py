"""``Primitive``: an operation as a value that carries its own rules.

The fields of an operation are its parameters, its methods are its rules. Each trace
asks one rule:

    type_rule      staging      what types come out?
    on_host        evaluation   the value, by NumPy: the reference meaning
    evaluate       evaluation   the values, for operations that know better than to be
                                compiled alone: those that carry programs or functions
    differential   derivatives  one linear map per operand, and the value is given
    linearize      derivatives  values and their linear map, beyond a differential
    transpose      derivatives  the adjoint of a linear operation
    batch          vmap         the operation over a batch
    lower          compilation  which StableHLO?
    work           analysis     what does it cost? (``core/work.py``)

Operations are interned: ``Sum((0,))`` is the same object each time, so an operation can
be compared by identity and cache what is derived from it (its types, its
executables).
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, dataclass_transform

from covector.core import dtypes
from covector.core.annotations import DType, Value, Values
from covector.core.effects import (
    NONE,
    Effect,
    Effects,
    Parameter,
    effects_among,
    is_program,
)
from covector.core.host_budget import CALL, LARGE_PACE, HostBudget
from covector.core.masks import Mask
from covector.core.operation_caches import Interned, OpPlan, drop_older_half
from covector.core.trace import Trace, current
from covector.core.types import ArrayType, result_types, show_types
from covector.errors import MissingRule

Linearized = tuple[Sequence[Any], Callable[..., Sequence[Any]]]
_Operation = TypeVar("_Operation", bound="Primitive")

#: types of operands for which one operation keeps plans
MOST_PLANS = 2048


@dataclass_transform(frozen_default=True, eq_default=False)
def operation(cls: type[_Operation]) -> type[_Operation]:
    """The decorator of operations with parameters: annotated names become fields.

    It is what a frozen dataclass is, without the compilation of methods for each class,
    which would be a fifth of the time that the package takes to import.
    """
    declared = inspect.get_annotations(cls)
    cls.fields = (*cls.fields, *[name for name in declared if name not in cls.fields])
    return cls


class Primitive(metaclass=Interned):
    """An operation: frozen fields for parameters, methods for rules.

    Decorate a subclass with ``operation``. Calling an instance applies it to arrays.
    ``type_rule`` is required; a rule that a program needs and the class lacks raises
    ``MissingRule``, which names the method to write.
    """

    fields: tuple[str, ...] = ()

    #: the name under which programs show this operation
    name: str = "primitive"
    interned = True
    multiple_results = False
    #: what this operation, or a program that it carries, does besides giving results
    effects: Effects = NONE
    #: whether it is computed while a program is traced, where all operands are known
    foldable = True
    #: names of the mesh or vmap axes that this operation communicates over
    axis_names: tuple[Any, ...] = ()
    #: whether it carries functions that are traced only when they are asked for (rules
    #: of users), which may communicate over any axis that is named then
    carries_functions = False
    #: the programs that it carries, and how they are tied to operands and results
    #: (``programs/higher_order/regions.py``)
    regions: Sequence[Any] = ()
    #: the program whose equations can stand in place of the operation, if there is one
    in_place: Any = None
    #: ``rebuild(programs, operands, results)``: the operation around other programs,
    #: for the masked operands and results; only where results can be removed
    rebuild: Any = None
    #: ``partition(types, later, policy)``: what a checkpoint keeps of it, and
    #: ``executions(operands)``: its programs as they are run on known operands; of
    #: operations that run programs on their operands (``ProgramPrimitive``)
    partition: Any = None
    executions: Any = None
    #: whether, run by itself, it runs the operations of its programs one by one
    interpreted = False
    #: ``meshes_within(types)``: the meshes of functions of the user that are traced at
    #: lowering, for operands of these types
    meshes_within: Any = None
    #: the mesh whose devices it has to run on
    mesh: Any = None
    #: elements (operands and results together) up to which NumPy beats a compiled call
    host_limit: float = 32768
    #: the element types that NumPy does not compute with as XLA does, or not at all
    not_on_host: frozenset[DType] = frozenset()
    #: whether it moves elements in a way in which XLA may add zeros to them (between
    #: devices) or a value of its own; keys that are stored as ``complex128`` it moves
    #: by halves (``lowering/wide_keys.py``)
    by_halves = False
    #: whether it only moves elements, in a way in which XLA:CPU widens those of some
    #: dtypes first (``lowering/short_floats.py``)
    as_integers = False
    #: whether it repeats its operand along new ``axes``, or those of length 1
    repeats = False
    #: whether it orders axes anew, or has XLA do so with what it takes and gives
    orders_axes = False
    #: the operand that overwrites, or is added to, a part of the first one, which it
    #: gives; 0 where that is not what it does
    updates_part = 0
    #: whether it gives a part of its first operand, at places that the others name
    #: (``lowering/in_place.py``)
    reads_part = False
    #: whether it gives the sum of its operands; ``adding(x, *operands)`` is the sum of
    #: an array and what it gives of zeros and those operands, where it updates a part
    adds = False
    adding: Any = None
    #: ``overwritten(update)``: where it overwrites a window with one of this type, the
    #: operation that reads what is there, with the same operands but that one
    overwritten: Any = None
    #: about how many StableHLO operations it is compiled to
    op_count = 1

    #: operands in which the results are linear together, one group after another; None
    #: stands for all of them, in an operation that can be transposed
    linear_operands: tuple[tuple[int, ...], ...] | None = None

    on_host: Any = None
    evaluate: Any = None
    #: ``linearize(active, *primals)`` gives ``(outs, push)``, with ``push`` linear from
    #: tangents (None where inactive) to tangents; only where ``differential`` will not
    #: do
    linearize: Any = None
    #: ``stage(trace, args)``: for operations that are staged in another form
    stage: Any = None
    #: ``process_split(mask, *args)``: what it is in a ``SplitTrace``, where some of its
    #: operands, by the mask, are tangents that it must not mix with the others
    process_split: Any = None
    #: ``for_tangents(mask)``: the operation that is staged there instead, where it
    #: carries programs, in which nothing mixes them either
    for_tangents: Any = None
    #: ``tangent_results(mask)``: the numbers of its results that are tangents then
    tangent_results: Any = None
    #: ``with_token()`` gives the operation with its effects in order, and where among
    #: its operands it then takes a token; the token is its first result
    with_token: Any = None
    #: ``threaded(thread)`` gives the operation that passes the values of a ``Thread``
    #: on through its programs, and where among its operands it then takes them; they
    #: are its first results (``lowering/tokens.py``)
    threaded: Any = None
    #: ``starts(*args)``: indices that it reads or writes at, along their last axis one
    #: for each of the axes that come next, and the last index inside along each of them
    starts: Any = None
    #: the operand by which it divides, where that is so
    divisor: int | None = None
    #: ``reordered(orders)``, of operands in other orders of their axes (None: their
    #: own), gives the operation in other orders, that of each operand, and that of its
    #: result (``lowering/axis_orders.py``)
    reordered: Any = None
    #: whether a program with this operation can be compiled
    compiles = True
    #: whether each element of the result depends on that element of operands alone
    element_wise = False
    #: ``work(types, outs)`` gives the ``Work`` of one run; None where nothing is known
    work: Any = None
    #: ``varying_rule(types, checked_axes)`` gives a ``Varying``; only for operations
    #: that communicate or carry programs (``core/varying.py``)
    varying_rule: Any = None
    instances: dict[tuple[Any, ...], "Primitive"] = {}  # noqa: RUF012  each class has its own
    #: plans by the types of the operands
    plans: dict[tuple[ArrayType, ...], OpPlan]

    def __init_subclass__(cls) -> None:
        cls.instances = {}
        if "name" not in cls.__dict__:
            cls.name = snake_case(cls.__name__)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(self.fields, args, strict=False)) | kwargs
        wanted = set(self.fields)
        missing = [n for n in self.fields if n not in given and not hasattr(self, n)]
        if missing or len(args) > len(self.fields) or not wanted.issuperset(given):
            if type(self) is Primitive:
                raise TypeError(
                    f"Primitive({', '.join(map(repr, args))}) is not an operation: an "
                    "operation is a class of its own, derived from Primitive, whose "
                    "fields are its parameters and whose methods are its rules "
                    "(type_rule, differential, batch, lower)."
                )
            raise TypeError(
                f"{type(self).__name__} takes the parameters {', '.join(self.fields)}, "
                f"but got {args} and {kwargs}"
            )
        for name, value in given.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "plans", {})
        effects = effects_among(given.values())
        if effects:
            object.__setattr__(self, "effects", effects)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Bring parameters to their one form, with ``object.__setattr__``."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r} is a constant: its {name} cannot be set")

    def __repr__(self) -> str:
        shown = ", ".join([f"{k}={v!r}" for k, v in self.parameters.items()])
        return f"{type(self).__name__}({shown})"

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.fields}

    @property
    def pure(self) -> bool:
        """Whether it may be dropped where nobody reads its results, or run again."""
        return Effect.LASTS not in self.effects

    def replace(self, **changes: Any) -> Any:
        """This operation with other parameters."""
        return type(self)(**(self.parameters | changes))

    def with_programs(self, change: Callable[[Any], Any]) -> Any:
        """This operation with ``change(program)`` for each program that it carries."""
        changes: dict[str, Parameter] = {}
        parameters: dict[str, Parameter] = self.parameters
        for name, value in parameters.items():
            if type(value) is tuple and any(map(is_program, value)):
                changes[name] = tuple(map(change, value))
            elif is_program(value):
                changes[name] = change(value)
        return self.replace(**changes)

    def __call__(self, *args: Any) -> Value:
        return current.trace.process(self, args)[0]

    # -- types -------------------------------------------------------------------------

    def plan(self, types: tuple[ArrayType, ...]) -> OpPlan:
        """The result types for these operand types, and whether NumPy is quicker."""
        plan = self.plans.get(types)
        if plan is None:
            drop_older_half(self.plans, MOST_PLANS)
            outs = result_types(self.type_rule, types, self.varying_rule is None)
            # Symbolic sizes, of a class of their own, have no host to run on.
            known = all([type(t.size) is int for t in (*types, *outs)])
            same = known and self.is_same_on_host(types, outs)
            quick = same and self.prefers_host(types, outs)
            on_host = self.host_function(*types) if quick else None
            plan = self.plans[types] = OpPlan(outs, self.multiple_results, on_host)
            if same and not quick:
                plan.budget = HostBudget.of(self.host_time(types, outs))
        return plan

    def is_same_on_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        """Whether NumPy computes it, and the same as XLA, for these element types."""
        if self.on_host is None:
            return False
        return not any([t.dtype in self.not_on_host for t in [*types, *outs]])

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        """Whether running on the host is cheaper than a compiled call."""
        return sum([t.size for t in [*types, *outs]]) <= self.host_limit

    def host_time(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> float | None:
        """About how many µs NumPy takes for any number of elements; None where it is
        not to run them, since it would take them one by one.
        """
        both = [*types, *outs]
        wide = any([dtypes.is_wide_key(t.dtype) for t in both])
        if wide or self.host_limit < Primitive.host_limit:
            return None
        return CALL + sum([t.size for t in both]) / LARGE_PACE

    # -- rules -------------------------------------------------------------------------

    def host_function(self, *types: Any) -> Callable[..., Any]:
        """``on_host`` for operands of these types, which it need not look at again."""
        return self.on_host

    def type_rule(self, *types: Any, **_: Any) -> Sequence[ArrayType]:
        raise self._missing("type_rule", "staging", types)

    def differential(
        self, out: Any, *primals: Any
    ) -> Sequence[Callable[..., Any] | None]:
        """One linear map per operand (None: the result does not depend on it)."""
        raise self._missing(
            "differential", "differentiation", [p.type for p in primals]
        )

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Any, tangents: Any
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Values computed in ``parent`` and tangents computed in ``tangent_trace``."""
        current.trace = parent
        if self.linearize is not None:
            outs, push = self.linearize([t is not None for t in tangents], *primals)
            current.trace = tangent_trace
            return outs, push(*tangents)
        (out,) = outs = parent.process(self, primals)
        maps = self.differential(out, *primals)
        current.trace = tangent_trace
        total = None
        for i, linear in enumerate(maps):
            if linear is not None and tangents[i] is not None:
                term = linear(tangents[i])
                total = term if total is None else total + term
        return outs, (total,)

    def transpose(self, cotangents: Sequence[Any], *args: Any) -> Sequence[Any]:
        """Cotangents of the ``Linear`` entries of ``args``; None elsewhere, or for
        zero.
        """
        raise self._missing("transpose", "reverse-mode differentiation", args)

    def linear_in(self, args: Sequence[Any]) -> bool:
        """Whether results are linear in the ``Linear`` entries of ``args`` together."""
        if type(self).transpose is Primitive.transpose:
            return False
        together = self.linear_operands
        linear = {i for i, a in enumerate(args) if type(a) is Linear}
        return together is None or any([linear <= {*group} for group in together])

    def batch(self, size: int, args: Sequence[Any], dims: Sequence[int | None]) -> Any:
        """``(outs, dims)`` for operands of which some have a batch axis at ``dims``."""
        raise self._missing("batch", "vmap", [a.type for a in args])

    def batch_named(
        self, axis: Any, size: int, args: Sequence[Any], dims: Sequence[int | None]
    ) -> Any:
        """``batch`` where the batched axis is one that this operation names."""
        raise self._missing("batch_named", f"vmap over axis {axis!r}", args)

    def written_out(
        self, types: Sequence[ArrayType]
    ) -> Callable[..., Sequence[Any]] | None:
        """The function that computes it by plainer operations, on operands of these
        types, for those who have a meaning for these alone; None where it is plain.
        """
        return None

    def of_elements(self, *types: ArrayType) -> "Primitive | None":
        """The operation that makes one element of the result, of an element of each
        operand and of operands that are numbers; None where it takes more than that, or
        where a loop over elements takes longer than a kernel of XLA.
        """
        return None

    def lower(self, ctx: Any, *operands: Any) -> Any:
        raise self._missing("lower", "compilation", ctx.in_types)

    def _missing(self, rule: str, wanted: str, types: Sequence[Any]) -> MissingRule:
        shown = show_types(getattr(t, "type", t) for t in types)
        return MissingRule(
            f"{self.name} has no `{rule}` rule, which {wanted} needs; its operands are "
            f"{shown}. Give the class {type(self).__name__} that method."
        )


class Linear:
    """Stands in a transpose rule for an operand in which the operation is linear.

    It has a ``type`` and no value. The rule returns a cotangent for it.
    """

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type: ArrayType = type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type})"


def linear_mask(args: Sequence[Any]) -> Mask:
    """The mask of the operands in which an operation is linear."""
    return tuple([type(a) is Linear for a in args])


#: an operand of a transpose rule: known, or what the operation is linear in
Operand: TypeAlias = Value | Linear


def snake_case(name: str) -> str:
    """``ReduceMax`` becomes ``reduce_max``."""
    return "".join(
        "_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name)
    )


class ManyResults(Primitive):
    """An operation with any number of results: calling it returns all, as a tuple."""

    multiple_results = True

    # Not one method that asks which: every operation of every program comes this way.
    def __call__(self, *args: Any) -> Values:  # pyright: ignore[reportIncompatibleMethodOverride]
        return current.trace.process(self, args)


def forget_plans() -> None:
    """Drop the plans of all operations, and with them their executables."""
    classes: list[type[Primitive]] = [Primitive]
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        for op in list(cls.__dict__.get("instances", {}).values()):
            op.plans.clear()
