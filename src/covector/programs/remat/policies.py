"""Checkpoint policies: functions that decide which values ``checkpoint`` saves.

A policy takes an operation, the types of its operands and its parameters.
``checkpoint_name`` names values for the policies that go by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from covector import tree
from covector.core.annotations import HostArray, LinearMaps, Value
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType
from covector.operations.identities import Identity
from covector.programs.higher_order.partition import Policy

Tree = TypeVar("Tree")


@operation
class Name(Identity):
    """The operand itself, under a name that checkpoint policies can refer to."""

    label: str

    @property
    def parameters(self) -> dict[str, Any]:
        return {"name": self.label}

    def on_host(self, x: HostArray) -> HostArray:
        return x

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(
        self, cotangents: Sequence[Value | None], x: Operand
    ) -> Sequence[Value | None]:
        return [cotangents[0]]


def checkpoint_name(x: Tree, name: str) -> Tree:
    """``x``, under a name that the policies ``save_only_these_names`` … refer to.

    >>> import covector as cv
    >>> float(checkpoint_name(cv.numpy.float32(2), "activations"))
    2.0
    """
    return tree.map(Name(name), x)


@dataclass(frozen=True)
class Verdict:
    """A policy's answer for a value, besides True and False."""

    name: str
    kept: bool

    def __bool__(self) -> bool:
        return self.kept

    def __repr__(self) -> str:
        return self.name


#: the answer of a policy: keep the value for the backward pass
Saveable: Verdict = Verdict("Saveable", True)
#: the answer of a policy: compute the value again in the backward pass
Recompute: Verdict = Verdict("Recompute", False)


@dataclass(frozen=True)
class Offloadable:
    """A policy's verdict: keep it, in another memory; in place where there is none."""

    src: str
    dst: str


class checkpoint_policies:
    """Policies of ``checkpoint``: which values it saves, besides its inputs.

    A policy is a function of an operation, the types of its operands and its
    parameters; these are the usual ones, and functions that make them.
    """

    @staticmethod
    def everything_saveable(*_: object, **__: object) -> bool:
        """Keep everything: no recomputation."""
        return True

    @staticmethod
    def nothing_saveable(*_: object, **__: object) -> bool:
        """Keep nothing but the inputs."""
        return False

    @staticmethod
    def dots_saveable(op: Primitive, *_: ArrayType, **__: object) -> bool:
        """Keep the results of matrix products."""
        return op.name in ("dot_general", "conv_general_dilated")

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(
        op: Primitive, *_: ArrayType, **parameters: Any
    ) -> bool:
        """Keep the results of matrix products that are not batched, as those of
        weights.
        """
        if op.name != "dot_general":
            return False
        _, (lhs_batch, rhs_batch) = parameters["dimension_numbers"]
        return not lhs_batch and not rhs_batch

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Keep what ``checkpoint_name`` gave one of these names."""
        return _NamePolicy(frozenset(names), inside=True)

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        """Keep what ``checkpoint_name`` gave any other name."""
        return _NamePolicy(frozenset(names), inside=False)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Keep everything but what has one of these names."""
        return _EitherPolicy((_unnamed, _NamePolicy(frozenset(names), inside=False)))

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Keep what either policy keeps."""
        return _EitherPolicy((first, second))

    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str,
        offload_dst: str,
    ) -> Policy:
        """Keep both lists of names; on devices without a second memory in place."""
        return _NamePolicy(
            frozenset([*names_which_can_be_saved, *names_which_can_be_offloaded]), True
        )

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
        """Keep unbatched matrix products; in place if there is no other memory."""
        return checkpoint_policies.dots_with_no_batch_dims_saveable


@dataclass(frozen=True)
class _NamePolicy:
    names: frozenset[str]
    inside: bool

    def __call__(self, op: Primitive, *_: ArrayType, **__: object) -> bool:
        return isinstance(op, Name) and (op.label in self.names) == self.inside


@dataclass(frozen=True)
class _EitherPolicy:
    policies: tuple[Policy, ...]

    def __call__(self, op: Primitive, *types: ArrayType, **parameters: Any) -> bool:
        return any([bool(p(op, *types, **parameters)) for p in self.policies])


def _unnamed(op: Primitive, *_: ArrayType, **__: object) -> bool:
    return not isinstance(op, Name)
