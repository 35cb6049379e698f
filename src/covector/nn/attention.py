"""Scaled dot-product attention."""

from typing import Any

import numpy as np

import covector.numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import TypeMismatch
from covector.nn.normalization import softmax
from covector.numpy.promote import standard_promotion
from covector.numpy.reduction_base import working_dtype

__all__ = [
    "dot_product_attention",
]


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
    local_window_size: int | tuple[int, int] | None = None,
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
      implementation: accepted for the field's spelling; there is one.
      return_residual: also the log of the softmax denominators, ``[batch, t, heads]``,
        in the dtype of ``query``.

    Returns:
      ``[batch, t, heads, depth]``, of the dtype of ``query``. Logits and softmax are
      computed in float32 or wider.

    >>> x = cnp.ones((4, 2, 3))
    >>> dot_product_attention(x, x, x).shape
    (4, 2, 3)
    """
    query, key, value = (
        as_array(a, "dot_product_attention") for a in (query, key, value)
    )
    single = query.ndim == 3
    if single:
        query, key, value = query[None], key[None], value[None]
    _check(query, key, value)
    batch, t, heads, depth = query.shape
    s, groups = key.shape[1:3]
    grouped = query.reshape(batch, t, groups, heads // groups, depth)
    wide = working_dtype(query.dtype)
    logits = cnp.einsum(
        "btgnd,bsgd->bgnts", grouped, key, preferred_element_type=wide
    ).reshape(batch, heads, t, s)
    logits = logits * (depth**-0.5 if scale is None else scale)
    if bias is not None:
        logits = logits + as_array(bias)
    allowed = _allowed(
        (batch, t, s),
        mask,
        is_causal,
        (query_seq_lengths, key_value_seq_lengths),
        local_window_size,
    )
    if allowed is not None:
        logits = cnp.where(allowed, logits, -0.7 * float(np.finfo(np.float32).max))
    weights = softmax(logits).astype(value.dtype)
    weights = weights.reshape(batch, groups, heads // groups, t, s)
    out = cnp.einsum("bgnts,bsgd->btgnd", weights, value)
    out = out.reshape(batch, t, heads, value.shape[-1]).astype(query.dtype)
    if query_seq_lengths is not None:
        valid = cnp.arange(t) < as_array(query_seq_lengths)[:, None]
        out = cnp.where(valid[:, :, None, None], out, 0)
    result = out[0] if single else out
    if not return_residual:
        return result
    largest = cnp.max(logits, -1, keepdims=True)
    denominators = cnp.log(cnp.sum(cnp.exp(logits - largest), -1)) + largest[..., 0]
    residual = cnp.swapaxes(denominators, 1, 2).astype(query.dtype)
    return result, residual[0] if single else residual


def _check(query: Value, key: Value, value: Value) -> None:
    good = (
        query.ndim == key.ndim == value.ndim == 4
        and key.shape[:3] == value.shape[:3]
        and query.shape[0] == key.shape[0]
        and query.shape[3] == key.shape[3]
        and query.shape[2] % key.shape[2] == 0
        and dtypes.is_floating(query.dtype)
    )
    if not good:
        raise TypeMismatch(
            "dot_product_attention needs a query [batch, t, heads, depth] and a key "
            "and a value [batch, s, groups, depth], with heads a multiple of groups "
            f"and floating point elements, but got {query.type}, {key.type} and "
            f"{value.type}."
        )


def _allowed(
    sizes: tuple[int, int, int],
    mask: ArrayLike | None,
    is_causal: bool,
    lengths: tuple[Any, Any],
    window: int | tuple[int, int] | None,
) -> Array | None:
    """The mask of positions that attend to each other, ``[batch, heads, t, s]`` or what
    broadcasts to it.
    """
    _, t, s = sizes
    rows, columns = cnp.arange(t)[:, None], cnp.arange(s)[None, :]
    conditions = [] if mask is None else [as_array(mask)]
    if is_causal:
        conditions.append((columns <= rows)[None, None])
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        near = (columns >= rows - left) & (columns <= rows + right)
        conditions.append(near[None, None])
    for indices, length in zip((rows, columns), lengths, strict=True):
        if length is not None:
            conditions.append(
                indices[None, None] < as_array(length)[:, None, None, None]
            )
    allowed = None
    for condition in conditions:
        allowed = condition if allowed is None else allowed & condition
    return allowed
