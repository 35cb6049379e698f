"""The deliberate differences from JAX, read from the page that documents them."""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "differences-from-jax.md"
#: what may differ, as the page says it
ASPECTS = ("value", "dtype", "weak type", "derivative", "refusal", "acceptance")
#: which operands a difference is about, in NumPy's letters, and p
KINDS = {
    "booleans": "b", "integers": "iu", "floats": "f", "complex numbers": "c",
    "Python numbers": "p",
}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One row: the functions, what differs, and for which kinds of operands."""

    functions: tuple[str, ...]
    aspects: tuple[tuple[str, str], ...]

    def covers(self, name: str, aspect: str, kinds: str) -> bool:
        names = (name, name.replace("Array.", "numpy."))  # a method is that function
        named = any(
            one == f or one.startswith(f + ".") for one in names for f in self.functions
        )
        return named and any(
            aspect == a and (not of or bool(set(of) & set(kinds)))
            for a, of in self.aspects
        )


def parse(text: str) -> list[Difference]:
    """The rows of the page's table."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0].startswith("`"):
            assert len(cells) == 5, f"{PAGE.name}: not five columns in {line!r}"
            functions = tuple(re.findall(r"`([\w.]+)`", cells[0]))
            found.append(Difference(functions, tuple(_aspects(cells[1]))))
    return found


def _aspects(cell: str) -> list[tuple[str, str]]:
    """``dtype; value of integers`` as [("dtype", ""), ("value", "iu")]."""
    words = [part.strip().partition(" of ") for part in cell.split(";")]
    for aspect, _, kind in words:
        assert aspect in ASPECTS, f"{PAGE.name}: {aspect!r} is none of {ASPECTS}"
        assert not kind or kind in KINDS, f"{PAGE.name}: {kind!r} is none of {[*KINDS]}"
    return [(aspect, KINDS.get(kind, "")) for aspect, _, kind in words]


DIFFERENCES = parse(PAGE.read_text(encoding="utf-8"))


def is_deliberate(name: str, aspect: str, kinds: str) -> bool:
    """Whether a difference between a function and JAX's is one of the page."""
    return any(d.covers(name, aspect, kinds) for d in DIFFERENCES)
