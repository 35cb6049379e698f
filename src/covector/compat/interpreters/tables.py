"""Tables of rules: what each transformation does with a primitive of the field.

Anyone may enter a rule for any primitive, and replace it later: ``table[primitive] =
rule``. A primitive that stands for an operation of covector passes the rule on to that
(``Primitive.rule_entered``).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from covector.errors import MissingRule

Rule: TypeAlias = Callable[..., Any]


class RuleTable(dict[Any, Rule]):
    """Rules by primitive.

    Args:
      method: the rule of covector's ``Primitive`` that they stand for.
      wanted: what asks for a rule, for messages.
      entry: how one is entered, for messages.
    """

    def __init__(self, method: str, wanted: str, entry: str) -> None:
        super().__init__()
        self.method, self.wanted, self.entry = method, wanted, entry

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        super().__setitem__(primitive, rule)
        primitive.rule_entered(self.method)

    def rule(self, primitive: Any) -> Rule:
        """The rule of a primitive.

        Raises:
          MissingRule: it has none.
        """
        found = self.get(primitive)
        if found is None:
            raise missing(primitive.name, self.wanted, self.entry)
        return found


def missing(name: str, wanted: str, entry: str) -> MissingRule:
    """The error for a rule that nobody has entered."""
    return MissingRule(
        f"{name} has no rule for {wanted}. Give it one: {entry.format(p=f'{name}_p')}"
    )


primitive_jvps = RuleTable(
    "differentiate",
    "derivatives",
    "jax.interpreters.ad.primitive_jvps[{p}] = rule, where rule(primals, tangents, "
    "**params) gives the value and its tangent; or ad.deflinear, ad.defjvp.",
)
primitive_transposes = RuleTable(
    "transpose",
    "reverse mode",
    "jax.interpreters.ad.primitive_transposes[{p}] = rule, where rule(cotangent, "
    "*operands, **params) gives a cotangent for each operand that is an "
    "ad.UndefinedPrimal, and None for the others.",
)
primitive_batchers = RuleTable(
    "batch",
    "vmap",
    "jax.interpreters.batching.primitive_batchers[{p}] = rule, where rule(operands, "
    "axes, **params) gives the result over the batch, and its batch axis; or "
    "batching.defvectorized.",
)
fancy_primitive_batchers = RuleTable("batch_named", "vmap", primitive_batchers.entry)
#: by primitive and platform; None is for all others
lowerings: dict[Any, dict[str | None, Rule]] = {}


class AxisPrimitiveBatchers(RuleTable):
    """Rules of vmap that take the size and the name of the batch axis as well."""

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        def with_axis(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
            return rule(axis.size, axis.name, None, args, dims, **params)

        dict.__setitem__(self, primitive, rule)
        fancy_primitive_batchers[primitive] = with_axis


axis_primitive_batchers = AxisPrimitiveBatchers(
    "batch_named", "vmap", primitive_batchers.entry
)
