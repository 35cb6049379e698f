"""How XLA for CPUs makes kernels of large arrays: on several cores or one, by tiles or
not, with vectors of how many bits, and how many of these beside each other.

*On one core.* XLA divides a kernel among cores from about 256 KB that it reads and
writes. But to wake a core takes some 30 µs, in which one alone adds 100,000 numbers. So
where no kernel of a program takes long enough, XLA is told to divide none.

*Without tiles.* Where a kernel is of single elements only, XLA may make it of tiles of
some 16 elements, each of which is copied to the stack first. That is quick where axes
change their order, and slow elsewhere.

*With long vectors.* Random bits take two thirds of the time in registers of 512 bits,
of which XLA uses half. Other kernels gain little, and those of short rows lose.

*Beside each other.* In a chain of functions each instruction waits for the one before.
A processor takes others meanwhile, of the next elements, but where an element has some
hundred instructions it does not look as far. LLVM then interleaves four elements.

(Decision 40 has the times.)
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, inlined, variables
from covector.core.types import Shape
from covector.core.work import Work
from covector.lowering.long_rows import (
    Islands,
    cost_of_each,
    is_kernel,
    operations_of,
)
from covector.lowering.plain_kernels import DIVIDED, in_place
from covector.runtime import client
from covector.runtime.compile_options import (
    DISABLED_PASSES,
    DIVISION_AMONG_CORES,
    LONG_VECTORS,
    STEPS_BESIDE_EACH_OTHER,
    VECTOR_WIDTH,
    WITHOUT_TILES,
)

#: About how many operations on single elements, and bytes read and written, take one
#: core as long as it takes to wake another.
_WAKING = 1_250_000
#: Operations that it takes to move an element to, or from, another place: any place, or
#: one in another row.
_ANYWHERE, _TO_OTHER_ROWS = 64, 8
#: Functions that are computed in rounds, and the operations that an element takes.
_IN_ROUNDS, _ROUNDS = 2048, frozenset({
    "igamma", "igammac", "igamma_derivative", "gamma_density",
    "regularized_incomplete_beta",
})  # fmt: skip
#: Operations that an element takes which is compared by an integer made of it.
_BY_KEYS, _KEYED = 32, frozenset({"argmax", "argmin"})
#: How many times as long it takes where LLVM makes no vector instructions: of rows that
#: are shorter than this, and of convolutions.
_WITHOUT_VECTORS, _SHORT = 4, 16
#: What XLA's libraries compute, on as many cores as they choose; of products those in
#: which an element takes more operations than this.
_OF_LIBRARIES, _OF_KERNELS = frozenset({"dot_general", "fft", "sort"}), 16
#: Elements of an array of random bits, and of one of short rows, from which they take
#: time; and what part of the largest array is to be random bits for long vectors.
_MANY, _PART = 512, 8
#: Operations for each byte that is read or written from which a chain of instructions
#: is long, and how many of them a processor then takes beside each other, in rows that
#: are not shorter than this, and of arrays that repay what it takes to compile.
_LONG_CHAIN, _BESIDE, _ROW, _WORTH = 3, 4, 128, 1 << 18
#: Functions whose formulas have many parts that do not wait for each other.
_OF_MANY_PARTS = frozenset({"lgamma", "digamma", "polygamma", "zeta"})
#: operations of which threefry is most
_DRAW_BITS = frozenset({"random_bits", "random_split"})


def options_of(jaxpr: Jaxpr, shapes: Iterable[Shape]) -> dict[str, Any]:
    """XLA options of a program for CPUs, in which arrays have these shapes."""
    found: dict[str, Any] = {}
    largest = max(map(math.prod, shapes))
    if _are_all_short(jaxpr, largest):
        found[DISABLED_PASSES] = DIVISION_AMONG_CORES
    if not jaxpr.memo(_has_tiles):
        found[WITHOUT_TILES] = "true"
    many = [shape for shape in shapes if math.prod(shape) >= _MANY]
    in_long_rows = not any([_has_rows_of(s, _ROW) for s in many])
    if largest >= _WORTH and in_long_rows and _are_mostly_chains(jaxpr):
        found[STEPS_BESIDE_EACH_OTHER] = _BESIDE
    if jaxpr.memo(_most_random_bits) >= max(_MANY, largest // _PART) and not any(
        [_has_rows_of(s, _SHORT) for s in many]
    ):
        found[VECTOR_WIDTH] = LONG_VECTORS
    return found


def _has_rows_of(shape: Shape, less: int) -> bool:
    return 1 < (1, *shape)[-1] < less


# -- tiles, and vectors ----------------------------------------------------------------


def _has_tiles(jaxpr: Jaxpr) -> bool:
    """Whether kernels of a program may be quicker by tiles (memoise on the program)."""
    written = jaxpr.memo(inlined, in_place).equations
    inside = [r.jaxpr.memo(_has_tiles) for e in written for r in e.op.regions]
    return any(inside) or any(map(_orders_axes, written))


def _orders_axes(e: Equation) -> bool:
    if e.op.name == "dot_general":
        return max([a.type.ndim for a in e.inputs]) > 2
    return bool(e.op.orders_axes)


def _most_random_bits(jaxpr: Jaxpr) -> int:
    """The most words that one operation draws (memoise on the program)."""
    written = jaxpr.memo(inlined, in_place).equations
    inside = [r.jaxpr.memo(_most_random_bits) for e in written for r in e.op.regions]
    drawn = [e.outputs[0].type.size for e in written if e.op.name in _DRAW_BITS]
    return max([0, *inside, *drawn])


def _are_mostly_chains(jaxpr: Jaxpr) -> bool:
    """Whether most of the time of its kernels goes to long chains of instructions."""
    chains, others = jaxpr.memo(_chains)
    return chains > others


def _chains(jaxpr: Jaxpr) -> tuple[int, int]:
    """The operations and bytes of kernels in which an element takes many operations
    for each number that is read or written, and of others (memoise on the program).
    """
    written = jaxpr.memo(inlined, in_place).equations
    if any([e.op.name in _OF_MANY_PARTS for e in written]):
        return 0, 1
    inside = [r.jaxpr.memo(_chains) for e in written for r in e.op.regions]
    chains, others = [sum(times) for times in zip((0, 0), *inside, strict=True)]
    for operations, moved in jaxpr.memo(_work):
        if operations > _LONG_CHAIN * moved:
            chains += operations + moved
        else:
            others += operations + moved
    return chains, others


# -- one core --------------------------------------------------------------------------


def _are_all_short(jaxpr: Jaxpr, largest: int) -> bool:
    """Whether no kernel of a program, of arrays of so many elements at most, is quicker
    on several cores.
    """
    cores = client.cores()
    if cores == 1:
        return False
    most = _WAKING * cores / (cores - 1)
    return largest <= most and jaxpr.memo(_longest) <= most


def _longest(jaxpr: Jaxpr) -> int:
    """The most operations and bytes of one kernel (memoise on the program)."""
    written = jaxpr.memo(inlined, in_place).equations
    inside = [r.jaxpr.memo(_longest) for e in written for r in e.op.regions]
    return max([0, *inside, *map(sum, jaxpr.memo(_work))])


def _work(jaxpr: Jaxpr) -> list[tuple[int, int]]:
    """The operations of each kernel outside of loops and branches, and the bytes that
    it reads and writes (memoise on the program).
    """
    return _Kernels(jaxpr.memo(inlined, in_place)).work()


class _Kernels(Islands):
    """Equations that XLA may make one kernel of: those that large arrays connect."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        super().__init__(jaxpr)
        self.computed = [e for e in jaxpr.equations if _is_computed(e)]
        #: what is no part of a kernel that reads it
        self._in_memory: set[Var] = set()
        for e in self.computed:
            if is_kernel(e):
                self._in_memory.update(e.outputs)
                self.add(e, ())
            else:
                read = _large(e.inputs)
                self.add(e, [v for v in read if v not in self._in_memory])

    def work(self) -> list[tuple[int, int]]:
        """The operations of each island, and the bytes that it reads and writes."""
        operations: Counter[Var | None] = Counter()
        for e in self.computed:
            operations[self.root_of(e)] += _operations(e)
        moved = self._moved()
        return [
            (n, sum([v.type.nbytes for v in moved[k]])) for k, n in operations.items()
        ]

    def _moved(self) -> dict[Var | None, set[Var]]:
        """The large arrays that each island reads from memory, or writes to it."""
        moved: dict[Var | None, set[Var]] = defaultdict(set)
        reads = [(self.root_of(e), e.inputs) for e in self.jaxpr.equations]
        for reader, read in [*reads, (None, self.jaxpr.outputs)]:
            for v in _large(read):
                maker = self.root(v)
                if maker is not reader or v in self._in_memory:
                    moved[reader].add(v)
                    moved[maker].add(v)
        return moved


