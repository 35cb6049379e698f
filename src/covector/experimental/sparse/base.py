"""``JAXSparse``: what all sparse arrays have in common, operators among it.

Methods and operators are functions of this package, several modules above. The link
upwards is ``link.sparse``, set when the package is imported.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from covector.core.annotations import DType, Shape
from covector.core.array_like import Array
from covector.core.operators import is_operand
from covector.errors import AxisError, TypeMismatch, how_many
from covector.transforms import mapped_axes

__all__ = ["JAXSparse"]


class _LateBinding:
    """The way up to the package, where the functions are."""

    sparse: Any = None


link = _LateBinding()


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return getattr(link.sparse.operators, name)(self)

    operator.__doc__ = f"covector.numpy.{name}(self), sparse"
    return operator


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, JAXSparse) or is_operand(other):
            return getattr(link.sparse.operators, name)(self, other)
        return NotImplemented

    operator.__doc__ = f"covector.numpy.{name}(self, other), sparse where that is"
    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if is_operand(other):
            return getattr(link.sparse.operators, name)(other, self)
        return NotImplemented

    operator.__doc__ = f"covector.numpy.{name}(other, self), sparse where that is"
    return operator


class JAXSparse:
    """Base class of sparse arrays, for ``isinstance``.

    ``data`` holds the stored elements; all others are zero. Elements that are stored
    twice are added. An instance is a pytree, whose leaves are its arrays.
    """

    # NumPy leaves mixed expressions to us.
    __array_ufunc__ = None
    # Two equal arrays are two objects, and == answers with an array.
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    data: Array
    #: a promise that no index comes twice, padding excepted
    unique_indices: bool = False

    @property
    def shape(self) -> Shape:
        """The shape of the array that this one stands for."""
        raise NotImplementedError

    @property
    def nse(self) -> int:
        """The number of stored elements; in a batch, of each matrix."""
        raise NotImplementedError

    def todense(self) -> Array:
        """The same array with its zeros."""
        raise NotImplementedError

    def to_bcoo(self) -> Any:
        """The same array as a ``BCOO``."""
        raise NotImplementedError

    def with_data(self, data: Any) -> Any:
        """The array with other elements at the same indices."""
        made = copy.copy(self)
        made.data = data
        return made

    def check_mapped_axis(self, axis: int, who: str) -> None:
        """Raise where ``vmap`` cannot map this axis of the arrays.

        Of all arrays in it, that is only right of a batch axis: they have these alike.
        """
        n = getattr(self, "n_batch", 1)
        if not isinstance(axis, int) or not 0 <= axis < n:
            raise AxisError(
                f"{who}: {self} has {how_many(n, 'batch axis', 'batch axes')}, so that "
                f"it cannot be mapped over axis {axis}. update_layout(n_batch=…) "
                "makes an axis a batch axis."
            )

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """The array with its axes in another order, by default reversed."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of all elements, stored or not."""
        return prod(self.shape)

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """The sum along some axes, sparse; of all elements, an array."""
        return link.sparse.operators.sum(self, axis=axis)

    def block_until_ready(self) -> Any:
        """Wait until the arrays are computed; returns the sparse array itself."""
        for array in link.sparse.operators.leaves(self):
            array.block_until_ready()
        return self

    def __repr__(self) -> str:
        try:
            lengths = ", ".join(map(str, self.shape))
            shown = f"{self.dtype}[{lengths}], nse={self.nse}{self._layout()}"
        except (AttributeError, IndexError, TypeError, ValueError):
            shown = "<of no arrays>"  # a tree of something else
        return f"{type(self).__name__}({shown})"

    def _layout(self) -> str:
        """Further facts for readers."""
        return ""

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self} has no length: it is a scalar")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeMismatch(
            f"the truth of {self} is that of no single element. Use todense(), or look "
            "at its data."
        )

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return link.sparse.operators.index(self, index)

    def __pos__(self) -> Any:
        return self

    if TYPE_CHECKING:
        # Sparse where the result is; with what is dense, mostly an array.
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __add__(self, other: Any, /) -> Any: ...
        def __radd__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        def __pow__(self, other: Any, /) -> Any: ...
        def __rpow__(self, other: Any, /) -> Any: ...
        def __matmul__(self, other: Any, /) -> Any: ...
        def __rmatmul__(self, other: Any, /) -> Any: ...
        def __lt__(self, other: Any, /) -> Any: ...
        def __le__(self, other: Any, /) -> Any: ...
        def __gt__(self, other: Any, /) -> Any: ...
        def __ge__(self, other: Any, /) -> Any: ...
        def __eq__(self, other: Any, /) -> Any: ...  # type: ignore[override]
        def __ne__(self, other: Any, /) -> Any: ...  # type: ignore[override]
    else:
        __neg__, __abs__ = _unary("negative"), _unary("abs")
        __add__, __radd__ = _binary("add"), _reflected("add")
        __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
        __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
        __truediv__, __rtruediv__ = _binary("true_divide"), _reflected("true_divide")
        __pow__, __rpow__ = _binary("power"), _reflected("power")
        __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
        __lt__, __le__ = _binary("less"), _binary("less_equal")
        __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
        __eq__, __ne__ = _binary("equal"), _binary("not_equal")


def is_sparse(x: object) -> bool:
    """Whether ``x`` is a sparse array: a leaf to the functions of this package."""
    return isinstance(x, JAXSparse)


mapped_axes.with_check.append(JAXSparse)
