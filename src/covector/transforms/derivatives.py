"""``jvp``, ``linearize``, ``vjp`` and ``grad``: the public derivative functions.

Each is thin: check, flatten, call the flat engine, unflatten.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Unpack,
    overload,
)

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.annotations import MemorySize, PyTree
from covector.core.convert import as_array, scalar
from covector.core.flat import (
    FlatFunction,
    argument_numbers,
    argument_path,
    arrays,
    chosen_path,
    describe,
    split_aux,
    who_of,
)
from covector.core.jaxpr import run
from covector.core.masks import present, scatter
from covector.core.references import Ref, has_references
from covector.core.source import wraps
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import (
    TreeMismatch,
    TypeMismatch,
    how_many,
)
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert
from covector.transforms.checks import (
    Argnums,
    check_differentiable,
    check_scalar,
    check_sums,
    check_zero_tangent,
    matching,
)
from covector.transforms.linear_functions import (
    FunctionTypes,
    LinearFunction,
)
from covector.transforms.linearize import jvp_flat, linearize_flat
from covector.transforms.pullback import Pullback, linearize_references, pull_back

if TYPE_CHECKING:
    from covector.transforms.derivative_types import (
        Gradient,
        GradientAndAux,
        GradientOptions,
        ValueAndGradient,
    )

P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")

_type_of = operator.attrgetter("type")


def as_argnums(argnums: Any, who: str) -> Argnums:
    """Numbers of arguments as Python ints: one of them, or a tuple."""
    numbers = argument_numbers(who, "argnums", argnums)
    return numbers[0] if hasattr(argnums, "__index__") else numbers


class _LateBinding:
    """Gradients within a budget of memory, of programs, which import this module."""

    within: Callable[..., Any]


def bind_gradients(within: Callable[..., Any]) -> None:
    """``within(fun, memory, who, gradient_of, jitted)`` is ``gradient_of(fun)`` that
    keeps what a budget of memory allows.
    """
    _LateBinding.within = staticmethod(within)


@overload
def value_and_grad(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[P, R],
    argnums: Literal[0] = 0,
    has_aux: bool = False,
    **options: "Unpack[GradientOptions]",
) -> "ValueAndGradient[P, R]": ...
@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: Sequence[int],
    has_aux: bool = False,
    **options: "Unpack[GradientOptions]",
) -> Callable[P, tuple[R, tuple[PyTree, ...]]]: ...
@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce: Callable[[Any], Any] | None = None,
    memory: MemorySize | None = None,
) -> Callable[P, tuple[R, PyTree]]: ...
def value_and_grad(  # pyright: ignore[reportInconsistentOverload]
    fun: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce: Callable[[Any], Any] | None = None,
    memory: MemorySize | None = None,
) -> Callable[P, tuple[R, PyTree]]:
    """A function that gives the value of ``fun`` and its gradient.

    Args:
      fun: returns a real scalar (or, with ``has_aux``, a pair of it and anything).
      argnums: the positional argument, or arguments, to differentiate with respect to.
      holomorphic: ``fun`` is complex differentiable; arguments and result are complex.
      allow_int: accept integer arguments, whose gradient is of dtype float0.
      reduce: makes a scalar of what ``fun`` returns, such as ``covector.numpy.sum``.
      memory: the most that the compiled program of value and gradient may need, with
        arguments and results: a number of bytes, or such as ``"1.5GB"``. As little as
        that allows is computed again instead of kept, as by ``checkpoint(memory=)``.

    Raises:
      NotScalar: the result is not a real scalar.
      OverBudget: when it is called, if value and gradient need more than ``memory``.
      NotDifferentiable: an argument named by ``argnums`` has integer or bool dtype.

    >>> import covector as cv
    >>> value, gradient = cv.value_and_grad(lambda x: x ** 2)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    who = who_of("grad", fun)
    argnums = as_argnums(argnums, who)
    if memory is not None:
        gradient_of = functools.partial(
            value_and_grad,
            argnums=argnums,
            has_aux=has_aux,
            holomorphic=holomorphic,
            allow_int=allow_int,
            reduce=reduce,
        )
        return _LateBinding.within(fun, memory, who, gradient_of, not allow_int)
    wanted = reduce and functools.partial(_reduced, fun, reduce, has_aux, who)

    @wraps(fun)
    def value_and_gradient(*args: P.args, **kwargs: P.kwargs) -> Any:
        chosen, partial = choose_arguments(wanted or fun, argnums, args, kwargs, who)
        leaves, in_tree = tree.flatten((chosen, {}))
        path = functools.partial(chosen_path, in_tree, argnums=argnums, fun=fun)
        primals = arrays(leaves, who, path)
        if not allow_int or holomorphic:
            check_differentiable(primals, holomorphic, who, path)
        flat = FlatFunction(partial, in_tree, who, has_aux)
        types = list(map(_type_of, primals))
        active = [t.inexact for t in types]
        outs, linear = linearize_flat(flat, primals, active, who)
        out = check_scalar(outs, flat.out_tree, holomorphic, who)
        if out.type.varying:
            check_sums(outs, primals, active, who)
        one = scalar(1, out.type.dtype)
        gradients = pull_back(linear, types, active, [one])
        (result, _) = in_tree.unflatten(gradients)
        gradient = result[0] if isinstance(argnums, int) else tuple(result)
        value = flat.out_tree.unflatten(outs)
        return ((value, flat.aux) if has_aux else value), gradient

    return value_and_gradient


