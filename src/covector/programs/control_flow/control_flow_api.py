"""Loops over trees: traced with a carry of one type, and run.

Where jit is disabled they are Python's own loops for as long as it is known that there
is another step, so that a debugger stops in the body and a print shows values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from covector import options, tree
from covector.core import dtypes
from covector.core.annotations import PyTree
from covector.core.array import ConcreteArray
from covector.core.convert import as_array
from covector.core.flat import FlatFunction, arrays
from covector.core.references import values_of
from covector.core.source import function_line, function_name
from covector.core.staging import Staged, stage
from covector.core.trace import current
from covector.core.types import ArrayType, show_types
from covector.core.varying import pvary_like
from covector.errors import RefError, TypeMismatch
from covector.operations.casting import convert
from covector.operations.joining import Stack
from covector.programs.control_flow.divergent_control_flow import (
    check_no_collectives,
    make_varying,
)
from covector.programs.control_flow.scan import Scan
from covector.programs.control_flow.trace_loop import Body, Carry, carrying, stage_body
from covector.programs.control_flow.while_loop import CHECKPOINTS, make_while
from covector.programs.higher_order.hash_consing import intern
from covector.programs.higher_order.jaxpr_passes import cast_outputs
from covector.tree.registry import PyTreeDef


class ScanSpec(NamedTuple):
    """The number of steps of a scan, their order, and how many are unrolled."""

    length: int
    reverse: bool = False
    unroll: int = 1


@dataclass(frozen=True)
class Loop:
    """A loop of the user's: its name in messages, and the name of its body.

    ``depth`` is that of the user's part of the carry; an observer has ``observed`` it.
    """

    who: str
    name: str
    depth: int = 0
    observed: bool = False

    def scan(
        self, step: Callable[..., Any], init: PyTree, xs: PyTree, spec: ScanSpec
    ) -> PyTree:
        """``(carry, ys)`` of ``step(carry, x)``, which gives a carry and a y."""
        if current.observer is not None:
            step, xs = current.observer.scan(step, xs, spec.length)
        if options.current().disable_jit and spec.length:
            return _scan_in_python(step, init, xs, spec)
        elements = arrays(tree.leaves(xs), self.who)
        flat = FlatFunction(step, tree.structure(((init, xs), {})), self.who)
        types = [x.type.without_axis(0) for x in elements]
        body, carry = self._body(flat, init, types)
        counts = len(body.captured), len(carry)
        op = body.jaxpr.memo(Scan, spec.length, *counts, spec.reverse, spec.unroll)
        outs = op(*values_of(body.captured), *carry, *elements)
        return body.out_tree.unflatten(body.results(outs))

    def run_while(
        self,
        test: Callable[..., Any],
        step: Callable[..., Any],
        init: PyTree,
        checkpoints: int = CHECKPOINTS,
    ) -> PyTree:
        """The first carry for which ``test(carry)`` does not hold, from ``init`` on.

        In reverse mode ``checkpoints`` of them are kept at one time.
        """
        if current.observer is not None and not self.observed:
            loop = replace(self, observed=True)
            return current.observer.run_while(loop, test, step, init, checkpoints)
        if options.current().disable_jit:
            more, init = _while_in_python(test, step, init)
            if not more:
                return init
        in_tree = tree.structure(((init,), {}))
        body, carry = self._body(FlatFunction(step, in_tree, self.who), init, [])
        test_body = self._test(test, in_tree, body)
        varying = test_body.jaxpr.out_types[0].varying
        if varying:
            # Devices stop at different times, so their carries differ.
            both = [test_body.jaxpr, body.jaxpr]
            check_no_collectives(self.who, "the test", both, varying)
            body = body._replace(jaxpr=intern(make_varying(body.jaxpr, varying)))
            jaxpr = intern(make_varying(test_body.jaxpr, varying))
            test_body = test_body._replace(jaxpr=jaxpr)
        captured = [*test_body.captured, *body.captured]
        counts = len(test_body.captured), len(body.captured)
        op = make_while(test_body.jaxpr, body.jaxpr, *counts, checkpoints)
        outs = op(*values_of(captured), *carry)
        return body.out_tree.unflatten(body.results(outs))

    def _body(
        self, flat: FlatFunction, init: PyTree, others: list[ArrayType]
    ) -> tuple[Body, list[Any]]:
        """The body, and the first carry cast to the types of its fixpoint."""
        leaves, carry_tree = tree.flatten(init)
        leaves = arrays(leaves, self.who)
        carry = Carry(self.who, [x.type for x in leaves], carry_tree, self.depth)
        body = stage_body(flat, carry, others, self.name)
        pairs = zip(leaves, body.carry_types, strict=True)
        start = [pvary_like(convert(x, t.dtype, t.weak), t) for x, t in pairs]
        return body, [*values_of(body.changed), *start]

    def _test(self, test: Callable[..., Any], in_tree: PyTreeDef, body: Body) -> Staged:
        """The test as a program of the carry that gives one bool."""
        flat = FlatFunction(test, in_tree, self.who)
        staged = stage(flat, body.carry_types, function_name(test), references=True)
        if staged.changed:
            raise RefError(
                f"{self.who}: the test {function_line(test)} writes to a reference, "
                f"{staged.changed[0].type!r}, but it only answers whether there is "
                "another step. Write in the body."
            )
        outs = staged.jaxpr.out_types
        if len(outs) != 1 or outs[0].shape or dtypes.is_key(outs[0].dtype):
            raise TypeMismatch(
                f"{self.who} needs a test that returns one scalar bool, but "
                f"{function_line(test)} returned {show_types(outs) or 'nothing'}. For "
                "one answer of many use .any() or .all()."
            )
        flag = ArrayType((), dtypes.bool_, varying=outs[0].varying)
        jaxpr = cast_outputs(staged.jaxpr, [flag])
        jaxpr, captured = carrying(staged._replace(jaxpr=jaxpr), body.changed)
        return Staged(intern(jaxpr), captured)


def _scan_in_python(
    step: Callable[..., Any], carry: PyTree, xs: PyTree, spec: ScanSpec
) -> tuple[Any, Any]:
    """A scan of at least one step."""
    carry, xs = _arrays((carry, xs))
    rows = []
    for k in range(spec.length):
        i = spec.length - 1 - k if spec.reverse else k
        carry, y = _arrays(step(carry, tree.map(lambda x, i=i: x[i], xs)))
        rows.append(y)
    if spec.reverse:
        rows.reverse()
    return carry, tree.map(Stack(0), *rows)


def _while_in_python(
    test: Callable[..., Any], step: Callable[..., Any], carry: PyTree
) -> tuple[bool, Any]:
    """Run the steps that are known to be taken; returns whether there may be more (as
    over a batch whose lanes stop at different times), and the carry.
    """
    carry = _arrays(carry)
    while type(more := as_array(test(carry))) is ConcreteArray:
        if not more:
            return False, carry
        carry = _arrays(step(carry))
    return True, carry


def _arrays(values: Any) -> Any:
    """Arrays, as in a compiled loop: nothing that a step could change in place."""
    return tree.map(as_array, values)
