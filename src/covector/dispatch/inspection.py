"""Looking at a function without running it: types of results, programs, closures."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from covector import tree
from covector.core.annotations import PyTree
from covector.core.array_like import Array
from covector.core.convert import ShapeDtypeStruct, type_of
from covector.core.flat import FlatFunction, argument_numbers, who_of
from covector.core.jaxpr import Jaxpr, Var, replaced, run
from covector.core.primitive import Primitive
from covector.core.references import Ref
from covector.core.source import function_name, wraps
from covector.core.staging import Staged, StagedTracer, StagingTrace, stage
from covector.core.trace import Trace, Tracer, current
from covector.dispatch.arguments import JitSpec
from covector.dispatch.jit import PjitFunction
from covector.dispatch.references import stage_on_values
from covector.dispatch.stages import struct
from covector.lowering.evaluate import base
from covector.operations.placement import ShardingConstraint
from covector.tree.registry import PyTreeDef


def eval_shape(fun: Callable[..., Any], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """The shapes and dtypes of what ``fun`` would return, without computing it.

    Use it to make an output buffer, or to look at a large model without its memory.
    ``fun`` is traced as by ``jit``: numbers among ``args`` are traced too. Bind static
    values with ``functools.partial``.

    Args:
      fun: a function of arrays, or trees of arrays.
      args, kwargs: arrays, or anything with ``shape`` and ``dtype``.

    Returns:
      The tree of the result, of ``ShapeDtypeStruct``s. One that ``fun`` divides, with
      ``with_sharding_constraint`` or ``jit(out_shardings=)``, says its sharding.

    Raises:
      TypeMismatch: ``fun`` is not a function, or returns what is not an array.

    >>> import covector as cv, covector.numpy as cnp
    >>> eval_shape(lambda x: cnp.stack([x, x]), cv.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)

    See also: ``make_jaxpr``, ``ShapeDtypeStruct``, ``typeof``.
    """
    if isinstance(fun, PjitFunction):  # which knows its static arguments
        return fun.eval_shape(*args, **kwargs)
    who = who_of("eval_shape", fun)
    staged, out_tree = _staged(_ShapeFunction, fun, args, kwargs, who, "eval_shape")
    jaxpr, count = staged.jaxpr, out_tree.num_leaves
    divided: dict[Any, Any] = {
        e.outputs[0]: e.op.sharding
        for e in jaxpr.equations
        if isinstance(e.op, ShardingConstraint)
    }
    for v, x in zip(jaxpr.inputs, staged.captured, strict=False):
        if isinstance(x, ShapeDtypeStruct):
            divided[v] = x.sharding
    shardings = [
        divided.get(x) if type(x) is Var else x.placement for x in jaxpr.outputs[:count]
    ]
    return out_tree.unflatten(map(struct, jaxpr.out_types[:count], shardings))


class _ShapeFunction(FlatFunction):
    """A function of which only the shapes of the result are asked, which may return
    ``ShapeDtypeStruct``s as well.
    """

    __slots__ = ()

    def _output(self, x: Any, out: Any) -> Any:
        if not isinstance(x, ShapeDtypeStruct):
            return super()._output(x, out)
        trace = current.trace
        assert isinstance(trace, StagingTrace), "it is being staged"
        return StagedTracer(trace, trace.capture(x))


def _staged(
    made: type[FlatFunction],
    fun: Callable[..., Any],
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
    who: str,
    name: str,
) -> tuple[Staged, Any]:
    """The program of a function, what it captured, and the tree of the result.

    After the result the program gives the new values of references.
    """
    leaves, in_tree = tree.flatten((args, kwargs))
    flat = made(fun, in_tree, who)
    types = [x.type if type(x) is Ref else type_of(x, who) for x in leaves]
    return stage_on_values(flat, types, name)[0], flat.out_tree


@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: Literal[False] = False,
) -> Callable[..., Jaxpr]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    *,
    return_shape: Literal[True],
) -> Callable[..., tuple[Jaxpr, PyTree]]: ...
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that gives the program of ``fun`` for its arguments, to be read.

    The program is as it was traced, before the compiler optimises it;
    ``jit(fun).lower(...)`` gives what the compiler gets and makes.

    Args:
      fun: a function of arrays, or trees of arrays.
      static_argnums: arguments that are part of the program, as for ``jit``.
      axis_env: named axes, with sizes, that collectives in ``fun`` may name.
      return_shape: give the tree of shapes of the result as well.

    Returns:
      A function with the arguments of ``fun``, which returns a ``Jaxpr``: it can be
      printed, called and taken apart. With ``return_shape``, a pair.

    Raises:
      TypeMismatch: ``fun`` is not a function.

    >>> import covector as cv, covector.numpy as cnp
    >>> len(make_jaxpr(lambda x: cnp.sin(x) * 2)(1.0).eqns)
    2

    See also: ``jit``, ``eval_shape``.
    """
    return program_maker(fun, _closed, static_argnums, axis_env, return_shape)


