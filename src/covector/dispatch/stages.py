"""The ahead-of-time stages of a jitted function: trace, lower, compile.

    jit(f).trace(x)   → Traced     the Jaxpr
           .lower()   → Lowered    the StableHLO module
           .compile() → Compiled   the executable, callable with arguments like x

Each stage has a text form (``as_text``), and the trees and types of its arguments and
results.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covector import tree
from covector.core.annotations import ArrayLike, PyTree
from covector.core.array_like import Array
from covector.core.convert import ShapeDtypeStruct, as_array
from covector.core.dtypes import DType
from covector.core.flat import argument_path
from covector.core.jaxpr import Jaxpr
from covector.core.references import Ref
from covector.core.sharding.as_sharding import format_of
from covector.core.sharding.shardings import Sharding, SingleDeviceSharding
from covector.core.trace import current
from covector.core.types import AbstractRef, ArrayType
from covector.dispatch.arguments import JitSpec
from covector.dispatch.program import Program
from covector.errors import ArgumentError, DeviceMismatch, TreeMismatch, TypeMismatch
from covector.lowering.compiled import CompiledProgram
from covector.lowering.evaluate import base
from covector.lowering.placement import (
    MeshPlacement,
    Placement,
    common_placement,
    shown,
)
from covector.programs.higher_order.call import call
from covector.tree.registry import PyTreeDef

if TYPE_CHECKING:
    from covector.lowering.compile import LoweredProgram


@dataclass(frozen=True)
class ArgInfo:
    """The type of one argument of a lowered program, and whether it is donated."""

    shape: tuple[int, ...]
    dtype: DType
    donated: bool


def struct(type: ArrayType, sharding: Sharding | None = None) -> ShapeDtypeStruct:
    """A type as users see it, and how such a value is divided where that is known."""
    return ShapeDtypeStruct(
        type.shape, type.dtype, weak_type=type.weak, sharding=sharding
    )


@dataclass(frozen=True, eq=False)
class Traced:
    """A traced function: its program, for arguments of certain types.

    ``placement`` is where it will run: that of committed arguments, if there are any.
    """

    program: Program = field(repr=False)
    in_tree: PyTreeDef
    placement: Placement
    fun_name: str
    who: str = field(repr=False)
    spec: JitSpec = field(repr=False)

    @property
    def jaxpr(self) -> Jaxpr:
        """The program as data."""
        return self.program.jaxpr

    @property
    def out_tree(self) -> PyTreeDef:
        """The tree of the result."""
        return self.program.out_tree

    @property
    def out_info(self) -> PyTree:
        """The tree of ``ShapeDtypeStruct``s of the result, with the shardings that
        were asked for.
        """
        types = self.program.result_types
        requested = self.program.shardings.outs or [None] * len(types)
        return self.out_tree.unflatten(map(struct, types, requested))

    @property
    def in_types(self) -> Sequence[ArrayType]:
        """The types of the leaves of the arguments."""
        return self.jaxpr.in_types[len(self.program.captured) :]

    @property
    def in_avals(self) -> PyTree:
        """The tree of types of ``(args, kwargs)``."""
        return self.in_tree.unflatten(self.in_types)

    @property
    def out_avals(self) -> Sequence[ArrayType]:
        """The types of the leaves of the result."""
        return self.program.result_types

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The indices of the flat arguments whose memory may be reused."""
        return tuple(self.program.donated_indices)

    @property
    def args_info(self) -> PyTree:
        """The tree of ``ArgInfo`` of ``(args, kwargs)``."""
        pairs = zip(self.in_types, self.program.donated, strict=True)
        infos = [ArgInfo(t.shape, t.dtype, donated) for t, donated in pairs]
        return self.in_tree.unflatten(infos)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """The StableHLO of the program.

        Args:
          lowering_platforms: one name ("cpu", "cuda", "rocm", "tpu") of the platform
            that it is written for, which need not be there: the text can be had, but
            compiling needs a device.

        Raises:
          ArgumentError: several platforms, or an unknown one.
        """
        platform = _platform(lowering_platforms)
        made = self.program.lower(
            self.placement, self.fun_name, self.who, self.spec.keep_unused, platform
        )
        return Lowered(self, made)


