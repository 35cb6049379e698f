"""Scaled dot-product attention."""

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

import covector.numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Shape, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, TypeMismatch
from covector.nn.normalization import logsumexp, softmax
from covector.numpy.promote import standard_promotion
from covector.numpy.reduction_base import working_dtype

__all__ = [
    "dot_product_attention",
]


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | Sequence[int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[False] = False,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | Sequence[int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
@standard_promotion
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | Sequence[int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query · keyᵀ · scale + bias) · value (Vaswani et al. 2017).

    Args:
      query: ``[batch, t, heads, depth]``, or without the batch.
      key, value: ``[batch, s, groups, depth]``; ``heads`` is a multiple of ``groups``.
      bias: broadcast to ``[batch, heads, t, s]`` and added to the logits.
      mask: bool, broadcast likewise; False pairs do not attend.
      scale: 1/√depth by default.
      is_causal: position t attends to positions up to t.
      query_seq_lengths, key_value_seq_lengths: ``[batch]`` valid lengths.
      local_window_size: how far positions attend to the left and right.
      implementation: None, ``"xla"`` or ``"cudnn"``, the field's spellings; there is
        one.
      return_residual: also the log of the softmax denominators, ``[batch, t, heads]``,
        in the dtype of ``query``.

    Returns:
      ``[batch, t, heads, depth]``, of the dtype of ``query``. Logits and softmax are
      computed in float32 or wider.

    >>> x = cnp.ones((4, 2, 3))
    >>> dot_product_attention(x, x, x).shape
    (4, 2, 3)

    See also: ``softmax``.
    """
    query, key, value = (
        as_array(a, "dot_product_attention") for a in (query, key, value)
    )
    single = query.ndim == 3
    if single:
        query, key, value = query[None], key[None], value[None]
    _check(query, key, value)
    if implementation not in (None, "xla", "cudnn"):
        raise ArgumentError(
            "dot_product_attention: implementation must be None, 'xla' or 'cudnn', but "
            f"got {implementation!r}. The result is the same."
        )
    lengths = query_seq_lengths, key_value_seq_lengths
    logits = _logits(query, key, scale)
    if bias is not None:
        logits = logits + _over_logits("bias", bias, logits.shape)
    allowed = _allowed(logits.shape, mask, is_causal, lengths, local_window_size)
    if allowed is not None:
        logits = cnp.where(allowed, logits, -0.7 * float(np.finfo(np.float32).max))
    out = _weighted_sum(softmax(logits).astype(value.dtype), value)
    out = out.astype(query.dtype)
    if query_seq_lengths is not None:
        valid = cnp.arange(query.shape[1]) < as_array(query_seq_lengths)[:, None]
        out = cnp.where(valid[:, :, None, None], out, 0)
    result = out[0] if single else out
    if not return_residual:
        return result
    residual = cnp.swapaxes(logsumexp(logits, -1), 1, 2).astype(query.dtype)
    return result, residual[0] if single else residual


def _check(query: Value, key: Value, value: Value) -> None:
    good = (
        query.ndim == key.ndim == value.ndim == 4
        and key.shape[:3] == value.shape[:3]
        and query.shape[0] == key.shape[0]
        and query.shape[3] == key.shape[3]
        and query.shape[2] % key.shape[2] == 0
        and all([dtypes.is_floating(x.dtype) for x in (query, key, value)])
    )
    if not good:
        raise TypeMismatch(
            "dot_product_attention needs a query [batch, t, heads, depth] and a key "
            "and a value [batch, s, groups, depth], where heads must be a multiple of "
            "groups and elements floating-point numbers, but got "
            f"{query.type}, {key.type} and {value.type}."
        )


def _over_logits(name: str, given: ArrayLike, shape: Shape) -> Array:
    """A bias or a mask, which have to broadcast to the logits."""
    x = as_array(given, "dot_product_attention")
    of_kind = dtypes.is_bool if name == "mask" else dtypes.is_real
    lengths = zip(reversed(x.shape), reversed(shape), strict=False)
    fits = x.ndim <= len(shape) and all([n in (1, m) for n, m in lengths])
    if not (fits and of_kind(x.dtype)):
        kind = "bools" if name == "mask" else "real numbers"
        raise TypeMismatch(
            f"dot_product_attention needs a {name} of {kind} that broadcasts to "
            f"[batch, heads, t, s], here {shape}, but got {x.type}."
        )
    return x


def _valid_lengths(given: ArrayLike, batch: int) -> Array:
    """The lengths of the sequences of a batch."""
    x = as_array(given, "dot_product_attention")
    if x.shape != (batch,) or not dtypes.is_integer(x.dtype):
        raise TypeMismatch(
            "dot_product_attention needs integers [batch], here "
            f"{batch}, for the lengths of sequences, but got {x.type}."
        )
    return x


def _logits(query: Value, key: Value, scale: float | None) -> Array:
    """The products of queries and keys, ``[batch, heads, t, s]``."""
    batch, t, heads, depth = query.shape
    s, groups = key.shape[1:3]
    grouped = query.reshape(batch, t, groups, heads // groups, depth)
    wide = working_dtype(query.dtype)
    logits = cnp.einsum("btgnd,bsgd->bgnts", grouped, key, preferred_element_type=wide)
    logits = logits.reshape(batch, heads, t, s)
    return logits * (depth**-0.5 if scale is None else scale)


def _weighted_sum(weights: Value, value: Value) -> Array:
    """The values, summed with weights ``[batch, heads, t, s]``."""
    batch, heads, t, s = weights.shape
    groups, depth = value.shape[2:]
    grouped = weights.reshape(batch, groups, heads // groups, t, s)
    out = cnp.einsum("bgnts,bsgd->btgnd", grouped, value)
    return out.reshape(batch, t, heads, depth)


def _window(given: int | Sequence[int]) -> Sequence[int]:
    """The reach of a local window, to the left and to the right."""
    widths = given if isinstance(given, Sequence) else (given, given)
    if len(widths) != 2 or not all([hasattr(w, "__index__") for w in widths]):
        raise TypeMismatch(
            "dot_product_attention needs an int or a pair of ints for "
            f"local_window_size, but got {given!r}."
        )
    return widths


def _allowed(
    shape: Shape,
    mask: ArrayLike | None,
    is_causal: bool,
    lengths: tuple[Any, Any],
    window: int | Sequence[int] | None,
) -> Array | None:
    """The mask of positions that attend to each other, ``[batch, heads, t, s]`` or what
    broadcasts to it.
    """
    batch, _, t, s = shape
    rows, columns = cnp.arange(t)[:, None], cnp.arange(s)[None, :]
    conditions = [] if mask is None else [_over_logits("mask", mask, shape)]
    if is_causal:
        conditions.append((columns <= rows)[None, None])
    if window is not None:
        left, right = _window(window)
        near = (columns >= rows - left) & (columns <= rows + right)
        conditions.append(near[None, None])
    for indices, length in zip((rows, columns), lengths, strict=True):
        if length is not None:
            valid = _valid_lengths(length, batch)[:, None, None, None]
            conditions.append(indices[None, None] < valid)
    allowed = None
    for condition in conditions:
        allowed = condition if allowed is None else allowed & condition
    return allowed
