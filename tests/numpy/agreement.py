"""Expressions that mean the same here and in a peer: NumPy, or JAX where they differ.

An expression is a line of text in which ``xp`` is the namespace, and names are arrays:

    xp.sum(x, axis=0)

It is evaluated on the host, inside ``jit`` and inside ``vmap``, and each time compared.
"""

from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes


def lines(table: str) -> list[str]:
    """The expressions of a table: one a line, ``#`` for remarks."""
    rows = [line.split("  #")[0].strip() for line in table.splitlines()]
    return [row for row in rows if row and not row.startswith("#")]


def evaluate(xp: Any, expression: str, values: dict[str, Any]) -> list[Any]:
    """The results of an expression, as a list."""
    out = eval(expression, {"xp": xp, "np": np, **values})
    return list(out) if isinstance(out, tuple | list) else [out]


def used(expression: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays that an expression names."""
    names = compile(expression, "table", "eval").co_names
    inner = {name for name in values if name in names}
    return {name: values[name] for name in values if name in inner}


def assert_same(found: Any, wanted: Any, *, exact_dtype: bool = True) -> None:
    """Shape, dtype (64 bits being 32 here) and values agree."""
    ours, theirs = np.asarray(found), np.asarray(wanted)
    assert ours.shape == theirs.shape
    if exact_dtype:
        assert ours.dtype == dtypes.canonical(theirs.dtype, False)
    if theirs.dtype.kind in "fcV":
        wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
        coarse = theirs.dtype.itemsize < 4
        np.testing.assert_allclose(
            ours.astype(wide),
            theirs.astype(wide),
            rtol=2e-2 if coarse else 2e-5,
            atol=1e-2 if coarse else 1e-5,
        )
    else:
        np.testing.assert_array_equal(ours, theirs)


def agrees(
    expression: str, values: dict[str, np.ndarray], peer: Any, exact_dtype: bool = True
) -> None:
    """The expression gives here, operation by operation, what it gives in the peer."""
    named = used(expression, values)
    wanted = evaluate(peer, expression, named)
    arrays = {name: cnp.asarray(v) for name, v in named.items()}
    found = evaluate(cnp, expression, arrays)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert_same(ours, theirs, exact_dtype=exact_dtype)


def agrees_compiled(expression: str, values: dict[str, np.ndarray]) -> None:
    """The expression gives inside jit what it gives outside."""
    named = used(expression, values)
    arrays = {name: cnp.asarray(v) for name, v in named.items()}
    wanted = evaluate(cnp, expression, arrays)
    found = cv.jit(lambda given: evaluate(cnp, expression, given))(arrays)
    for ours, theirs in zip(found, wanted, strict=True):
        assert_same(ours, theirs)


def agrees_batched(expression: str, values: dict[str, np.ndarray]) -> None:
    """The expression gives inside vmap what it gives for each of a batch."""
    named = used(expression, values)
    others = {name: np.flip(v) for name, v in named.items()}
    each = [
        evaluate(cnp, expression, {name: cnp.asarray(v) for name, v in one.items()})
        for one in (named, others)
    ]
    both = {
        name: cnp.asarray(np.stack([named[name], others[name]]), named[name].dtype)
        for name in named
    }
    found = cv.vmap(lambda given: evaluate(cnp, expression, given))(both)
    for ours, first, second in zip(found, *each, strict=True):
        assert_same(ours, np.stack([np.asarray(first), np.asarray(second)]))
