"""Branches and loops over values that are not known yet: ``cond``, ``scan`` and kin.

Python's own ``if`` and ``for`` work too, on values that are known; they are written out
in the program. What is here stays one branch, or one loop, in it.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from covector import options, tree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.flat import arrays, describe, who_of
from covector.core.source import function_line, user_line
from covector.errors import TypeMismatch
from covector.numpy.promote import promote_dtypes
from covector.ops.arithmetic import add
from covector.ops.casting import convert
from covector.ops.comparison import lt
from covector.ops.extrema import max_, min_
from covector.programs.branches import stage_branches
from covector.programs.carries import check_structure
from covector.programs.cond import make_cond
from covector.programs.loops import Loop, Steps, name_of
from covector.tree.functions import UNSPECIFIED

__all__ = ["cond", "fori_loop", "scan", "switch", "while_loop"]

# -- branches --------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = UNSPECIFIED,
) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, ``false_fun(*operands)`` otherwise.

    Only the branch taken is run, except under ``vmap`` with a batch of predicates,
    where both are run and each member takes its own result.

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
    functions = {"true_fun": true_fun, "false_fun": false_fun}
    _check_callable(who, functions)
    pred = as_array(pred, who)
    if pred.type.shape or dtypes.is_key(pred.type.dtype):
        raise TypeMismatch(
            f"{who}: pred must be a scalar bool or number, but got {pred.type}. To "
            "choose element by element use covector.numpy.where, or vmap this; for one "
            "answer use .any() or .all()."
        )
    if options.current().disable_jit:
        return (true_fun if pred else false_fun)(*operands)
    leaves, in_tree = tree.flatten((operands, {}))
    leaves = arrays(leaves, who)
    types = [x.type for x in leaves]
    made = stage_branches(who, functions, types, in_tree, pred.type.varying)
    op = make_cond(made.jaxprs[::-1], user_line())
    outs = op(convert(pred, dtypes.bool_), *made.captured, *leaves)
    return made.out_tree.unflatten(outs)


def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = UNSPECIFIED,
) -> Any:
    """``branches[index](*operands)``; an index out of range means the nearest branch.

    As ``cond`` otherwise.

    Raises:
      TypeMismatch: ``index`` is not a scalar integer, there is no branch, or the types
        of the results differ.
      TreeMismatch: the structures of the results differ.

    >>> from covector import lax
    >>> float(lax.switch(1, [lambda x: x, lambda x: -x, lambda x: x * x], 3.0))
    -3.0
    """
    branches = tuple(branches)
    if not branches:
        raise TypeMismatch("switch needs at least one branch, but got none.")
    who = f"switch of {', '.join([function_line(b) for b in branches])}"
    operands = _operands(operands, operand, who)
    functions = {f"branches[{k}]": b for k, b in enumerate(branches)}
    _check_callable(who, functions)
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
    leaves, in_tree = tree.flatten((operands, {}))
    leaves = arrays(leaves, who)
    types = [x.type for x in leaves]
    made = stage_branches(who, functions, types, in_tree, index.type.varying)
    op = make_cond(made.jaxprs, user_line())
    outs = op(_as_int32(index, len(branches)), *made.captured, *leaves)
    return made.out_tree.unflatten(outs)


def _operands(operands: tuple, operand: Any, who: str) -> tuple:
    if operand is UNSPECIFIED:
        return operands
    if operands:
        raise TypeMismatch(
            f"{who} takes operands by position, or one by the keyword operand, but got "
            "both."
        )
    return (operand,)


def _check_callable(who: str, functions: dict[str, Any]) -> None:
    for name, f in functions.items():
        if not callable(f):
            raise TypeMismatch(
                f"{who}: {name} must be a function, but got {f!r} of type "
                f"{type(f).__name__}."
            )


def _as_int32(index: Any, count: int) -> Any:
    """The index as an i32. One that does not fit lands on the nearest of ``count``."""
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

    Step i is ``carry, ys[i] = f(carry, xs[i])``. The body is compiled once, however
    many steps there are.

    Args:
      f: takes a carry and an element; returns the next carry, with the structure and
        the shapes of this one, and an output, which may be None.
      init: the first carry. Where its dtype is too narrow for what ``f`` returns (a
        Python 0 that becomes a float), it is widened.
      xs: a tree of arrays ``[length, ...]``; None where only ``length`` counts.
      reverse: begin with the last element; outputs stay beside their elements.
      unroll: steps to write out in each turn of the loop; True for all of them.

    Returns:
      The last carry, and the outputs, stacked along a new leading axis.

    Raises:
      TypeMismatch: the carry comes back in another shape or an incompatible dtype,
        ``xs`` have different lengths, or ``f`` does not return a pair.
      TreeMismatch: the carry comes back with another structure.

    >>> from covector import lax, numpy as cnp
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, cnp.arange(4))
    >>> int(total), sums.tolist()
    (6, [0, 1, 3, 6])
    """
    who = who_of("scan", f)
    steps = leading_length(xs, length, who)
    carry_tree = tree.structure(init)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        out = f(carry, x)
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise TypeMismatch(
                f"{who} needs a function that returns a pair (carry, output), but it "
                f"returned {describe(out)}. Return (carry, None) where there is no "
                "output."
            )
        check_structure(who, carry_tree, out[0])
        return out[0], out[1]

    how = Steps(steps, bool(reverse), _unrolled(unroll, steps, who))
    return Loop(who, name_of(f)).scan(step, init, xs, how)


