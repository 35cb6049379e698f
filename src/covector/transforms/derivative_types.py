"""The types of derivatives: what ``grad(f)`` and the like take and give, for checkers.

A gradient has the type of the argument that it belongs to; where that is a number, or
whatever can be made an array, the gradient is an array. Nothing here is imported when a
program runs.

    grad(f)               Gradient[(w: Params, x: Array)]        gives Params
    value_and_grad(f)     ValueAndGradient[(…), R]               gives (R, Params)

The overloads are for three kinds of a first parameter: one without a type, the only
kind that takes a ``Untyped``, where the type is that of what is passed; a number; and
all others.
"""

from typing import Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, overload

from covector.core.annotations import ArrayLike, MemorySize, PyTree, Untyped
from covector.core.array_like import Array
from covector.transforms.jacobian import JacobianPlan

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Aux = TypeVar("Aux")
#: the first argument of a function
A = TypeVar("A")


#: what is passed as the first argument
X = TypeVar("X")
Number = TypeVar("Number", float, complex, ArrayLike)
ArrayOrNumber = TypeVar("ArrayOrNumber", Array, float, complex, ArrayLike)


class GradientOptions(TypedDict, total=False):
    """The keyword arguments of ``grad`` and ``value_and_grad``, for their overloads."""

    holomorphic: bool
    allow_int: bool
    reduce: Any
    memory: MemorySize | None


class Gradient(Generic[P]):
    """The result of ``grad(f)``, for f with the parameters P."""

    __name__: str

    @overload
    def __call__(
        self: "Gradient[Concatenate[Untyped, Q]]",
        x: X,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> X: ...
    @overload
    def __call__(
        self: "Gradient[Concatenate[Number, Q]]",
        x: ArrayLike,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> Array: ...
    @overload
    def __call__(
        self: "Gradient[Concatenate[A, Q]]",
        x: A,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> A: ...
    def __call__(self, x: Any, /, *args: Any, **kwargs: Any) -> Any: ...


class GradientAndAux(Generic[P, Aux]):
    """The result of ``grad(f, has_aux=True)``."""

    __name__: str

    @overload
    def __call__(
        self: "GradientAndAux[Concatenate[Untyped, Q], Aux]",
        x: X,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[X, Aux]: ...
    @overload
    def __call__(
        self: "GradientAndAux[Concatenate[Number, Q], Aux]",
        x: ArrayLike,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[Array, Aux]: ...
    @overload
    def __call__(
        self: "GradientAndAux[Concatenate[A, Q], Aux]",
        x: A,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[A, Aux]: ...
    def __call__(self, x: Any, /, *args: Any, **kwargs: Any) -> Any: ...


class ValueAndGradient(Generic[P, R]):
    """The result of ``value_and_grad(f)``, with or without auxiliary values in R."""

    __name__: str

    @overload
    def __call__(
        self: "ValueAndGradient[Concatenate[Untyped, Q], R]",
        x: X,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[R, X]: ...
    @overload
    def __call__(
        self: "ValueAndGradient[Concatenate[Number, Q], R]",
        x: ArrayLike,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[R, Array]: ...
    @overload
    def __call__(
        self: "ValueAndGradient[Concatenate[A, Q], R]",
        x: A,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> tuple[R, A]: ...
    def __call__(self, x: Any, /, *args: Any, **kwargs: Any) -> Any: ...


class Jacobian(Generic[P, R]):
    """The result of ``jacobian(f)`` and the like: of an array by an array, an array."""

    __name__: str

    @overload
    def __call__(
        self: "Jacobian[Concatenate[Untyped, Q], R]",
        x: Any,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> PyTree: ...
    @overload
    def __call__(
        self: "Jacobian[Concatenate[ArrayOrNumber, Q], Array]",
        x: ArrayLike,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> Array: ...
    @overload
    def __call__(
        self: "Jacobian[Concatenate[A, Q], R]",
        x: A,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> PyTree: ...
    def __call__(self, x: Any, /, *args: Any, **kwargs: Any) -> Any: ...

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> JacobianPlan: ...
