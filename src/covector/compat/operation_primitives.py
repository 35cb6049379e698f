"""``OperationPrimitive``: an operation of covector under its name in the field.

    lax.reduce_sum_p.bind(x, axes=(0,))        is  ReduceSum((0,))(x)
    eqn.primitive is lax.reduce_sum_p          of the equations that have a ReduceSum
    eqn.params == {"axes": (0,), …}            its fields, by the field's names

Operations and their fields have the same names in the field, unless the tables in
``operations/`` say otherwise. A parameter that an operation does not have may be None,
which says nothing.
"""

import functools
import importlib
import pkgutil
import re
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from covector import callbacks, operations, placement, programs
from covector.compat.primitives import Bound, Primitive
from covector.compat.restaging import restaged
from covector.core import primitive as core
from covector.core.convert import as_array
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.errors import ArgumentError

Types = Sequence[ArrayType]
Params = dict[str, Any]


def _same(value: Any) -> Any:
    return value


class Parameter(NamedTuple):
    """A field of an operation by another name, and its value in another form."""

    field: str
    shown: Callable[[Any], Any] = _same
    taken: Callable[[Any], Any] = _same


def _types(values: Sequence[Any]) -> Types:
    return [x.type for x in values]


#: the types of the operands, from the arguments of a rule of an operation
_TYPES: dict[str, Callable[..., Types]] = {
    "differentiate": lambda parent, tangent_trace, primals, _: _types(primals),
    "transpose": lambda cotangents, *operands: _types(operands),
    "batch": lambda size, operands, _: _types(operands),
    "batch_named": lambda axis, size, operands, _: _types(operands),
    "lower": lambda ctx, *_: ctx.in_types,
}


@dataclass
class Spelling:
    """What the field has otherwise, as far as words of ``names/operations.txt`` say it
    and beyond.
    """

    #: fields of the operation by their names in the field
    parameters: dict[str, Parameter] = field(default_factory=dict)
    #: parameters that have this value, and no other
    constant: Params = field(default_factory=dict)
    #: parameters that are shown so, and not read: they have no meaning here
    ignored: Params = field(default_factory=dict)
    #: parameters that follow from the operation and its types, and are not read either
    derived: dict[str, Callable[[Any, Types], Any]] = field(default_factory=dict)
    #: fields that are not shown: they follow from the parameters, and what is around
    implied: Mapping[str, Callable[[Params], Any]] = field(default_factory=dict)
    #: fields that have no counterpart, and are shown where they are not the default
    hidden: set[str] = field(default_factory=set)
    #: parameters that are a ``Jaxpr`` and not a ``ClosedJaxpr``
    opened: set[str] = field(default_factory=set)
    #: for each result in the field, the number of ours, for an operation
    order: Callable[[Any], Sequence[int]] | None = None

    def read(self, key: str, sign: str, value: str) -> None:
        """Take a word of the notation of ``names/operations.txt``."""
        if sign == "=" and "." in value:
            self.derived[key] = lambda op, types: attrgetter(value)(op)
        elif sign == "=":
            alone = value.startswith("(")
            self.parameters[key] = one(value[1:-1]) if alone else Parameter(value)
        elif sign in "*/":
            self.derived[key] = _repeated(literal_eval(value), sign == "*")
        elif sign in "-+":
            (self.hidden if sign == "-" else self.opened).add(value)
        else:
            (self.constant if sign == ":" else self.ignored)[key] = literal_eval(value)


def _repeated(value: Any, for_operands: bool) -> Callable[[Any, Types], Any]:
    """A value as often as there are operands, or results."""
    if for_operands:
        return lambda op, types: (value,) * len(types)
    return lambda op, types: (value,) * len(op.plan(tuple(types)).outs)


def one(name: str) -> Parameter:
    """A field that stands in a tuple of one in the field's notation, or alone."""
    return Parameter(name, lambda value: (value,), _the_one)


def _the_one(value: Any) -> Any:
    return value[0] if isinstance(value, tuple | list) and len(value) == 1 else value


