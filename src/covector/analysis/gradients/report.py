"""What ``check_gradients`` finds: a gradient leaf by leaf, as data and as a table."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from covector.analysis.terminal import Row, Table, plain_text, show
from covector.errors import WrongGradient, how_many

__all__ = ["GradientFault", "GradientReport", "LeafGradient"]


@dataclass(frozen=True)
class GradientFault:
    """The fault of the gradient of a leaf.

    kind  "wrong", "zero", "stopped", "unused", "tiny", "huge", "nan", "infinite",
          "second derivative" or "no derivative"
    text  a sentence
    line  the user's line that is the cause, as text, where one is known
    """

    kind: str
    text: str
    line: str | None = None


@dataclass(frozen=True)
class LeafGradient:
    """The gradient of the loss with respect to one leaf.

    path       of the leaf, as ``params['dense']['w']``
    layer      of what holds it, as ``params['dense']``
    type       of the leaf, as ``f32[3,4]``
    size       the root of the mean square of its elements
    gradient   the same of the gradient's
    norm       the norm of the gradient
    zeros      the share of the gradient's elements that are zero
    along      the gradient along a random direction
    expected   the same by difference quotients
    uncertain  what the quotient may be wrong by
    compared   whether it is certain enough to tell
    faults     what is wrong
    """

    path: str
    layer: str
    type: str
    size: float = math.nan
    gradient: float = math.nan
    norm: float = math.nan
    zeros: float = math.nan
    along: float = math.nan
    expected: float = math.nan
    uncertain: float = math.nan
    compared: bool = False
    faults: tuple[GradientFault, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


@dataclass(frozen=True)
class GradientReport:
    """The gradient of a loss, checked leaf by leaf. Printed, it is a table.

    loss    the value of the loss
    leaves  each leaf of the differentiated arguments
    notes   which rules are wrong, and what could not be checked, in sentences
    """

    loss: float
    leaves: tuple[LeafGradient, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with any leaf."""
        return all([leaf.ok for leaf in self.leaves])

    @property
    def norm(self) -> float:
        """The norm of the whole gradient."""
        return math.hypot(*self.layers.values())

    @property
    def layers(self) -> dict[str, float]:
        """The norm of the gradient of all leaves that one thing holds, by its path."""
        norms: dict[str, list[float]] = {}
        for leaf in self.leaves:
            if not math.isnan(leaf.zeros):
                norms.setdefault(leaf.layer, []).append(leaf.norm)
        return {layer: math.hypot(*found) for layer, found in norms.items()}

    def to_dict(self) -> dict[str, Any]:
        """The data, as JSON has it; what is not a number or infinite is None."""
        leaves = [
            {k: _json(v) for k, v in asdict(leaf).items()} | {"ok": leaf.ok}
            for leaf in self.leaves
        ]
        return {
            "ok": self.ok,
            "loss": _json(self.loss),
            "norm": _json(self.norm),
            "layers": {path: _json(norm) for path, norm in self.layers.items()},
            "leaves": leaves,
            "notes": list(self.notes),
        }

    def raise_if_wrong(self) -> None:
        """Raise WrongGradient, which shows the table, if anything is wrong."""
        if not self.ok:
            raise WrongGradient(str(self))

    def show(self, width: int | None = None) -> None:
        """Print the table in colours.

        Raises:
          MissingLibrary: rich is not installed; the extra ``inspect`` brings it.
        """
        show(self._tables(), width)

    def __str__(self) -> str:
        return plain_text(self._tables())

    __repr__ = __str__

    def _tables(self) -> list[Table]:
        found, layers = [self._leaves()], self.layers
        if 1 < len(layers) < len(self.leaves):
            rows = [Row((path, f"{norm:.3g}")) for path, norm in layers.items()]
            title = f"norm of the gradient by layer, {self.norm:.3g} together"
            found.append(Table(title, (), ("layer", "norm"), tuple(rows)))
        return found

    def _leaves(self) -> Table:
        wrong = [leaf for leaf in self.leaves if not leaf.ok]
        leaves = how_many(len(self.leaves), "leaf", "leaves")
        title = f"gradient of the loss {self.loss:.6g}: " + (
            f"{len(wrong)} of {leaves} with a fault"
            if wrong
            else f"no fault in {leaves}"
        )
        sentences = [f"{f.text}" for leaf in wrong for f in leaf.faults]
        columns = ("leaf", "type", "found", "size", "gradient", "norm", "zeros")
        return Table(
            title,
            (*sentences, *self.notes),
            columns,
            tuple([Row(_cells(leaf), heading=not leaf.ok) for leaf in self.leaves]),
            texts=3,
        )


def _cells(leaf: LeafGradient) -> tuple[str, ...]:
    found = ", ".join(dict.fromkeys([f.kind for f in leaf.faults])) or (
        "right" if leaf.compared else "not compared"
    )
    none = not leaf.compared and math.isnan(leaf.zeros)
    numbers = [f"{x:.3g}" for x in (leaf.size, leaf.gradient, leaf.norm)]
    numbers.append(f"{leaf.zeros:.0%}")
    return (leaf.path, leaf.type, found, *([""] * 4 if none else numbers))


def _json(x: Any) -> Any:
    if isinstance(x, tuple):
        return [_json(y) for y in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x
