"""``Exported``: a function as a program that can be stored, sent, and called again.

    in_avals, in_tree ── which arguments ──▶ modules ──▶ out_avals, out_tree

There is one module for each platform, in the portable form of StableHLO, which later
versions of the compiler read as well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from covector import tree
from covector.callbacks.opaque import Opaque
from covector.core.annotations import BatchDims, Batched, PyTree, Value, Values
from covector.core.convert import as_array
from covector.core.flat import argument_path
from covector.core.primitive import operation
from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.types import ArrayType, show_types
from covector.errors import (
    ExportError,
    NotDifferentiable,
    ShardingError,
    TreeMismatch,
    TypeMismatch,
)
from covector.export.safety_checks import DisabledSafetyCheck
from covector.export.serialization import CALLING_CONVENTION, written
from covector.export.symbolic_module import SymbolTable
from covector.lowering.sharding import sharding_text
from covector.lowering.spelling import HloResults, HloValue
from covector.programs.control_flow.batch_sequentially import batch_sequentially
from covector.programs.custom_rules.custom_derivative import custom_vjp
from covector.runtime import lapack, modules
from covector.tree.registry import PyTreeDef

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A function that was lowered, and can be called in other programs and processes.

    ``export`` and ``deserialize`` make it. ``call`` runs it with arguments of the types
    in ``in_avals``, and ``serialize`` gives the bytes for a file. It runs on the
    ``platforms`` that it was exported for, and on ``nr_devices`` devices.

    >>> import covector as cv
    >>> from covector.export import export
    >>> exported = export(cv.jit(cv.numpy.sin))(cv.ShapeDtypeStruct((3,), "float32"))
    >>> exported.nr_devices, exported.call(cv.numpy.zeros(3)).tolist()
    (1, [0.0, 0.0, 0.0])
    """

    fun_name: str
    in_tree: PyTreeDef
    #: the types of the leaves of ``(args, kwargs)``, and of the result
    in_avals: tuple[ArrayType, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ArrayType, ...]
    #: such as ("cpu", "cuda")
    platforms: tuple[str, ...]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    #: the portable modules by platform: one, or two where sizes are symbolic
    modules: Mapping[str, Sequence[bytes]] = field(repr=False)
    #: over an abstract mesh; None where nobody said how an array is sharded
    in_shardings: tuple[NamedSharding | None, ...]
    out_shardings: tuple[NamedSharding | None, ...]
    #: the mesh that it runs on; None for one device
    mesh: AbstractMesh | None = None
    calling_convention_version: int = CALLING_CONVENTION
    #: what stands for symbolic sizes in the modules
    symbols: SymbolTable | None = None
    #: makes the exported derivative, or has it; None where there is none
    make_vjp: "Callable[[], Exported] | None" = field(default=None, repr=False)

    @property
    def nr_devices(self) -> int:
        """The number of devices that it runs on."""
        return 1 if self.mesh is None else self.mesh.size

    @property
    def mlir_module_serialized(self) -> bytes:
        """The module in its portable form, for the first platform."""
        return self.modules[self.platforms[0]][0]

    def mlir_module(self, platform: str | None = None) -> str:
        """The module as text, for one of the platforms: by default the first. Symbolic
        sizes in it are numbers, of no account.
        """
        return modules.from_portable(
            self.modules[platform or self.platforms[0]][0], generic=False
        )

    # -- calling -----------------------------------------------------------------------

    def call(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """The result of the function, also under transformations.

        A batch is computed lane by lane. Derivatives, in reverse mode, need ``vjp``.

        Raises:
          TreeMismatch, TypeMismatch: the arguments are not as ``in_tree`` and
            ``in_avals`` say.
          ExportError: it was exported for other platforms.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            difference = tree.describe_difference(self.in_tree, in_tree)
            raise TreeMismatch(f"{self} takes other arguments: {difference}.")
        operands = [as_array(leaf, str(self)) for leaf in leaves]
        self.check_types([x.type for x in operands])
        return self.out_tree.unflatten(self._call_flat(operands))

    def _call_flat(self, operands: Sequence[Value]) -> Sequence[Value]:
        op = CallExported(self)
        if not self.has_vjp():
            return op(*operands)
        differentiable = custom_vjp(lambda *xs: list(op(*xs)))
        differentiable.defvjp(
            lambda *xs: (differentiable(*xs), xs),
            lambda xs, cotangents: tuple(self.vjp().call(*xs, *cotangents)),
        )
        return differentiable(*operands)

    def check_types(self, types: Sequence[ArrayType]) -> None:
        """Raise where operands of these types are none of this function.

        Raises:
          TypeMismatch: an operand has another shape or dtype.
        """
        sizes = None if self.symbols is None else self.symbols.solve(types, str(self))
        for i, (wanted, t) in enumerate(zip(self.in_avals, types, strict=True)):
            shape = wanted.shape
            if sizes is not None:
                shape = sizes.shape(wanted.shape)
            if (shape, wanted.dtype) != (t.shape, t.dtype):
                name = argument_path(self.in_tree, i)
                raise TypeMismatch(f"{self} takes {wanted} as {name}, but got {t}.")

    def result_types(self, types: Sequence[ArrayType]) -> Sequence[ArrayType]:
        """The types of results, for operands of these types."""
        if self.symbols is None:
            return self.out_avals
        sizes = self.symbols.solve(types, str(self))
        return [t.with_shape(sizes.shape(t.shape)) for t in self.out_avals]

    def module_for(self, platform: str, types: Sequence[ArrayType]) -> str:
        """The text of the module for a platform, and operands of these types.

        Raises:
          ExportError: it was exported for other platforms.
        """
        names = _OURS[platform]
        found = next((self.modules[n] for n in names if n in self.modules), None)
        if found is None:
            if DisabledSafetyCheck.platform() not in self.disabled_safety_checks:
                raise ExportError(
                    f"{self} was exported for {', '.join(self.platforms)}, but is "
                    f"called on {platform}. Export it for that as well: "
                    f"export(f, platforms={[*self.platforms, names[0]]})."
                )
            found = self.modules[self.platforms[0]]
        texts = list(map(modules.from_portable, found))
        if self.symbols is None:
            return texts[0]
        return self.symbols.written_for(texts, self.symbols.solve(types, str(self)))

    # -- derivatives -------------------------------------------------------------------

    def has_vjp(self) -> bool:
        """Whether there is a derivative."""
        return self.make_vjp is not None

    def vjp(self) -> "Exported":
        """The derivative: from the flat arguments, and a cotangent for each result, to
        a cotangent for each argument.

        Raises:
          ExportError: there is none; ``serialize(vjp_order=…)`` keeps it.
        """
        if self.make_vjp is None:
            raise ExportError(
                f"{self} has no derivative. Keep it where the function is serialized: "
                "serialize(vjp_order=1)."
            )
        return self.make_vjp()

    # -- shardings ---------------------------------------------------------------------

    def in_shardings_jax(self, mesh: Mesh) -> Sequence[NamedSharding | None]:
        """The shardings of the flat arguments over a mesh with the same axes."""
        return [None if s is None else s.update(mesh=mesh) for s in self.in_shardings]

    def out_shardings_jax(self, mesh: Mesh) -> Sequence[NamedSharding | None]:
        """The shardings of the flat results over a mesh with the same axes."""
        return [None if s is None else s.update(mesh=mesh) for s in self.out_shardings]

    # -- as bytes ----------------------------------------------------------------------

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, for ``deserialize``.

        Args:
          vjp_order: how many times it can be differentiated there.

        Raises:
          ExportError: a node of its arguments or results cannot be serialized.
        """
        return written(self, vjp_order)

    def __str__(self) -> str:
        return f"the exported {self.fun_name}"

    def __repr__(self) -> str:
        types = f"({show_types(self.in_avals)}) → ({show_types(self.out_avals)})"
        return f"<Exported {self.fun_name}: {types}, for {', '.join(self.platforms)}>"


#: the names of our platforms among those of exported modules
_OURS = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}


