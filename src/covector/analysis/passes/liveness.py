"""``liveness``: how long each value is kept, and what memory that takes."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from covector.analysis.passes.programs import as_program, chosen
from covector.analysis.walk import visits
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.masks import Mask
from covector.core.source import Line
from covector.programs.higher_order.regions import Kind, Region

__all__ = ["Lifetime", "Liveness", "Peak", "liveness"]


class Lifetime(NamedTuple):
    """A value of a program, and how long it is kept.

    value   the variable, or the array of a constant
    kind    "argument", "constant", "result" or "intermediate"
    born    the number of the equation that makes it; -1 for arguments and constants
    dies    the number of the last equation that needs it; for what outlives the program
            (arguments that are not donated, constants, results) the number of equations
    nbytes  its bytes
    line    the user's line that made it
    """

    value: Atom
    kind: str
    born: int
    dies: int
    nbytes: int
    line: Line | None


class Peak(NamedTuple):
    """Where a program holds most.

    position  the number of the equation that runs then; -1 if the program has none
    nbytes    all that is held
    values    what is held, the largest first
    inside    the part of ``nbytes`` that the programs which the equation carries hold
              besides (the temporary values of a loop or a call)
    """

    position: int
    nbytes: int
    values: tuple[Lifetime, ...]
    inside: int


class Liveness(NamedTuple):
    """The lifetime of each value, and the bytes held while each equation runs."""

    values: tuple[Lifetime, ...]
    curve: tuple[int, ...]
    peak: Peak

    def at(self, position: int) -> tuple[Lifetime, ...]:
        """The values held while this equation runs, the largest first."""
        held = [v for v in self.values if v.born <= position <= v.dies]
        return tuple(sorted(held, key=lambda v: -v.nbytes))


def liveness(jaxpr: Jaxpr, donated: Sequence[int] = ()) -> Liveness:
    """The lifetime of each value of a program, and the memory that this takes.

    Equations run in order. A value is held from the equation that makes it to the last
    one that needs it. Arguments are the caller's, and held throughout; so are constants
    (numbers, which are part of the code, are not counted). Results are held from where
    they are made. While an equation runs that carries programs, what these need besides
    is held as well. The compiler does better where it fuses equations, so that what is
    between them is never held, and where it writes a result over an operand.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      donated: the numbers of inputs that are given up, and die like other values.

    Returns:
      The values in the order in which they are made, the bytes that are held while each
      equation runs, and the peak.

    Raises:
      ArgumentError: a function was given, or an input that there is not.

    >>> import covector as cv, covector.numpy as cnp
    >>> found = liveness(cv.make_jaxpr(lambda x: cnp.sum(cnp.sin(x)))(cnp.ones(100)))
    >>> [(v.kind, v.born, v.dies, v.nbytes) for v in found.values]
    [('argument', -1, 2, 400), ('intermediate', 0, 1, 400), ('result', 1, 2, 4)]
    >>> found.curve, found.peak.position
    ((800, 804), 1)
    """
    program = as_program("liveness", jaxpr)
    given_up = chosen("liveness", "inputs", donated, len(program.inputs))
    return program.memo(_liveness, given_up)


def _liveness(jaxpr: Jaxpr, donated: Mask) -> Liveness:
    values = [*_constants(jaxpr), *_variables(jaxpr, donated)]
    curve = _curve(jaxpr, values)
    found = Liveness(tuple(values), curve, Peak(-1, 0, (), 0))
    position = max(range(len(curve)), key=curve.__getitem__, default=-1)
    held = found.at(position)
    inside = _inside(jaxpr.equations[position]) if curve else 0
    total = inside + sum([v.nbytes for v in held])
    return found._replace(peak=Peak(position, total, held, inside))


def _curve(jaxpr: Jaxpr, values: Sequence[Lifetime]) -> tuple[int, ...]:
    """The bytes of these values, and inside of it, while each equation runs."""
    count = len(jaxpr.equations)
    changes = [0] * (count + 2)
    for v in values:
        changes[max(v.born, 0)] += v.nbytes
        changes[v.dies + 1] -= v.nbytes
    held = accumulate(changes[:count])
    return tuple([h + _inside(e) for h, e in zip(held, jaxpr.equations, strict=True)])


def _constants(jaxpr: Jaxpr) -> Iterator[Lifetime]:
    """The arrays in a program, at any depth, each of them once."""
    atoms = [*jaxpr.outputs]
    for visit in visits(jaxpr):
        atoms += visit.equation.inputs
        atoms += [o for r in visit.equation.op.regions for o in r.jaxpr.outputs]
    arrays = {id(a): a for a in atoms if type(a) is not Var and a.type.ndim}
    end = len(jaxpr.equations)
    for a in arrays.values():
        yield Lifetime(a, "constant", -1, end, a.type.nbytes, None)


def _variables(jaxpr: Jaxpr, donated: Mask) -> Iterator[Lifetime]:
    end = len(jaxpr.equations)
    dies: dict[Var, int] = {}
    for i, e in enumerate(jaxpr.equations):
        dies.update(dict.fromkeys([a for a in e.inputs if type(a) is Var], i))
    results = {a for a in jaxpr.outputs if type(a) is Var}
    dies.update(dict.fromkeys(results, end))
    for v, given_up in zip(jaxpr.inputs, donated, strict=True):
        last = dies.get(v, -1) if given_up else end
        yield Lifetime(v, "argument", -1, last, v.type.nbytes, None)
    for i, e in enumerate(jaxpr.equations):
        for v in e.outputs:
            kind = "result" if v in results else "intermediate"
            yield Lifetime(v, kind, i, dies.get(v, i), v.type.nbytes, e.line)


def _inside(e: Equation) -> int:
    """The bytes that the programs of an equation hold besides operands and results."""
    runs = [r for r in e.op.regions if r.kind is not Kind.RULE]
    return max([_besides(e, region) for region in runs], default=0)


def _besides(e: Equation, region: Region) -> int:
    """Operands that a program takes as they are are counted around it, and so are
    constants, and the results of a call. What a step of a loop gives is held beside
    what the step took.
    """
    program, taken = region.jaxpr, region.taken([a.type.nbytes for a in e.inputs])
    sizes = [t.nbytes for t in program.in_types]
    pairs = zip(sizes, taken, strict=True)
    slices = sum([n for n, whole in pairs if whole is not None and whole != n])
    kinds = {"intermediate", "result"} if region.kind is Kind.LOOP else {"intermediate"}
    values = _variables(program, (False,) * len(program.inputs))
    temporary = [v for v in values if v.kind in kinds]
    return slices + max(_curve(program, temporary), default=0)
