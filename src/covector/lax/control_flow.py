"""Control flow on traced values: ``cond``, ``switch``, ``while_loop``, ``scan``.

Python's own ``if`` and ``for`` work too, on values that are known; they are written out
in the program. What is here stays one branch, or one loop, in it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from covector import options, tree
from covector.core import dtypes
from covector.core.annotations import ArrayLike, PyTree, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.flat import arrays, check_functions, describe, hide
from covector.core.references import values_of
from covector.core.source import function_line, function_name, user_line
from covector.errors import TypeMismatch
from covector.lax.loop_arguments import bounds, kept_carries, leading_length, unrolled
from covector.operations.arithmetic import add
from covector.operations.casting import convert
from covector.operations.comparison import lt
from covector.operations.extrema import max_, min_
from covector.programs.control_flow.branches import in_python, stage_branches
from covector.programs.control_flow.cond import make_cond
from covector.programs.control_flow.control_flow_api import Loop, ScanSpec
from covector.programs.control_flow.trace_loop import check_structure
from covector.tree.functions import UNSPECIFIED

__all__ = ["cond", "fori_loop", "scan", "switch", "while_loop"]

R = TypeVar("R")
#: what a loop passes from each step to the next, as its body returns it
Carry = TypeVar("Carry")
#: the output of a step of ``scan``, and all of them, stacked
Y = TypeVar("Y")

# -- branches --------------------------------------------------------------------------


def cond(
    pred: ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: PyTree,
    operand: PyTree = UNSPECIFIED,
) -> R:
    """``true_fun(*operands)`` if ``pred`` holds, ``false_fun(*operands)`` otherwise.

    Use it where a Python ``if`` would need the value of a traced array. Both functions
    are traced, but only the branch taken is run, except under ``vmap`` with a batch of
    predicates: there both are run and each lane takes its result.

    Args:
      pred: a scalar bool, or a number, which holds unless it is zero.
      true_fun, false_fun: functions of the operands, and of what they close over. Their
        results have one structure and one type; where one is weak, it gives way.
      operands: arrays, or trees of them.
      operand: the same as one positional operand.

    The older form with an operand for each branch, ``cond(pred, x, true_fun, y,
    false_fun)``, means ``true_fun(x)`` or ``false_fun(y)``.

    Returns:
      What the chosen function returns.

    Raises:
      TypeMismatch: ``pred`` is not a scalar, or the types of the results differ.
      TreeMismatch: the structures of the results differ.

    >>> from covector import lax
    >>> float(lax.cond(3 > 2, lambda x: x + 1, lambda x: x * 2, 5.0))
    6.0

    See also: ``switch`` for more branches, ``covector.numpy.where`` to choose by
    element.
    """
    if not callable(true_fun) and len(operands) == 2 and callable(operands[1]):
        x, of_x, y, of_y = true_fun, false_fun, *operands
        return cond(pred, lambda x, _: of_x(x), lambda _, y: of_y(y), x, y)
    check_functions("cond", true_fun=true_fun, false_fun=false_fun)
    who = f"cond of {function_line(true_fun)} and {function_line(false_fun)}"
    operands = _operands(operands, operand, who)
    operands, (true_fun, false_fun) = hide(operands, true_fun, false_fun)
    functions = {"true_fun": true_fun, "false_fun": false_fun}
    pred = as_array(pred, who)
    if pred.type.shape or dtypes.is_key(pred.type.dtype):
        raise TypeMismatch(
            f"{who}: pred must be a scalar bool or number, but got {pred.type}. To "
            "choose element by element use covector.numpy.where, or vmap this; for one "
            "answer use .any() or .all()."
        )
    if options.current().disable_jit and type(pred) is ConcreteArray:
        return in_python(true_fun if pred else false_fun, operands)
    leaves, in_tree = tree.flatten((operands, {}))
    leaves = arrays(leaves, who)
    types = [x.type for x in leaves]
    made = stage_branches(who, functions, types, in_tree, pred.type.varying)
    op = make_cond(made.jaxprs[::-1], user_line())
    outs = op(convert(pred, dtypes.bool_), *values_of(made.captured), *leaves)
    return made.results(outs)


def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., R]],
    *operands: PyTree,
    operand: PyTree = UNSPECIFIED,
) -> R:
    """``branches[index](*operands)``; an index out of range means the nearest branch.

    As with ``cond``, only one branch is run, except under ``vmap`` with a batch of
    indices.

    Args:
      index: a scalar integer.
      branches: functions of the operands, whose results have one structure and type.
      operands: arrays, or trees of them.
      operand: the same as one positional operand.

    Returns:
      What the chosen branch returns.

    Raises:
      TypeMismatch: ``index`` is not a scalar integer, there is no branch, or the types
        of the results differ.
      TreeMismatch: the structures of the results differ.

    >>> from covector import lax
    >>> float(lax.switch(1, [lambda x: x, lambda x: -x, lambda x: x * x], 3.0))
    -3.0

    See also: ``cond``, ``select_n``.
    """
    if not isinstance(branches, Iterable):
        raise TypeMismatch(
            f"switch needs a sequence of functions as branches, but got {branches!r} "
            f"of type {type(branches).__name__}."
        )
    branches = tuple(branches)
    if not branches:
        raise TypeMismatch("switch needs at least one branch, but got none.")
    check_functions("switch", **{f"branches[{k}]": b for k, b in enumerate(branches)})
    who = f"switch of {', '.join([function_line(b) for b in branches])}"
    operands = _operands(operands, operand, who)
    operands, branches = hide(operands, *branches)
    functions = {f"branches[{k}]": b for k, b in enumerate(branches)}
    index = as_array(index, who)
    if index.type.shape or not dtypes.is_integer(index.type.dtype):
        raise TypeMismatch(
            f"{who}: the index must be a scalar integer, but got {index.type}. "
            "Convert it with .astype(int); for a bool, use cond."
        )
    if options.current().disable_jit and type(index) is ConcreteArray:
        return in_python(branches[max(0, min(int(index), len(branches) - 1))], operands)
    if len(branches) == 1:
        return branches[0](*operands)
    leaves, in_tree = tree.flatten((operands, {}))
    leaves = arrays(leaves, who)
    types = [x.type for x in leaves]
    made = stage_branches(who, functions, types, in_tree, index.type.varying)
    op = make_cond(made.jaxprs, user_line())
    outs = op(_as_int32(index, len(branches)), *values_of(made.captured), *leaves)
    return made.results(outs)


def _operands(operands: tuple, operand: Any, who: str) -> tuple:
    if operand is UNSPECIFIED:
        return operands
    if operands:
        raise TypeMismatch(
            f"{who} takes operands by position, or one by the keyword operand, but got "
            "both."
        )
    return (operand,)


def _as_int32(index: Value, count: int) -> Array:
    """The index as an i32. One that does not fit lands on the nearest of ``count``."""
    dtype = index.type.dtype
    if dtype.itemsize >= 4 and dtype != dtypes.int32:
        index = min_(max_(index, scalar(0, dtype)), scalar(count - 1, dtype))
    return convert(index, dtypes.int32)


# -- loops -----------------------------------------------------------------------------


def scan(
    f: Callable[[Any, Any], tuple[Carry, Y]],
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]:
    """Step through the leading axis of ``xs``, carrying a value along.

    Step i is ``carry, ys[i] = f(carry, xs[i])``. The body is traced and compiled once,
    however many steps there are, so a loop over time or layers compiles quickly. The
    carry must keep its structure, shapes and dtypes; to return a larger array at each
    step, return it as the output instead.

    Args:
      f: takes a carry and an element; returns a pair of the next carry and an output,
        which may be None.
      init: the first carry, a tree of arrays. Where its dtype is too narrow for what
        ``f`` returns (a Python 0 that becomes a float), it is widened.
      xs: a tree of arrays ``[length, ...]``; None where only ``length`` counts.
      length: the number of steps; needed only where ``xs`` has no arrays.
      reverse: begin with the last element; outputs stay beside their elements.
      unroll: steps to write out in each turn of the loop; True for all of them, 0 for
        one.
      _split_transpose: without effect. The cotangent of a large weight is computed
        after the loop, in one product, in any case.

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

    See also: ``fori_loop``, ``while_loop``, ``associative_scan``,
    ``covector.checkpoint``.
    """
    check_functions("scan", f=f)
    who = f"scan of {function_line(f)}"
    steps = leading_length(xs, length, who)
    carry_tree = tree.structure(init)

    def step(carry: PyTree, x: PyTree) -> tuple[Any, Any]:
        out = f(carry, x)
        if not isinstance(out, tuple | list) or len(out) != 2:
            raise TypeMismatch(
                f"{who} needs a function that returns a pair (carry, output), but it "
                f"returned {describe(out)}. Return (carry, None) where there is no "
                "output."
            )
        check_structure(who, carry_tree, out[0])
        return out[0], out[1]

    step.__wrapped__ = f  # messages name it and its parameters
    spec = ScanSpec(steps, bool(reverse), unrolled(unroll, steps, who))
    return Loop(who, function_name(f)).scan(step, init, xs, spec)


def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Carry],
    init_val: PyTree,
    *,
    checkpoints: int | None = None,
) -> Carry:
    """The first of ``init_val``, ``body_fun(init_val)``, … for which the test fails.

    Use it where the number of steps depends on values. Under ``vmap`` it runs until the
    test has failed in every lane; a lane keeps its value once its test has failed.

    In reverse mode the loop is run again, and taken back step by step from as many kept
    carries as ``checkpoints`` says, whatever the number of steps: memory does not grow
    with it. With c of them, up to (c + r)! / (c! r!) steps need each step computed at
    most r times more, besides the first time and the derivative: with 64, once for 65
    steps, twice for 2,145, three times for 47,905 (Griewank and Walther, Algorithm 799,
    2000). Where the number of steps is known and the memory is there, ``scan`` computes
    nothing again.

    Args:
      cond_fun: gives a scalar bool (or number) for a carry: the test.
      body_fun: gives the next carry, with the structure and the shapes of this one.
      init_val: the first carry; it is widened where its dtype is too narrow.
      checkpoints: carries that are kept at one time in reverse mode, of what slopes
        depend on; 64 by default.

    Returns:
      The carry for which the test fails.

    Raises:
      TypeMismatch: the carry comes back in another shape or an incompatible dtype,
        ``cond_fun`` does not return a scalar, or ``checkpoints`` is not a positive
        integer.
      TreeMismatch: the carry comes back with another structure.

    >>> import covector as cv
    >>> from covector import lax
    >>> int(lax.while_loop(lambda n: n < 100, lambda n: n * 3, 1))
    243
    >>> f = lambda x: lax.while_loop(lambda v: v < 9, lambda v: v * x, x)
    >>> float(cv.grad(f)(2.0))
    32.0

    See also: ``fori_loop``, ``scan``, ``custom_root`` for the gradient of a fixed
    point.
    """
    check_functions("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    who = f"while_loop of {function_line(body_fun)}"
    carry_tree = tree.structure(init_val)

    def step(carry: PyTree) -> Any:
        out = body_fun(carry)
        check_structure(who, carry_tree, out)
        return out

    step.__wrapped__ = body_fun  # messages name it and its parameters
    kept = kept_carries(checkpoints, who)
    return Loop(who, function_name(body_fun)).run_while(cond_fun, step, init_val, kept)


def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Carry],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
    checkpoints: int | None = None,
) -> Carry:
    """``val = body_fun(i, val)`` for each i from ``lower`` below ``upper``.

    With static bounds (known while tracing) this is a ``scan``, which keeps what
    reverse mode needs of every step; otherwise, or with ``checkpoints``, it is a
    ``while_loop``, which keeps a fixed number of carries and computes the others again.
    ``body_fun`` is traced once, with i as an array: a Python ``if i == 0`` in it fails.

    Args:
      lower, upper: scalar integers, or floats that are whole numbers if they are known.
        Where ``upper`` is not larger, the result is ``init_val``.
      body_fun: gives the next value, with the structure and the shapes of this one.
      init_val: the first value; it is widened where its dtype is too narrow.
      unroll: steps to write out in each turn of the loop; only for a ``scan``.
      checkpoints: carries that are kept in reverse mode, as in ``while_loop``.

    Returns:
      The last value.

    Raises:
      TypeMismatch: a bound is not a scalar number, the value comes back in another
        shape or an incompatible dtype, or ``checkpoints`` is not a positive integer.
      TreeMismatch: the value comes back with another structure.

    >>> from covector import lax
    >>> int(lax.fori_loop(1, 6, lambda i, product: product * i, 1))
    120

    See also: ``scan``, which also collects an output at each step; ``while_loop``.
    """
    check_functions("fori_loop", body_fun=body_fun)
    who = f"fori_loop of {function_line(body_fun)}"
    lower, upper = bounds(who, lower, upper)
    one = scalar(1, lower.type.dtype, lower.type.weak)
    value_tree = tree.structure(init_val)
    loop = Loop(who, function_name(body_fun), depth=1)

    def step(carry: PyTree, _: PyTree = None) -> Any:
        i, value = carry
        out = body_fun(i, value)
        check_structure(who, value_tree, out)
        return add(i, one), out

    kept = kept_carries(checkpoints, who)
    known = type(lower) is type(upper) is ConcreteArray
    if known and checkpoints is None:
        length = max(0, int(upper) - int(lower))
        spec = ScanSpec(
            length, unroll=unrolled(1 if unroll is None else unroll, length, who)
        )
        pair = loop.scan(lambda c, _: (step(c), None), (lower, init_val), None, spec)
        return pair[0][1]
    if unroll is not None and known:
        raise TypeMismatch(
            f"{who}: unroll is for a loop that keeps every step, checkpoints for one "
            "that does not. Leave out one of them."
        )
    if unroll is not None:
        raise TypeMismatch(
            f"{who}: unroll needs static bounds, but lower and upper are {lower.type} "
            f"and {upper.type} that are known only when the program runs. Leave unroll "
            "out, or make the bounds static (static_argnums of jit)."
        )
    start = (lower, init_val)
    return loop.run_while(lambda c: lt(c[0], upper), step, start, kept)[1]
