"""``sparsify``: functions of arrays, applied to sparse ones.

A ``SparseTracer`` is an array of which only the stored elements are known. An operation
on such tracers is looked up in the table of rules (``rules``), which computes the
elements of the result; operations on other arrays go to the parent unchanged. An
operation without a rule is refused, since it would fill in the zeros.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.annotations import LinearMaps, Value, Values
from covector.core.convert import as_array
from covector.core.flat import who_of
from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import Operand, Primitive
from covector.core.source import wraps
from covector.core.trace import Trace, Tracer, as_current, current
from covector.core.types import ArrayType
from covector.core.work import moves
from covector.errors import MissingRule
from covector.experimental.sparse.base import JAXSparse, is_sparse
from covector.operations.identities import Identity

__all__ = ["sparsify", "todense"]

#: for each class of operations, a function of the operation and of its operands, sparse
#: or dense; ``rules`` fills it
RULES: dict[type[Primitive], Callable[..., Any]] = {}


class ToDense(Identity):
    """An array as it is; of a sparse one, with its zeros."""

    name = "todense"
    work = moves

    def evaluate(self, x: Value) -> Values:
        return (x,)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return cotangents


class SparseTracer(Tracer):
    """A sparse array, as the user's function sees it."""

    __slots__ = ("type", "value")

    def __init__(self, trace: Trace, value: JAXSparse) -> None:
        self.owner = trace
        self.value = value
        self.type = ArrayType(value.shape, value.dtype)


class SparseTrace(Trace):
    """Gives operations their meaning on sparse arrays."""

    def __init__(self, parent: Trace, name: str = "") -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes = parent.checked_axes
        self.name = name

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        values = [self.value(a) for a in args]
        current.trace = self.parent
        try:
            if not any(map(is_sparse, values)):
                return self.parent.process(op, args)
            rule = next((RULES[c] for c in type(op).__mro__ if c in RULES), None)
            if rule is None:
                plainer = op.written_out([a.type for a in args])
                if plainer is None:
                    raise unsupported(op, values, "")
                with as_current(self):
                    return plainer(*args)
            out = rule(op, *values)
        finally:
            current.trace = self
        outs = out if isinstance(out, list) else [out]
        return [SparseTracer(self, x) if is_sparse(x) else x for x in outs]

    def value(self, x: Any) -> Any:
        if type(x) is SparseTracer and x.owner is self:
            return x.value
        return x


def unsupported(op: Primitive, values: Sequence[Any], why: str) -> MissingRule:
    """The error for an operation that cannot be kept sparse."""
    shown = ", ".join([str(x) if is_sparse(x) else str(x.type) for x in values])
    return MissingRule(
        f"sparsify has no rule for {op.name} of {shown}{why}. If a dense result is "
        "meant, make the operand dense with sparse.todense(x)."
    )


def sparsify_flat(
    fun: Callable[..., Sequence[Any]], args: Sequence[Any], name: str = ""
) -> list[Any]:
    """The results of a flat function of sparse and dense arrays."""
    trace = SparseTrace(current.trace, name)
    inputs = [SparseTracer(trace, x) if is_sparse(x) else x for x in args]
    return [trace.value(out) for out in trace.run(fun, inputs)]


def sparsify_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """The outputs of a program of sparse and dense arrays."""
    return sparsify_flat(lambda *xs: run(jaxpr, xs), args, jaxpr.name)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """``f``, a function of arrays, as one that takes sparse arrays too.

    Inside of ``f`` a sparse array looks like any other. Results are sparse where the
    operations that lead to them keep zeros. Operations that do not are refused, but
    for sums with a dense array of the whole shape, and products with one.

    Args:
      use_tracer: of no account; ``f`` always runs on tracers.

    Raises:
      MissingRule: an operation would fill in the zeros of a sparse array.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> f = sparse.sparsify(lambda m, v: cnp.sin(m).T @ v)
    >>> print(f(sparse.eye(2), cnp.array([0.0, 2.0])).round(3))
    [0.    1.683]
    """
    who = who_of("sparsify", f)

    @wraps(f)
    def on_sparse(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs), is_leaf=is_sparse)
        seen: list[Any] = []

        def flat(*xs: Any) -> Sequence[Any]:
            args, kwargs = structure.unflatten(xs)
            outs, out_tree = tree.flatten(f(*args, **kwargs), is_leaf=is_sparse)
            seen.append(out_tree)
            return outs

        outs = sparsify_flat(flat, leaves, who)
        return seen[0].unflatten(outs)

    return on_sparse


def todense(arr: Any) -> Any:
    """A sparse array with its zeros; any other array as it is.

    Inside of ``sparsify`` it stands before operations that need all elements.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> sparse.todense(sparse.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> f = sparse.sparsify(lambda m: cnp.cos(sparse.todense(m)).sum())
    >>> round(float(f(sparse.eye(2))), 3)
    3.081
    """
    if isinstance(arr, JAXSparse):
        return arr.todense()
    return ToDense()(as_array(arr, "todense"))
