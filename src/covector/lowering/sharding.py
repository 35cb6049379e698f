"""Shardings in StableHLO: meshes and specs in Shardy's dialect.

    sdy.mesh @mesh = <["x"=2, "y"=4]>
    func.func public @main(%a: … {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})

Partition k of a compiled program runs on device k of its mesh. ``{"x"}`` is an axis of
an array that is partitioned over x only, ``{?}`` one that is left to the compiler.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import UNCONSTRAINED, PartitionSpec, SubAxis


def mesh_text(mesh: Mesh | AbstractMesh) -> str:
    """``#sdy.mesh<["x"=2, "y"=4]>``."""
    axes = [f"{_quoted(name)}={size}" for name, size in mesh.shape_tuple]
    return f"#sdy.mesh<[{', '.join(axes)}]>"


def sharding_text(
    spec: PartitionSpec,
    ndim: int,
    mesh: str = "mesh",
    *,
    is_open: bool = False,
    replicated: Sequence[Any] = (),
) -> str:
    """``<@mesh, [{"x"}, {}]>``: a spec for an array of ``ndim`` axes.

    Args:
      mesh: the symbol of the mesh in the module.
      is_open: other axes are left to the compiler.
      replicated: axes of the mesh over which it is said to be the same.
    """
    dims = []
    for dim in range(ndim):
        entry = spec[dim] if dim < len(spec) else None
        names = [_quoted(name) for name in spec.axes(dim)]
        if is_open or entry is UNCONSTRAINED:
            names.append("?")
        dims.append(f"{{{', '.join(names)}}}")
    same = ", ".join(map(_quoted, replicated))
    tail = f", replicated={{{same}}}" if same else ""
    return f"<@{mesh}, [{', '.join(dims)}]{tail}>"


def shardings_text(
    specs: Sequence[PartitionSpec], ndims: Sequence[int], **how: Any
) -> str:
    """One sharding for each of several values, as an attribute."""
    each = [
        sharding_text(spec, ndim, **how)
        for spec, ndim in zip(specs, ndims, strict=True)
    ]
    return f"#sdy.sharding_per_value<[{', '.join(each)}]>"


def manual_axes_text(axes: Sequence[Any]) -> str:
    """``#sdy<manual_axes{"x"}>``: the manual axes of a shard_map."""
    return f"#sdy<manual_axes{{{', '.join(map(_quoted, axes))}}}>"


def attributes(
    shardings: Sequence[NamedSharding | None], ndims: Sequence[int]
) -> list[dict[str, str]]:
    """The sharding attributes of arguments or results of a function; none for None,
    which leaves the sharding to the compiler.
    """
    return [
        {}
        if sharding is None
        else {"sdy.sharding": f"#sdy.sharding{sharding_text(sharding.spec, ndim)}"}
        for sharding, ndim in zip(shardings, ndims, strict=True)
    ]


def _quoted(name: Any) -> str:
    sub_axis = f":({name.before}){name.size}" if isinstance(name, SubAxis) else ""
    axis = name.axis if isinstance(name, SubAxis) else name
    return f'"{axis}"{sub_axis}'