def _constrained(
    ctx: "Lowering",
    values: Sequence[HloValue],
    types: Sequence[ArrayType],
    shardings: Sequence[NamedSharding | None],
) -> list[HloValue]:
    """Values of these types, sharded as was said when the function was exported."""
    found = []
    for x, t, sharding in zip(values, types, shardings, strict=True):
        if sharding is None:
            found.append(x)
            continue
        text = f"#sdy.sharding{sharding_text(sharding.spec, t.ndim)}"
        found.append(ctx.op("sdy.sharding_constraint", [x], [t], sharding=text))
    return found


@operation
class CallExported(Opaque):
    """Call an exported function on flat arguments; a batch of them lane by lane."""

    exported: "Exported"

    @property
    def who(self) -> str:  # type: ignore[override]
        return str(self.exported)

    @property
    def results(self) -> Sequence[ArrayType]:  # type: ignore[override]
        return self.exported.out_avals

    @property
    def mesh(self) -> AbstractMesh | None:  # type: ignore[override]
        return self.exported.mesh

    def __repr__(self) -> str:
        return f"call_exported[{self.exported.fun_name}]"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.exported.result_types(types)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        return batch_sequentially(self, None, size, args, dims)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        wanted, over = self.exported.mesh, ctx.module.over
        if wanted is not None and (
            over is None or over.shape_tuple != wanted.shape_tuple
        ):
            raise ShardingError(
                f"{self.exported} runs on {wanted}, but is called on "
                f"{over or 'one device'}. Call it with arguments on such a mesh."
            )
        text = self.exported.module_for(ctx.platform, ctx.in_types)
        if lapack.is_called_by(text.encode()):
            lapack.prepare()
        given = _constrained(ctx, operands, ctx.in_types, self.exported.in_shardings)
        outs = ctx.call_module(text, given)
        return _constrained(ctx, outs, ctx.out_types, self.exported.out_shardings)

    def _no_derivative(self) -> NotDifferentiable:
        return NotDifferentiable(
            f"{self.exported} was stored without a derivative, or with too few: keep "
            "it with serialize(vjp_order=1), or more. It is for reverse mode (grad, "
            "vjp), and not for forward mode (jvp)."
        )
