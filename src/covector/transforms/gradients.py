"""``grad`` and ``value_and_grad``: gradients of functions that return real scalars."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Unpack, overload

from covector import tree
from covector.core.annotations import MemorySize, PyTree
from covector.core.convert import scalar
from covector.core.flat import (
    FlatFunction,
    argument_numbers,
    arrays,
    chosen_path,
    split_aux,
    who_of,
)
from covector.core.source import wraps
from covector.errors import TypeMismatch, how_many
from covector.transforms.checks import (
    Argnums,
    check_differentiable,
    check_scalar,
    check_sums,
)
from covector.transforms.linearize import linearize_flat
from covector.transforms.pullback import pull_back

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

    Returns:
      A function with the arguments of ``fun``. It returns ``(value, gradient)``, where
      the gradient has the tree of the argument; with ``has_aux`` ``((value, aux),
      gradient)``.

    Raises:
      NotScalar: the result is not a real scalar.
      OverBudget: when it is called, if value and gradient need more than ``memory``.
      NotDifferentiable: an argument named by ``argnums`` has integer or bool dtype.

    >>> import covector as cv
    >>> value, gradient = cv.value_and_grad(lambda x: x ** 2)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)

    See also: ``grad``, ``vjp``, ``jvp``, ``covector.checkpoint``.
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

    Raises:
      NotScalar: the result is not a real scalar.
      NotDifferentiable: an argument named by ``argnums`` has integer or bool dtype.

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
