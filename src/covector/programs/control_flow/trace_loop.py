"""Trace a loop body, widening the carry's types until they are a fixpoint.

A carry may start as a Python 0 and come back as f32: a loop needs one type for both. As
long as the body returns a wider type than its carry has, the carry takes the promotion
of the two and the body is traced again. A narrower result is cast.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector import options, tree
from covector.core.flat import FlatFunction
from covector.core.jaxpr import Atom, Jaxpr
from covector.core.promotion import promote
from covector.core.staging import stage
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
    """A traced body. Its inputs are what it captured, the carry, and the rest."""

    jaxpr: Jaxpr
    captured: list[Any]
    carry_types: list[ArrayType]
    out_tree: PyTreeDef


def stage_body(
    fun: FlatFunction, carry: Carry, others: Sequence[ArrayType], name: str
) -> Body:
    """Trace ``fun`` of the leaves of a carry and of others.

    Its first results are the next carry.
    """
    types = carry.types
    while True:
        staged = stage(fun, [*types, *others], name)
        wider = [_join(staged.jaxpr, k, t, carry) for k, t in enumerate(types)]
        if wider == types:
            break
        types = wider
    rest = staged.jaxpr.out_types[len(types) :]
    jaxpr = intern(cast_outputs(staged.jaxpr, [*types, *rest]))
    return Body(jaxpr, staged.captured, types, fun.out_tree)


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
        f"back from a step as {back}{made_at(jaxpr, atom)}. {reason}"
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
            return f", made at {equation.line}" if equation.line is not None else ""
    return ""


def check_structure(who: str, wanted: Any, value: Any) -> None:
    """Raise where a carry comes back with another structure than it starts with."""
    if tree.structure(value) != wanted:
        difference = tree.describe_difference(
            wanted, value, ("the initial carry", "what comes back")
        )
        raise TreeMismatch(
            f"{who}: a carry must come back from a step with its structure, but "
            f"{difference}."
        )
