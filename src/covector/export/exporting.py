"""``export``: a jitted function, for arguments of certain types, as an ``Exported``."""

from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.annotations import PyTree
from covector.core.array import ConcreteArray
from covector.core.convert import ShapeDtypeStruct
from covector.core.jaxpr import Jaxpr, run
from covector.core.sharding.shardings import NamedSharding
from covector.core.staging import restage
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.dispatch.jit import PjitFunction, jit
from covector.dispatch.stages import Traced
from covector.errors import ArgumentError, ExportError
from covector.export.exported import Exported
from covector.export.safety_checks import DisabledSafetyCheck, check_targets
from covector.export.symbolic_module import (
    Coincidence,
    in_scope,
    merged,
    scope_of,
    symbols_of,
    variables_in,
)
from covector.lowering import hlo, module, tokens
from covector.lowering.placement import MeshPlacement
from covector.runtime import client
from covector.transforms.derivatives import vjp

#: how many more pairs of points are tried where the first does not do
_POINTS = 4
#: the platforms that programs can be exported for, by our names
_PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}


def default_export_platform() -> str:
    """The platform that functions are exported for by default: that of this process.

    >>> default_export_platform() in ("cpu", "cuda")
    True
    """
    platform = client.default_platform()
    return "cuda" if platform == "gpu" else platform


