"""Lowering and compilation of a jaxpr to an executable that takes and returns arrays.

Every path to XLA ends here: ``jit``, and eager operations that are too large for NumPy.
"""

import logging
import math
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

from covector import options
from covector.core import dtypes
from covector.core.effects import Effect
from covector.core.jaxpr import Equation, Jaxpr, Var, used_inputs
from covector.core.primitive import Primitive
from covector.core.sharding.shardings import NamedSharding
from covector.core.source import user_level
from covector.core.types import ArrayType, show_types
from covector.errors import DeviceError, DonationWarning
from covector.lowering import hlo, module, plain_kernels, tokens
from covector.lowering.compiled import CompiledProgram, ShardedProgram
from covector.lowering.element_loops import with_element_loops
from covector.lowering.long_rows import with_long_rows
from covector.lowering.placement import MeshPlacement, Placement
from covector.runtime import (
    client,
    compilation_cache,
    compiler,
    host_calls,
    lapack,
    modules,
)
from covector.runtime.compile_options import (
    DOTS,
    FLAGS,
    FUSION_EMITTERS,
    HAS_PLAIN_KERNELS,
    LIBRARY_FUSIONS,
    SMALL_LOOP_BYTES,
    left_to_us,
)
from covector.runtime.overlap import Overlap

logger = logging.getLogger("covector.compile")


#: Scalar operations above which LLVM is not told which of the buffers of a loop do not
#: overlap: that list grows with the square of their number, and takes half of the time
#: to compile the gradient of a scan of 200 scalars. Loops over arrays need it.
MANY_SCALARS = 1000
#: elements of an array from which it matters how XLA makes kernels
LARGE = 512
#: Elements that a program computes that may take longer than to hand it over.
SOME_WORK = 4096
#: For Python to take as long for a call as the program runs: arrays that it takes and
#: gives, elements that are computed for each, and bytes of each on average, up to which
#: XLA leaves cores to Python.
MANY_ARRAYS, WORK, SMALL = 64, 250, 65_536


