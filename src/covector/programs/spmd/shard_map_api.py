"""The public ``shard_map``: from trees of global arrays and specs to ``ShardMap``.

The function is traced for shards, once per call, and the results are checked against
their specs before anything runs: a result that still differs between devices over an
axis that its spec does not name is an error that says where it was made.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, Required, TypedDict, TypeVar, Unpack, overload

from covector import tree
from covector.core.annotations import PyTree, decorating
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, argument_path, arrays, who_of
from covector.core.masks import merge, present_mask, select
from covector.core.sharding.context_mesh import get_mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.core.source import at_line, function_name, take_names
from covector.core.staging import StagedTracer
from covector.core.trace import current
from covector.core.varying import pvary_like
from covector.errors import ShardingError, did_you_mean, how_many
from covector.programs.higher_order.hash_consing import intern
from covector.programs.spmd.manual import ManualAxes, local_type, surrounding
from covector.programs.spmd.shard_map import shard_program
from covector.tree.registry import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")


class ShardMapOptions(TypedDict, total=False):
    """The keyword arguments of ``shard_map``, for its overloads."""

    out_specs: Required[PyTree]
    in_specs: PyTree
    mesh: Any
    axis_names: Iterable[Any]
    check_vma: bool
    check_rep: bool | None


@overload
def shard_map(
    f: Callable[P, R], /, **options: Unpack[ShardMapOptions]
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: None = None, /, **options: Unpack[ShardMapOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@decorating
def shard_map(
    f: Callable[..., Any],
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = None,
    mesh: Any = None,
    axis_names: Iterable[Any] = frozenset(),
    check_vma: bool = True,
    check_rep: bool | None = None,
) -> Any:
    """``f`` run by each device of a mesh on its shards of the arguments.

    Inside, arrays are shards, and the collectives of ``covector.lax`` (``psum``,
    ``all_gather`` …) communicate over the axes of the mesh. Types say over which axes a
    value may differ between devices; casts are inserted where needed.

    Args:
      in_specs: how the arguments are sharded: a ``PartitionSpec`` for each, or a tree
        prefix of them. An axis of the mesh that a spec does not name means a copy on
        each device along it. None is for what is handed over as it is, any object.
      out_specs: how the results are put together, likewise.
      mesh: the mesh; None for the one in force (``set_mesh``, or around this call).
      axis_names: the axes that are manual; the compiler partitions the work over
        the others. All of them by default.
      check_vma: check results against their specs, and track what varies. Without it a
        wrong spec gives wrong values, and gradients of results that were not reduced
        are those of an average over devices: it is unsafe, and rarely needed.
      check_rep: the older name of ``check_vma``.

    Raises:
      ShardingError: a spec that does not fit, or a result that still varies.

    >>> import covector as cv
    >>> mesh = cv.make_mesh((1,), ("x",))
    >>> total = lambda x: cv.lax.psum(x.sum(), "x")
    >>> total = cv.shard_map(total, mesh=mesh, in_specs=cv.P("x"), out_specs=cv.P())
    >>> float(total(cv.numpy.arange(4.0)))
    6.0

    See also: ``make_mesh``, ``covector.lax.psum``, ``jit``, which divides work by
    itself.
    """
    if in_specs is None:
        raise ShardingError(
            f"{who_of('shard_map', f)} needs in_specs: types of arrays do not say how "
            "they are sharded. Give a PartitionSpec for each argument, such as P('x'), "
            "or P() for a copy on each device."
        )
    checked = check_vma if check_rep is None else check_rep
    return ShardMapped(f, mesh, in_specs, out_specs, frozenset(axis_names), checked)


class ShardMapped:
    """The function over shards that ``shard_map`` returns."""

    def __init__(
        self,
        fun: Callable[..., Any],
        mesh: Any,
        in_specs: PyTree,
        out_specs: PyTree,
        axes: frozenset[Any],
        checked: bool,
    ) -> None:
        take_names(self, fun)
        self.fun = fun
        self.mesh = mesh
        self.in_specs = in_specs
        self.out_specs = out_specs
        self.axes = axes
        self.checked = checked
        self.who = who_of("shard_map", fun)

    def __call__(self, *args: Any) -> Any:
        manual = self._manual()
        leaves, in_tree = tree.flatten((args, {}))
        specs = self._in_specs(args)
        sharded = present_mask(specs)
        operands = arrays(select(leaves, sharded), self.who)
        leaves = merge(operands, sharded, leaves)
        types = []
        for i, (leaf, spec) in enumerate(zip(leaves, specs, strict=True)):
            if spec is None:
                continue
            where = f"{self.who}: in_specs of {argument_path(in_tree, i, self.fun)}"
            self._check_spec(spec, leaf.type, manual, where)
            types.append(local_type(leaf.type, spec, manual))
        flat = FlatFunction(self.fun, in_tree, self.who)
        outs: list[PartitionSpec] = []

        def on_shards(*shards: Any) -> Sequence[Array]:
            values = flat(*merge(shards, sharded, leaves))
            outs[:] = self._out_specs(flat.out_tree)
            return [
                self._checked_result(x, spec, manual, flat.out_tree, i)
                for i, (x, spec) in enumerate(zip(values, outs, strict=True))
            ]

        staged = manual.stage(on_shards, types, function_name(self.fun, "shards"))
        specs = select(specs, sharded)
        in_specs = (*[PartitionSpec()] * len(staged.captured), *specs)
        op = shard_program(intern(staged.jaxpr), manual, in_specs, tuple(outs))
        return flat.out_tree.unflatten(op(*staged.captured, *operands))

    # -- where -------------------------------------------------------------------------

    def _manual(self) -> ManualAxes:
        """The mesh, and its axes that are manual."""
        outer = surrounding(current.trace)
        mesh = self.mesh
        if mesh is None:
            mesh = outer.mesh if outer is not None else get_mesh()
        if mesh is None or mesh.empty:
            raise ShardingError(
                f"{self.who} needs a mesh: pass mesh=, or call it within "
                "`with covector.set_mesh(mesh):`."
            )
        if outer is not None and mesh.shape_tuple != outer.mesh.shape_tuple:
            raise ShardingError(
                f"{self.who} is over {mesh}, but it is called inside of a shard_map, "
                f"or a pmap, over {outer.mesh}, and a program runs on one mesh. Make "
                "that mesh with the axes of both, and name those of each with "
                "axis_names=; or use vmap inside."
            )
        taken = frozenset(outer.axes) if outer is not None else frozenset()
        axes = self.axes or frozenset(mesh.axis_names) - taken
        self._check_axes(axes, mesh, taken)
        return ManualAxes(mesh, axes, self.checked)

    def _check_axes(self, axes: Any, mesh: Any, taken: frozenset[Any]) -> None:
        for name in axes:
            if name not in mesh.axis_names:
                raise ShardingError(
                    f"{self.who}: axis_names has {name!r}, but the axes of {mesh} are "
                    f"{_shown(mesh.axis_names)}.{did_you_mean(name, mesh.axis_names)}"
                )
            if name in taken:
                raise ShardingError(
                    f"{self.who} maps the axis {name!r}, but a shard_map around it "
                    "does so already. Name the axes of the inner one with axis_names=."
                )
        if not axes:
            raise ShardingError(
                f"{self.who}: all axes of {mesh} are mapped by a shard_map around it."
            )

    # -- specs -------------------------------------------------------------------------

    def _in_specs(self, args: tuple) -> list[PartitionSpec | None]:
        """The spec of each leaf; None for what the function gets as it is."""
        in_specs = self.in_specs
        if isinstance(in_specs, list):
            in_specs = tuple(in_specs)
        if isinstance(in_specs, tuple) and len(in_specs) != len(args):
            raise ShardingError(
                f"{self.who} has in_specs for {how_many(len(in_specs), 'argument')}, "
                f"but was called with {len(args)}."
            )
        return self._flat_specs("in_specs", in_specs, args, "the arguments")

    def _out_specs(self, out_tree: PyTreeDef) -> list[PartitionSpec]:
        found = self._flat_specs("out_specs", self.out_specs, out_tree, "the result")
        return [_as_spec(s, f"{self.who}: out_specs") for s in found]

    def _flat_specs(self, option: str, specs: Any, values: Any, of: str) -> list[Any]:
        """A spec for each leaf of ``values``; None for some."""
        who = f"{self.who}: {option}"
        found = tree.flatten_prefix(specs, values, who, of=of, is_leaf=_is_spec)
        return [None if s is None else _as_spec(s, who) for s in found]

    def _check_spec(self, spec: Any, type: Any, manual: ManualAxes, where: str) -> None:
        """Raise where a global array of ``type`` cannot be sharded by ``spec``."""
        self._check_names(spec, manual, where)
        try:
            NamedSharding(manual.mesh, spec).shard_shape(type.shape)
        except ShardingError as error:
            what = f"{where}, of type {type}"
            raise ShardingError(f"{what}: {error!s}") from None

    def _check_names(self, spec: Any, manual: ManualAxes, where: str) -> None:
        """Raise where a spec names axes that are not mapped here."""
        try:
            NamedSharding(manual.mesh, spec)
        except ShardingError as error:
            raise ShardingError(f"{where}: {error!s}") from None
        free = [n for n in spec.names() if n not in manual.axes]
        if free:
            raise ShardingError(
                f"{where} is {spec}, which names the axis {free[0]!r}, but only "
                f"{_shown(manual.order(manual.axes))} are mapped here (axis_names). "
                "The compiler decides what is sharded over the others."
            )

    def _checked_result(
        self, x: Any, spec: Any, manual: ManualAxes, out_tree: PyTreeDef, i: int
    ) -> Any:
        """A result, made to vary over the axes that its spec names and no others."""
        path = tree.keystr(tree.leaf_path(out_tree, i))
        what = f"the result{f' at {path}' if path else ''}"
        where = f"{self.who}: out_specs of {what}"
        type_ = x.type
        self._check_names(spec, manual, where)
        if len(spec) > type_.ndim:
            raise ShardingError(
                f"{where} is {spec}, but each device returns {type_}, which has "
                f"{how_many(type_.ndim, 'axis', 'axes')}: there is none to concatenate "
                "the shards along. Give each shard one, with x[None] (or reshape), "
                "to get an array with an entry per device; or reduce over the "
                "devices (psum, pmean) and use P()."
            )
        left = manual.order((type_.varying & manual.axes) - frozenset(spec.names()))
        if left:
            raise ShardingError(
                f"{self.who}: {what}, {type_}, still varies over {_shown(left)}"
                f"{_made_at(x)}, but its out_specs entry {spec} does not name "
                f"{'it' if len(left) == 1 else 'them'}: each device would have another "
                f"value. Either reduce it over {_shown(left)} before returning it "
                "(covector.lax.psum, pmean, pmax …); or return the shards, with "
                f"{left[0]!r} in the out_specs entry."
            )
        if not manual.checked:
            return x
        named = type_.varying | frozenset(spec.names())
        return pvary_like(x, type_.with_varying(named))


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _as_spec(spec: Any, where: str) -> PartitionSpec:
    if isinstance(spec, NamedSharding):
        return spec.spec
    if not isinstance(spec, PartitionSpec) or spec.is_open:
        raise ShardingError(
            f"{where} must be PartitionSpecs, such as P('x', None) or P(), but one is "
            f"{spec!r}."
        )
    return spec


def _made_at(x: Any) -> str:
    return at_line(x.line, ", made") if isinstance(x, StagedTracer) else ""


def _shown(names: Iterable[Any]) -> str:
    return ", ".join([repr(n) for n in names])
