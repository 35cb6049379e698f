"""Branches and loops over values that are not known yet: ``cond``, ``scan`` and kin.

Python's own ``if`` and ``for`` work too, on values that are known; they are written out in
the program. What is here stays one branch, or one loop, in it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector import options, tree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.flat import FlatFunction, arrays, describe, who_of
from covector.core.source import function_line
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import TreeMismatch, TypeMismatch
from covector.lax import stepwise
from covector.numpy.promote import promote_dtypes
from covector.ops.arithmetic import add
from covector.ops.casting import convert
from covector.ops.comparison import lt
from covector.ops.extrema import max_, min_
from covector.ops.joining import Concatenate
from covector.ops.slicing import Slice
from covector.ops.transposing import Reshape
from covector.programs.bodies import converted
from covector.programs.branches import stage_branches
from covector.programs.canonical import canonical
from covector.programs.carries import check_structure, stage_body
from covector.programs.scan import make_scan
from covector.programs.while_loop import make_while
from covector.transforms.vmap import vmap
from covector.tree.functions import UNSPECIFIED

# -- branches --------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = UNSPECIFIED,
) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, ``false_fun(*operands)`` otherwise.

    Only the branch taken is run, except under ``vmap`` with a batch of predicates, where
    both are run and each member takes its own result.

    Args:
      pred: a scalar bool, or a number, which holds unless it is zero.
      true_fun, false_fun: functions of the operands, and of what they close over. Their
        results have one structure and one type; where one is weak, it gives way.
      operand: the same as one positional operand.

    Raises:
      TypeMismatch: ``pred`` is not a scalar, or the types of the results differ.
      TreeMismatch: the structures of the results differ.

    >>> from covector import lax
    >>> float(lax.cond(3 > 2, lambda x: x + 1, lambda x: x * 2, 5.0))
    6.0
    """
    who = f"cond of {function_line(true_fun)} and {function_line(false_fun)}"
    operands = _operands(operands, operand, who)
    _check_callable(who, true_fun=true_fun, false_fun=false_fun)
    pred = as_array(pred, who)
    if pred.type.shape or dtypes.is_key(pred.type.dtype):
        raise TypeMismatch(
            f"{who}: pred must be a scalar bool or number, but got {pred.type}. To choose "
            "element by element use covector.numpy.where, or vmap this; for one answer "
            "use .any() or .all()."
        )
    if options.current().disable_jit:
        return (true_fun if pred else false_fun)(*operands)
    pred = convert(pred, dtypes.bool_)
    return _branch(
        who, pred, ("false_fun", "true_fun"), (false_fun, true_fun), operands
    )


def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = UNSPECIFIED,
) -> Any:
    """``branches[index](*operands)``, with an index out of range taken to the nearest.

    As ``cond`` otherwise.

    Raises:
      TypeMismatch: ``index`` is not a scalar integer, there is no branch, or the types of
        the results differ.
      TreeMismatch: the structures of the results differ.

    >>> from covector import lax
    >>> float(lax.switch(1, [lambda x: x, lambda x: -x, lambda x: x * x], 3.0))
    -3.0
    """
    branches = tuple(branches)
    if not branches:
        raise TypeMismatch(
            "switch needs at least one branch, but got an empty sequence."
        )
    who = f"switch of {', '.join([function_line(b) for b in branches])}"
    operands = _operands(operands, operand, who)
    names = [f"branches[{k}]" for k in range(len(branches))]
    _check_callable(who, **dict(zip(names, branches, strict=True)))
    index = as_array(index, who)
    if index.type.shape or not dtypes.is_integer(index.type.dtype):
        raise TypeMismatch(
            f"{who}: the index must be a scalar integer, but got {index.type}. "
            "Convert it with .astype(int); for a bool, use cond."
        )
    if options.current().disable_jit:
        return branches[max(0, min(int(index), len(branches) - 1))](*operands)
    if len(branches) == 1:
        return branches[0](*operands)
    return _branch(who, _as_int32(index, len(branches)), names, branches, operands)


def _branch(
    who: str, index: Any, names: Sequence[str], funs: Sequence[Any], operands: Any
) -> Any:
    leaves, in_tree = tree.flatten((operands, {}))
    leaves = arrays(leaves, who)
    made = stage_branches(who, names, funs, [x.type for x in leaves], in_tree)
    outs = made.op(index, *made.captured, *leaves)
    return made.out_tree.unflatten(outs)