class OperationPrimitive(Primitive):
    """An operation of covector under its name in the field."""

    def __init__(
        self,
        name: str,
        operation_class: type[core.Primitive],
        spelling: Spelling | None = None,
    ) -> None:
        super().__init__(name)
        self.operation_class = operation_class
        self.multiple_results = operation_class.multiple_results
        self.spelling = spelling or Spelling()
        self.opened = self.spelling.opened
        #: the parameters that ``operation`` does not look at
        self.unread = {*self.spelling.ignored, *self.spelling.derived}
        named = self.spelling.parameters
        elsewhere = {p.field for p in named.values()}.union(self.spelling.implied)
        same = [f for f in operation_class.fields if f not in elsewhere]
        self.fields = named | {f: Parameter(f) for f in same}
        PRIMITIVES[name] = self
        OF_CLASS.setdefault(operation_class, self)

    # -- parameters --------------------------------------------------------------------

    def params_of(self, op: Any, types: Types) -> Params:
        shown, hidden = {}, self.spelling.hidden
        for name, parameter in self.fields.items():
            value = getattr(op, parameter.field)
            default = getattr(type(op), parameter.field, None)
            if name not in hidden or value != default:
                shown[name] = parameter.shown(value)
        derived = {name: f(op, types) for name, f in self.spelling.derived.items()}
        return shown | self.spelling.constant | self.spelling.ignored | derived

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        """The operation with these parameters, for operands of these types."""
        constant = self.spelling.constant
        implied = self.spelling.implied.items()
        given: Params = {name: f(params) for name, f in implied}
        for name, value in params.items():
            if name in self.fields:
                parameter = self.fields[name]
                given[parameter.field] = parameter.taken(restaged(value, self.name))
            elif name in constant and value not in (None, constant[name]):
                raise ArgumentError(
                    f"{self.name} is for {name}={constant[name]!r} alone, but got "
                    f"{name}={value!r}."
                )
            elif value is not None and name not in self.unread and name not in constant:
                raise ArgumentError(
                    f"{self.name} has no parameter {name}, but got {name}={value!r}. "
                    f"It takes {', '.join(self.fields) or 'none'}."
                )
        for name, parameter in self.fields.items():
            cls, ours = self.operation_class, parameter.field
            if ours not in given and not hasattr(cls, ours):
                raise ArgumentError(f"{self.name}.bind needs the parameter {name}.")
        return self.operation_class(**given)

    # -- results -----------------------------------------------------------------------

    def results_of(self, op: Any, types: Types) -> Sequence[int | ArrayType]:
        if self.spelling.order is not None:
            return self.spelling.order(op)
        return super().results_of(op, types)

    def process(
        self, trace: Trace, operands: Sequence[Any], params: Params
    ) -> Sequence[Any]:
        """The results, as the field has them, in the meaning of a trace."""
        op: Any = self.operation(params, _types(operands))
        outs = trace.process(op, operands)
        order = self.spelling.order
        return outs if order is None else [outs[i] for i in order(op)]

    # -- binding -----------------------------------------------------------------------

    def bind(self, *args: Any, **params: Any) -> Any:
        operands = [as_array(a, self.name) for a in args]
        outs = self.process(current.trace, operands, params)
        return list(outs) if self.multiple_results else outs[0]

    impl = bind

    def abstract_eval(self, *avals: Any, **params: Any) -> tuple[Any, Any]:
        op: Any = self.operation(params, avals)
        outs = op.plan(tuple(avals)).outs
        found = [outs[i] if type(i) is int else i for i in self.results_of(op, avals)]
        return (found if self.multiple_results else found[0]), op.effects

    def rule_entered(self, method: str) -> None:
        """Operations of the class have the rule that was entered into a table."""
        self._take_rule(method)
        if method == "batch_named":
            self._take_rule("batch")

    def _take_rule(self, method: str) -> None:
        def rule(op: Any, *args: Any) -> Any:
            bound = Bound(self, self.params_of(op, _TYPES[method](*args)))
            return getattr(bound, method)(*args)

        setattr(self.operation_class, method, rule)


# -- the tables ------------------------------------------------------------------------

#: primitives by their names in the field
PRIMITIVES: dict[str, Primitive] = {}
#: the primitive of each class of operations; or the function that says which it is,
#: of an operation and the types of its operands
OF_CLASS: dict[type, Any] = {}


@functools.cache
def _operations() -> dict[str, type[core.Primitive]]:
    """The classes of covector's operations, and their bases, by their names."""
    for package in (operations, placement, callbacks, programs):
        for room in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(room.name)
    found, queue = {}, [core.Primitive]
    while queue:
        found[queue[0].name] = queue[0]
        queue += _below(queue.pop(0))
    return found


def _below(cls: type) -> list[Any]:
    """The classes of covector that are made of one; a user's may be, too."""
    return [c for c in cls.__subclasses__() if c.__module__.startswith("covector.")]


_NAME = re.compile(r"(\w[\w-]*)(?:\((\w+)\))?")
_WORD = re.compile(r"(\w*)([=:~*/+-])(\S+)")


def primitive(
    words: str, kind: type[OperationPrimitive] = OperationPrimitive, **others: Any
) -> OperationPrimitive:
    """Enter an operation, or several that are alike; the last one.

    Args:
      words: names and spelling, in the notation of ``names/operations.txt``.
      kind: a class that says what ``Spelling`` cannot.
      others: of ``Spelling``, what the notation cannot say.
    """
    spelling, names = Spelling(**others), []
    for word in words.split():
        name = _NAME.fullmatch(word)
        if name:
            names.append(name.groups())
        else:
            spelling.read(*_WORD.fullmatch(word).groups())  # type: ignore[union-attr]
    made = [kind(n, _operations()[ours or n], spelling) for n, ours in names]
    return made[-1]


def composition(
    name: str, function: Callable[..., Any], several: bool = False, calls: bool = False
) -> None:
    """Enter a primitive of the field that is a function of covector.

    In a program there are the operations that the function makes, and never it.
    """
    made = PRIMITIVES[name] = Primitive(name)
    made.multiple_results, made.call_primitive = several, calls

    def bind(*args: Any, **params: Any) -> Any:
        out = function(*args, **params)
        return list(out) if several else out

    made.bind = made.impl = bind


def enter_others() -> None:
    """Enter the operations that have the names and parameters of covector."""
    for name, operation_class in _operations().items():
        known = operation_class in {Bound, *OF_CLASS}
        # What is always several of the field has no primitive.
        known |= operation_class.written_out is not core.Primitive.written_out
        # A base of several classes is a family, and no operation.
        if not known and len(_below(operation_class)) < 2:
            OperationPrimitive(name, operation_class)


def primitive_of(op: core.Primitive, types: Types) -> Any:
    """The primitive of an operation on operands of these types."""
    if isinstance(op, Bound):
        return op.primitive
    found = OF_CLASS.get(type(op))
    if found is None:  # of a class that somebody has added to covector's
        found = OperationPrimitive(op.name, type(op))
    return found if isinstance(found, Primitive) else found(op, types)