@overload
def grad(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[P, Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: "Unpack[GradientOptions]",
) -> "Gradient[P]": ...
@overload
def grad(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: "Unpack[GradientOptions]",
) -> "GradientAndAux[P, Aux]": ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: Sequence[int],
    has_aux: Literal[False] = False,
    **options: "Unpack[GradientOptions]",
) -> Callable[P, tuple[PyTree, ...]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce: Callable[[Any], Any] | None = None,
    memory: MemorySize | None = None,
) -> Callable[P, PyTree]: ...
def grad(  # pyright: ignore[reportInconsistentOverload]
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce: Callable[[Any], Any] | None = None,
    memory: MemorySize | None = None,
) -> Callable[P, PyTree]:
    """A function that gives the gradient of ``fun``, which returns a real scalar.

    Args:
      argnums, has_aux, holomorphic, allow_int, reduce, memory: as in
        ``value_and_grad``, which also gives the value, at no further cost.

    Returns:
      A function with the arguments of ``fun``. Its result has the tree, shapes and
      dtypes of the argument; a tuple of them for several ``argnums``; with ``has_aux``
      it is ``(gradient, aux)``.

    >>> import covector as cv
    >>> float(cv.grad(lambda x: x ** 3)(2.0))
    12.0

    See also: ``value_and_grad``, ``jacobian`` of arrays, ``vmap`` for one per example.
    """
    rest = argnums, has_aux, holomorphic, allow_int, reduce, memory
    both = value_and_grad(fun, *rest)

    @wraps(fun)
    def gradient(*args: P.args, **kwargs: P.kwargs) -> PyTree:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def _reduced(
    fun: Any, reduce: Any, has_aux: bool, who: str, *args: Any, **kwargs: Any
) -> Any:
    out = fun(*args, **kwargs)
    if has_aux:
        out, aux = split_aux(out, who)
        return reduce(out), aux
    return reduce(out)


def choose_arguments(
    fun: Any, argnums: Argnums, args: Any, kwargs: Any, who: str
) -> tuple[tuple[Any, ...], Callable[..., Any]]:
    """The arguments that ``argnums`` names, and ``fun`` as a function of them alone."""
    if len(args) == 1 and argnums == 0 and not kwargs:
        return args, fun
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    indices: list[Any] = []
    for n in nums:
        if not -len(args) <= n < len(args):
            raise TypeMismatch(
                f"{who}: argnums names argument {n}, but the call has "
                f"{how_many(len(args), 'positional argument')}. Pass the argument by "
                "position."
            )
        if n % len(args) in indices:
            raise TypeMismatch(
                f"{who}: argnums {nums} names argument {n % len(args)} twice."
            )
        indices.append(n % len(args))
    chosen = tuple([args[i] for i in indices])

    def partial(*given: Any) -> Any:
        everything = list(args)
        for index, value in zip(indices, given, strict=True):
            everything[index] = value
        return fun(*everything, **kwargs)

    return chosen, partial


