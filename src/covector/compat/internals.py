"""Small things of private modules that packages use, and covector has not."""

from abc import ABCMeta
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from covector import dtypes, tree_util
from covector import numpy as cnp
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, type_of
from covector.core.dtypes import KeyType
from covector.core.source import is_own, passed_over, wraps
from covector.core.trace import current
from covector.errors import ConcretizationTypeError
from covector.numpy import promote
from covector.numpy.axes import canonical_axis

#: for annotations: what operations take, and what a function returns
Value = Any
Out = TypeVar("Out")
_F = TypeVar("_F", bound=Callable[..., Any])


class Registered:
    """The classes that are nodes of pytrees: a container for questions with ``in``."""

    def __contains__(self, kind: Any) -> bool:
        return isinstance(kind, type) and tree_util.is_tree_node(kind)


registered = Registered()


def valid_jaxtype(x: Any) -> bool:
    """Whether operations take ``x`` as an array as it is."""
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "biufcV"
    return isinstance(x, Array | bool | int | float | complex)


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """``force(val)``, for a value that must be known; ``context`` says what for.

    Raises:
      ConcretizationTypeError: it is traced.
    """
    try:
        return val if force is None else force(val)
    except ConcretizationTypeError as error:
        error.add_note(context)
        raise


#: Packages enter classes of theirs, with what is said of ``numpy.ndarray``. Nobody
#: reads it: whatever has ``__array__`` is taken as an array.
canonicalize_dtype_handlers: dict[type, Any] = {np.ndarray: as_array}
pytype_aval_mappings: dict[type, Any] = {np.ndarray: type_of}


class ExtendedDType(metaclass=ABCMeta):  # noqa: B024  others derive from it
    """Base class of element types that NumPy does not know.

    covector's arrays have one kind of them, the types of random keys; packages may
    define others, but arrays cannot have them.
    """


ExtendedDType.register(KeyType)


def supports_inf(dtype: Any) -> bool:
    """Whether a floating-point dtype has infinities."""
    kind = np.dtype(dtype)
    return dtypes.issubdtype(kind, np.floating) and bool(np.isinf(kind.type(np.inf)))


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """``list(map(f, *args))``, for arguments of one length."""
    return [f(*each) for each in zip(*args, strict=True)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """``list(zip(*args))``, for arguments of one length."""
    return list(zip(*args, strict=True))


canonicalize_axis = partial(canonical_axis, "canonicalize_axis")
promote_dtypes_inexact = partial(
    promote.promote_dtypes_inexact, "promote_dtypes_inexact"
)


def _changed(fun: Callable[..., Array], change: Callable[..., Array]) -> Any:
    """A function of covector, and ``change(result, *arguments)`` for its result."""

    @wraps(fun)
    def changed(*args: Any, **kwargs: Any) -> Array:
        return change(fun(*args, **kwargs), *args, *kwargs.values())

    changed.__module__ = __name__  # where pickle finds it
    return changed


def _with_int32(positions: Array, *_: Any) -> Array:
    """With JAX's dtype of what has the default integer: loops of packages carry such
    positions beside numbers of 32 bits.
    """
    return positions.astype(np.int32)


def _traced(made: Array, *given: Any) -> Array:
    """A tracer while a program is staged, as in JAX, unless it is made of an array:
    packages ask by ``bool(asarray(False))`` whether they run inside of ``jit``.
    """
    if current.trace.parent is None or type(made) is not ConcreteArray:
        return made
    same = any([isinstance(x, Array) or hasattr(x, "__jax_array__") for x in given])
    return made if same else current.trace.unknown(made)


array, asarray = _changed(cnp.array, _traced), _changed(cnp.asarray, _traced)
digitize = _changed(cnp.digitize, _with_int32)
searchsorted = _changed(cnp.searchsorted, _with_int32)


def api_boundary(fun: _F, **_: Any) -> _F:
    """The function itself: its frames need no preparation to be passed over."""
    return fun


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's: neither covector's nor a package's."""
    file = frame.f_code.co_filename
    return not is_own(file) and not file.startswith(tuple(passed_over))


class HashablePartial(partial):
    """A ``functools.partial`` that equals one of the same function and arguments."""

    def _key(self) -> Any:
        return self.func, self.args, tuple(sorted(self.keywords.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashablePartial) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())