def _large(atoms: Sequence[Atom]) -> list[Var]:
    return [v for v in variables(atoms) if v.type.size >= DIVIDED]


def _is_computed(e: Equation) -> bool:
    """Whether XLA makes kernels of an equation, and may divide them."""
    if not e.outputs or e.op.regions:
        return False
    if e.op.name not in _OF_LIBRARIES:
        return True
    work = e.work
    return work is not None and work.flops <= _OF_KERNELS * e.outputs[0].type.size


def _operations(e: Equation) -> int:
    """About how many operations on single elements an equation takes."""
    type_ = e.outputs[0].type
    if not type_.size:
        return 0
    operations = max(_each(e) * type_.size, operations_of(e.work or Work()))
    if e.op.name in _KEYED:
        operations = _BY_KEYS * e.inputs[0].type.size
    if _has_rows_of(type_.shape, _SHORT) or e.op.name == "conv_general_dilated":
        return _WITHOUT_VECTORS * operations
    return operations


def _each(e: Equation) -> int:
    """About how many of these an element of the result takes at least."""
    name = e.op.name
    if name == "transpose":
        return _TO_OTHER_ROWS
    if name == "gather":
        op: Any = e.op
        return -(-_ANYWHERE // math.prod(op.slice_sizes))
    if name in _ROUNDS:
        return _IN_ROUNDS
    return cost_of_each(e) if e.op.element_wise else 1
