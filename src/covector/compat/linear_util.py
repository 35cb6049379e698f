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
    """What a transformation says beside the results, once the function has run.

    All are equal: functions with equal transformations are, whatever these have said.
    """

    def __init__(self) -> None:
        self.reset()

    def store(self, value: Any) -> None:
        """Set it."""
        self._value = value

    def reset(self) -> None:
        """Forget it."""
        self._value = _UNSET

    def __bool__(self) -> bool:
        return self._value is not _UNSET

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store)

    def __hash__(self) -> int:
        return hash(Store)

    @property
    def val(self) -> Any:
        if not self:
            raise StoreException(
                "what a transformation says beside the results is there after "
                "call_wrapped, and was asked for before."
            )
        return self._value


class WrappedFun:
    """A function, and the transformations around it, the last one added first.

    A transformation is a function ``(fun, *given, *args) → results``, and what it is
    given; a ``Store`` in that is for what it says beside the results.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        transforms: Sequence[tuple[Any, ...]] = (),
        debug_info: Any = None,
    ) -> None:
        self.f, self.transforms, self.debug_info = f, tuple(transforms), debug_info

    @property
    def stores(self) -> list[Store]:
        """Those of its transformations, the last one added first."""
        return [x for t in self.transforms for x in t if isinstance(x, Store)]

    @property
    def f_transformed(self) -> Callable[..., Any]:
        """The function with its transformations around it."""
        fun = self.f
        for around, *given in reversed(self.transforms):
            fun = functools.partial(around, fun, *given)
        return fun

    def wrap(self, *transform: Any) -> "WrappedFun":
        """This function with one more transformation around it."""
        return WrappedFun(self.f, [transform, *self.transforms], self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the function with its transformations."""
        return self.f_transformed(*args, **kwargs)

    __call__ = call_wrapped

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed>")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and (
            (self.f, self.transforms) == (other.f, other.transforms)
        )

    def __hash__(self) -> int:
        return hash((self.f, self.transforms))

    def __repr__(self) -> str:
        around = ", ".join([str(t) for t in self.transforms])
        return f"WrappedFun({self.__name__}{', within ' if around else ''}{around})"


def wrap_init(
    f: Callable[..., Any],
    params: dict[str, Any] | None = None,
    *,
    debug_info: Any = None,
) -> WrappedFun:
    """A function without transformations; ``params`` are further keyword arguments."""
    given = functools.partial(f, **params) if params else f
    return WrappedFun(given, (), debug_info)


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
    return fun.wrap(around, *static)


@_curried
def transformation_with_aux2(
    around: Any, fun: WrappedFun, *static: Hashable, **_: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    """``fun`` within ``around(fun, store, *static, *args)``, and the function that says
    what was stored.
    """
    store = Store()
    return fun.wrap(around, store, *static), lambda: store.val


@_curried
def transformation(generator: Any, fun: WrappedFun, *static: Hashable) -> WrappedFun:
    """``fun`` within a generator, which yields arguments ``(args, kwargs)`` and, sent
    the results, yields results.
    """
    return fun.wrap(_run, generator, *static)


@_curried
def transformation_with_aux(
    generator: Any, fun: WrappedFun, *static: Hashable
) -> tuple[WrappedFun, Callable[[], Any]]:
    """The same with a generator that yields results and something beside them, and the
    function that says that.
    """
    store = Store()
    return fun.wrap(_run_with_aux, store, generator, *static), lambda: store.val


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
            known[key] = result, [store._value for store in fun.stores]
        result, said = known[key]
        for store, value in zip(fun.stores, said, strict=True):
            store.store(value)
        return result

    return cached