@overload
def vjp(
    fun: Callable[..., R], *primals: PyTree, has_aux: Literal[False] = False
) -> tuple[R, Pullback]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]], *primals: PyTree, has_aux: Literal[True]
) -> tuple[R, Pullback, Aux]: ...
@overload
def vjp(fun: Callable[..., Any], *primals: PyTree, has_aux: bool) -> Any: ...
def vjp(fun: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> Any:
    """The value of ``fun``, and a function from cotangents of it to those of
    ``primals``.

    Returns:
      ``(value, pull)``, or ``(value, pull, aux)`` with ``has_aux``. ``pull(cotangent)``
      takes the tree of the value and gives a tuple with one entry per primal; integers
      have cotangents of dtype float0 (and any are taken, for integer results). ``pull``
      is a pytree of what it needs of the primals, so that transformed functions may
      take and return it.

    >>> import covector as cv, covector.numpy as cnp
    >>> value, pull = cv.vjp(cnp.sin, 0.0)
    >>> [float(ct) for ct in pull(2.0)]
    [2.0]

    See also: ``grad`` of scalars, ``jvp``, ``jacrev``, ``linear_transpose``.
    """
    return _with_linear_part("vjp", Pullback, fun, primals, has_aux)


def _with_linear_part(
    transform: str, made: type[LinearFunction], fun: Any, primals: Any, has_aux: bool
) -> Any:
    """The value of ``fun``, its linear part as a function of some class, and aux."""
    who = who_of(transform, fun)
    leaves, in_tree = tree.flatten((primals, {}))
    flat = FlatFunction(fun, in_tree, who, has_aux)
    linearized = linearize_flat
    if made is Pullback and has_references(leaves):
        linearized = linearize_references
        leaves = [x if type(x) is Ref else as_array(x, who) for x in leaves]
    else:
        path = functools.partial(argument_path, in_tree, fun=fun)
        leaves = arrays(leaves, who, path)
    types = tuple([p.type for p in leaves])
    active = [t.inexact for t in types]
    outs, linear = linearized(flat, leaves, active, who)
    if made is Pullback and current.trace.checked_axes:
        check_sums(outs, leaves, active, who)
    out_types = tuple([o.type for o in outs])
    of = FunctionTypes(who, in_tree, types, flat.out_tree, out_types)
    function = made(of, linear.jaxpr, linear.residuals, tuple(linear.nonzero))
    value = flat.out_tree.unflatten(outs)
    return (value, function, flat.aux) if has_aux else (value, function)


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: bool,
) -> Any: ...
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[PyTree],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """The value of ``fun`` and its derivative in the direction of ``tangents``.

    Args:
      primals, tangents: tuples or lists of arguments; tangents have the structure,
        shapes and dtypes of the primals (float0 for integers).
      has_aux: ``fun`` returns a pair of what is differentiated and anything else, which
        is returned third.

    >>> import covector as cv, covector.numpy as cnp
    >>> value, tangent = cv.jvp(cnp.sin, (0.0,), (2.0,))
    >>> float(value), float(tangent)
    (0.0, 2.0)

    See also: ``linearize`` for many directions, ``vjp``, ``jacfwd``.
    """
    who = who_of("jvp", fun)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeMismatch(
                f"{who} takes {name} as a tuple or list with one entry per argument, "
                f"but got {describe(given)}. Write jvp(f, (x,), (dx,))."
            )
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    path = functools.partial(argument_path, in_tree, fun=fun)
    leaves = arrays(leaves, who, path)
    given = _tangents(tangents, in_tree, [p.type for p in leaves], who)
    flat = FlatFunction(fun, in_tree, who, has_aux)
    outs, out_tangents = jvp_flat(flat, leaves, given, who)
    filled = [
        instantiate_tangent(t, o.type) for t, o in zip(out_tangents, outs, strict=True)
    ]
    value, tangent = flat.out_tree.unflatten(outs), flat.out_tree.unflatten(filled)
    return (value, tangent, flat.aux) if has_aux else (value, tangent)


def _tangents(
    tangents: Any, in_tree: Any, types: Sequence[ArrayType], who: str
) -> list[Any]:
    ts, t_tree = tree.flatten((tuple(tangents), {}))
    if t_tree != in_tree:
        raise TreeMismatch(
            f"{who} needs tangents with the structure of the primals, {in_tree}, but "
            f"got {t_tree}."
        )
    return [
        matching(t, type, who, "tangent")
        if type.inexact
        else check_zero_tangent(t, type, who)
        for t, type in zip(ts, types, strict=True)
    ]


def instantiate_tangent(tangent: Any, type: ArrayType) -> Any:
    """A tangent as a value: zeros, or float0 for integers, where it is absent.

    The tangent of a weak value is weak.
    """
    if tangent is not None:
        return convert(tangent, type.dtype, weak=True) if type.weak else tangent
    return zeros(type) if type.inexact else np.zeros(type.shape, dtypes.float0)


@overload
def linearize(
    fun: Callable[..., R], *primals: PyTree, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: PyTree, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], Aux]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: PyTree, has_aux: bool) -> Any: ...
def linearize(fun: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> Any:
    """The value of ``fun``, and its derivative at ``primals`` as a linear function.

    Use it in place of ``jvp`` for many directions: the value is computed once.

    >>> import covector as cv, covector.numpy as cnp
    >>> value, push = cv.linearize(cnp.sin, 0.0)
    >>> float(push(2.0))
    2.0
    """
    return _with_linear_part("linearize", Pushforward, fun, primals, has_aux)


class Pushforward(LinearFunction):
    """The result of ``linearize``: from tangents of primals to that of the value."""

    __slots__ = ()
    what = "the linear part"

    def __call__(self, *tangents: Any) -> Any:
        who, in_tree, in_types, out_tree, out_types = self.of
        given = present(_tangents(tangents, in_tree, in_types, who))
        out_tangents = scatter(run(self.jaxpr, [*self.residuals, *given]), self.nonzero)
        outs = map(instantiate_tangent, out_tangents, out_types)
        return out_tree.unflatten(outs)
