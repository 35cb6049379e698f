"""Trace a loop body, widening the carry's types until they are a fixpoint.

A carry may start as a Python 0 and come back as f32: a loop needs one type for both. As
long as the body returns a wider type than its carry has, the carry takes the promotion
of the two and the body is traced again. A narrower result is cast.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector import options, tree
from covector.core.flat import FlatFunction
from covector.core.jaxpr import Atom, Jaxpr, Var
from covector.core.masks import in_groups
from covector.core.promotion import promote
from covector.core.references import Ref, write_back
from covector.core.source import at_line
from covector.core.staging import Staged, stage
from covector.core.types import INVARIANT, ArrayType
from covector.errors import TreeMismatch, TypeMismatch, TypePromotionError
from covector.programs.higher_order.hash_consing import intern
from covector.programs.higher_order.jaxpr_passes import cast_outputs
from covector.tree.registry import PyTreeDef


class Carry(NamedTuple):
    """The carry of a loop before the first step, and how messages name it.

    Where the loop puts leaves before the user's part, ``depth`` keys of each path are
    left out.
    """

    who: str
    types: list[ArrayType]
    tree: PyTreeDef
    depth: int = 0

    def path(self, k: int) -> str:
        """The path of a leaf, for messages."""
        path = tree.keystr(tree.leaf_path(self.tree, k)[self.depth :])
        return f" at {path}" if path else ""


class Body(NamedTuple):
    """A traced body. Its inputs are what it captured, the references that it changes,
    the carry, and the rest; its first outputs, what those are afterwards.
    """

    jaxpr: Jaxpr
    captured: list[Any]
    changed: Sequence[Ref]
    carry_types: list[ArrayType]
    out_tree: PyTreeDef

    def results(self, outs: Sequence[Any]) -> Sequence[Any]:
        """The results of the loop for the user, the changed references written."""
        count = len(self.changed)
        write_back(self.changed, outs[:count])
        return outs[count:]


def stage_body(
    fun: FlatFunction, carry: Carry, others: Sequence[ArrayType], name: str
) -> Body:
    """Trace ``fun`` of the leaves of a carry and of others.

    Its first results are the next carry.
    """
    types = carry.types
    while True:
        staged = stage(fun, [*types, *others], name, references=True)
        wider = [_join(staged.jaxpr, k, t, carry) for k, t in enumerate(types)]
        if wider == types:
            break
        types = wider
    rest = staged.jaxpr.out_types[len(types) :]
    jaxpr = cast_outputs(staged.jaxpr, [*types, *rest])
    jaxpr, captured = carrying(staged._replace(jaxpr=jaxpr), staged.changed)
    return Body(intern(jaxpr), captured, staged.changed, types, fun.out_tree)


def carrying(staged: Staged, refs: Sequence[Ref]) -> tuple[Jaxpr, list[Any]]:
    """The program with references that a loop changes at the head of its carry, and
    what it captures beside them.
    """
    jaxpr, captured, changed = staged
    if not refs:
        return jaxpr, captured
    count = len(captured)
    found = dict(zip(map(id, captured), jaxpr.inputs[:count], strict=True))
    carried = [found.pop(id(r), None) or Var(r.type.inner_aval) for r in refs]
    outs = in_groups(jaxpr.outputs, len(jaxpr.outputs) - len(changed))
    inputs = [*found.values(), *carried, *jaxpr.inputs[count:]]
    rest = [x for x in captured if id(x) in found]
    return Jaxpr(inputs, jaxpr.equations, [*outs[1], *outs[0]], jaxpr.name), rest


def _join(jaxpr: Jaxpr, k: int, now: ArrayType, carry: Carry) -> ArrayType:
    """The least type that holds the carry as it is now and as it comes back."""
    atom = jaxpr.outputs[k]
    back = atom.type
    if back is now:
        return now
    reason = (
        "A carry keeps its shape: start with that shape, or reshape what comes back."
    )
    if back.shape == now.shape:
        try:
            return joined_type([now, back])
        except TypePromotionError as error:
            reason = str(error)
    raise TypeMismatch(
        f"{carry.who}: the carry{carry.path(k)} starts as {carry.types[k]} but comes "
        f"back from a step as {back}{made_at(jaxpr, atom)}. {reason}",
        page="loop-carry",
    )


def joined_type(types: Sequence[ArrayType]) -> ArrayType:
    """The least type, of their one shape, that holds values of all these types.

    Raises:
      TypePromotionError: there is none.
    """
    opts = options.current()
    dtype, weak = promote(
        *[(t.dtype, t.weak) for t in types],
        x64=opts.enable_x64,
        mode=opts.numpy_dtype_promotion,
    )
    varying = INVARIANT.union(*[t.varying for t in types])
    return types[0].with_dtype(dtype, weak).with_varying(varying)


def made_at(jaxpr: Jaxpr, atom: Atom) -> str:
    """The source line that made an output, for messages."""
    for equation in jaxpr.equations:
        if atom in equation.outputs:
            return at_line(equation.line, ", made")
    return ""


def check_structure(who: str, wanted: Any, value: Any) -> None:
    """Raise where a carry comes back with another structure than it starts with."""
    if tree.structure(value) != wanted:
        difference = tree.describe_difference(
            wanted, value, ("the initial carry", "what comes back")
        )
        raise TreeMismatch(
            f"{who} returns a carry of another structure than it got: {difference}.",
            page="loop-carry",
        )
