"""``shard_map`` as older programs call it: the mesh by position, other names."""

from collections.abc import Callable, Iterable
from typing import Any

from covector import namespaces
from covector.errors import ArgumentError
from covector.programs.spmd import shard_map_api

__all__ = ["shard_map"]
__dir__ = namespaces.completions(globals())


def shard_map(  # noqa: PLR0913, PLR0917  as it was
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: Iterable[Any] = frozenset(),
) -> Any:
    """``covector.shard_map`` that is told the axes left to the compiler (``auto``),
    and not the manual ones.

    Raises:
      ArgumentError: ``auto`` has all axes of the mesh, or others.

    >>> import covector as cv
    >>> mesh = cv.make_mesh((1,), ("x",))
    >>> double = shard_map(lambda x: 2 * x, mesh, cv.P("x"), cv.P("x"))
    >>> double(cv.numpy.arange(3)).tolist()
    [0, 2, 4]
    """
    left = frozenset(auto)
    manual = [name for name in mesh.axis_names if name not in left]
    if not manual or len(manual) + len(left) != len(mesh.axis_names):
        raise ArgumentError(
            f"shard_map: auto names axes of {mesh} left to the compiler, some but "
            f"not all of them, but got {sorted(left, key=str)}."
        )
    return shard_map_api.shard_map(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names=manual,
        check_vma=check_rep,
    )
