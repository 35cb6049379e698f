"""The methods of arrays: each calls the function of that name in ``covector.numpy``.

They are written out so that they can be found, completed and documented one by one.
Each is documented where the function is.
"""

# ruff: noqa: PLR0913, PLR0917  the signatures are those of NumPy

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.operators import link

if TYPE_CHECKING:
    from covector.core.annotations import ArrayLike, Axes, DTypeLike, ShapeLike
    from covector.core.array_like import Array
    from covector.core.sharding.as_sharding import ShardingLike
    from covector.numpy.updating import At
    from covector.ops.precision import PrecisionLike


class Methods:
    """The named methods of arrays, with the signatures of NumPy's."""

    __slots__ = ()

    # -- reductions --------------------------------------------------------------------

    def sum(
        self,
        axis: "Axes" = None,
        dtype: "DTypeLike | None" = None,
        out: None = None,
        keepdims: bool = False,
        initial: "ArrayLike | None" = None,
        where: "ArrayLike | None" = None,
        promote_integers: bool = True,
    ) -> "Array":
        """The sum of the elements along ``axis``."""
        return link.numpy.sum(
            self, axis, dtype, out, keepdims, initial, where, promote_integers
        )

    def prod(
        self,
        axis: "Axes" = None,
        dtype: "DTypeLike | None" = None,
        out: None = None,
        keepdims: bool = False,
        initial: "ArrayLike | None" = None,
        where: "ArrayLike | None" = None,
        promote_integers: bool = True,
    ) -> "Array":
        """The product of the elements along ``axis``."""
        return link.numpy.prod(
            self, axis, dtype, out, keepdims, initial, where, promote_integers
        )

    def max(
        self,
        axis: "Axes" = None,
        out: None = None,
        keepdims: bool = False,
        initial: "ArrayLike | None" = None,
        where: "ArrayLike | None" = None,
    ) -> "Array":
        """The largest element along ``axis``."""
        return link.numpy.max(self, axis, out, keepdims, initial, where)

    def min(
        self,
        axis: "Axes" = None,
        out: None = None,
        keepdims: bool = False,
        initial: "ArrayLike | None" = None,
        where: "ArrayLike | None" = None,
    ) -> "Array":
        """The smallest element along ``axis``."""
        return link.numpy.min(self, axis, out, keepdims, initial, where)

    def mean(
        self,
        axis: "Axes" = None,
        dtype: "DTypeLike | None" = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: "ArrayLike | None" = None,
    ) -> "Array":
        """The mean of the elements along ``axis``."""
        return link.numpy.mean(self, axis, dtype, out, keepdims, where=where)

    def var(
        self,
        axis: "Axes" = None,
        dtype: "DTypeLike | None" = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: "ArrayLike | None" = None,
        correction: int | float | None = None,
    ) -> "Array":
        """The variance of the elements along ``axis``."""
        return link.numpy.var(
            self, axis, dtype, out, ddof, keepdims, where=where, correction=correction
        )

    def std(
        self,
        axis: "Axes" = None,
        dtype: "DTypeLike | None" = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: "ArrayLike | None" = None,
        correction: int | float | None = None,
    ) -> "Array":
        """The standard deviation of the elements along ``axis``."""
        return link.numpy.std(
            self, axis, dtype, out, ddof, keepdims, where=where, correction=correction
        )

    def all(
        self,
        axis: "Axes" = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: "ArrayLike | None" = None,
    ) -> "Array":
        """Whether all elements along ``axis`` are true."""
        return link.numpy.all(self, axis, out, keepdims, where=where)

    def any(
        self,
        axis: "Axes" = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: "ArrayLike | None" = None,
    ) -> "Array":
        """Whether any element along ``axis`` is true."""
        return link.numpy.any(self, axis, out, keepdims, where=where)

    def ptp(
        self, axis: "Axes" = None, out: None = None, keepdims: bool = False
    ) -> "Array":
        """The largest minus the smallest element along ``axis``."""
        return link.numpy.ptp(self, axis, out, keepdims)

    def argmax(
        self, axis: "Axes" = None, out: None = None, keepdims: bool | None = None
    ) -> "Array":
        """The index of the first largest element along ``axis``."""
        return link.numpy.argmax(self, axis, out, keepdims)

    def argmin(
        self, axis: "Axes" = None, out: None = None, keepdims: bool | None = None
    ) -> "Array":
        """The index of the first smallest element along ``axis``."""
        return link.numpy.argmin(self, axis, out, keepdims)

    def cumsum(
        self, axis: "Axes" = None, dtype: "DTypeLike | None" = None, out: None = None
    ) -> "Array":
        """The sums of the elements up to each along ``axis``."""
        return link.numpy.cumsum(self, axis, dtype, out)

    def cumprod(
        self, axis: "Axes" = None, dtype: "DTypeLike | None" = None, out: None = None
    ) -> "Array":
        """The products of the elements up to each along ``axis``."""
        return link.numpy.cumprod(self, axis, dtype, out)

    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: "DTypeLike | None" = None,
        out: None = None,
    ) -> "Array":
        """The sum of a diagonal of each matrix."""
        return link.numpy.trace(self, offset, axis1, axis2, dtype, out)

    # -- order -------------------------------------------------------------------------

    def sort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> "Array":
        """The elements in order along ``axis``."""
        return link.numpy.sort(
            self, axis, kind=kind, order=order, stable=stable, descending=descending
        )

    def argsort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> "Array":
        """The indices that put the elements in order along ``axis``."""
        return link.numpy.argsort(
            self, axis, kind=kind, order=order, stable=stable, descending=descending
        )

    def argpartition(self, kth: int, axis: int = -1) -> "Array":
        """Indices that bring the kth smallest elements to the front."""
        return link.numpy.argpartition(self, kth, axis)

    def searchsorted(
        self,
        v: "ArrayLike",
        side: str = "left",
        sorter: "ArrayLike | None" = None,
        *,
        method: str = "scan",
    ) -> "Array":
        """Where ``v`` belongs in this sorted array."""
        return link.numpy.searchsorted(self, v, side, sorter, method=method)

    def nonzero(
        self, *, fill_value: "ArrayLike | None" = None, size: int | None = None
    ) -> "tuple[Array, ...]":
        """The indices of the elements that are not zero."""
        return link.numpy.nonzero(self, fill_value=fill_value, size=size)

    # -- shape -------------------------------------------------------------------------

    def reshape(
        self,
        *args: "ShapeLike",
        order: str = "C",
        out_sharding: "ShardingLike | None" = None,
    ) -> "Array":
        """The elements in another shape: ``x.reshape(2, -1)`` or ``x.reshape((2,
        -1))``.
        """
        shape = args[0] if len(args) == 1 else args
        out = link.numpy.reshape(self, shape, order)
        return out if out_sharding is None else out.to_device(out_sharding)

    def transpose(self, *args: "Axes") -> "Array":
        """The axes in another order, reversed by default."""
        axes = args[0] if len(args) == 1 else args or None
        return link.numpy.transpose(self, axes)

    def ravel(
        self, order: str = "C", *, out_sharding: "ShardingLike | None" = None
    ) -> "Array":
        """The elements along one axis."""
        return self.reshape(-1, order=order, out_sharding=out_sharding)

    def flatten(
        self, order: str = "C", *, out_sharding: "ShardingLike | None" = None
    ) -> "Array":
        """The elements along one axis."""
        return self.reshape(-1, order=order, out_sharding=out_sharding)

    @property
    def flat(self) -> "Array":
        """The elements along one axis, to be indexed or iterated over."""
        return self.reshape(-1)

    @property
    def T(self) -> "Array":
        """The axes in reverse order."""
        return link.numpy.transpose(self)

    @property
    def mT(self) -> "Array":
        """The last two axes exchanged."""
        return link.numpy.matrix_transpose(self)

    def squeeze(self, axis: "Axes" = None) -> "Array":
        """Without axes of length 1."""
        return link.numpy.squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> "Array":
        """Two axes exchanged."""
        return link.numpy.swapaxes(self, axis1, axis2)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> "Array":
        """A diagonal of each matrix, along a new last axis."""
        return link.numpy.diagonal(self, offset, axis1, axis2)

    def repeat(
        self,
        repeats: "ArrayLike",
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
        out_sharding: "ShardingLike | None" = None,
    ) -> "Array":
        """Each element so many times along ``axis``."""
        out = link.numpy.repeat(
            self, repeats, axis, total_repeat_length=total_repeat_length
        )
        return out if out_sharding is None else out.to_device(out_sharding)

    # -- elements ----------------------------------------------------------------------

    def astype(
        self,
        dtype: "DTypeLike",
        copy: bool = False,
        device: "ShardingLike | None" = None,
    ) -> "Array":
        """The values in another element type."""
        return link.numpy.astype(self, dtype, copy=copy, device=device)

    def to_device(
        self, device: "ShardingLike | None", *, stream: object = None
    ) -> "Array":
        """The same values on a device, or where a sharding says."""
        return link.device_put(self, device)

    def copy(self) -> "Array":
        """The same values in memory of their own."""
        return link.numpy.copy(self)

    def view(self, dtype: "DTypeLike | None" = None, type: None = None) -> "Array":
        """The bits as elements of another type."""
        return link.numpy.bits.view(self, dtype, type)

    def byteswap(self) -> "Array":
        """The bytes of each element in reverse order."""
        return link.numpy.bits.byteswap(self)

    @property
    def real(self) -> "Array":
        """The real part."""
        return link.numpy.real(self)

    @property
    def imag(self) -> "Array":
        """The imaginary part."""
        return link.numpy.imag(self)

    @property
    def at(self) -> "At":
        """``x.at[index].set(values)`` and the like: a changed copy."""
        return link.numpy.updating.at(self)

    def conj(self) -> "Array":
        """The complex conjugate."""
        return link.numpy.conj(self)

    def conjugate(self) -> "Array":
        """The complex conjugate."""
        return link.numpy.conjugate(self)

    def clip(
        self, min: "ArrayLike | None" = None, max: "ArrayLike | None" = None
    ) -> "Array":
        """Each element brought between two bounds."""
        return link.numpy.clip(self, min, max)

    def round(self, decimals: int = 0, out: None = None) -> "Array":
        """Rounded to so many decimals."""
        return link.numpy.round(self, decimals, out)

    def take(
        self,
        indices: "ArrayLike",
        axis: int | None = None,
        out: None = None,
        mode: str | None = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: "ArrayLike | None" = None,
    ) -> "Array":
        """The elements at ``indices`` along ``axis``."""
        return link.numpy.take(
            self,
            indices,
            axis,
            out,
            mode,
            unique_indices,
            indices_are_sorted,
            fill_value,
        )

    def choose(
        self,
        choices: "ArrayLike | Sequence[ArrayLike]",
        out: None = None,
        mode: str = "raise",
    ) -> "Array":
        """Of several arrays, the element of the one that each element numbers."""
        return link.numpy.choose(self, choices, out, mode)

    def compress(
        self,
        condition: "ArrayLike",
        axis: int | None = None,
        *,
        out: None = None,
        size: int | None = None,
        fill_value: "ArrayLike" = 0,
    ) -> "Array":
        """The elements along ``axis`` for which the condition holds."""
        return link.numpy.compress(
            condition, self, axis, size=size, fill_value=fill_value, out=out
        )

    def dot(
        self,
        b: "ArrayLike",
        *,
        precision: "PrecisionLike" = None,
        preferred_element_type: "DTypeLike | None" = None,
    ) -> "Array":
        """The product with a vector or matrix."""
        return link.numpy.dot(
            self, b, precision=precision, preferred_element_type=preferred_element_type
        )
