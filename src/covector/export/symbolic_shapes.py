"""Shapes with symbolic sizes, as users write them."""

from collections.abc import Sequence
from typing import Any

from covector import tree
from covector.core.annotations import PyTree
from covector.core.convert import ShapeDtypeStruct, type_of
from covector.errors import ArgumentError, how_many
from covector.export.expressions import Expression
from covector.export.parsing import PLACEHOLDER, Entry, parse_shape
from covector.export.symbolic_scope import Dimension, SymbolicScope


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """A shape of which some sizes are symbols.

    Args:
      shape_spec: such as ``"b, 2*b, floordiv(n, 2) + 1, 3"``; None is as ``"..."``.
        Variables stand for sizes of at least 1; there are ``+``, ``-``, ``*``,
        ``floordiv``, ``mod``, ``max`` and ``min``.
      constraints: what is known besides, such as ``"b >= 4"``, ``"2*b <= n"`` or
        ``"mod(b, 8) == 0"``.
      scope: the scope of the variables, in place of ``constraints``; shapes that are
        used together need one scope.
      like: where the sizes of the placeholders ``_`` and ``...`` come from.

    Raises:
      ArgumentError: it cannot be read; there are constraints and a scope; a
        placeholder without ``like``, or another size than there.

    >>> b, twice, three = symbolic_shape("b, 2*b, 3")
    >>> twice - b == b, three
    (True, 3)
    """
    scope = _one_scope("symbolic_shape", scope, constraints)
    entries = parse_shape("..." if shape_spec is None else shape_spec)
    if ... in entries:
        at = entries.index(...)
        if like is None:
            raise _needs_like(shape_spec)
        missing = len(like) - len(entries) + 1
        entries[at : at + 1] = [PLACEHOLDER] * max(missing, 0)
    if like is not None and len(entries) != len(like):
        raise ArgumentError(
            f"symbolic_shape of {shape_spec!r} has "
            f"{how_many(len(entries), 'axis', 'axes')}, but the shape that it is to be "
            f"like has {len(like)}: {tuple(like)}."
        )
    sizes = like or [None] * len(entries)
    pairs = zip(entries, sizes, strict=True)
    return tuple([_size(e, known, scope, shape_spec) for e, known in pairs])


def _one_scope(
    who: str, scope: SymbolicScope | None, constraints: Sequence[str]
) -> SymbolicScope:
    """The scope that was given, or one with these constraints."""
    if scope is not None and constraints:
        raise ArgumentError(
            f"{who} got a scope and constraints; a scope has those that it was made "
            "with."
        )
    return scope or SymbolicScope(constraints)


def _size(entry: Entry, known: int | None, scope: SymbolicScope, spec: Any) -> Any:
    if isinstance(entry, str):
        if known is None:
            raise _needs_like(spec)
        return known
    assert isinstance(entry, Expression), "the others are replaced by placeholders"
    size = scope.dimension(entry)
    if type(size) is int and known is not None and size != known:
        raise ArgumentError(
            f"symbolic_shape of {spec!r} has {size} where the shape that it is to be "
            f"like has {known}."
        )
    return size


def _needs_like(spec: Any) -> ArgumentError:
    return ArgumentError(
        f"symbolic_shape of {spec!r} has placeholders, whose sizes are to come from "
        "like=(…), which has none for them."
    )


def symbolic_args_specs(
    args: PyTree,
    shapes_specs: PyTree,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> PyTree:
    """Types of arguments with symbolic shapes, for ``export``.

    Args:
      args: a tree of arrays, or of what stands for them: the structure and the dtypes,
        and the sizes of placeholders.
      shapes_specs: a shape as for ``symbolic_shape``, or a tree of these that is a
        prefix of ``args``; None leaves shapes as they are.
      constraints, scope: as for ``symbolic_shape``.

    Returns:
      a tree of ``ShapeDtypeStruct``s.

    Raises:
      ArgumentError: as by ``symbolic_shape``.

    >>> import covector as cv
    >>> x, y = symbolic_args_specs((cv.numpy.ones((3, 4)), 1.0), ("b, ...", None))
    >>> x.shape, y.shape
    ((b, 4), ())
    """
    scope = _one_scope("symbolic_args_specs", scope, constraints)
    leaves, treedef = tree.flatten(args)
    specs = tree.flatten_prefix(shapes_specs, args, "shapes_specs", of="args")
    found = []
    for leaf, spec in zip(leaves, specs, strict=True):
        type_ = type_of(leaf)
        shape = symbolic_shape(spec, scope=scope, like=type_.shape)
        found.append(ShapeDtypeStruct(shape, type_.dtype, weak_type=type_.weak))
    return treedef.unflatten(found)


def is_symbolic_dim(p: Any) -> bool:
    """Whether a size is symbolic.

    >>> list(map(is_symbolic_dim, symbolic_shape("b, 3")))
    [True, False]
    """
    return isinstance(p, Dimension)