def _operands(operands: tuple, operand: Any, who: str) -> tuple:
    if operand is UNSPECIFIED:
        return operands
    if operands:
        raise TypeMismatch(
            f"{who} takes operands by position, or one by the keyword operand, but got both."
        )
    return (operand,)


def _check_callable(who: str, **functions: Any) -> None:
    for name, f in functions.items():
        if not callable(f):
            raise TypeMismatch(
                f"{who}: {name} must be a function, but got {f!r} of type "
                f"{type(f).__name__}."
            )


def _as_int32(index: Any, count: int) -> Any:
    """An index into ``count`` branches as an i32, out of range in the same direction."""
    dtype = index.type.dtype
    if dtype.itemsize >= 4 and dtype != dtypes.int32:
        index = min_(max_(index, scalar(0, dtype)), scalar(count - 1, dtype))
    return convert(index, dtypes.int32)


# -- loops -----------------------------------------------------------------------------


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Step through the leading axis of ``xs``, carrying a value along.

    Step i is ``carry, ys[i] = f(carry, xs[i])``. The loop is compiled once, whatever its
    length.

    Args:
      f: takes a carry and an element; returns the next carry, with the structure and the
        shapes of this one, and an output, which may be None.
      init: the first carry. Where its dtype is too narrow for what ``f`` returns (a Python
        0 that becomes a float), it is widened.
      xs: a tree of arrays ``[length, ...]``; None where only ``length`` counts.
      reverse: begin with the last element; outputs stay beside their elements.
      unroll: steps to write out in each turn of the loop; True for all of them.

    Returns:
      The last carry, and the outputs, stacked along a new leading axis.

    Raises:
      TypeMismatch: the carry comes back in another shape or an incompatible dtype, ``xs``
        have different lengths, or ``f`` does not return a pair.
      TreeMismatch: the carry comes back with another structure.

    >>> from covector import lax, numpy as cnp
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, cnp.arange(4))
    >>> int(total), sums.tolist()
    (6, [0, 1, 3, 6])
    """
    who = who_of("scan", f)
    steps = _length(xs, length, who)
    carry_tree = tree.structure(init)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        out = f(carry, x)
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise TypeMismatch(
                f"{who} needs a function that returns a pair (carry, output), but it "
                f"returned {describe(out)}. Return (carry, None) where there is no output."
            )
        check_structure(who, carry_tree, out[0])
        return out[0], out[1]

    unroll = _unroll(unroll, steps, who)
    return _scan(_Loop(who, _name(f)), step, init, xs, steps, reverse, unroll)


class _Loop:
    """What messages say of a loop: who it is, and where in its carry the user's begins."""

    def __init__(self, who: str, name: str, depth: int = 0) -> None:
        self.who = who
        self.name = name
        self.depth = depth

    def path(self, carry_tree: Any) -> Callable[[int], str]:
        def of(k: int) -> str:
            path = tree.keystr(tree.leaf_path(carry_tree, k)[self.depth :])
            return f" at {path}" if path else ""

        return of


def _scan(
    loop: _Loop, step: Any, init: Any, xs: Any, steps: int, reverse: bool, unroll: int
) -> tuple[Any, Any]:
    if options.current().disable_jit and steps:
        return stepwise.scan(step, init, xs, steps, reverse)
    carry, carry_tree = tree.flatten(init)
    carry, leaves = arrays(carry, loop.who), arrays(tree.leaves(xs), loop.who)
    flat = FlatFunction(step, tree.structure(((init, xs), {})), loop.who)
    elements = [x.type.with_shape(x.type.shape[1:]) for x in leaves]
    types = [x.type for x in carry]
    body = stage_body(flat, types, elements, loop.name, loop.path(carry_tree))
    op = make_scan(
        body.jaxpr, steps, len(body.captured), len(carry), bool(reverse), unroll
    )
    return body.out_tree.unflatten(
        op(*body.captured, *_converted(carry, body.carry_types), *leaves)
    )


