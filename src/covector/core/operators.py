"""The operators of arrays: each calls a function of ``covector.numpy``.

That namespace lies several layers above. The link upwards is ``link.numpy``, set when
the package is imported. ``__array_namespace__`` answers with the module that
``link.namespace`` names: the same one, or ``jax.numpy`` where covector has that name.
``link.device_put`` is the other one, and ``link.functions`` has the functions that the
binary operators are, since they are what is called most often.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from covector.core.annotations import ArrayLike
    from covector.core.array_like import Array


class _LateBinding:
    """The way up to the NumPy namespace."""

    numpy: Any = None
    device_put: Any = None
    #: the name of the module that arrays say is theirs
    namespace = "covector.numpy"

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}

    def connect(self, numpy: Any, device_put: Any) -> None:
        """Make the operators and methods of arrays functions of this namespace."""
        self.numpy, self.device_put = numpy, device_put
        for name in self.functions:
            function = getattr(numpy, name)
            # A ufunc only adds arguments, which an operator does not have.
            self.functions[name] = getattr(function, "call", function)


link = _LateBinding()

#: what the operators take on their other side. Lists are among them because the
#: functions say what to do with a list; anything else may define the operator itself.
_OPERANDS = (bool, int, float, complex, np.ndarray, np.generic, list, tuple)
_USUAL = frozenset({int, float, bool, complex, np.ndarray})


def is_operand(x: object) -> bool:
    """Whether operators of arrays take ``x`` on their other side."""
    return (
        type(x) in _USUAL
        or isinstance(x, (Operators, *_OPERANDS))
        or hasattr(type(x), "__jax_array__")
    )


def _binary(name: str) -> Callable[[Any, Any], Any]:
    functions = link.functions
    functions[name] = None  # until it is connected

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, Operators) or type(other) in _USUAL or is_operand(other):
            return functions[name](self, other)
        return NotImplemented

    operator.__doc__ = f"covector.numpy.{name}(self, other)"
    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) in _USUAL or is_operand(other):
            return link.functions[name](other, self)
        return NotImplemented

    operator.__doc__ = f"covector.numpy.{name}(other, self)"
    return operator


class Operators:
    """Python's operators on arrays."""

    __slots__ = ()
    # NumPy leaves mixed expressions to us.
    __array_priority__ = 1000
    # Two equal arrays are two objects, and == answers with an array.
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    if TYPE_CHECKING:
        # Written out for editors, which then show what an operator takes.
        def __add__(self, other: "ArrayLike", /) -> "Array": ...
        def __radd__(self, other: "ArrayLike", /) -> "Array": ...
        def __sub__(self, other: "ArrayLike", /) -> "Array": ...
        def __rsub__(self, other: "ArrayLike", /) -> "Array": ...
        def __mul__(self, other: "ArrayLike", /) -> "Array": ...
        def __rmul__(self, other: "ArrayLike", /) -> "Array": ...
        def __truediv__(self, other: "ArrayLike", /) -> "Array": ...
        def __rtruediv__(self, other: "ArrayLike", /) -> "Array": ...
        def __floordiv__(self, other: "ArrayLike", /) -> "Array": ...
        def __rfloordiv__(self, other: "ArrayLike", /) -> "Array": ...
        def __mod__(self, other: "ArrayLike", /) -> "Array": ...
        def __rmod__(self, other: "ArrayLike", /) -> "Array": ...
        def __divmod__(self, other: "ArrayLike", /) -> "tuple[Array, Array]": ...
        def __rdivmod__(self, other: "ArrayLike", /) -> "tuple[Array, Array]": ...
        def __pow__(self, other: "ArrayLike", /) -> "Array": ...
        def __rpow__(self, other: "ArrayLike", /) -> "Array": ...
        def __matmul__(self, other: "ArrayLike", /) -> "Array": ...
        def __rmatmul__(self, other: "ArrayLike", /) -> "Array": ...
        def __and__(self, other: "ArrayLike", /) -> "Array": ...
        def __rand__(self, other: "ArrayLike", /) -> "Array": ...
        def __or__(self, other: "ArrayLike", /) -> "Array": ...
        def __ror__(self, other: "ArrayLike", /) -> "Array": ...
        def __xor__(self, other: "ArrayLike", /) -> "Array": ...
        def __rxor__(self, other: "ArrayLike", /) -> "Array": ...
        def __lshift__(self, other: "ArrayLike", /) -> "Array": ...
        def __rlshift__(self, other: "ArrayLike", /) -> "Array": ...
        def __rshift__(self, other: "ArrayLike", /) -> "Array": ...
        def __rrshift__(self, other: "ArrayLike", /) -> "Array": ...
        def __lt__(self, other: "ArrayLike", /) -> "Array": ...
        def __le__(self, other: "ArrayLike", /) -> "Array": ...
        def __gt__(self, other: "ArrayLike", /) -> "Array": ...
        def __ge__(self, other: "ArrayLike", /) -> "Array": ...
        # What every object answers is a bool, and an array answers with an array.
        def __eq__(self, other: "ArrayLike", /) -> "Array": ...  # type: ignore[override]
        def __ne__(self, other: "ArrayLike", /) -> "Array": ...  # type: ignore[override]
    else:
        __add__, __radd__ = _binary("add"), _reflected("add")
        __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
        __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
        __truediv__, __rtruediv__ = _binary("true_divide"), _reflected("true_divide")
        __floordiv__, __rfloordiv__ = (
            _binary("floor_divide"),
            _reflected("floor_divide"),
        )
        __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
        __divmod__, __rdivmod__ = _binary("divmod"), _reflected("divmod")
        __pow__, __rpow__ = _binary("power"), _reflected("power")
        __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
        __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
        __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
        __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
        __lshift__, __rlshift__ = _binary("left_shift"), _reflected("left_shift")
        __rshift__, __rrshift__ = _binary("right_shift"), _reflected("right_shift")
        __lt__, __le__ = _binary("less"), _binary("less_equal")
        __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
        __eq__, __ne__ = _binary("equal"), _binary("not_equal")

    def __neg__(self) -> "Array":
        return link.numpy.negative(self)

    def __pos__(self) -> "Array":
        return link.numpy.positive(self)

    def __abs__(self) -> "Array":
        return link.numpy.abs(self)

    def __invert__(self) -> "Array":
        return link.numpy.invert(self)

    def __round__(self, ndigits: int | None = None) -> "Array":
        rounded = link.numpy.round(self, ndigits or 0)
        if ndigits is not None:
            return rounded
        # Without digits Python makes an integer of a number.
        return link.numpy.astype(rounded, int)