def program_maker(
    fun: Callable[..., Any],
    close: Callable[[Jaxpr, Sequence[Any]], Any],
    static_argnums: int | Sequence[int],
    axis_env: Sequence[tuple[Any, int]] | None,
    return_shape: bool,
) -> Callable[..., Any]:
    """``make_jaxpr``, with ``close(program, captured)`` to make what it gives."""
    traced = staged_function(fun, static_argnums, axis_env)

    @wraps(fun)
    def program(*args: Any, **kwargs: Any) -> Any:
        staged, out_tree = traced(*args, **kwargs)
        made = close(staged.jaxpr, staged.captured)
        if not return_shape:
            return made
        types = staged.jaxpr.out_types[: out_tree.num_leaves]
        return made, out_tree.unflatten(list(map(struct, types)))

    return program


def staged_function(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
) -> Callable[..., tuple[Staged, PyTreeDef]]:
    """A function that gives the program of ``fun`` for its arguments, what it captured,
    and the tree of the result; see ``make_jaxpr``.
    """
    who = who_of("make_jaxpr", fun)
    spec = JitSpec(argument_numbers(who, "static_argnums", static_argnums))

    def traced(*args: Any, **kwargs: Any) -> tuple[Staged, PyTreeDef]:
        dynamic, named, statics = spec.split_static(args, kwargs, who, fun)
        filled = spec.with_statics(fun, statics)
        before = current.trace
        current.trace = _AxisTrace(before, dict(axis_env or ()))
        try:
            name = function_name(fun, "fun")
            return _staged(FlatFunction, filled, dynamic, named, who, name)
        finally:
            current.trace = before

    return traced


def _closed(jaxpr: Jaxpr, captured: Sequence[Any]) -> Jaxpr:
    """The program with captured concrete arrays as literals."""
    if not captured or any(isinstance(x, Tracer | Ref) for x in captured):
        return jaxpr
    values: dict[Var, Any] = dict(zip(jaxpr.inputs, captured, strict=False))
    equations = [
        type(e)(e.op, replaced(values, e.inputs), e.outputs, e.line)
        for e in jaxpr.equations
    ]
    outputs = replaced(values, jaxpr.outputs)
    return Jaxpr(jaxpr.inputs[len(captured) :], equations, outputs, jaxpr.name)


class _AxisTrace(Trace):
    """The trace below, with more named axes."""

    def __init__(self, parent: Trace, axes: dict[Any, int]) -> None:
        self.parent = parent
        self.axes = {**parent.axes, **axes}
        self.checked_axes, self.mesh = parent.checked_axes, parent.mesh
        self.name = parent.name

    def written_outside(self, x: Any) -> Any:
        return x

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        assert self.parent is not None
        return self.parent.process(op, args)


def closure_convert(
    fun: Callable[..., Any], *example_args: PyTree
) -> tuple[Any, list[Any]]:
    """``fun`` with what it closes over as further arguments.

    Returns:
      ``(converted, values)``: ``converted(*args, *values)`` is ``fun(*args)``, for
      arguments of the types of the examples; ``values`` are the traced values, and
      large arrays, that ``fun`` closes over.

    >>> import covector as cv
    >>> converted, values = closure_convert(lambda x: 2 * x, 1.0)
    >>> float(converted(3.0, *values))
    6.0
    """
    who, count = who_of("closure_convert", fun), len(example_args)
    leaves, in_tree = tree.flatten((example_args, {}))
    flat = FlatFunction(fun, in_tree, who)
    jaxpr, captured, _ = stage(flat, [type_of(x) for x in leaves], "closure")

    def converted(*args: PyTree) -> PyTree:
        leaves = tree.leaves(args[:count])
        return flat.out_tree.unflatten(run(jaxpr, [*args[count:], *leaves]))

    return converted, captured


class ensure_compile_time_eval:
    """Inside the block operations run at once, also while a function is being traced;
    what depends on traced values is traced as before.

    >>> import covector as cv, covector.numpy as cnp
    >>> def f(x):
    ...     with ensure_compile_time_eval():
    ...         n = int(cnp.sum(cnp.arange(1000)))
    ...     return x + n
    >>> float(cv.jit(f)(0.0))
    499500.0

    See also: ``jit`` with ``static_argnames``.
    """

    def __enter__(self) -> None:
        self._before = current.trace
        current.trace = _KnownFirstTrace(self._before)

    def __exit__(self, *_: object) -> None:
        current.trace = self._before


class _KnownFirstTrace(Trace):
    """Evaluates operations on concrete values; others are those of the trace below."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes, self.name = parent.checked_axes, parent.name

    def written_outside(self, x: Any) -> Any:
        return x

    def unknown(self, x: Any) -> Any:
        return x

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        traced = any([isinstance(a, Tracer) for a in args])
        current.trace = self.parent if traced else base
        try:
            return current.trace.process(op, args)
        finally:
            current.trace = self


def typeof(x: Any) -> Any:
    """The type of an array, a tracer or a number; of a reference, ``AbstractRef``.

    It is known also while a function is traced, when values are not.

    >>> import covector as cv
    >>> print(typeof(cv.numpy.zeros((2, 3))))
    f32[2,3]

    See also: ``eval_shape`` for the types of a result.
    """
    return x.type if isinstance(x, Array | Ref) else type_of(x)
