"""``einsum``: products of any number of arrays, summed over named axes.

    einsum("ij,jk->ik", a, b)     out[i, k] = Σ_j a[i, j] · b[j, k]

A *term* is an array whose axes have names. Pairs of terms are contracted in an order
that ``opt_einsum`` finds, and each contraction is one ``DotGeneral``, or one product if
nothing is summed. The order and all operations are worked out once for each set of
types.
"""

import functools
import importlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.annotations import DType, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import ArrayType, Shape, show_types
from covector.errors import ArgumentError
from covector.numpy.axes import check_no_out, with_out_sharding
from covector.numpy.promote import promote_dtypes
from covector.operations.arithmetic import mul
from covector.operations.bitwise import and_
from covector.operations.broadcasting import BroadcastInDim, ReduceSum
from covector.operations.casting import convert
from covector.operations.contraction import DotGeneral
from covector.operations.precision import PrecisionLike, exactness
from covector.operations.reductions import ReduceOr
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape, Transpose

__all__ = ["einsum", "einsum_path"]


@functools.cache
def _opt_einsum() -> Any:
    """The library that orders contractions, imported by the first einsum."""
    return importlib.import_module("opt_einsum")


def einsum(
    subscripts: str,
    /,
    *operands: Value,
    out: None = None,
    optimize: Any = "auto",
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Callable[..., Value] | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Products of the operands, summed over the axes that the result does not have.

    It writes any contraction in one line: ``"ij,jk->ik"`` multiplies matrices. On
    accelerators products of float32 are formed with fewer bits by default;
    ``precision="highest"`` asks for all.

    Args:
      subscripts: a letter for each axis of each operand, and after ``->`` for each axis
        of the result; without, those that occur once, sorted, so ``"ji"`` transposes.
        ``...`` stands for axes that broadcast. Or the operands are each followed by a
        list of integers for its axes.
      out: must be None.
      optimize: how the order of contractions is found: a name that ``opt_einsum``
        knows, False for left to right, or the order itself.
      precision: how exactly products of floats are formed on accelerators.
      preferred_element_type: of the result, and of the sums.
      _dot_general: a function of two arrays, and keywords as ``lax.dot_general`` has
        them, that forms the products which are summed: of quantized arrays, say.
      out_sharding: where the result is to be.

    Returns:
      An array with the axes that the subscripts name for it, of the dtype to which all
      promote.

    Raises:
      ArgumentError: the subscripts do not fit the operands.

    >>> import covector.numpy as cnp
    >>> a = cnp.arange(4.0).reshape((2, 2))
    >>> print(cnp.einsum("ij,j->i", a, cnp.ones(2)), cnp.einsum("ii", a))
    [1. 5.] 3.0

    See also: ``einsum_path``, ``matmul``, ``tensordot``.
    """
    check_no_out("einsum", out)
    subscripts, arrays = _operands("einsum", subscripts, operands)
    order = tuple(map(tuple, optimize)) if isinstance(optimize, list) else optimize
    preferred = preferred_element_type
    how = ContractionOptions(
        exactness(precision, "einsum"),
        None if preferred is None else asked_dtype(preferred),
        _dot_general,
    )
    terms = list(promote_dtypes("einsum", *arrays))
    for step in _program(subscripts, tuple([x.type for x in terms]), order, how):
        terms.append(step(*[terms.pop(k) for k in step.positions][::-1]))
    result = terms[0] if preferred is None else convert(terms[0], how.preferred)
    return with_out_sharding(result, out_sharding)


def einsum_path(
    subscripts: str, /, *operands: Value, optimize: Any = "auto"
) -> tuple[list[tuple[int, ...]], Any]:
    """The order in which ``einsum`` contracts, and a report of its cost.

    >>> import covector.numpy as cnp
    >>> a, b, c = cnp.ones((2, 9)), cnp.ones((9, 9)), cnp.ones((9, 1))
    >>> cnp.einsum_path("ij,jk,kl", a, b, c)[0]
    [(1, 2), (0, 1)]
    """
    subscripts, arrays = _operands("einsum_path", subscripts, operands)
    return _path(subscripts, tuple([x.type for x in arrays]), optimize)


def _operands(
    who: str, subscripts: str, operands: Sequence[Value]
) -> tuple[str, list[Any]]:
    """The subscripts as letters, and the arrays."""
    if isinstance(subscripts, str):
        return subscripts, [as_array(x, who) for x in operands]
    result = operands[-1:] if len(operands) % 2 == 0 else ()
    given = (subscripts, *operands[: len(operands) - len(result)])
    arrays = [as_array(x, who) for x in given[::2]]
    interleaved = [
        item
        for x, axes in zip(arrays, given[1::2], strict=True)
        for item in (x.type.shape, axes)
    ]
    letters, _ = _opt_einsum().parser.convert_interleaved_input([*interleaved, *result])
    return letters, arrays


def _path(subscripts: str, types: tuple[ArrayType, ...], optimize: str) -> Any:
    """The order of contractions, and the report, of subscripts that must fit."""
    try:
        return _opt_einsum().contract_path(
            subscripts, *[t.shape for t in types], shapes=True, optimize=optimize
        )
    except (ValueError, KeyError) as error:
        raise ArgumentError(
            f"einsum({subscripts!r}) of {show_types(types)}: {error}"
        ) from None


# -- programs --------------------------------------------------------------------------


class ContractionOptions(NamedTuple):
    """The precision of products, the element type of the result, and what forms the
    products that are summed, if the caller brings it.
    """

    precision: Any
    preferred: Any
    dot_general: Any = None

    def product(self, numbers: Any) -> Callable[[Any, Any], Any]:
        """The product of two arrays along these axes."""
        if self.dot_general is None:
            return DotGeneral(numbers, self.precision, self.preferred)
        return functools.partial(
            self.dot_general,
            dimension_numbers=numbers,
            precision=self.precision,
            preferred_element_type=self.preferred,
        )


class Term(NamedTuple):
    """The names of the axes of an array, one letter each, and their lengths."""

    names: str
    shape: Shape

    def axes(self, names: str) -> tuple[int, ...]:
        return tuple([self.names.index(n) for n in names])

    def without(self, names: str) -> "Term":
        """This term after the axes with these names are gone."""
        kept = [
            (n, m)
            for n, m in zip(self.names, self.shape, strict=True)
            if n not in names
        ]
        return Term("".join([n for n, _ in kept]), tuple([m for _, m in kept]))


class OpSequence(NamedTuple):
    """Operations on one array, one after the other."""

    ops: tuple[Callable[[Any], Any], ...]

    def __call__(self, x: Value) -> Array:
        for op in self.ops:
            x = op(x)
        return x


class Contraction(NamedTuple):
    """One step of an einsum: prepare the first of some terms, then contract it with
    each next.
    """

    positions: tuple[int, ...]
    first: OpSequence
    #: for each further term: before on the left, before on the right, together, after
    joins: tuple[
        tuple[OpSequence, OpSequence, Callable[[Any, Any], Any], OpSequence],
        ...,
    ]

    def __call__(self, x: Value, *others: Value) -> Array:
        x = self.first(x)
        for other, (before_x, before_y, together, after) in zip(
            others, self.joins, strict=True
        ):
            x, y = promote_dtypes("einsum", before_x(x), before_y(other))
            x = after(together(x, y))
        return x


@lru_cache(1024)
def _program(
    subscripts: str,
    types: tuple[ArrayType, ...],
    optimize: str,
    how: ContractionOptions,
) -> tuple[Contraction, ...]:
    """The contractions that compute the result."""
    path, _ = _path(subscripts, types, optimize)
    inputs, output, _ = _opt_einsum().parser.parse_einsum_input(
        (subscripts, *[t.shape for t in types]), shapes=True
    )
    pairs = zip(inputs.split(","), types, strict=True)
    terms = [Term(names, t.shape) for names, t in pairs]
    planner = Planner(types[0].dtype, how)
    program = []
    for contraction in path:
        positions = tuple(sorted(contraction, reverse=True))
        taken = [terms.pop(k) for k in positions][::-1]
        step, term = planner.contract(positions, taken, terms, output)
        program.append(step)
        terms.append(term)
    return tuple(program)


class Planner:
    """Turns contractions of terms into operations."""

    def __init__(self, dtype: DType, how: ContractionOptions) -> None:
        self.how = how
        self.is_bool = dtypes.is_bool(how.preferred or dtype)
        self.widen = (
            () if how.preferred is None else (lambda x: convert(x, how.preferred),)
        )

    def contract(
        self,
        positions: tuple[int, ...],
        taken: list[Term],
        rest: list[Term],
        output: str,
    ) -> tuple[Contraction, Term]:
        """The contraction of some terms, where others are left over for later."""
        later = [t.names for t in rest]
        needed = "".join([*later, output, *[t.names for t in taken[1:]]])
        ops, term = self.simplify(taken[0], needed)
        joins = []
        for k, other in enumerate(taken[1:], start=2):
            needed = "".join([*later, output, *[t.names for t in taken[k:]]])
            join, term = self.join(term, other, needed, output)
            joins.append(join)
        if not rest:
            arranged, term = self.arrange(term, output)
            ops = ops if joins else ops + arranged
            joins[-1:] = [(*join[:3], OpSequence(arranged)) for join in joins[-1:]]
        return Contraction(positions, OpSequence(ops), tuple(joins)), term

    def simplify(self, term: Term, needed: str) -> tuple[tuple[Any, ...], Term]:
        """Diagonals instead of names that occur twice, sums over names not needed."""
        ops: tuple[Any, ...] = ()
        for name in dict.fromkeys(term.names):
            while term.names.count(name) > 1:
                more, term = _diagonal(term, name)
                ops += more
        gone = "".join([n for n in term.names if n not in needed])
        if gone:
            total = ReduceOr if self.is_bool else ReduceSum
            ops += (*self.widen, total(tuple(sorted(term.axes(gone)))))
        return ops, term.without(gone)

    def join(self, x: Term, y: Term, needed: str, output: str) -> tuple[Any, Term]:
        """The contraction of two terms."""
        before_y, y = self.simplify(y, needed + x.names)
        drop_x, x = _drop_ones(x, y)
        drop_y, y = _drop_ones(y, x)
        sum_x, x = self.simplify(x, needed + y.names)
        sum_y, y = self.simplify(y, needed + x.names)
        shared = [n for n in x.names if n in y.names]
        contracted = "".join([n for n in shared if n not in needed])
        batch = "".join([n for n in shared if n in needed])
        if batch and not contracted:
            more_x, more_y, together, term = self.multiply(x, y, output)
        else:
            more_x, more_y = (), ()
            together, term = self.dot(x, y, contracted, batch, output)
        befores = (
            OpSequence((*drop_x, *sum_x, *more_x)),
            OpSequence((*before_y, *drop_y, *sum_y, *more_y)),
        )
        return (*befores, together, OpSequence(())), term

    def dot(
        self, x: Term, y: Term, contracted: str, batch: str, output: str
    ) -> tuple[Any, Term]:
        """Products summed over shared names."""
        lengths = dict(zip(x.names + y.names, x.shape + y.shape, strict=True))
        left = "".join([n for n in x.names if n not in y.names])
        right = "".join([n for n in y.names if n not in x.names])
        if output and batch + right + left == output:
            numbers = (
                (y.axes(contracted), x.axes(contracted)),
                (y.axes(batch), x.axes(batch)),
            )
            dot = self.how.product(numbers)
            names, together = output, lambda a, b: dot(b, a)
        else:
            numbers = (
                (x.axes(contracted), y.axes(contracted)),
                (x.axes(batch), y.axes(batch)),
            )
            names, together = batch + left + right, self.how.product(numbers)
        return together, Term(names, tuple([lengths[n] for n in names]))

    def multiply(self, x: Term, y: Term, output: str) -> tuple[Any, Any, Any, Term]:
        """Products, nothing summed: both terms broadcast to all names."""
        lengths = dict(zip(x.names + y.names, x.shape + y.shape, strict=True))
        names = "".join(lengths)
        if set(names) == set(output):
            names = output
        term = Term(names, tuple([lengths[n] for n in names]))
        together = and_ if self.is_bool else mul
        return (
            _broadcast(x, term) + self.widen,
            _broadcast(y, term) + self.widen,
            together,
            term,
        )

    def arrange(self, term: Term, output: str) -> tuple[tuple[Any, ...], Term]:
        """The axes in the order of the result."""
        order = term.axes(output)
        if order == tuple(range(len(order))):
            return (), term
        shape = tuple([term.shape[k] for k in order])
        return (Transpose(order),), Term(output, shape)


def _diagonal(term: Term, name: str) -> tuple[tuple[Any, ...], Term]:
    """The elements at equal indices along the first two axes with this name."""
    i = term.names.index(name)
    j = term.names.index(name, i + 1)
    rest = [k for k in range(len(term.names)) if k not in (i, j)]
    n, shape = term.shape[i], tuple([term.shape[k] for k in rest])
    zeros = (0,) * len(rest)
    ops = (
        Transpose((*rest, i, j)),
        Reshape((*shape, n * n)),
        Slice((*zeros, 0), (*shape, n * n), (*(1,) * len(rest), n + 1)),
    )
    return ops, Term("".join([term.names[k] for k in rest]) + name, (*shape, n))


def _drop_ones(term: Term, other: Term) -> tuple[tuple[Any, ...], Term]:
    """Without the axes of length 1 for which the other term has a longer one."""
    longer = dict(zip(other.names, other.shape, strict=True))
    gone = "".join(
        [
            n
            for n, m in zip(term.names, term.shape, strict=True)
            if m == 1 and longer.get(n, 1) != 1
        ]
    )
    left = term.without(gone)
    return (Reshape(left.shape),) if gone else (), left


def _broadcast(term: Term, target: Term) -> tuple[Any, ...]:
    """The axes in the order of the target, repeated along those that it has more."""
    order = sorted(
        range(len(term.names)), key=lambda k: target.names.index(term.names[k])
    )
    ops: tuple[Any, ...] = ()
    if order != list(range(len(order))):
        ops = (Transpose(tuple(order)),)
    if len(order) == len(target.names):
        return ops
    positions = target.axes("".join([term.names[k] for k in order]))
    return (*ops, BroadcastInDim(target.shape, positions))
