"""``Pullback``: what ``vjp`` gives, from cotangents of the value to those of primals.

Cotangents are results, or are added to references (``with_refs``). Those of references
among the primals always are.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.flat import FlatFunction, argument_path
from covector.core.jaxpr import Jaxpr
from covector.core.masks import select
from covector.core.primitive import Linear
from covector.core.references import (
    Ref,
    check_names,
    lent,
    on_values,
    values_of,
    write_back,
)
from covector.core.types import AbstractRef, ArrayType
from covector.errors import RefError, TreeMismatch, TypeMismatch
from covector.operations.casting import convert
from covector.transforms.checks import check_zero_cotangent, matching
from covector.transforms.linear_functions import LinearFunction
from covector.transforms.linearize import Linearization, linearize_flat
from covector.transforms.transpose import backward, instantiate


class GradValue:
    """To ``with_refs``: the gradient is a part of the result, as without it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DontWant(GradValue):
    """To ``with_refs``: the gradient is not wanted."""


class GradRef(GradValue):
    """In a result: the gradient was added to a reference."""


class DidntWant(GradValue):
    """In a result: the gradient was not wanted."""


def pull_back(
    linear: Linearization,
    types: Sequence[ArrayType],
    active: Sequence[bool],
    cotangents: Sequence[Any],
) -> list[Any]:
    """Cotangents of primals: zeros where nothing arrives, float0 for integers.

    What belongs to a weak primal is weak: a Python number stays one after a step.
    """
    jaxpr, residuals, nonzero = linear
    n = len(residuals)
    args = [*residuals, *[Linear(v.type) for v in jaxpr.inputs[n:]]]
    cts_out = list(compress(cotangents, nonzero))
    found = iter(backward(jaxpr, args, cts_out)[n:])
    result: list[Any] = []
    for i, t in enumerate(types):
        if active[i]:
            ct = instantiate(next(found), t)
            ct = convert(ct, t.dtype, weak=True) if t.weak else ct
        else:
            ct = np.zeros(t.shape, dtypes.float0)
        result.append(ct)
    return result


class Pullback(LinearFunction):
    """The result of ``vjp``: from a cotangent of the value to those of the primals."""

    __slots__ = ()
    what = "the pullback"

    def with_refs(self, *wanted: Any) -> Callable[..., Any]:
        """This function, with the gradients of some arguments added to references.

        Args:
          wanted: for each primal, or each leaf of it, a reference, ``ad.GradValue()``
            for a gradient that is returned, or ``ad.DontWant()``. A primal that is a
            reference needs one of its type, or ``DontWant()``.

        Returns:
          A function from a cotangent of the value to a tuple with one entry per primal,
          in which ``ad.GradRef()`` and ``ad.DidntWant()`` stand for the others.

        Raises:
          TypeMismatch: something else, or a reference of another type.
          TreeMismatch: ``wanted`` is not a prefix of the primals.
          RefError: one reference stands for two arguments.

        >>> import covector as cv, covector.numpy as cnp
        >>> total = cv.new_ref(1.0)
        >>> _, pull = cv.vjp(cnp.sin, 0.0)
        >>> pull.with_refs(total)(2.0)
        (GradRef(),)
        >>> total
        Ref(3., dtype=float32)
        """
        primals = self.of.in_tree.children()[0]
        what = f"what is wanted of the pullback of {self.of.who}"
        leaves = tree.flatten_prefix(wanted, primals, what, of="the primals")
        for i, (x, t) in enumerate(zip(leaves, self.of.in_types, strict=True)):
            _check_wanted(x, t, f"{what} for {argument_path(self.of.in_tree, i)}")
        check_names([x for x in leaves if isinstance(x, Ref)], what)

        def into_references(*cotangent: Any) -> Any:
            gradients = self._gradients(*cotangent)
            pairs = zip(gradients, leaves, strict=True)
            (result, _) = self.of.in_tree.unflatten([_delivered(*p) for p in pairs])
            return result

        return into_references

    def __call__(self, *cotangent: Any) -> tuple[Any, ...]:
        if AbstractRef in map(type, self.of.in_types):
            raise RefError(
                f"{self} gives gradients of references, which are added to references: "
                "bind one for each with pull.with_refs(...), and call what that "
                "returns."
            )
        (result, _) = self.of.in_tree.unflatten(self._gradients(*cotangent))
        return result

    def _gradients(self, *cotangent: Any) -> list[Any]:
        """The cotangents of the leaves of the primals."""
        who, _, in_types, out_tree, out_types = self.of
        if len(cotangent) != 1:
            raise TypeMismatch(
                f"{self} takes one argument, a cotangent shaped like the value, but "
                f"got {len(cotangent)}. Put several into one tuple."
            )
        cts = cotangents_of(cotangent[0], out_tree, out_types, who)
        linear = Linearization(self.jaxpr, self.residuals, self.nonzero)
        types = [getattr(t, "inner_aval", t) for t in in_types]
        return pull_back(linear, types, [t.inexact for t in types], cts)


