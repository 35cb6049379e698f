"""Combiners: jaxprs on scalars that a reduction applies to arrays element by element.

A combiner maps (x₁, …, xₖ) and (y₁, …, yₖ) to one k-tuple. A reduction with it is
traced on whole arrays: neighbours are combined in pairs, in a fixed order; or, if
sampling shows that the combiner is not associative, one element after the other.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.jaxpr import Jaxpr, run
from covector.core.staging import stage
from covector.core.trace import as_current
from covector.core.types import INVARIANT, ArrayType
from covector.core.varying import pvary_like
from covector.lowering.evaluate import base
from covector.operations.joining import Concatenate
from covector.operations.selection import where
from covector.operations.transposing import Reshape
from covector.operations.tree_reduce import cut
from covector.programs.control_flow.scan import Scan
from covector.transforms.batch import batch_jaxpr

#: how many triples of elements a program is tried on, for whether it is associative
_TRIALS = 64
#: more than rounding makes of them; to take too much for a difference costs time only
_TOLERANCE = 0.02


def combined(jaxpr: Jaxpr, xs: Sequence[Value], ys: Sequence[Value]) -> list[Array]:
    """A program on scalars, applied to arrays of one shape element by element."""
    shape, size = xs[0].type.shape, xs[0].type.size
    flat = Reshape((size,))
    program, _ = jaxpr.memo(batch_jaxpr, size, (0,) * (2 * len(xs)), (True,) * len(xs))
    outs = run(program, [flat(v) for v in (*xs, *ys)])
    return [Reshape(shape)(out) for out in outs]


def reduce_in_pairs(jaxpr: Jaxpr, xs: Sequence[Any]) -> list[Any]:
    """Neighbours along the first axis combined until one is left."""
    while (n := xs[0].type.shape[0]) > 1:
        first = [cut(x, 0, 0, n - 1, 2) for x in xs]
        second = [cut(x, 0, 1, n, 2) for x in xs]
        pairs = combined(jaxpr, first, second)
        last = [cut(x, 0, n - 1, n) for x in xs]
        xs = [
            Concatenate(0)(p, q) if n % 2 else p
            for p, q in zip(pairs, last, strict=True)
        ]
    return [Reshape(x.type.shape[1:])(x) for x in xs]


def reduce_in_order(
    jaxpr: Jaxpr, xs: Sequence[Any], starts: Sequence[Any], present: Any = None
) -> Sequence[Any]:
    """One element after the other along the first axis combined, from ``starts`` on:
    all, or those that are ``present``.
    """
    k, flags = len(xs), [] if present is None else [present]
    varying = INVARIANT.union(*[x.type.varying for x in (*starts, *xs, *flags)])
    starts, xs = [
        [pvary_like(x, x.type.with_varying(varying)) for x in group]
        for group in (starts, [*xs, *flags])
    ]
    types = [s.type for s in starts]
    flag_types = [types[0].with_dtype(dtypes.bool_) for _ in flags]

    def step(*values: Value) -> Sequence[Any]:
        carry, (*found, there) = values[:k], (*values[k : 2 * k], values[-1])
        both = combined(jaxpr, carry, found)
        return both if present is None else choose(there, both, carry)

    body = stage(step, [*types, *types, *flag_types], jaxpr.name).jaxpr
    return Scan(body, xs[0].type.shape[0], 0, k)(*starts, *xs)


def choose(mask: Value, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """Elements of ``xs`` where the mask is true, elsewhere of ``ys``."""
    return [where(mask, x, y) for x, y in zip(xs, ys, strict=True)]


def looks_associative(jaxpr: Jaxpr) -> bool:
    """Whether f(f(x, y), z) is f(x, f(y, z)) for samples (memoise on the program)."""
    types = jaxpr.in_types[: len(jaxpr.outputs)]
    if not all([_has_samples(t) for t in types]):
        return True
    generator = np.random.default_rng(0)
    with as_current(base), options.override(debug_nans=False, debug_infs=False):
        x, y, z = [[_samples(generator, t) for t in types] for _ in range(3)]
        left = combined(jaxpr, combined(jaxpr, x, y), z)
        right = combined(jaxpr, x, combined(jaxpr, y, z))
    pairs = zip(left, right, strict=True)
    return all([_close(a, b) for a, b in pairs])


def _has_samples(type: ArrayType) -> bool:
    return dtypes.is_numeric(type.dtype) or dtypes.is_bool(type.dtype)


def _samples(generator: np.random.Generator, type: ArrayType) -> Any:
    if dtypes.is_bool(type.dtype):
        return as_array(generator.integers(0, 2, _TRIALS).astype(bool))
    if type.inexact:
        # Some are equal to each other: what is done about ties is part of a program.
        values = generator.normal(0, 3, _TRIALS)
        values[::2] = np.rint(values[::2] / 3)
        return as_array(values.astype(type.dtype))
    low = 0 if np.dtype(type.dtype).kind == "u" else -2
    return as_array(generator.integers(low, 2, _TRIALS).astype(type.dtype))


def _close(a: Any, b: Any) -> bool:
    if not a.type.inexact:
        return bool(np.array_equal(a.host(), b.host()))
    wide = np.complex64 if dtypes.is_complex(a.type.dtype) else np.float32
    x, y = [np.asarray(v.host()).astype(wide) for v in (a, b)]
    known = np.isfinite(x) & np.isfinite(y)
    return bool(np.allclose(x[known], y[known], _TOLERANCE, _TOLERANCE))