#: platforms as their vendors, and ours, call them
_PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}


def _platform(names: Sequence[str] | None) -> str | None:
    if not names:
        return None
    if isinstance(names, str) or len(names) != 1 or names[0] not in _PLATFORMS:
        raise ArgumentError(
            "lower takes one platform, as lowering_platforms=('cuda',), out of "
            f"{', '.join(map(repr, _PLATFORMS))}, but got {names!r}. Lower once for "
            "each platform."
        )
    return _PLATFORMS[names[0]]


@dataclass(frozen=True, eq=False, repr=False)
class _OfTraced:
    """Properties of the traced function that later stages share."""

    _traced: Traced

    @property
    def traced(self) -> Traced:
        """The stage from which it was made."""
        return self._traced

    @property
    def in_tree(self) -> PyTreeDef:
        return self._traced.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self._traced.out_tree

    @property
    def in_avals(self) -> PyTree:
        """The tree of types of ``(args, kwargs)``."""
        return self._traced.in_avals

    @property
    def args_info(self) -> PyTree:
        return self._traced.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The indices of the flat arguments whose memory may be reused."""
        return self._traced.donate_argnums


@dataclass(frozen=True, eq=False, repr=False)
class Lowered(_OfTraced):
    """A function as StableHLO."""

    _lowered: "LoweredProgram"

    @property
    def out_info(self) -> PyTree:
        return self._traced.out_info

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text; ``dialect`` is "stablehlo" or "hlo"."""
        made = self._in_dialect("as_text", dialect)
        return (
            made.as_hlo_text() if dialect == "hlo" else self._lowered.text(debug_info)
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The MLIR module; for the dialect "hlo" jaxlib's computation made of it."""
        return self._in_dialect("compiler_ir", dialect)

    def _in_dialect(self, method: str, dialect: str | None) -> Any:
        if dialect == "hlo":
            return self._lowered.hlo()
        if dialect not in (None, "stablehlo"):
            raise TypeMismatch(
                f"{method} knows the dialects 'stablehlo' and 'hlo', but got "
                f"{dialect!r}."
            )
        return self._lowered.module.module

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of operations and bytes, of the compiled program."""
        return self.compile().cost_analysis()

    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        """The executable; ``compiler_options`` are XLA's debug options by name."""
        spec = self._traced.spec
        chosen = dict(spec.compiler_options) | (compiler_options or {})
        made = self._lowered.compile(chosen)
        spec.check_memory(made, self._traced.who)
        return Compiled(self._traced, made)


@dataclass(frozen=True, eq=False, repr=False)
class Compiled(_OfTraced):
    """A compiled function, for arguments of the types that it was traced for."""

    _compiled: CompiledProgram

    @property
    def out_info(self) -> PyTree:
        """The tree of ``ShapeDtypeStruct``s of the result, with their shardings."""
        types = self._traced.out_avals
        return self.out_tree.unflatten(map(struct, types, self._out_shardings))

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._compiled.executable.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates, such as ``flops`` and ``bytes accessed``."""
        return self._compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes in bytes: ``argument_size_in_bytes``, ``temp_size_in_bytes`` and
        others.
        """
        return self._compiled.executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """The executable as the runtime knows it."""
        return self._compiled.executable

    @property
    def input_shardings(self) -> PyTree:
        """The shardings that arguments must have: a tree of ``(args, kwargs)``."""
        before = len(self._traced.program.captured)
        found = map(self._placement, range(before, len(self._traced.jaxpr.inputs)))
        return self.in_tree.unflatten(found)

    @property
    def output_shardings(self) -> PyTree:
        """The shardings of the results: a tree as the result."""
        return self.out_tree.unflatten(self._out_shardings)

    @property
    def input_formats(self) -> PyTree:
        """The shardings of ``input_shardings``, with the layouts of arguments."""
        types = self._traced.in_types
        shardings = self.in_tree.flatten_up_to(self.input_shardings)
        formats = [format_of(t.ndim, s) for t, s in zip(types, shardings, strict=True)]
        return self.in_tree.unflatten(formats)

    @property
    def output_formats(self) -> PyTree:
        """The shardings of ``output_shardings``, with the layouts of results."""
        pairs = zip(self._traced.out_avals, self._out_shardings, strict=True)
        return self.out_tree.unflatten([format_of(t.ndim, s) for t, s in pairs])

    @property
    def _out_shardings(self) -> list[Sharding]:
        found = self._compiled.out_shardings
        requested = self._traced.program.shardings.outs or found
        both = [r or s for r, s in zip(requested, found, strict=True)]
        return both[: self.out_tree.num_leaves]

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        leaves, in_tree = tree.flatten((args, kwargs))
        traced = self._traced
        if in_tree != traced.in_tree:
            difference = tree.describe_difference(traced.in_tree, in_tree)
            raise TreeMismatch(
                f"the compiled {traced.who} was traced for other arguments: "
                f"{difference}. Static arguments are left out of the call. Lower it "
                "again for these."
            )
        program = traced.program
        numbers = range(len(leaves))
        arguments = list(map(self._argument, leaves, traced.in_types, numbers))
        executed = current.trace is base
        operands = program.operands(arguments, in_tree, traced.who, executed)
        if not executed:
            outs = call(traced.jaxpr)(*operands)
            results = program.results(leaves, outs, executed)
            return traced.out_tree.unflatten(results)
        committed = self._check_placement(operands)
        outs = program.run(self._compiled, operands, committed, in_tree, traced.who)
        results = program.shardings.put_outputs(outs)
        for i in program.donated_indices:
            arguments[i].forget()
        return traced.out_tree.unflatten(program.results(leaves, results))

    def call(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Run on arguments of the types that it was traced for: as ``self(…)``."""
        return self(*args, **kwargs)

    def _check_placement(self, everything: Sequence[Any]) -> Any:
        """The placement of results, for arguments that are where they should be."""
        traced, before = self._traced, len(self._traced.program.captured)
        for i, x in enumerate(everything):
            wanted = self._placement(i)
            there = x.placement
            if there is not None and not there.is_equivalent_to(wanted, x.ndim):
                name = argument_path(traced.in_tree, max(i - before, 0))
                raise DeviceMismatch(
                    f"the compiled {traced.who} runs on {traced.placement}, but an "
                    f"argument was put on {shown(there)}: {name} is to be on "
                    f"{shown(wanted)}. Lower it again for that, or move the argument "
                    "with covector.device_put."
                )
        return common_placement(everything, traced.who, traced.program.meshes)[1]

    def _placement(self, i: int) -> Sharding:
        """The placement that input ``i`` of the program must have."""
        placement = self._traced.placement
        if isinstance(placement, MeshPlacement):
            return placement.shardings[i]
        return SingleDeviceSharding(placement)

    def _argument(self, x: ArrayLike | Ref, type: ArrayType, i: int) -> Any:
        references, wanted = self._traced.program.references, type
        if references is not None and i in references.arguments:
            wanted = AbstractRef(type)
        if not isinstance(x, Array | Ref):
            x = as_array(x, self._traced.who)
        given = x.type if isinstance(x, Ref) else x.type.strong()
        if given != (wanted if wanted is not type else type.strong()):
            raise TypeMismatch(
                f"the compiled {self._traced.who} was traced for {wanted} as "
                f"{argument_path(self._traced.in_tree, i)}, but got {x.type}. Lower it "
                "again for this type."
            )
        return x
