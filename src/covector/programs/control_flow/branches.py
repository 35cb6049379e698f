"""Trace the branches of a cond, with the same operands and one type of result each.

Each branch captures values of its own; all take the captured values of all as operands.
Where results differ in that some are weak (made of Python numbers alone), these are
cast to the type of the others.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import tree
from covector.core.convert import as_array
from covector.core.flat import FlatFunction
from covector.core.jaxpr import Jaxpr, Var
from covector.core.masks import in_groups
from covector.core.references import Ref, write_back
from covector.core.source import function_name
from covector.core.staging import Staged, stage
from covector.core.types import ArrayType
from covector.core.varying import Axes
from covector.errors import TreeMismatch, TypeMismatch, TypePromotionError
from covector.programs.control_flow.divergent_control_flow import (
    check_no_collectives,
    make_varying,
)
from covector.programs.control_flow.trace_loop import joined_type, made_at
from covector.programs.higher_order.hash_consing import intern
from covector.programs.higher_order.jaxpr_passes import cast_outputs
from covector.tree.registry import PyTreeDef


class Branches(NamedTuple):
    """Traced branches. Their inputs are ``captured``, and then the operands; their last
    outputs are what the references that any of them changes hold afterwards.
    """

    jaxprs: list[Jaxpr]
    captured: list[Any]
    changed: Sequence[Ref]
    out_tree: PyTreeDef

    def results(self, outs: Sequence[Any]) -> Any:
        """The result of the user's branch, the changed references written."""
        count = self.out_tree.num_leaves
        write_back(self.changed, outs[count:])
        return self.out_tree.unflatten(outs[:count])


def stage_branches(
    who: str,
    funs: dict[str, Callable[..., Any]],
    types: Sequence[ArrayType],
    in_tree: PyTreeDef,
    varying: Axes,
) -> Branches:
    """Trace functions of the same operands, as branches with the same types.

    ``funs`` are by name of the caller's argument, for messages. The predicate may be
    ``varying`` over axes of a mesh.
    """
    # A function that is several branches is traced once.
    traced: dict[int, tuple[Staged, PyTreeDef]] = {}
    for name, f in funs.items():
        if id(f) not in traced:
            flat = FlatFunction(f, in_tree, f"{name} of {who}")
            made = stage(flat, types, function_name(f, name), references=True)
            traced[id(f)] = made, flat.out_tree
    staged, trees = zip(*[traced[id(f)] for f in funs.values()], strict=True)
    names = list(funs)
    out_tree = _common_tree(who, names, trees)
    jaxprs = [s.jaxpr for s in staged]
    out_types = [
        _common_type(who, names, jaxprs, k, out_tree)
        for k in range(out_tree.num_leaves)
    ]
    captured = list({id(x): x for s in staged for x in s.captured}.values())
    changed = list({id(r): r for s in staged for r in s.changed}.values())
    out_types += [r.type.inner_aval for r in changed]
    jaxprs = [
        cast_outputs(with_captured_inputs(s, captured, changed), out_types)
        for s in staged
    ]
    if varying:
        check_no_collectives(who, "the predicate", jaxprs, varying)
        jaxprs = [make_varying(j, varying) for j in jaxprs]
    return Branches([intern(j) for j in jaxprs], captured, changed, out_tree)


def in_python(fun: Callable[..., Any], operands: Any) -> Any:
    """The results of a branch where jit is disabled. Its operands are arrays, which it
    cannot change in place, and so are its results.
    """
    return tree.map(as_array, fun(*tree.map(as_array, operands)))


def with_captured_inputs(
    staged: Staged, captured: Sequence[Any], changed: Sequence[Ref] = ()
) -> Jaxpr:
    """The program with inputs for all values that any branch captured, and outputs for
    all references that any branch changed.
    """
    jaxpr, count = staged.jaxpr, len(staged.captured)
    pairs = zip(staged.captured, jaxpr.inputs[:count], strict=True)
    inputs = {id(x): v for x, v in pairs}
    for x in captured:
        type_ = x.type.inner_aval if type(x) is Ref else x.type
        inputs.setdefault(id(x), Var(type_))
    outs = in_groups(jaxpr.outputs, len(jaxpr.outputs) - len(staged.changed))
    after = inputs | dict(zip(map(id, staged.changed), outs[1], strict=True))
    return Jaxpr(
        [*[inputs[id(x)] for x in captured], *jaxpr.inputs[count:]],
        jaxpr.equations,
        [*outs[0], *[after[id(r)] for r in changed]],
        jaxpr.name,
    )


def _common_tree(who: str, names: Sequence[str], trees: Sequence[Any]) -> Any:
    first, *rest = trees
    for name, other in zip(names[1:], rest, strict=True):
        if other != first:
            difference = tree.describe_difference(
                first, other, (f"that of {names[0]}", f"that of {name}")
            )
            transform, _, branches = who.partition(" of ")
            raise TreeMismatch(
                f"{transform} branch outputs must have the same pytree structure, but "
                f"{difference}. The branches are {branches}.",
                page="branch-outputs",
            )
    return first


def _common_type(
    who: str, names: Sequence[str], jaxprs: Sequence[Jaxpr], k: int, out_tree: PyTreeDef
) -> ArrayType:
    """The one type of result ``k`` of all branches."""
    types = [j.outputs[k].type for j in jaxprs]
    common = _promoted_type(types)
    if common is not None:
        return common
    pairs = itertools.combinations(range(len(types)), 2)
    i, j = next(
        (i, j) for i, j in pairs if _promoted_type([types[i], types[j]]) is None
    )
    kind, way = "dtypes", "Convert one of them with .astype"
    if types[i].shape != types[j].shape:
        kind, way = "shapes", "Reshape or broadcast one of them"
    path = tree.keystr(tree.leaf_path(out_tree, k))
    both = " and ".join(
        f"{types[b]} in {names[b]}{made_at(jaxprs[b], jaxprs[b].outputs[k])}"
        for b in (i, j)
    )
    transform, _, branches = who.partition(" of ")
    raise TypeMismatch(
        f"{transform} branch outputs must have the same types, but the {kind}"
        f"{' at ' + path if path else ''} differ: {both}. {way}. The branches are "
        f"{branches}.",
        page="branch-outputs",
    )


def _promoted_type(types: Sequence[ArrayType]) -> ArrayType | None:
    """The type that weak types are promoted to; None where strong ones differ."""
    first = types[0]
    if all([t is first for t in types]):
        return first
    if any([t.shape != first.shape for t in types]):
        return None
    try:
        common = joined_type(types)
    except TypePromotionError:
        return None
    strong = all([t.weak or t.dtype == common.dtype for t in types])
    return common if strong else None