def _converted(values: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    return [convert(x, t.dtype, t.weak) for x, t in zip(values, types, strict=True)]


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _length(xs: Any, length: Any, who: str) -> int:
    """The number of steps, on which ``length`` and all of ``xs`` agree."""
    found = []
    for path, x in tree.leaves_with_path(xs):
        x = as_array(x, who)  # noqa: PLW2901  an element of the tree, as an array
        if not x.type.ndim:
            raise TypeMismatch(
                f"{who} steps through the leading axis of xs, but xs{tree.keystr(path)} is "
                f"{x.type}, which has none. What is the same at every step need not be "
                "passed: the function may close over it."
            )
        found.append((path, x.type))
    if length is not None:
        steps = _index(length, "length", who)
    elif found:
        steps = found[0][1].shape[0]
    else:
        raise TypeMismatch(f"{who} needs xs or length to know the number of steps.")
    for path, type_ in found:
        if type_.shape[0] != steps:
            source = (
                f"length is {steps}"
                if length is not None
                else f"xs{tree.keystr(found[0][0])} is {found[0][1]}"
            )
            raise TypeMismatch(
                f"{who}: all of xs must have one length, but xs{tree.keystr(path)} is "
                f"{type_} where {source}."
            )
    return steps


def _index(x: Any, what: str, who: str) -> int:
    try:
        value = x.__index__()
    except (AttributeError, TypeError) as error:
        if isinstance(error, TypeMismatch) or isinstance(x, Array):
            raise
        raise TypeMismatch(
            f"{who}: {what} must be an integer, but got {x!r}."
        ) from None
    if value < 0:
        raise TypeMismatch(f"{who}: {what} must not be negative, but is {value}.")
    return value


def _unroll(unroll: int | bool, steps: int, who: str) -> int:
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    if _index(unroll, "unroll", who) < 1:
        raise TypeMismatch(f"{who}: unroll must be at least 1, but is {unroll}.")
    return int(unroll)


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """``init_val``, and then ``body_fun`` of it again and again while ``cond_fun`` holds.

    There is no reverse-mode derivative, for the number of steps is not known beforehand;
    ``scan``, and ``fori_loop`` with static bounds, have one.

    Args:
      cond_fun: gives a scalar bool (or number) for a carry.
      body_fun: gives the next carry, with the structure and the shapes of this one.
      init_val: the first carry; it is widened where its dtype is too narrow.

    Raises:
      TypeMismatch: the carry comes back in another shape or an incompatible dtype, or
        ``cond_fun`` does not return a scalar.
      TreeMismatch: the carry comes back with another structure.

    >>> from covector import lax
    >>> int(lax.while_loop(lambda n: n < 100, lambda n: n * 3, 1))
    243
    """
    who = who_of("while_loop", body_fun)
    carry_tree = tree.structure(init_val)

    def step(carry: Any) -> Any:
        out = body_fun(carry)
        check_structure(who, carry_tree, out)
        return out

    return _while(_Loop(who, _name(body_fun)), cond_fun, step, init_val)


def _while(loop: _Loop, test: Any, step: Any, init: Any) -> Any:
    if options.current().disable_jit:
        return stepwise.while_loop(test, step, init)
    carry, carry_tree = tree.flatten(init)
    carry = arrays(carry, loop.who)
    in_tree = tree.structure(((init,), {}))
    flat = FlatFunction(step, in_tree, loop.who)
    types = [x.type for x in carry]
    body = stage_body(flat, types, (), loop.name, loop.path(carry_tree))
    jaxpr, captured = _stage_test(loop, test, in_tree, body.carry_types)
    op = make_while(jaxpr, body.jaxpr, len(captured), len(body.captured))
    outs = op(*captured, *body.captured, *_converted(carry, body.carry_types))
    return body.out_tree.unflatten(outs)


def _stage_test(
    loop: _Loop, test: Any, in_tree: Any, types: Sequence[ArrayType]
) -> Any:
    """The test as a program that gives one bool, and what it captured."""
    flat = FlatFunction(test, in_tree, loop.who)
    staged = stage(flat, types, _name(test))
    outs = staged.jaxpr.out_types
    if len(outs) != 1 or outs[0].shape or dtypes.is_key(outs[0].dtype):
        shown = describe(flat.out_tree.unflatten(outs)) if len(outs) != 1 else outs[0]
        raise TypeMismatch(
            f"{loop.who} goes on while {function_line(test)} holds, which must return one "
            f"scalar bool, but returned {shown}. For one answer of many use .any() or "
            ".all()."
        )
    flag = ArrayType((), dtypes.bool_)
    return canonical(converted(staged.jaxpr, [flag])), staged.captured


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """``init_val``, and then ``body_fun(i, val)`` of it for i from ``lower`` below ``upper``.

    With static bounds (known while tracing) this is a ``scan``, and has all derivatives;
    otherwise it is a ``while_loop``.

    Args:
      lower, upper: scalar integers.
      body_fun: gives the next value, with the structure and the shapes of this one.
      init_val: the first value; it is widened where its dtype is too narrow.
      unroll: steps to write out in each turn of the loop; only with static bounds.

    Raises:
      TypeMismatch: a bound is not a scalar integer, or the value comes back in another
        shape or an incompatible dtype.
      TreeMismatch: the value comes back with another structure.

    >>> from covector import lax
    >>> int(lax.fori_loop(1, 6, lambda i, product: product * i, 1))
    120
    """
    who = who_of("fori_loop", body_fun)
    for name, bound in (("lower", lower), ("upper", upper)):
        type_ = as_array(bound, who).type
        if type_.shape or not dtypes.is_integer(type_.dtype):
            raise TypeMismatch(
                f"{who}: {name} must be a scalar integer, but got {type_}. Convert it with "
                ".astype(int)."
            )
    lower, upper = promote_dtypes(who, lower, upper)
    one = scalar(1, lower.type.dtype, lower.type.weak)
    value_tree = tree.structure(init_val)

    def step(carry: Any) -> Any:
        i, value = carry
        out = body_fun(i, value)
        check_structure(who, value_tree, out)
        return add(i, one), out

    loop = _Loop(who, _name(body_fun), depth=1)
    if type(lower) is type(upper) is ConcreteArray:
        steps = max(0, int(upper) - int(lower))
        (_, last), _ = _scan(
            loop,
            lambda carry, _: (step(carry), None),
            (lower, init_val),
            None,
            steps,
            False,
            _unroll(unroll or 1, steps, who),
        )
        return last
    if unroll is not None:
        raise TypeMismatch(
            f"{who}: unroll needs static bounds, but lower and upper are {lower.type} and "
            f"{upper.type} that are known only when the program runs. Leave unroll out, or "
            "make the bounds static (static_argnums of jit)."
        )
    _, last = _while(loop, lambda carry: lt(carry[0], upper), step, (lower, init_val))
    return last


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """``f`` of each element along the leading axis, one after another, stacked.

    As ``vmap(f)(xs)``, in less memory and more time.

    Args:
      xs: a tree of arrays ``[n, ...]``.
      batch_size: that many elements at once, by ``vmap``.

    >>> from covector import lax, numpy as cnp
    >>> lax.map(lambda x: x * x, cnp.arange(4)).tolist()
    [0, 1, 4, 9]
    """
    who = who_of("map", f)
    steps = _length(xs, None, who)
    if batch_size is None or not steps:
        return _map(who, f, xs, steps)
    size = min(_index(batch_size, "batch_size", who), steps)
    if size < 1:
        raise TypeMismatch(
            f"{who}: batch_size must be at least 1, but is {batch_size}."
        )
    whole = steps - steps % size
    parts = tree.map(lambda x: _batches(as_array(x, who), whole, size), xs)
    outs = tree.map(_merged, _map(who, vmap(f), parts, steps // size))
    if whole == steps:
        return outs
    rest = vmap(f)(tree.map(lambda x: _rows(as_array(x, who), whole, steps), xs))
    return tree.map(lambda a, b: Concatenate(0)(a, b), outs, rest)


def _map(who: str, f: Any, xs: Any, steps: int) -> Any:
    loop = _Loop(who, _name(f))
    return _scan(loop, lambda _, x: ((), f(x)), (), xs, steps, False, 1)[1]


def _rows(x: Any, start: int, stop: int) -> Any:
    """``x[start:stop]``."""
    shape = x.type.shape
    return Slice((start, *[0] * (len(shape) - 1)), (stop, *shape[1:]))(x)


def _batches(x: Any, whole: int, size: int) -> Any:
    shape = (whole // size, size, *x.type.shape[1:])
    return Reshape(shape)(_rows(x, 0, whole))


def _merged(x: Any) -> Any:
    first, second, *rest = x.type.shape
    return Reshape((first * second, *rest))(x)