class LoweredProgram:
    """A StableHLO module, with all that compiling and calling it needs."""

    #: what is compiled, for messages
    who: str
    #: the program as it is lowered
    program: Jaxpr
    #: the devices that it runs on, in the order of its partitions
    devices: tuple[client.Device, ...]
    #: the platform that it is written for, perhaps not that of the device
    platform: str
    #: the requested shardings of results, where the placement is a mesh
    results: Sequence[NamedSharding | None]
    #: positions of the inputs that are passed on
    kept: list[int]
    #: the placement where that is a mesh, with the shardings of the kept inputs
    mesh_placement: MeshPlacement | None
    #: what the compiler is given
    bytecode: bytes
    #: how long it took to write
    seconds: float

    def __init__(
        self,
        jaxpr: Jaxpr,
        name: str,
        placement: Placement,
        donated: Sequence[bool] = (),
        keep_unused: bool = False,
        results: Sequence[NamedSharding | None] = (),
        who: str | None = None,
        platform: str | None = None,
    ) -> None:
        start = time.perf_counter()
        self.who = who or name
        self.jaxpr = jaxpr
        self.results = results or [None] * len(jaxpr.outputs)
        used = used_inputs(jaxpr)
        self.kept = [i for i, u in enumerate(used) if u or keep_unused]
        if isinstance(placement, MeshPlacement):
            shardings = tuple([placement.shardings[i] for i in self.kept])
            self.mesh_placement = MeshPlacement(placement.mesh, shardings)
            self.devices = placement.mesh.flat_devices
        else:
            self.mesh_placement, self.devices = None, (placement,)
        self.platform = platform or client.device_platform(self.devices[0])
        program = jaxpr
        if len(self.kept) < len(used):
            inputs = [jaxpr.inputs[i] for i in self.kept]
            program = Jaxpr(inputs, jaxpr.equations, jaxpr.outputs, jaxpr.name)
        given_up = [donated[i] for i in self.kept] if any(donated) else ()
        if any(given_up):
            types = compress(program.in_types, given_up)
            _warn_of_idle_memory(self.who, tuple(types), program.out_types)
        self.program = program = self._prepared(program, given_up)
        with hlo.lock, hlo.context, hlo.unknown:
            self.module: hlo.Module = module.lower_module(
                program,
                name,
                self.platform,
                given_up,
                self.mesh_placement,
                results,
            )
            self.bytecode = self.module.bytecode()
        self.seconds = time.perf_counter() - start
        if compilation_cache.listeners:
            compilation_cache.tell(compilation_cache.LOWERED, self.seconds)

    def _prepared(self, program: Jaxpr, given_up: Sequence[bool]) -> Jaxpr:
        """The program as it is lowered: its effects in order, loops for results."""
        program = tokens.ordered(program)
        alone = self.platform == "cpu" and self.mesh_placement is None
        if alone:
            program = with_long_rows(program)
            if HAS_PLAIN_KERNELS and "gather" in map(_name_of, program.equations):
                program = plain_kernels.with_gathered_in_memory(program)
        # A result in the memory of an argument is written while that is read, which a
        # loop for several results cannot do.
        if any(given_up) or not alone:
            return program
        return with_element_loops(program)

    def compile(
        self, compiler_options: dict[str, Any] | None = None
    ) -> CompiledProgram:
        """The executable; what takes time is logged (``log_compiles``)."""
        there = client.device_platform(self.devices[0])
        if self.platform != there:
            raise DeviceError(
                f"{self.who} was lowered for {self.platform}, but its device is "
                f"{self.devices[0]}, of platform {there}: only its text can be had."
            )
        level = options.current().compile_log_level
        if not logger.isEnabledFor(level):
            return self._compile(compiler_options)
        what = self.who, show_types(self.jaxpr.in_types) or "no arguments"
        logger.log(level, "Compiling %s for %s", *what)
        start = time.perf_counter()
        made = self._compile(compiler_options)
        times = 1e3 * self.seconds, 1e3 * (time.perf_counter() - start)
        text = "Compiled %s for %s: lowered in %.1f ms, compiled in %.1f ms"
        logger.log(level, text, *what, *times)
        return made

    def _compile(
        self, compiler_options: dict[str, Any] | None, anew: bool = False
    ) -> CompiledProgram:
        outputs = [(t.shape, t.storage) for t in self.jaxpr.out_types]
        if self.platform == "cpu":
            by_content = _options_by_content(self)
            compiler_options = {**by_content, **(compiler_options or {})}
        functions = self.module.host_functions
        if functions and host_calls.standard_names(functions) is None:
            made = compiler.compile_with_callbacks(
                self.bytecode,
                self.devices,
                functions,
                outputs=outputs,
                options=compiler_options,
                ordered=Effect.ORDERED in self.jaxpr.effects,
            )
        else:
            made = compiler.compile_module(
                self.bytecode,
                self.devices,
                options=compiler_options,
                outputs=outputs,
                functions=functions,
                overlaps=self._overlaps(),
                one_blas_thread=lapack.wants_one_thread(self.module.lapack_calls),
                anew=anew,
            )
        kind = CompiledProgram if self.mesh_placement is None else ShardedProgram
        return kind(self, made, compiler_options)

    def _overlaps(self) -> Overlap:
        """When Python is to go on while it runs."""
        if self.mesh_placement is not None:
            return Overlap.NEVER
        work = self.jaxpr.memo(_elements_computed)
        if work < SOME_WORK and not any([e.op.regions for e in self.jaxpr.equations]):
            return Overlap.NEVER
        inputs = self.jaxpr.inputs
        types = [*[inputs[i].type for i in self.kept], *self.jaxpr.out_types]
        many = len(types) >= MANY_ARRAYS and work >= WORK * len(types)
        size = sum([t.size * t.storage.itemsize for t in types])
        if many and size <= SMALL * len(types):
            return Overlap.ALWAYS
        return Overlap.UNREAD

    def hlo(self) -> Any:
        """The module as jaxlib's computation of HLO, not optimised yet."""
        return modules.hlo(self.module.module)

    def text(self, debug_info: bool = False) -> str:
        with hlo.lock, hlo.context, hlo.unknown:
            return self.module.text(debug_info)