def leading_length(xs: Any, length: Any, who: str) -> int:
    """The number of steps, on which ``length`` and all of ``xs`` agree."""
    found = []
    for path, leaf in tree.leaves_with_path(xs):
        type_ = as_array(leaf, who).type
        if not type_.ndim:
            raise TypeMismatch(
                f"{who} steps through the leading axis of xs, but "
                f"xs{tree.keystr(path)} is {type_}, which has none. What is the same "
                "at every step need not be passed: the function may close over it."
            )
        found.append((f"xs{tree.keystr(path)}", type_))
    if length is not None:
        steps, source = natural(length, "length", who), f"length is {length}"
    elif found:
        name, type_ = found[0]
        steps, source = type_.shape[0], f"{name} is {type_}"
    else:
        raise TypeMismatch(f"{who} needs xs or length to know the number of steps.")
    for name, type_ in found:
        if type_.shape[0] != steps:
            raise TypeMismatch(
                f"{who}: all of xs must have one length, but {name} is {type_} where "
                f"{source}."
            )
    return steps


def natural(x: Any, what: str, who: str) -> int:
    """An argument that must be a known integer, and not negative."""
    known: Any = x
    if not hasattr(x, "__index__") or (isinstance(x, Array) and x.type.shape):
        raise TypeMismatch(f"{who}: {what} must be an integer, but got {x!r}.")
    value = operator.index(known)
    if value < 0:
        raise TypeMismatch(f"{who}: {what} must not be negative, but is {value}.")
    return value


def _unrolled(unroll: int | bool, steps: int, who: str) -> int:
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    if natural(unroll, "unroll", who) < 1:
        raise TypeMismatch(f"{who}: unroll must be at least 1, but is {unroll}.")
    return int(unroll)


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """The first of ``init_val``, ``body_fun(init_val)``, … for which the test fails.

    There is no reverse-mode derivative, for the number of steps is not known
    beforehand; ``scan``, and ``fori_loop`` with static bounds, have one.

    Args:
      cond_fun: gives a scalar bool (or number) for a carry: the test.
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

    return Loop(who, name_of(body_fun)).run_while(cond_fun, step, init_val)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """``val = body_fun(i, val)`` for each i from ``lower`` below ``upper``.

    With static bounds (known while tracing) this is a ``scan``, and has all
    derivatives; otherwise it is a ``while_loop``.

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
    lower, upper = _bounds(who, lower, upper)
    one = scalar(1, lower.type.dtype, lower.type.weak)
    value_tree = tree.structure(init_val)
    loop = Loop(who, name_of(body_fun), depth=1)

    def step(carry: Any, _: Any = None) -> Any:
        i, value = carry
        out = body_fun(i, value)
        check_structure(who, value_tree, out)
        return add(i, one), out

    if type(lower) is type(upper) is ConcreteArray:
        length = max(0, int(upper) - int(lower))
        how = Steps(length, unroll=_unrolled(unroll or 1, length, who))
        pair = loop.scan(lambda c, _: (step(c), None), (lower, init_val), None, how)
        return pair[0][1]
    if unroll is not None:
        raise TypeMismatch(
            f"{who}: unroll needs static bounds, but lower and upper are {lower.type} "
            f"and {upper.type} that are known only when the program runs. Leave unroll "
            "out, or make the bounds static (static_argnums of jit)."
        )
    return loop.run_while(lambda c: lt(c[0], upper), step, (lower, init_val))[1]


def _bounds(who: str, lower: Any, upper: Any) -> Sequence[Any]:
    """The bounds of a loop as scalars of one integer type."""
    for name, bound in (("lower", lower), ("upper", upper)):
        type_ = as_array(bound, who).type
        if type_.shape or not dtypes.is_integer(type_.dtype):
            raise TypeMismatch(
                f"{who}: {name} must be a scalar integer, but got {type_}. Convert it "
                "with .astype(int)."
            )
    return promote_dtypes(who, lower, upper)