def export(
    fun_jit: PjitFunction[Any, Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """A function of types that exports a jitted function for arguments of these types.

    Args:
      fun_jit: the function, as ``jit`` returns it.
      platforms: those that it can be called on: "cpu", "cuda", "rocm", "tpu"; by
        default that of this process.
      disabled_checks: what need not hold (``DisabledSafetyCheck``).

    Returns:
      a function that is called as ``fun_jit`` is, with arrays or what stands for them
      (``ShapeDtypeStruct``, whose shapes may be symbolic), and returns an ``Exported``.

    Raises:
      ArgumentError: it is no jitted function; there is no such platform.
      ExportError: it calls Python, or a foreign function that may not be there later.

    >>> import covector as cv
    >>> double = cv.jit(lambda x: 2 * x)
    >>> exported = export(double)(cv.ShapeDtypeStruct((3,), "float32"))
    >>> exported.call(cv.numpy.ones(3)).tolist()
    [2.0, 2.0, 2.0]
    """
    if not isinstance(fun_jit, PjitFunction):
        raise ArgumentError(
            f"export needs a jitted function, but got {fun_jit!r}. Pass "
            "covector.jit(f)."
        )
    chosen = tuple(platforms or (default_export_platform(),))
    unknown = [name for name in chosen if name not in _PLATFORMS]
    if isinstance(platforms, str) or unknown:
        raise ArgumentError(
            f"export of {fun_jit.__name__} takes platforms as a sequence out of "
            f"{', '.join(map(repr, _PLATFORMS))}, but got {platforms!r}."
        )
    checks = tuple(disabled_checks)

    def exporting(*args: PyTree, **kwargs: PyTree) -> Exported:
        leaves, treedef = tree.flatten((args, kwargs))
        scope = scope_of(leaves, f"export of {fun_jit.__name__}")
        if scope is None:
            return _exported([fun_jit.trace(*args, **kwargs)], chosen, checks)
        names = variables_in(leaves)
        for seed in range(_POINTS + 1):
            traced = []
            for twin in (scope.twin(2 * seed, names), scope.twin(2 * seed + 1, names)):
                there = [in_scope(leaf, twin) for leaf in leaves]
                twin_args, twin_kwargs = treedef.unflatten(there)
                traced.append(fun_jit.trace(*twin_args, **twin_kwargs))
            try:
                return _exported(traced, chosen, checks)
            except Coincidence:
                if seed == _POINTS:
                    raise
        raise AssertionError("the last pair of points returns, or raises")

    return exporting


def _exported(
    traced: Sequence[Traced],
    platforms: tuple[str, ...],
    checks: tuple[DisabledSafetyCheck, ...],
) -> Exported:
    """The program of a function; where it has symbolic sizes, that of two points."""
    first = traced[0]
    jaxprs = list(map(_closed, traced))
    jaxpr = jaxprs[0]
    placement = None
    ins: list[NamedSharding | None] = [None] * len(jaxpr.inputs)
    outs: list[NamedSharding | None] = [None] * len(jaxpr.outputs)
    if isinstance(first.placement, MeshPlacement):
        mesh, shardings = first.placement
        placement = MeshPlacement(mesh, shardings[len(first.program.captured) :])
        abstract = mesh.abstract_mesh
        ins = [s.update(mesh=abstract) for s in placement.shardings]
        requested = first.program.shardings.results(jaxpr.out_types, first.placement)
        outs = [s and s.update(mesh=abstract) for s in requested or outs]
    made: dict[str, Sequence[bytes]] = {}
    symbols = None
    for platform in platforms:
        lowered = [_module(j, platform, placement, outs, checks) for j in jaxprs]
        made[platform] = lowered
        if len(lowered) > 1:
            symbols = merged(symbols, symbols_of(jaxprs, lowered, first.fun_name))

    def make_vjp() -> Exported:
        where = [None] * len(ins) if placement is None else placement.shardings
        return _exported([_derivative(j, where) for j in jaxprs], platforms, checks)

    return Exported(
        fun_name=first.fun_name,
        in_tree=first.in_tree,
        in_avals=jaxpr.in_types,
        out_tree=first.out_tree,
        out_avals=jaxpr.out_types,
        platforms=platforms,
        disabled_safety_checks=checks,
        modules=made,
        in_shardings=tuple(ins),
        out_shardings=tuple(outs),
        mesh=None if placement is None else placement.mesh.abstract_mesh,
        symbols=symbols,
        make_vjp=make_vjp,
    )


def _closed(traced: Traced) -> Jaxpr:
    """The program of the arguments alone: what it closes over becomes constants."""
    program = traced.program
    if any([isinstance(x, Tracer) for x in program.captured]):
        raise ExportError(
            f"export of {traced.fun_name}: it closes over values of a transformation "
            "around, which will not be there later. Pass them as arguments."
        )
    if program.references is not None:
        raise ExportError(
            f"export of {traced.fun_name}: it uses references, which live in this "
            "process. Pass the values in, and return the new ones."
        )
    known = [ConcreteArray(x.type, x.host()) for x in program.captured]

    def of_arguments(*leaves: Any) -> Sequence[Any]:
        return run(program.jaxpr, [*known, *leaves])

    return restage(of_arguments, traced.in_types, program.jaxpr.name)


def _module(
    jaxpr: Jaxpr,
    platform: str,
    placement: MeshPlacement | None,
    results: Sequence[NamedSharding | None],
    checks: Sequence[DisabledSafetyCheck],
) -> bytes:
    """The portable module of a program for one platform."""
    who = f"export of {jaxpr.name}"
    with hlo.lock, hlo.context, hlo.unknown:
        made = module.lower_module(
            tokens.ordered(jaxpr),
            f"jit_{jaxpr.name}",
            _PLATFORMS[platform],
            (),
            placement,
            results,
            portable=True,
        )
        if made.host_functions:
            raise ExportError(
                f"{who}: it calls Python functions (callbacks, debug prints), which "
                "will not be there where the program is called. Take them out."
            )
        check_targets(who, made.text(), checks)
        return made.portable()


def _derivative(jaxpr: Jaxpr, shardings: Sequence[NamedSharding | None]) -> Traced:
    """The derivative of a program: a cotangent for each argument, from the arguments
    and a cotangent for each result.
    """
    count = len(jaxpr.inputs)

    def derivative(*leaves: Any) -> Any:
        _, pull = vjp(lambda *xs: run(jaxpr, xs), *leaves[:count])
        return pull([*leaves[count:]])

    derivative.__name__ = f"{jaxpr.name}_vjp"
    pairs = zip(jaxpr.in_types, shardings, strict=True)
    arguments = [_struct(t, s) for t, s in pairs]
    arguments += [_struct(t.tangent(), None) for t in jaxpr.out_types]
    return jit(derivative).trace(*arguments)


def _struct(type: ArrayType, sharding: NamedSharding | None) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(
        type.shape, type.dtype, weak_type=type.weak, sharding=sharding
    )
