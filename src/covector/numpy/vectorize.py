"""``vectorize``: functions of scalars or small arrays, broadcast over leading axes.

The signature ``(n,m),(m)->(n)`` gives the *core* axes of each operand, which the
function sees. The axes before them are broadcast, and each is one ``vmap``.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from covector import tree
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import check_functions
from covector.core.source import wraps
from covector.core.types import ArrayType, broadcast_shapes, show_types
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.numpy.axes import canonical_axes, canonical_axis
from covector.transforms.vmap import vmap

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]

_AXES = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(rf"{_AXES}(?:,{_AXES})*->{_AXES}(?:,{_AXES})*")


class GufuncSignature(NamedTuple):
    """The names of the core axes of each operand and each result."""

    operands: list[tuple[str, ...]]
    results: list[tuple[str, ...]]

    def without(self, absent: Collection[int], who: str) -> "GufuncSignature":
        """The signature of a call that has None for some operands."""
        for k in absent:
            if k < len(self.operands) and self.operands[k]:
                raise ArgumentError(
                    f"{who}: operand {k} has the core axes {_show(self.operands[k])}, "
                    "so it cannot be None. Only an operand without core axes can."
                )
        kept = [axes for k, axes in enumerate(self.operands) if k not in absent]
        return self._replace(operands=kept)


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """``pyfunc`` applied over broadcast leading axes of its arguments.

    Unlike NumPy's there is no loop in Python: the function is traced once, for all
    elements together, as by ``vmap``. So it cannot test their values with ``if``; use
    ``where``.

    Args:
      pyfunc: a function of scalars; with a signature, of arrays with its core axes.
      excluded: indices or names of arguments that are passed on as they are. So is None
        in the place of an operand without core axes.
      signature: core axes, as in ``"(n,m),(m)->(n)"``. A name stands for one length.

    Returns:
      A function of arrays.

    Raises:
      ArgumentError: the signature cannot be read, or does not fit the arguments.
      TypeMismatch: an argument lacks core axes, a named axis has several lengths, or
        the leading axes do not broadcast.

    >>> import covector.numpy as cnp
    >>> dot = vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")
    >>> dot(cnp.ones((2, 3)), cnp.arange(3)).tolist()
    [3.0, 3.0]

    See also: ``vmap``, ``apply_along_axis``, ``where``.
    """
    check_functions("vectorize", pyfunc=pyfunc)
    name = getattr(pyfunc, "__name__", type(pyfunc).__name__)
    who = f"vectorize({name})"
    if any(not isinstance(e, int | str) for e in excluded):
        raise ArgumentError(
            f"{who}: excluded holds positions and names of arguments, but got "
            f"{excluded!r}."
        )
    parsed = None if signature is None else _parse(signature, who)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Array:
        positions = [i for i in range(len(args)) if i not in excluded]
        spec = parsed or GufuncSignature([()] * len(positions), [])
        absent = [k for k, i in enumerate(positions) if args[i] is None]
        if absent:
            spec = spec.without(absent, who)
            positions = [i for i in positions if args[i] is not None]
        names = [k for k in kwargs if k not in excluded]

        def of_operands(*operands: Value) -> Array:
            everything, named = list(args), dict(kwargs)
            for position, x in zip(positions, operands[: len(positions)], strict=True):
                everything[position] = x
            named |= zip(names, operands[len(positions) :], strict=True)
            return pyfunc(*everything, **named)

        given = [as_array(args[i], who) for i in positions]
        given += [as_array(kwargs[k], who) for k in names]
        if parsed is None:
            spec.operands.extend([()] * len(names))
        return _apply(who, of_operands, spec, given)

    return vectorized


def _parse(signature: str, who: str) -> GufuncSignature:
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.fullmatch(text):
        raise ArgumentError(
            f"{who}: the signature {signature!r} cannot be read. It gives the core "
            "axes of each operand and result, as in '(n,m),(m)->(n)'."
        )
    sides = [
        [
            tuple(axes.split(",")) if axes else ()
            for axes in re.findall(r"\(([^)]*)\)", s)
        ]
        for s in text.split("->")
    ]
    return GufuncSignature(*sides)


def _apply(
    who: str, fun: Callable[..., Any], spec: GufuncSignature, args: Sequence[Value]
) -> Array:
    """``fun`` over all axes of ``args`` that are not core axes."""
    sizes = _core_sizes(who, spec, args)
    cores = [len(axes) for axes in spec.operands]
    loops = [a.shape[: a.ndim - k] for a, k in zip(args, cores, strict=True)]
    try:
        loop = broadcast_shapes(*loops)
    except ValueError:
        raise TypeMismatch(
            f"{who}: the leading axes of {show_types(a.type for a in args)} do not "
            "broadcast: seen from the right, each needs one length, or 1."
        ) from None
    padded = [(1,) * (len(loop) - len(s)) + s for s in loops]
    # An axis of length 1 is not looped over; it only shows in the shape of the result.
    squeezed = [
        a.reshape((*[n for n in s if n != 1], *a.shape[a.ndim - k :]))
        for a, s, k in zip(args, padded, cores, strict=True)
    ]
    looped = _checked(who, fun, spec.results, sizes)
    for axis in reversed(range(len(loop))):
        if any(s[axis] != 1 for s in padded):
            in_axes = tuple([None if s[axis] == 1 else 0 for s in padded])
            looped = vmap(looped, in_axes=in_axes)
    outs = looped(*squeezed)
    mapped = sum(any(s[axis] != 1 for s in padded) for axis in range(len(loop)))
    return tree.map(lambda x: as_array(x).reshape((*loop, *x.shape[mapped:])), outs)


def _core_sizes(
    who: str, spec: GufuncSignature, args: Sequence[Value]
) -> dict[str, int]:
    """The length of each named core axis."""
    if len(args) != len(spec.operands):
        raise ArgumentError(
            f"{who}: the signature has {how_many(len(spec.operands), 'operand')}, but "
            f"the call has {len(args)}."
        )
    sizes: dict[str, int] = {}
    for i, (axes, a) in enumerate(zip(spec.operands, args, strict=True)):
        if a.ndim < len(axes):
            raise TypeMismatch(
                f"{who}: operand {i} needs the core axes {_show(axes)}, but is "
                f"{a.type}."
            )
        _bind(who, sizes, axes, a.shape[a.ndim - len(axes) :], f"operand {i}", a.type)
    return sizes


def _bind(
    who: str,
    sizes: dict[str, int],
    axes: Sequence[str],
    shape: Sequence[int],
    what: str,
    type: ArrayType,
) -> None:
    """Note, or compare, the length of each core axis; a number is its own length."""
    for axis, n in zip(axes, shape, strict=True):
        wanted = int(axis) if axis.isdigit() else sizes.setdefault(axis, n)
        if wanted != n:
            raise TypeMismatch(
                f"{who}: the core axis {axis} has length {wanted}, but length {n} in "
                f"{what}, which is {type} with the core axes {_show(axes)}."
            )


def _checked(
    who: str,
    fun: Callable[..., Any],
    results: Sequence[tuple[str, ...]],
    sizes: dict[str, int],
) -> Callable[..., Any]:
    """``fun``, its results compared with the signature."""
    if not results:
        return fun

    @wraps(fun)
    def checked(*args: Value) -> Any:
        outs = fun(*args)
        found = [
            as_array(x, who) for x in (outs if isinstance(outs, tuple) else (outs,))
        ]
        if len(found) != len(results):
            raise TypeMismatch(
                f"{who}: the signature has {how_many(len(results), 'result')}, but the "
                f"function returned {len(found)}."
            )
        for i, (axes, x) in enumerate(zip(results, found, strict=True)):
            if x.ndim != len(axes):
                raise TypeMismatch(
                    f"{who}: result {i} needs the core axes {_show(axes)}, but the "
                    f"function returned {x.type}."
                )
            _bind(who, dict(sizes), axes, x.shape, f"result {i}", x.type)
        return outs

    return checked


def _show(axes: Sequence[str]) -> str:
    return f"({','.join(axes)})"


# -- along axes ------------------------------------------------------------------------


def apply_along_axis(
    func1d: Callable[..., Any],
    axis: int,
    arr: ArrayLike,
    *args: Any,
    **kwargs: Any,
) -> Array:
    """``func1d`` of each vector along ``axis``, its results in place of the vectors.

    Args:
      func1d: takes a vector ``[n]``, and ``*args`` and ``**kwargs`` as they are.

    >>> import covector.numpy as cnp
    >>> apply_along_axis(cnp.sum, 0, cnp.ones((2, 3))).tolist()
    [2.0, 2.0, 2.0]
    """
    check_functions("apply_along_axis", func1d=func1d)
    x = as_array(arr, "apply_along_axis")
    axis = canonical_axis("apply_along_axis", axis, x.ndim)

    def of_vector(vector: Value) -> Array:
        return func1d(vector, *args, **kwargs)

    for _ in range(axis + 1, x.ndim):
        of_vector = vmap(of_vector, in_axes=-1, out_axes=-1)
    for _ in range(axis):
        of_vector = vmap(of_vector)
    return of_vector(x)


def apply_over_axes(
    func: Callable[[Any, int], Any], a: ArrayLike, axes: int | Sequence[int]
) -> Array:
    """``func(a, axis)`` for one axis after the other, each axis being kept.

    Args:
      func: takes an array and an axis; the result keeps the axis, with length 1, or has
        one axis less, and it is put back.

    Raises:
      TypeMismatch: ``func`` returned an array of another rank.

    >>> import covector.numpy as cnp
    >>> apply_over_axes(cnp.sum, cnp.ones((2, 3, 4)), (0, 2)).tolist()
    [[[8.0], [8.0], [8.0]]]
    """
    check_functions("apply_over_axes", func=func)
    x = as_array(a, "apply_over_axes")
    for axis in canonical_axes("apply_over_axes", axes, x.ndim):
        out = as_array(func(x, axis), "apply_over_axes")
        if out.ndim == x.ndim - 1:
            out = out.reshape((*out.shape[:axis], 1, *out.shape[axis:]))
        if out.ndim != x.ndim:
            raise TypeMismatch(
                "apply_over_axes needs a function that keeps the axis, or removes it, "
                f"but of {x.type} it made {out.type}."
            )
        x = out
    return x
