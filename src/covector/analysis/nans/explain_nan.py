"""``explain_nan``: the first operation of a function that made a NaN or an infinity.

The function is traced afresh, each ``vmap`` as a loop over its lanes, and its program
is replayed (``nonfinite/``) from the arguments on.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from covector import options, tree
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.effects import Effect
from covector.core.flat import FlatFunction, argument_path, who_of
from covector.core.jaxpr import Jaxpr
from covector.core.references import values_of
from covector.core.source import wraps
from covector.core.staging import stage
from covector.core.trace import check_not_inside
from covector.errors import (
    ArgumentError,
    CovectorError,
    NonFiniteError,
    NotDifferentiable,
)
from covector.nonfinite.kinds import Kinds
from covector.nonfinite.lane_by_lane import Search, lanes_apart
from covector.nonfinite.origin import Origin
from covector.nonfinite.origins import origin_in
from covector.programs.higher_order.jaxpr_passes import without_effects

__all__ = ["Origin", "explain_nan"]

_KINDS = {"nan": "NaN", "inf": "infinity"}


def explain_nan(
    fun: Callable[..., Any], *, kinds: str | Sequence[str] = ("nan",)
) -> Callable[..., Origin]:
    """A function that says where the first NaN in the results of ``fun`` began.

    It takes the arguments of ``fun``, runs it operation by operation, and goes back
    from a bad result to the operation that made it of good values. A value that was
    computed and not chosen is not to blame. ``fun`` may be any composition of jit,
    vmap, grad, loops, branches, shard_map and functions with their own rules. What
    it does besides computing (prints, callbacks) does not happen again.

    Args:
      kinds: what to look for: "nan", "inf" or both.

    Returns:
      A function that gives an ``Origin``: its ``operation``, ``operands``, ``line``,
      ``step`` of a loop, ``lane`` of a vmap, ``shard``, ``forward_line`` in a backward
      pass, ``reason`` and ``suggestion``. It is false where there is nothing bad.

    Raises:
      ArgumentError: ``kinds`` has another name; or it is called inside of a function
        that is transformed, where nothing has a value yet.

    >>> import covector as cv, covector.numpy as cnp
    >>> origin = cv.explain_nan(lambda x: cnp.sqrt(x - 1).sum())(cnp.array([4.0, 0.0]))
    >>> origin.operation, origin.index, origin.reason
    ('sqrt', (1,), 'the square root of a negative number, -1')
    >>> bool(cv.explain_nan(cnp.sqrt)(4.0))
    False
    """
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if not names or not set(names) <= set(_KINDS):
        raise ArgumentError(
            f'explain_nan looks for kinds "nan", "inf" or both, but got {kinds!r}.'
        )
    wanted = Kinds("nan" in names, "inf" in names)
    who = who_of("explain_nan", fun)

    @wraps(fun)
    def explained(*args: Any, **kwargs: Any) -> Origin:
        check_not_inside(who)
        arguments = _Arguments(fun, who, args, kwargs)
        try:
            return _explain(wanted, arguments)
        except CovectorError as error:
            return _watched(wanted, arguments, error)

    return explained


class _Arguments:
    """The arguments of a call: those that are traced, and others as they are."""

    def __init__(
        self, fun: Callable[..., Any], who: str, args: Any, kwargs: Any
    ) -> None:
        self.fun, self.who, self.args, self.kwargs = fun, who, args, kwargs
        self.leaves, self.in_tree = tree.flatten((args, kwargs))
        self.traced = [i for i, x in enumerate(self.leaves) if _is_traced(x)]

    def stage(self) -> tuple[Jaxpr, list[Any], int]:
        """The program, what it takes, and how much of that it captured."""
        flat = FlatFunction(self.fun, self.in_tree, self.who)

        def of_traced(*values: Any) -> list[Any]:
            leaves = list(self.leaves)
            for i, x in zip(self.traced, values, strict=True):
                leaves[i] = x
            return flat(*leaves)

        arrays = [as_array(self.leaves[i], self.who) for i in self.traced]
        staged = stage(of_traced, [x.type for x in arrays], self.who, references=True)
        captured = values_of(staged.captured)
        return staged.jaxpr, [*captured, *arrays], len(captured)

    def name(self, captured: int, i: int) -> str:
        """Input i of the program, in words."""
        if i < captured:
            return "an array that the function closes over"
        return argument_path(self.in_tree, self.traced[i - captured], self.fun)


def _is_traced(x: Any) -> bool:
    """Whether a leaf may be a value of the program: an array, or a number of floats.

    Integers may be sizes, and what is not a number is static.
    """
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind not in "OUSMm"
    return isinstance(x, Array | float | complex)


def _explain(kinds: Kinds, arguments: _Arguments) -> Origin:
    """The origin in the program: with its lanes, where that gives the bad value too."""
    try:
        with lanes_apart() as search:
            found = _replayed(kinds, arguments, search)
        if found:
            return found
    except CovectorError:
        pass  # what cannot be a loop over lanes: as it is
    with lanes_apart(False) as search:
        return _replayed(kinds, arguments, search)


def _replayed(kinds: Kinds, arguments: _Arguments, search: Search) -> Origin:
    jaxpr, values, captured = arguments.stage()
    if Effect.LASTS in jaxpr.effects:
        try:
            jaxpr = jaxpr.memo(without_effects)
        except NotDifferentiable as error:
            why = str(error).partition(" has an effect")[0]
            note = (
                f"{arguments.who}: the program is not replayed, since {why} has an "
                "effect and a result that is needed: it would happen twice."
            )
            return Origin(note=note)
    name = functools.partial(arguments.name, captured)
    found = origin_in(kinds, jaxpr, values, name, search.maker)
    if found is not None:
        return found
    looked_for = " or ".join([_KINDS[n] for n in _names(kinds)])
    return Origin(note=f"{arguments.who}: no {looked_for} in its results")


def _names(kinds: Kinds) -> list[str]:
    return [n for n, wanted in zip(_KINDS, kinds, strict=True) if wanted]


def _watched(kinds: Kinds, arguments: _Arguments, error: CovectorError) -> Origin:
    """The origin in a function that cannot be traced as a whole, since it asks for
    values: it is run, and the first operation that gives a bad one is to blame.
    """
    note = f"run as it is, since it cannot be traced as a whole: {error}"
    try:
        with (
            lanes_apart(),
            options.override(debug_nans=kinds.nans, debug_infs=kinds.infs),
        ):
            arguments.fun(*arguments.args, **arguments.kwargs)
    except NonFiniteError as found:
        origin = found.origin or Origin(kind="NaN", note=str(found))
        return replace(origin, note=note.partition("\n")[0])
    return Origin(note=f"{arguments.who}: no bad value where it runs as it is")
