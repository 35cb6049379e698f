"""``debug.print``: prints values of a running program with a format string.

The format is tried when the function is traced, on zeros instead of the values: a
mistake in it is told before anything runs.
"""

import functools
import logging
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.convert import type_of
from covector.debug.callback import call_with_values, has_dtype
from covector.errors import ArgumentError, how_many

_logger = logging.getLogger("covector")


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print ``fmt.format(*args, **kwargs)`` with the values that the arguments have
    when the program runs.

    Use it inside ``jit`` and the like, where Python's ``print`` shows tracers, and only
    while the function is traced. The format is one of ``str.format``; an f-string would
    show tracers too.

    It prints once for each time that the program runs this line: under ``vmap`` for
    each lane of the batch, with the primals where it is differentiated, and never again
    in the backward pass. Wait with ``effects_barrier`` for what is yet to be printed.

    Args:
      fmt: a format string, such as ``"x = {}"`` or ``"{name}"``. Specifications such as
        ``.2f`` apply to each element of an array. Without it, the function with these
        options is returned.
      args, kwargs: the values: arrays, traced or not, or trees of them.
      ordered: keep the order also among programs that run at the same time; not under
        vmap.
      partitioned: print what each device holds. The same, as long as the values are on
        one device.
      skip_format_check: do not try the format before the program runs.

    Raises:
      ArgumentError: the format does not go with the arguments; ordered, under vmap.

    >>> import covector as cv, covector.numpy as cnp
    >>> f = cv.jit(lambda x: cv.debug.print("x = {:.2f}, all of {}", x[0], x))
    >>> f(cnp.array([0.5, 2.0]))
    x = 0.50, all of [0.5 2. ]
    """
    options = {"ordered": ordered, "skip_format_check": skip_format_check}
    if fmt is None:
        return functools.partial(print, partitioned=partitioned, **options)
    return _say("debug.print", fmt, args, kwargs, _to_stdout, **options)


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """As ``debug.print``, to the logger "covector" at the level INFO.

    >>> import logging, covector as cv
    >>> logging.getLogger("covector").setLevel(logging.INFO)
    >>> cv.jit(lambda x: cv.debug.log("x = {}", x))(1.0)
    """
    options = {"ordered": ordered, "skip_format_check": skip_format_check}
    if fmt is None:
        return functools.partial(log, partitioned=partitioned, **options)
    return _say("debug.log", fmt, args, kwargs, _logger.info, **options)


def _to_stdout(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _say(  # noqa: PLR0913  who says what, where and how
    who: str,
    fmt: str,
    args: tuple,
    kwargs: dict[str, Any],
    write: Any,
    *,
    ordered: bool,
    skip_format_check: bool,
) -> None:
    if not skip_format_check:
        _check(who, fmt, args, kwargs)
    call_with_values(
        _Message(fmt, write),
        args,
        kwargs,
        who=f"{who}({fmt!r})",
        ordered=ordered,
        is_array=has_dtype,
    )


@dataclass(frozen=True)
class _Message:
    """A writer of formatted values; equal writers are one object."""

    fmt: str
    write: Any

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        shown = tree.map(_shown, (args, kwargs))
        self.write(_formatter.vformat(self.fmt, *shown))


def _shown(x: Any) -> Any:
    return _Shown(x) if isinstance(x, ConcreteArray) else x


class _Shown:
    """An array in a text: as NumPy's, and specifications apply to each element."""

    def __init__(self, array: ConcreteArray) -> None:
        self._array = array

    def __format__(self, spec: str) -> str:
        array = self._array
        if not spec or dtypes.is_key(array.type.dtype):
            return format(str(self), spec)
        if not array.type.ndim:
            return format(array.item(), spec)
        values = array.tolist()
        shown = np.empty(array.shape, object)
        shown[...] = np.asarray(values, object).reshape(array.shape)
        return np.array2string(shown, formatter={"all": lambda v: format(v, spec)})

    def __str__(self) -> str:
        if dtypes.is_key(self._array.type.dtype):
            return repr(self._array)
        return str(np.asarray(self._array.host())[()])

    def __repr__(self) -> str:
        return repr(self._array)

    def __getattr__(self, name: str) -> Any:
        return _shown(getattr(self._array, name))

    def __getitem__(self, index: Any) -> Any:
        return _shown(self._array[index])


class _Formatter(string.Formatter):
    """``str.format`` that does not ignore arguments."""

    def check_unused_args(
        self, used_args: set, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        names = [*range(len(args)), *kwargs]
        unused = [str(name) for name in names if name not in used_args]
        if unused:
            raise ValueError(f"it does not use the arguments {', '.join(unused)}")


_formatter = _Formatter()


def _check(who: str, fmt: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise where a format does not go with arguments of these types."""
    if not isinstance(fmt, str):
        raise ArgumentError(
            f"{who} needs a format string first, but got {fmt!r}. To print one value "
            f'use {who}("{{}}", value).'
        )
    try:
        _formatter.vformat(fmt, *tree.map(_example, (args, kwargs)))
    except IndexError:
        given = how_many(len(args), "positional argument")
        wrong = f"it refers to more than the {given}"
    except KeyError as error:
        wrong = f"there is no keyword argument {error.args[0]}"
    except (ValueError, TypeError, AttributeError) as error:
        wrong = str(error)
    else:
        return
    raise ArgumentError(f"{who} cannot use the format {fmt!r}: {wrong}.")


def _example(x: Any) -> Any:
    """Zeros of the types of values."""
    if not has_dtype(x):
        return x
    type_ = type_of(x)
    zeros = np.broadcast_to(np.zeros((), type_.storage), type_.shape)
    return _Shown(ConcreteArray(type_, zeros))
