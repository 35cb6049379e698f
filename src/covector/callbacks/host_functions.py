"""Python functions of the user that run on the host while a program runs.

A ``HostFunction`` takes concrete arrays and returns NumPy arrays of exactly the types
that were promised: compiled code copies them without a check. They are in memory that
the function cannot write to afterwards. Equal ones are interchangeable, so that a loop
that prints is compiled once and not at each call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from covector import options, tree
from covector.core import dtypes
from covector.core.annotations import PyTree, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, type_of
from covector.core.operation_caches import same_data
from covector.core.promotion import promote
from covector.core.trace import current
from covector.core.types import ArrayType, show_types
from covector.errors import TreeMismatch, TypeMismatch
from covector.programs.control_flow.scan import stacked_type
from covector.tree.registry import PyTreeDef


class ResultSpec(NamedTuple):
    """The tree and the types of a result. Without a tree, the result is ignored."""

    tree: Any = None
    types: tuple[ArrayType, ...] = ()

    def over(self, size: int) -> "ResultSpec":
        """As many results, stacked."""
        types = tuple([stacked_type(t, size) for t in self.types])
        return self._replace(types=types)


class Static(NamedTuple):
    """A leaf that is part of the program."""

    index: int
    kind: type
    value: Any

    def __eq__(self, other: Any) -> bool:
        return self.index == other.index and same_data(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.index, self.kind))


@dataclass(frozen=True)
class Arguments:
    """The tree of ``(args, kwargs)``, and the leaves that are static in it."""

    tree: PyTreeDef
    static: tuple[Static, ...] = ()

    def unflatten(
        self, arrays: Sequence[Value]
    ) -> tuple[tuple[PyTree, ...], dict[str, PyTree]]:
        leaves = list(arrays)
        for index, _, value in self.static:
            leaves.insert(index, value)
        return self.tree.unflatten(leaves)


def split_arguments(
    args: tuple, kwargs: dict[str, Any], is_array: Callable[[Any], bool]
) -> tuple[list[Any], Arguments]:
    """The leaves that are arrays, and the arguments without them."""
    leaves, in_tree = tree.flatten((args, kwargs))
    static = [Static(i, type(x), x) for i, x in enumerate(leaves) if not is_array(x)]
    return [x for x in leaves if is_array(x)], Arguments(in_tree, tuple(static))


@dataclass(frozen=True)
class HostFunction:
    """``fun``, a function of trees of arrays, on flat concrete arrays."""

    fun: Callable[..., Any]
    arguments: Arguments
    result: ResultSpec
    who: str

    def __post_init__(self) -> None:
        try:
            hash(self.fun)
        except TypeError:
            object.__setattr__(self, "fun", partial(self.fun))

    def __hash__(self) -> int:  # static arguments need not be hashable
        return hash((self.fun, self.result, self.who))

    def __str__(self) -> str:
        return self.who

    def __call__(self, *arrays: ConcreteArray) -> list[np.ndarray]:
        before, current.trace = current.trace, type(current).trace
        try:
            args, kwargs = self.arguments.unflatten(arrays)
            out = self.fun(*args, **kwargs)
        finally:
            current.trace = before
        if self.result.tree is None:
            return []
        leaves, out_tree = tree.flatten(out)
        if out_tree != self.result.tree and not self._differs_in_lists(out):
            raise TreeMismatch(self._mismatch(out, out_tree))
        return [self._checked(x, k) for k, x in enumerate(leaves)]

    def over(self, size: int) -> "HostFunction":
        """The same function, which gives a batch of its results at once."""
        return replace(self, result=self.result.over(size))

    def _differs_in_lists(self, out: PyTree) -> bool:
        """Whether the result is as promised but for lists instead of tuples, or
        the other way round.
        """
        promised = self.result.tree.unflatten(self.result.types)
        return tree.structure(_with_tuples(out)) == tree.structure(
            _with_tuples(promised)
        )

    def _mismatch(self, out: PyTree, out_tree: PyTreeDef) -> str:
        difference = tree.describe_difference(
            self.result.tree, out_tree, ("that", "what it returned")
        )
        return (
            f"{self.who} must return what its result_shape_dtypes promise, "
            f"{show_types(self.result.types) or 'nothing'}, but the structures "
            f"differ: {difference}."
        )

    def _checked(self, x: Any, k: int) -> np.ndarray:
        """Result ``k`` as an array of the promised type."""
        wanted, found = self.result.types[k], None
        if _fits(x, wanted):
            return np.asarray(x, wanted.storage)
        given: Any = x if isinstance(x, ConcreteArray) else np.asanyarray(x)
        promised = wanted.shape, wanted.dtype  # a random key is of no NumPy dtype
        if type(given) is np.ndarray and (given.shape, given.dtype) == promised:
            # Whatever options are in force where the program is run.
            return np.array(given, order="C")
        if isinstance(x, ConcreteArray) or given.dtype.kind not in "OUSMm":
            array: Any = as_array(given, self.who)  # a copy of what is NumPy's
            found = array.type
            if found.shape == wanted.shape and found.dtype == wanted.dtype:
                return np.asarray(array.host(), order="C")
        path = tree.keystr(tree.leaf_path(self.result.tree, k))
        way = "Return an array of that shape, or promise another one"
        if found is not None and found.shape == wanted.shape:
            way = f"Convert it with .astype('{wanted.dtype}'), or promise {found.dtype}"
        raise TypeMismatch(
            f"{self.who} promised a result of type {wanted}"
            f"{' at ' + path if path else ''}, but returned "
            f"{found if found is not None else repr(x)}. {way} in result_shape_dtypes."
        )


def _fits(x: object, wanted: ArrayType) -> bool:
    """Whether ``x`` is a Python number that takes the wanted dtype."""
    if wanted.shape or isinstance(x, np.generic) or dtypes.is_key(wanted.dtype):
        return False
    if not isinstance(x, bool | int | float | complex):
        return False
    number, x64 = type_of(x).dtype, options.current().enable_x64
    both = promote((number, True), (wanted.dtype, False), x64=x64, mode="standard")
    return both[0] == wanted.dtype


def _with_tuples(x: PyTree) -> PyTree:
    """``x`` with a tuple for each list in it."""
    if type(x) is list or type(x) is tuple:
        return tuple(map(_with_tuples, x))
    if type(x) is dict:
        return {key: _with_tuples(value) for key, value in x.items()}
    return x


@dataclass(frozen=True)
class VmappedCallback:
    """``function`` on each lane of a batch, one after the other.

    ``dims`` says along which axis of each operand the lanes lie, if it has any.
    """

    function: "HostFunction | VmappedCallback"
    size: int
    dims: tuple[int | None, ...]

    def __str__(self) -> str:
        return str(self.function)

    @property
    def result(self) -> ResultSpec:
        return self.function.result.over(self.size)

    def __call__(self, *arrays: ConcreteArray) -> list[np.ndarray]:
        rows = [
            self.function(
                *[
                    a if d is None else _lane(a, d, i)
                    for a, d in zip(arrays, self.dims, strict=True)
                ]
            )
            for i in range(self.size)
        ]
        stacked = [np.empty(t.shape, t.storage) for t in self.result.types]
        for i, row in enumerate(rows):
            for values, value in zip(stacked, row, strict=True):
                values[i] = value
        return stacked


def _lane(batch: ConcreteArray, dim: int, i: int) -> ConcreteArray:
    lane = batch.type.without_axis(dim)
    return ConcreteArray(lane, batch.host()[(slice(None),) * dim + (i,)])


def result_spec(result_shape_dtypes: PyTree) -> ResultSpec:
    """The specs of a tree of arrays, or of anything with shape and dtype."""
    leaves, out_tree = tree.flatten(result_shape_dtypes)
    return ResultSpec(out_tree, tuple([_result_type(x) for x in leaves]))


def _result_type(x: Any) -> ArrayType:
    type_ = type_of(x)
    if isinstance(x, Array):
        return type_.strong()
    # What is returned is narrowed to 32 bits as all that comes from outside.
    x64 = options.current().enable_x64
    return type_.with_dtype(dtypes.canonical(type_.dtype, x64))
