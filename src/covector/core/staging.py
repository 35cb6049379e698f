"""Staging: run a function on tracers and record its operations as a jaxpr.

What is known stays known: an operation without effects whose operands are all concrete
and small is evaluated at once, so shape arithmetic on Python numbers can still be used
as a shape.
What touches a tracer is staged. Tracers of outer traces, and large concrete
arrays, become *captured* inputs, which stand before the function's own.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import options
from covector.core.array import ConcreteArray
from covector.core.convert import as_array
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.primitive import Primitive
from covector.core.references import Held, Ref, check_reachable
from covector.core.source import user_line
from covector.core.trace import Trace, Tracer, check_scope, current
from covector.core.types import INVARIANT, ArrayType
from covector.core.varying import needs_unifying, unify_varying
from covector.errors import RefError

#: elements up to which concrete values are computed while tracing
KNOWN_LIMIT = 128
#: elements from which a concrete array is passed to a program and not written into it
LITERAL_LIMIT = 1024


class StagedTracer(Tracer):
    """A value of the program that is being staged: a variable of it, or a literal."""

    __slots__ = ("line", "type", "variable")

    def __init__(self, trace: Trace, var: Atom, line: Any = None) -> None:
        self.owner = trace
        self.variable: Atom = var
        self.type: ArrayType = var.type
        self.line: Any = line

    @property
    def literal(self) -> Any:  # type: ignore[override]
        return self.variable if type(self.variable) is ConcreteArray else None

    def origin(self) -> str:
        if self.line is None:
            trace: Any = self.owner
            return f"It is {trace.input_name(self.variable)}."
        return f"It was made at {self.line} while tracing {self.owner.name}."


class StagingTrace(Trace):
    """Records operations instead of running them."""

    stages = True
    #: by identity, the references made outside whose values the program takes and
    #: gives; None where it cannot
    references: dict[int, Held] | None = None
    #: what is traced, and the variables of its inputs, for messages
    function: Any = None
    inputs: Sequence[Var] = ()

    def __init__(
        self,
        parent: Trace,
        name: str = "",
        *,
        literal_limit: float = LITERAL_LIMIT,
        lines: bool = True,
    ) -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes: frozenset[Any] = parent.checked_axes
        self.alive = True
        self.name = name
        self.literal_limit = literal_limit
        self.lines = lines
        self.equations: list[Equation] = []
        #: captured values by identity: the value (kept alive) and its variable
        self.captured: dict[int, tuple[Any, Var]] = {}
        self.known: dict[int, Any] = {}

    def input(self, type: ArrayType) -> StagedTracer:
        return StagedTracer(self, Var(type))

    def input_name(self, variable: Var) -> str:
        """The input that a variable stands for, in words."""
        # What is traced may be the ``__call__`` of a flat function.
        flat = getattr(self.function, "__self__", self.function)
        if variable in self.inputs and hasattr(flat, "input_name"):
            return flat.input_name(self.inputs.index(variable))
        return f"an argument of {self.name}"

    def atom(self, x: Any) -> Any:
        """The atom of ``x`` in this program: a variable or a literal."""
        if type(x) is StagedTracer and x.owner is self:
            return x.variable
        if type(x) is ConcreteArray:
            if x.type.size >= self.literal_limit:
                return self.capture(x)
            placement = x.placement
            if placement is None or placement.single is not None:
                return x
            # Where it is matters to the program, which a literal would not say.
            return x if self.literal_limit == math.inf else self.capture(x)
        if isinstance(x, Tracer):
            if x.literal is not None:
                return self.atom(x.literal)
            check_scope(x, self.parent)
            return self.capture(x)
        return self.atom(as_array(x))

    def capture(self, x: Any) -> Var:
        """The input that stands for a value from outside, captured once."""
        found = self.captured.get(id(x))
        if found is None:
            found = self.captured[id(x)] = (x, Var(x.type))
        return found[1]

    def unknown(self, x: Any) -> Any:
        return StagedTracer(self, self.atom(x), user_line())

    def hold(self, ref: Ref) -> Held:
        """The program's input for a reference that was made outside of it."""
        if self.references is None:
            raise RefError(
                f"{self.name or 'a program'} uses a reference, {ref.type!r}, that was "
                "made outside of it: its reads and writes would not come in the order "
                "of the program around. Pass in the value, ref[...], and return the "
                "new one; or make the reference inside."
            )
        held = self.references.get(id(ref))
        if held is None:
            check_reachable(ref, self.parent)
            variable = Var(ref.type.inner_aval)
            self.captured[id(ref)] = ref, variable
            held = Held(ref, StagedTracer(self, variable))
            self.references[id(ref)] = held
        return held

    # Every operation of every program comes this way.
    def process(  # noqa: C901
        self, op: Primitive, args: Sequence[Any]
    ) -> Sequence[Any]:
        if not self.alive:
            check_scope(next(a for a in args if isinstance(a, Tracer)), self)
        if op.stage is not None:
            staged = op.stage(self, args)
            if staged is not None:
                return staged
        varying = None
        if self.checked_axes and needs_unifying(op, args):
            args, varying = unify_varying(self, op, args)
        atoms: list[Any] = []
        types: list[ArrayType] = []
        traced = False
        for a in args:
            atom = a
            if type(a) is StagedTracer and a.owner is self:
                traced = True
                atom = a.variable
            elif (
                type(a) is not ConcreteArray
                or a.placement is not None
                or a.type.size >= self.literal_limit
            ):
                atom = self.atom(a)
                traced = traced or type(a) is StagedTracer
            atoms.append(atom)
            types.append(atom.type)
        if varying is not None:
            types = [t.with_varying(INVARIANT) for t in types]
        signature = tuple(types)
        try:
            outs = op.plans[signature].outs
        except KeyError:
            outs = op.plan(signature).outs
        if varying:
            outs = [t.with_varying(varying) for t in outs]
        elif not traced and is_known(op, atoms, types, outs):
            return self._compute(op, atoms)
        line = user_line() if self.lines else None
        variables: list[Any] = []
        results: list[Any] = []
        for t in outs:
            v = Var(t)
            variables.append(v)
            results.append(StagedTracer(self, v, line))
        self.equations.append(Equation(op, atoms, variables, line))
        return results

    def _compute(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        """``op`` on known values, in the meaning of the base trace."""
        before, current.trace = current.trace, type(current).trace
        try:
            values = current.trace.process(op, args)
        finally:
            current.trace = before
        for value in values:
            self.known[id(value)] = value
        if current.observer is not None:
            current.observer.computed(op, args, values)
        return values

    def finish(self, inputs: Sequence[StagedTracer], outs: Sequence[Any]) -> "Staged":
        """The program with these inputs and outputs, and what it captured."""
        atoms = [self.atom(o) for o in outs]
        captured: list[Any] = []
        variables: list[Any] = []
        for x, v in self.captured.values():
            captured.append(x)
            variables.append(v)
        variables += [t.variable for t in inputs]
        jaxpr = Jaxpr(variables, self.equations, atoms, self.name)
        if options.settings.check_programs:
            from covector.core.check import check_jaxpr  # noqa: PLC0415  when asked for

            check_jaxpr(jaxpr)
        return Staged(jaxpr, captured)


class Staged(NamedTuple):
    """A program, and the values for its leading, captured inputs.

    A reference among them stands for what it holds when the program is called; what
    those in ``changed`` hold afterwards are the last outputs.
    """

    jaxpr: Jaxpr
    captured: list[Any]
    changed: Sequence[Ref] = ()


def is_known(
    op: Primitive,
    atoms: Sequence[Any],
    types: Sequence[ArrayType],
    outs: Sequence[ArrayType],
    limit: int = KNOWN_LIMIT,
) -> bool:
    """Whether ``op`` can be evaluated now: it has no effects, all operands are
    concrete, and everything is small.

    Not where it names axes: a program may be staged again outside of them.
    """
    if op.effects or op.axis_names or Var in map(type, atoms) or not op.foldable:
        return False
    # A symbolic size is of a class of its own, and known nowhere.
    sizes = [t.size for t in (*types, *outs)]
    return all([type(size) is int and size <= limit for size in sizes])


def restage(
    fun: Callable[..., Sequence[Any]], types: Sequence[ArrayType], name: str = ""
) -> Jaxpr:
    """Stage ``fun``, which runs programs that are staged already.

    Of concrete arrays it reads only what rules of users make while they run, arrays of
    NumPy for instance; of any size, they are written into the program.
    """
    staged = stage(fun, types, name, math.inf)
    assert not staged.captured, "a jaxpr is closed"
    return staged.jaxpr


_variable_of = operator.attrgetter("variable")


def stage(
    fun: Callable[..., Sequence[Any]],
    types: Sequence[ArrayType],
    name: str = "",
    literal_limit: float = LITERAL_LIMIT,
    references: bool = False,
) -> Staged:
    """Stage ``fun``, a function of flat arguments of these types.

    With ``references``, it may use those that were made outside: the caller hands their
    values in and out.
    """
    parent = current.trace
    trace = StagingTrace(parent, name, literal_limit=literal_limit)
    # The body of a shard_map may be staged again anywhere, as while it is lowered.
    trace.checked_axes = trace.checked_axes.union(*[t.varying for t in types])
    if references:
        trace.references = {}
    current.trace = trace
    try:
        inputs = [trace.input(t) for t in types]
        trace.function, trace.inputs = fun, tuple(map(_variable_of, inputs))
        outs = fun(*inputs)
        changed: list[Held] = []
        if trace.references:
            changed = [held for held in trace.references.values() if held.changed]
            outs = [*outs, *[held.value for held in changed]]
        staged = trace.finish(inputs, outs)
    finally:
        current.trace = parent
        trace.alive = False
    if trace.watch is not None:
        trace.watch()
    if changed:
        return staged._replace(changed=[held.ref for held in changed])
    return staged