_size_of, _name_of = attrgetter("type.size"), attrgetter("op.name")


def _elements_computed(jaxpr: Jaxpr) -> int:
    """By all operations, or read by one that gives fewer, each loop and branch once
    (memoise on the program).
    """
    inner = [r.jaxpr for e in jaxpr.equations for r in e.op.regions]
    sizes = [
        max(map(_size_of, (*e.inputs, *e.outputs)), default=0) for e in jaxpr.equations
    ]
    return sum(sizes) + sum([program.memo(_elements_computed) for program in inner])


def _options_by_content(program: LoweredProgram) -> dict[str, Any]:
    """XLA options by the contents of a program."""
    found: dict[str, Any] = {}
    lowered, shapes = program.module, program.module.shapes
    if any([d.itemsize == 1 and dtypes.is_floating(d) for d in lowered.dtypes]):
        # Sums of 8-bit floats beyond their range would become -0.
        found[SMALL_LOOP_BYTES] = 0
    elif HAS_PLAIN_KERNELS and (
        plain_kernels.are_compiled_sooner(shapes, program.program)
        or plain_kernels.run_sooner(shapes, program.program)
    ):
        found[FUSION_EMITTERS] = False
    if lowered.scalars > MANY_SCALARS:
        found["xla_llvm_enable_noalias_metadata"] = False
    if lowered.adds_long_rows:
        # These take YNNPACK 8 to 40 times as long as XLA: 50 rows of 100,000 18 ms, not
        # 0.6. One choice is made for a program: other sums lose, at worst two thirds.
        found[LIBRARY_FUSIONS] = DOTS
    if max(map(math.prod, shapes), default=0) >= LARGE and hlo.UNKNOWN not in shapes:
        from covector.lowering import large_kernels  # noqa: PLC0415  small ones need none

        found.update(large_kernels.options_of(program.jaxpr, shapes))
    return left_to_us(found) if FLAGS else found


def _warn_of_idle_memory(
    who: str, donated: Sequence[ArrayType], results: Sequence[ArrayType]
) -> None:
    """Warn of donated arrays that are as large as no result, or none is left for."""
    sizes = Counter([t.size * t.storage.itemsize for t in results])
    idle = []
    for type_ in donated:
        size = type_.size * type_.storage.itemsize
        if sizes[size]:
            sizes[size] -= 1
        else:
            idle.append(type_)
    if idle:
        warnings.warn(
            f"{who}: no result can use the memory of {show_types(idle)}, which was "
            "donated: there is none of that size. What is donated cannot be used "
            "afterwards all the same, so donate only what results replace.",
            DonationWarning,
            stacklevel=user_level(),
        )


def compile_program(jaxpr: Jaxpr, placement: Placement) -> CompiledProgram:
    """The executable of a program for a placement, compiled once."""
    return jaxpr.memo(_compile, placement)


def _compile(jaxpr: Jaxpr, placement: Placement) -> CompiledProgram:
    return LoweredProgram(jaxpr, f"jit_{jaxpr.name or 'program'}", placement).compile()


def compile_operation(
    op: Primitive, types: Sequence[ArrayType], placement: Placement
) -> CompiledProgram:
    """One operation as a program of its own."""
    inputs = [Var(t) for t in types]
    outputs = [Var(t) for t in op.plan(tuple(types)).outs]
    jaxpr = Jaxpr(inputs, [Equation(op, inputs, outputs, None)], outputs, op.name)
    return LoweredProgram(jaxpr, f"eager_{op.name}", placement).compile()
