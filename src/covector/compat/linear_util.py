"""Functions of flat arguments with transformations around them: ``WrappedFun``.

The transformation that was added last sees the arguments first, and the results last:

    @transformation                       def doubled(scale, *args):
    wrapped = doubled(wrap_init(f), 2)        outs = yield [scale * x for x in args], {}
    wrapped.call_wrapped(1.0)                 yield [2 * out for out in outs]
"""

import contextlib
import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from covector.core.operation_caches import drop_older_half
from covector.core.trace import context
from covector.errors import CovectorError

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
        self._said = [value]

    def reset(self) -> None:
        """Forget it."""
        self._said = []

    def __bool__(self) -> bool:
        return bool(self._said)

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
        return self._said[0]


@dataclass(unsafe_hash=True, repr=False)
class WrappedFun:
    """A function, and the transformations around it, the last one added first.

    A transformation is a function ``(fun, *given, *args) → results``, and what it is
    given; a ``Store`` in that is for what it says beside the results.
    """

    f: Callable[..., Any]
    transforms: tuple[tuple[Any, ...], ...] = ()
    debug_info: Any = field(default=None, compare=False)

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
        return WrappedFun(self.f, (transform, *self.transforms), self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the function with its transformations."""
        return self.f_transformed(*args, **kwargs)

    __call__ = call_wrapped

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed>")

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


def _adding(*run: Callable[..., Any], says: bool = False) -> Callable[..., Any]:
    """``transformation(around)(fun, *static)``: ``fun`` with one more transformation;
    and what it ``says`` beside the results, as a function.
    """

    def wrap(around: Any, fun: WrappedFun, *static: Hashable, **_: Any) -> Any:
        first, *rest = (*run, around)
        stores = [Store()] if says else []
        wrapped = fun.wrap(first, *stores, *rest, *static)
        return (wrapped, lambda: stores[0].val) if says else wrapped

    def of_transformation(around: Callable[..., Any], *args: Any) -> Any:
        return wrap(around, *args) if args else functools.partial(wrap, around)

    return of_transformation


#: within ``around(fun, *static, *args)``, or ``around(fun, store, *static, *args)``
transformation2 = _adding()
transformation_with_aux2 = _adding(says=True)
#: within a generator, which yields arguments ``(args, kwargs)`` and, sent the results,
#: yields results; or these and something beside them
transformation = _adding(_run)
transformation_with_aux = _adding(_run_with_aux, says=True)


def merge_linear_aux(
    one: Callable[[], Any], other: Callable[[], Any]
) -> tuple[bool, Any]:
    """What the one of two transformations that has run says, and whether it is the
    first.
    """
    found = []
    for is_first, said in ((True, one), (False, other)):
        with contextlib.suppress(StoreException):
            found.append((is_first, said()))
    if len(found) != 1:
        raise StoreException(
            f"of two transformations just one may have run, but {len(found)} have."
        )
    return found[0]


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
            known[key] = result, [store.val for store in fun.stores]
        result, said = known[key]
        for store, value in zip(fun.stores, said, strict=True):
            store.store(value)
        return result

    return cached
