"""``check``: what must hold of a traced value."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import lax, tree
from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import (
    ArrayLike,
    BatchDims,
    Batched,
    PyTree,
    Value,
    Values,
)
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.effects import LASTS
from covector.core.flat import arrays
from covector.core.primitive import Linearized, ManyResults, Operand, operation
from covector.core.source import user_line
from covector.core.types import ArrayType
from covector.core.work import costs_nothing
from covector.errors import CheckFailed, NotCheckified, TypeMismatch
from covector.experimental.checkify.error import NONE, Error, message
from covector.experimental.checkify.sites import ErrorCategory, Site, Sites
from covector.numpy.promote import standard_promotion
from covector.operations.broadcasting import batched
from covector.operations.casting import convert

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Check(ManyResults):
    """Fail where the first operand, the number of a site, is not zero.

    The others are the slots. ``checkify`` makes a value of the failure; without it the
    operation raises at once, and is refused in compiled programs, unless it is
    ``for_debugging``: then it does nothing.
    """

    name = "check"
    interned = False
    effects = LASTS
    work = costs_nothing

    sites: Sites
    for_debugging: bool = False

    @property
    def compiles(self) -> bool:  # type: ignore[override]
        """Only where it does nothing."""
        return self.for_debugging

    def __repr__(self) -> str:
        return f"Check({', '.join([repr(site.message) for site in self.sites])})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return ()

    def evaluate(self, number: ConcreteArray, *slots: ConcreteArray) -> Sequence[Any]:
        failed = int(number.host())
        if failed and not self.for_debugging:
            values = [np.asarray(x.host()) for x in slots]
            raise CheckFailed(message(failed, values, self.sites))
        return ()

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        self(*primals)
        return (), lambda *_: ()

    def transpose(self, cotangents: Values, *args: Operand) -> Sequence[None]:
        return [None] * len(args)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        """The first lane that fails, fails."""
        if size:
            args = [batched(size, x, d) for x, d in zip(args, dims, strict=True)]
            self(*first_failure(*args))
        return (), ()

    def lower(self, ctx: "Lowering", *operands: Any) -> Sequence[Any]:
        if self.for_debugging:
            return ()
        raise NotCheckified(
            f"check of {self.sites[0].message!r} at {self.sites[0].line} is in a "
            "function that is compiled, where nothing can be raised. Make its failure "
            "a value: error, out = checkify(f)(...), and error.throw() outside of jit; "
            "or use debug_check, which is left out without checkify."
        )


@standard_promotion
def first_failure(numbers: Value, *slots: Value) -> list[Array]:
    """The first number that is not zero of those along the leading axis, if there is
    one, and its slots.
    """
    first = cnp.argmax(numbers != 0)
    return [x[first] for x in (numbers, *slots)]


def check(
    pred: ArrayLike,
    msg: str,
    *fmt_args: PyTree,
    debug: bool = False,
    **fmt_kwargs: PyTree,
) -> None:
    """Fail where ``pred`` does not hold.

    With known values that is an exception, at once. In a function that is made a
    program (by ``jit``, ``scan``, …) it is a value: call ``checkify`` on the function.

    Args:
      pred: a scalar bool.
      msg: what is said, with fields as ``str.format`` fills them.
      fmt_args, fmt_kwargs: trees of arrays, for the fields.
      debug: as ``debug_check``.

    Raises:
      CheckFailed: ``pred`` is known, and does not hold.
      NotCheckified: it is in a compiled program, and not in ``checkify``.
      TypeMismatch: ``pred`` is not a scalar bool, or ``msg`` not a string.

    >>> import covector as cv
    >>> from covector.experimental import checkify
    >>> def root(x):
    ...     checkify.check(x >= 0, "needs x >= 0, but got {}", x)
    ...     return x**0.5
    >>> error, _ = cv.jit(checkify.checkify(root))(-4.0)
    >>> error.get().split(" (")[0]
    'needs x >= 0, but got -4.0'
    """
    pred = as_array(pred, "check")
    if pred.type.shape or pred.type.dtype != dtypes.bool_:
        raise TypeMismatch(
            f"check needs a scalar bool, but got {pred.type}. Reduce an array with "
            ".all() or .any()."
        )
    if not isinstance(msg, str):
        raise TypeMismatch(f"check needs a message that is a string, but got {msg!r}.")
    leaves, structure = tree.flatten((fmt_args, fmt_kwargs))
    values = [stripped(x) for x in arrays(leaves, "a value for the message of check")]
    types = tuple([x.type.with_varying(frozenset()) for x in values])
    site = Site(ErrorCategory.USER, msg, structure, types, user_line())
    Check((site,), bool(debug))(cnp.where(pred, NONE, NONE + 1), *values)


def stripped(x: Any) -> Array:
    """A value without a derivative, of a type that is not weak."""
    return lax.stop_gradient(convert(x, x.type.dtype))


def debug_check(
    pred: ArrayLike, msg: str, *fmt_args: PyTree, **fmt_kwargs: PyTree
) -> None:
    """``check``, which is left out where nothing calls ``checkify``.

    >>> debug_check(False, "never seen")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """``check`` that there is no failure: raise it again, at once or as a value.

    It makes failures that were values before part of a function again.

    Raises:
      CheckFailed: the values are known, and there is a failure.
      TypeMismatch: ``error`` is no ``Error``.

    >>> from covector.experimental import checkify
    >>> f = checkify.checkify(lambda x: checkify.check(x > 0, "not positive"))
    >>> error, _ = f(-1)
    >>> try:
    ...     checkify.check_error(error)
    ... except checkify.JaxRuntimeError as raised:
    ...     print(str(raised).split(" (")[0])
    not positive
    """
    if not isinstance(error, Error):
        raise TypeMismatch(f"check_error needs an Error, but got {error!r}.")
    (number, *slots), sites = error.tree_flatten()
    if not sites:
        return
    operands = arrays([number, *slots], "check_error")
    lanes = operands[0].ndim
    if lanes:
        operands = first_failure(*[x.reshape(-1, *x.shape[lanes:]) for x in operands])
    Check(sites)(*operands)
