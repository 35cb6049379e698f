"""From a program to something that runs: lower, compile, and call with arrays.

``Compiled`` is the end of every path to XLA: of ``jit``, and of eager operations that
are too large for NumPy.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.array import ConcreteArray
from covector.core.effects import Effect
from covector.core.jaxpr import Equation, Jaxpr, Var, used_inputs
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.lowering import hlo, module, tokens
from covector.runtime import client, executable


class Lowered:
    """A StableHLO module, and what one needs to know to compile and to call it."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        name: str,
        device: Any,
        donated: Sequence[bool] = (),
        keep_unused: bool = False,
    ) -> None:
        self.jaxpr = jaxpr
        self.device = device
        #: positions of the inputs that are passed on
        self.kept = [i for i, u in enumerate(used_inputs(jaxpr)) if u or keep_unused]
        inputs = [jaxpr.inputs[i] for i in self.kept]
        program = Jaxpr(inputs, jaxpr.equations, jaxpr.outputs, jaxpr.name)
        program = tokens.ordered(program)
        with hlo.building():
            self.module = module.lower_module(
                program,
                name,
                client.device_platform(device),
                [donated[i] for i in self.kept] if donated else (),
            )

    def compile(self, options: dict[str, Any] | None = None) -> "Compiled":
        outputs = [(t.shape, t.storage) for t in self.jaxpr.out_types]
        functions, module_ = self.module.host_functions, self.module.module
        if functions:
            made = executable.compile_with_callbacks(
                module_,
                self.device,
                functions,
                outputs=outputs,
                options=options,
                ordered=Effect.ORDERED in self.jaxpr.effects,
            )
        else:
            made = executable.compile_module(
                module_, self.device, options=options, outputs=outputs
            )
        return Compiled(self, made)

    def text(self, debug_info: bool = False) -> str:
        with hlo.building():
            return self.module.text(debug_info)


class Compiled:
    """A program that runs on one device: arrays in, arrays out."""

    def __init__(self, lowered: Lowered, made: Any) -> None:
        self.lowered = lowered
        self.executable = made
        self.device = lowered.device
        self._run = made.execute
        self._types = lowered.jaxpr.out_types
        #: positions of the arguments that are passed on; None for all of them
        everything = len(lowered.kept) == len(lowered.jaxpr.inputs)
        self._kept = None if everything else lowered.kept

    def __call__(
        self, args: Sequence[ConcreteArray], committed: Any = None
    ) -> list[Any]:
        """Run on arrays of the right types; results are pending until read."""
        if self._kept is not None:
            args = [args[i] for i in self._kept]
        device = self.device
        outs = self._run([a.buffer(device) for a in args])
        return [
            ConcreteArray(t, None, b, committed)
            for t, b in zip(self._types, outs, strict=True)
        ]

    def bound(
        self, captured: list[Any], out_tree: Any, donated: list[int], committed: Any
    ) -> Any:
        """The quickest call: from leaves on this device to the tree of results.

        It raises, in whatever words, where the leaves are anything else.
        """
        device, types, kept = self.device, self._types, self._kept
        launch, handlers = self.executable.launch, self.executable.handlers
        unflatten = out_tree.unflatten

        def quick(leaves: list[Any]) -> Any:
            args = captured + leaves if captured else leaves
            if kept is not None:
                args = [args[i] for i in kept]
            outs = launch(
                [a._buffer if a._buffer is not None else a.buffer(device) for a in args]
            ).consume_with_handlers(handlers)
            if donated:
                for i in donated:
                    leaves[i].forget()
            return unflatten(
                [
                    ConcreteArray(t, None, b, committed)
                    for t, b in zip(types, outs)  # noqa: B905  one handler per type
                ]
            )

        return quick


def compile_program(jaxpr: Jaxpr, device: Any) -> Compiled:
    """The compiled form of a program on a device, made once."""
    return jaxpr.memo(_compile, device)


def _compile(jaxpr: Jaxpr, device: Any) -> Compiled:
    return Lowered(jaxpr, f"jit_{jaxpr.name or 'program'}", device).compile()


def compile_operation(
    op: Primitive, types: Sequence[ArrayType], device: Any
) -> Compiled:
    """One operation as a program of its own."""
    inputs = [Var(t) for t in types]
    outputs = [Var(t) for t in op.plan(tuple(types)).outs]
    jaxpr = Jaxpr(inputs, [Equation(op, inputs, outputs, None)], outputs, op.name)
    return Lowered(jaxpr, f"eager_{op.name}", device).compile()
