"""Functions of flat arguments with transformations around them: ``WrappedFun``.

The transformation that was added last sees the arguments first, and the results last:

    @transformation                       def doubled(scale, *args):
    wrapped = doubled(wrap_init(f), 2)        outs = yield [scale * x for x in args], {}
    wrapped.call_wrapped(1.0)                 yield [2 * out for out in outs]
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from covector.core.operation_caches import drop_older_half
from covector.core.trace import context
from covector.errors import CovectorError

_UNSET: Any = object()
#: results that one cached function remembers
_MOST = 1024


class StoreException(CovectorError):
    """What a transformation has to say beside the results is asked for before a call,
    or was said twice.
    """


class Store:
    """What a transformation says beside the results, once the function has run."""

    def __init__(self) -> None:
        self._value = _UNSET

    def store(self, value: Any) -> None:
        """Set it."""
        self._value = value

    def reset(self) -> None:
        """Forget it."""
        self._value = _UNSET

    def __bool__(self) -> bool:
        return self._value is not _UNSET

    @property
    def val(self) -> Any:
        if self._value is _UNSET:
            raise StoreException(
                "what a transformation says beside the results is there after "
                "call_wrapped, and was asked for before."
            )
        return self._value


#: around a function that it is given first: (fun, *static, *args) → results
Transformation = Callable[..., Any]


class WrappedFun:
    """A function, and the transformations around it, the last one added first."""

    def __init__(
        self,
        f: Callable[..., Any],
        transforms: Sequence[tuple[Transformation, tuple[Hashable, ...]]] = (),
        stores: Sequence[Store | None] = (),
        debug_info: Any = None,
    ) -> None:
        self.f = f
        self.transforms = tuple(transforms)
        self.stores = tuple(stores)
        self.debug_info = debug_info

    @property
    def f_transformed(self) -> Callable[..., Any]:
        """The function with its transformations around it."""
        fun = self.f
        for (around, static), store in reversed(
            list(zip(self.transforms, self.stores, strict=True))
        ):
            given = static if store is None else (store, *static)
            fun = functools.partial(around, fun, *given)
        return fun

    def wrap(
        self,
        around: Transformation,
        static: tuple[Hashable, ...],
        store: Store | None = None,
    ) -> "WrappedFun":
        """This function with one more transformation around it."""
        transforms = [(around, static), *self.transforms]
        return WrappedFun(self.f, transforms, [store, *self.stores], self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the function with its transformations."""
        return self.f_transformed(*args, **kwargs)

    __call__ = call_wrapped

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed>")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WrappedFun):
            return NotImplemented
        return (self.f, self.transforms) == (other.f, other.transforms)

    def __hash__(self) -> int:
        return hash((self.f, self.transforms))

    def __repr__(self) -> str:
        around = ", ".join([str(t) for t, _ in self.transforms])
        return f"WrappedFun({self.__name__}{', within ' if around else ''}{around})"


def wrap_init(
    f: Callable[..., Any],
    params: dict[str, Any] | None = None,
    *,
    debug_info: Any = None,
) -> WrappedFun:
    """A function without transformations; ``params`` are further keyword arguments."""
    return WrappedFun(
        functools.partial(f, **params) if params else f, (), (), debug_info
    )


# -- transformations -------------------------------------------------------------------


def _curried(wrap: Callable[..., Any]) -> Callable[..., Any]:
    """``wrap(transformation)(fun, *static)``."""

    @functools.wraps(wrap)
    def of_transformation(around: Callable[..., Any], *args: Any) -> Any:
        return wrap(around, *args) if args else functools.partial(wrap, around)

    return of_transformation


@_curried
def transformation2(around: Any, fun: WrappedFun, *static: Hashable) -> WrappedFun:
    """``fun`` within ``around(fun, *static, *args)``."""
    return fun.wrap(around, static)


@_curried
def transformation_with_aux2(
    around: Any, fun: WrappedFun, *static: Hashable, **_: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    """``fun`` within ``around(fun, store, *static, *args)``, and the function that says
    what was stored.
    """
    store = Store()
    return fun.wrap(around, static, store), lambda: store.val


@_curried
def transformation(generator: Any, fun: WrappedFun, *static: Hashable) -> WrappedFun:
    """``fun`` within a generator, which yields arguments ``(args, kwargs)`` and, sent
    the results, yields results.
    """
    return fun.wrap(_run, (generator, *static))


@_curried
def transformation_with_aux(
    generator: Any, fun: WrappedFun, *static: Hashable
) -> tuple[WrappedFun, Callable[[], Any]]:
    """The same with a generator that yields results and something beside them, and the
    function that says that.
    """
    store = Store()
    return fun.wrap(_run_with_aux, (generator, *static), store), lambda: store.val


def _run(fun: Callable[..., Any], generator: Any, *args: Any, **kwargs: Any) -> Any:
    running = generator(*args, **kwargs)
    inner, named = next(running)
    results = running.send(fun(*inner, **named))
    running.close()
    return results


def _run_with_aux(
    fun: Callable[..., Any], store: Store, generator: Any, *args: Any, **kwargs: Any
) -> Any:
    results, aux = _run(fun, generator, *args, **kwargs)
    store.store(aux)
    return results


def merge_linear_aux(
    one: Callable[[], Any], other: Callable[[], Any]
) -> tuple[bool, Any]:
    """What the one of two transformations that has run says, and whether it is the
    first.
    """
    try:
        found = one()
    except StoreException:
        return False, other()
    try:
        other()
    except StoreException:
        return True, found
    raise StoreException("of two transformations only one may have run, but both have.")


def cache(call: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """``call(fun, *args)``, once for each function with its transformations, arguments
    and context of tracing; what they said beside the results is said again.
    """
    known: dict[Any, tuple[Any, list[Any]]] = {}

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        key = fun, args, context()
        if key not in known:
            result = call(fun, *args)
            drop_older_half(known, _MOST)
            known[key] = result, [s.val if s else _UNSET for s in fun.stores]
        result, said = known[key]
        for store, value in zip(fun.stores, said, strict=True):
            if store is not None and value is not _UNSET:
                store.store(value)
        return result

    return cached