def _check_wanted(wanted: Any, type: Any, what: str) -> None:
    """Raise where the gradient of an argument of this type cannot go there."""
    if isinstance(wanted, Ref):
        inner = type.inner_aval if isinstance(type, AbstractRef) else type
        if wanted.aval.inner_aval == inner.strong() and inner.inexact:
            return
    elif isinstance(wanted, DontWant) or (
        isinstance(wanted, GradValue) and not isinstance(type, AbstractRef)
    ):
        return
    shown = repr(wanted.aval) if isinstance(wanted, Ref) else repr(wanted)
    value = "" if isinstance(type, AbstractRef) else "GradValue(), "
    raise TypeMismatch(
        f"{what}, of type {type}, must be a reference to {type.strong()}, {value}or "
        f"DontWant(), but got {shown}."
    )


def _delivered(gradient: Any, wanted: Any) -> Any:
    """The entry for a gradient in the result; it is added to a reference."""
    if isinstance(wanted, Ref):
        wanted.addupdate(gradient)
        return GradRef()
    return DidntWant() if isinstance(wanted, DontWant) else gradient


def cotangents_of(
    cotangent: Any,
    out_tree: Any,
    types: Sequence[ArrayType],
    who: str,
    exact: bool = False,
) -> list[Any]:
    """The flat cotangents of a value of these types, checked.

    None for integers, which have no tangents; unless also those are wanted, ``exact``.
    """
    cts, ct_tree = tree.flatten(cotangent)
    if ct_tree != out_tree:
        raise TreeMismatch(
            f"the pullback of {who} needs a cotangent with the structure of the value, "
            f"{out_tree}, but got {ct_tree}."
        )
    whose = f"the pullback of {who}"
    return [
        matching(ct, t, whose, "cotangent")
        if exact or t.inexact
        else check_zero_cotangent(ct, t, whose)
        for ct, t in zip(cts, types, strict=True)
    ]


def linearize_references(
    flat: FlatFunction, leaves: Sequence[Any], active: Sequence[bool], who: str = ""
) -> tuple[list[Any], Linearization]:
    """``linearize_flat`` at what the references among the arguments hold. They are
    written; their last values are no results, and have no cotangents.
    """
    mask = [type(x) is Ref for x in leaves]
    refs = select(leaves, mask)
    values = values_of(leaves)
    with lent(refs, who):
        outs, linear = linearize_flat(on_values(flat, mask), values, active, who)
    count = len(outs) - len(refs)
    write_back(refs, outs[count:])
    jaxpr, residuals, nonzero = linear
    kept = jaxpr.outputs[: sum(nonzero[:count])]
    jaxpr = Jaxpr(jaxpr.inputs, jaxpr.equations, kept, jaxpr.name)
    return outs[:count], Linearization(jaxpr, residuals, nonzero[:count])
