"""The methods of arrays: most are functions of ``covector.numpy``, called on the array.

``sum = cnp.sum`` says that ``x.sum(axis)`` is ``cnp.sum(x, axis)``: what it takes and
what it does is written there. The others differ from a function in what they take.
"""

from typing import TYPE_CHECKING, Any, Final

from covector.core.operators import link

if TYPE_CHECKING:
    from covector import numpy as cnp
    from covector.core.annotations import ArrayLike, Axes, DTypeLike, ShapeLike
    from covector.core.array_like import Array
    from covector.core.sharding.as_sharding import ShardingLike
    from covector.numpy.updating import At
else:

    class _Method:
        """A function of the namespace, which is found when it is first asked for."""

        def __init__(self, function: str) -> None:
            self.function = function

        def __set_name__(self, owner: type, name: str) -> None:
            self.owner, self.name = owner, name

        def __get__(self, array: Any, kind: type) -> Any:
            function = getattr(link.numpy, self.function)
            setattr(self.owner, self.name, function)  # Python binds it from now on
            return function.__get__(array, kind)

    class _Namespace:
        """In place of ``covector.numpy``, which stands several layers above."""

        def __getattr__(self, name: str) -> _Method:
            return _Method(name)

    cnp = _Namespace()


class Methods:
    """The named methods of arrays."""

    __slots__ = ()

    # -- reductions --------------------------------------------------------------------

    sum: Final = cnp.sum
    prod: Final = cnp.prod
    max: Final = cnp.max
    min: Final = cnp.min
    ptp: Final = cnp.ptp
    mean: Final = cnp.mean
    var: Final = cnp.var
    std: Final = cnp.std
    all: Final = cnp.all
    any: Final = cnp.any
    argmax: Final = cnp.argmax
    argmin: Final = cnp.argmin
    cumsum: Final = cnp.cumsum
    cumprod: Final = cnp.cumprod
    trace: Final = cnp.trace

    # -- order -------------------------------------------------------------------------

    sort: Final = cnp.sort
    argsort: Final = cnp.argsort
    argpartition: Final = cnp.argpartition
    searchsorted: Final = cnp.searchsorted
    nonzero: Final = cnp.nonzero

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
        return link.numpy.reshape(self, shape, order, out_sharding=out_sharding)

    def transpose(self, *args: "Axes") -> "Array":
        """The axes in another order, reversed by default."""
        axes = args[0] if len(args) == 1 else args or None
        return link.numpy.transpose(self, axes)

    ravel: Final = cnp.ravel
    flatten: Final = cnp.ravel

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

    squeeze: Final = cnp.squeeze
    swapaxes: Final = cnp.swapaxes
    diagonal: Final = cnp.diagonal
    repeat: Final = cnp.repeat

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
        """``x.at[index].set(values)`` and the like: a changed copy.

        Arrays never change, so this is what ``x[index] = values`` is in NumPy. The
        methods are ``set``, ``add``, ``subtract``, ``multiply``, ``divide``, ``power``,
        ``min``, ``max``, ``apply`` with a function of the elements, and ``get``, which
        only reads. Where an index occurs several times, ``add`` and the like count
        each. Inside ``jit`` no copy is made if ``x`` is not used afterwards.

        What lies outside the array is not changed, and is no error; ``mode="clip"``
        changes the nearest element instead.

        >>> import covector.numpy as cnp
        >>> x = cnp.zeros(4)
        >>> print(x.at[1].set(5.0), x.at[cnp.array([2, 2])].add(1.0))
        [0. 5. 0. 0.] [0. 0. 2. 0.]
        """
        return link.numpy.updating.At(self)

    conj: Final = cnp.conj
    conjugate: Final = cnp.conjugate
    clip: Final = cnp.clip
    round: Final = cnp.round
    take: Final = cnp.take
    choose: Final = cnp.choose
    dot: Final = cnp.dot

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
