"""Products of matrices in 8 and 4 bits, whose blocks have scales.

Along the axis that is summed, blocks of some elements share a scale:

    mxfp8    32 elements float8_e4m3fn, scales that are powers of two (float8_e8m0fnu)
    nvfp4    16 elements float4_e2m1fn, scales float8_e4m3fn, and one for all, float32

``scaled_matmul`` takes such matrices; ``scaled_dot_general`` takes others, and makes
them so before it multiplies, in its derivative too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import Any, Literal

from covector import lax
from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.number_info import finfo
from covector.errors import ArgumentError, TypeMismatch
from covector.programs.custom_rules.custom_derivative import custom_vjp

__all__ = [
    "BlockScaleConfig",
    "get_scaled_dot_general_config",
    "scaled_dot_general",
    "scaled_matmul",
]


@dataclass(frozen=True, eq=False)
class BlockScaleConfig:
    """The way to few bits for an operand; ``get_scaled_dot_general_config`` has two.

    ``global_scale``: a number that all scales are divided by. ``infer_only``: the
    derivative is that of the product as it is, without bringing cotangents to few bits.
    """

    mode: str
    block_size: int
    data_type: DType
    scale_type: DType
    global_scale: Array | None = None
    infer_only: bool = False


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8"], global_scale: ArrayLike | None = None
) -> BlockScaleConfig:
    """The configuration of one of the two formats.

    Args:
      global_scale: one float32 number, for ``"nvfp4"`` alone; 1 by default.

    Raises:
      ArgumentError: there is no such mode, or it has no such scale.

    >>> get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "mxfp8":
        if global_scale is not None:
            raise ArgumentError(
                "get_scaled_dot_general_config: 'mxfp8' has no global_scale."
            )
        kinds = dtypes.float8_e4m3fn, dtypes.float8_e8m0fnu
        return BlockScaleConfig(mode, 32, *kinds)
    if mode == "nvfp4":
        scale = cnp.ones(1, "float32") if global_scale is None else global_scale
        kinds = dtypes.float4_e2m1fn, dtypes.float8_e4m3fn
        return BlockScaleConfig(mode, 16, *kinds, cnp.asarray(scale, "float32"))
    raise ArgumentError(
        "get_scaled_dot_general_config: mode must be 'nvfp4' or 'mxfp8', but got "
        f"{mode!r}."
    )


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = "float32",
) -> Array:
    """The products of rows of stacks of matrices, whose blocks are scaled.

    Args:
      lhs: ``[b, m, k]``. rhs: ``[b, n, k]``.
      lhs_scales, rhs_scales: ``[b, m, s]`` and ``[b, n, t]``, a scale for each block of
        k / s, or k / t, elements.
      preferred_element_type: of the result.

    Returns:
      ``[b, m, n]``, computed in float32.

    Raises:
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> x, scale = cnp.array([[[1.0, 2.0]]]), cnp.array([[[0.5]]])
    >>> scaled_matmul(x, x, scale, scale).tolist()
    [[[1.25]]]
    """
    a, b, s, t = (
        as_array(v, "scaled_matmul") for v in (lhs, rhs, lhs_scales, rhs_scales)
    )
    fits = all(v.ndim == 3 for v in (a, b, s, t))
    fits = fits and a.shape[::2] == b.shape[::2]
    fits = fits and (a.shape[:2], b.shape[:2]) == (s.shape[:2], t.shape[:2])
    if not fits or any(n < 1 or a.shape[2] % n for n in (s.shape[2], t.shape[2])):
        raise TypeMismatch(
            "scaled_matmul needs operands [b, m, k] and [b, n, k], and scales "
            f"[b, m, s] and [b, n, t] where s and t divide k, but got {a.type}, "
            f"{b.type}, {s.type} and {t.type}."
        )
    product = cnp.einsum("bmk,bnk->bmn", _unscaled(a, s), _unscaled(b, t))
    return product.astype(preferred_element_type)


def _unscaled(x: Array, scales: Array) -> Array:
    """The numbers that elements and scales stand for."""
    size = x.shape[2] // scales.shape[2]
    wide = scales.astype("float32")
    return x.astype("float32") * cnp.repeat(wide, size, axis=2)


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike = "float32",
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """``lax.dot_general`` of operands brought to few bits, with scales for blocks.

    Args:
      dimension_numbers: as for ``lax.dot_general``.
      preferred_element_type: of the result.
      configs: of the first operand, of the second, and of cotangents of the result; by
        default nothing is brought to few bits.
      implementation: accepted, and without effect.

    Raises:
      ArgumentError: there are not three configurations.

    >>> import covector.numpy as cnp
    >>> configs = [get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = cnp.ones((1, 2, 32))
    >>> scaled_dot_general(x, x, (((2,), (2,)), ((0,), (0,))), configs=configs).tolist()
    [[[32.0, 32.0], [32.0, 32.0]]]
    """
    del implementation
    a, b = as_array(lhs, "scaled_dot_general"), as_array(rhs, "scaled_dot_general")
    if configs is None:
        return lax.dot_general(
            a, b, dimension_numbers, preferred_element_type=preferred_element_type
        )
    if len(configs) != 3:
        raise ArgumentError(
            "scaled_dot_general needs three configurations, of two operands and of "
            f"cotangents, but got {len(configs)}."
        )
    (of_a, of_b), (batch_a, batch_b) = dimension_numbers
    rows, outer_a = _as_rows(a, of_a, batch_a)
    columns, outer_b = _as_rows(b, of_b, batch_b)
    out = _product(tuple(configs), rows, columns)
    batch = tuple([a.shape[k] for k in batch_a])
    return out.reshape(*batch, *outer_a, *outer_b).astype(preferred_element_type)


def _as_rows(
    x: Array, summed: Sequence[int], batch: Sequence[int]
) -> tuple[Array, tuple[int, ...]]:
    """``[b, m, k]``, and the shape of the axes that became m."""
    outer = [k for k in range(x.ndim) if k not in (*summed, *batch)]
    moved = cnp.transpose(x, (*batch, *outer, *summed))
    sizes = [prod([x.shape[k] for k in axes]) for axes in (batch, outer, summed)]
    return moved.reshape(sizes), tuple([x.shape[k] for k in outer])


def _product(configs: Any, a: Array, b: Array) -> Array:
    """The rows of stacks multiplied; cotangents are brought to few bits, too."""

    @custom_vjp
    def product(a: Array, b: Array) -> Array:
        return _scaled_product(a, b, configs[0], configs[1])

    def forwards(a: Array, b: Array) -> Any:
        return product(a, b), (a, b)

    def backwards(kept: Any, g: Array) -> Any:
        a, b = kept
        turned = cnp.matrix_transpose
        if configs[2].infer_only:
            plain = g.astype("float32")
            of_a = cnp.einsum("bmn,bnk->bmk", plain, b.astype("float32"))
            of_b = cnp.einsum("bmn,bmk->bnk", plain, a.astype("float32"))
        else:
            of_a = _scaled_product(g, turned(b), configs[2], configs[1])
            of_b = _scaled_product(turned(g), turned(a), configs[2], configs[0])
        return of_a.astype(a.dtype), of_b.astype(b.dtype)

    product.defvjp(forwards, backwards)
    return product(a, b)


def _scaled_product(
    a: Array, b: Array, of_a: BlockScaleConfig, of_b: BlockScaleConfig
) -> Array:
    step = lcm(of_a.block_size, of_b.block_size)
    (x, s), (y, t) = _quantized(a, of_a, step), _quantized(b, of_b, step)
    out = scaled_matmul(x, y, s, t)
    for config in (of_a, of_b):
        if config.global_scale is not None:
            out = out * config.global_scale.reshape(())
    return out


def _quantized(x: Array, config: BlockScaleConfig, step: int) -> tuple[Array, Array]:
    """``[b, m, k]`` in few bits, with zeros up to a multiple of ``step``, and scales.

    The largest element of each block becomes the largest number of the type.
    """
    b, m, k = x.shape
    wide = cnp.pad(x.astype("float32"), ((0, 0), (0, 0), (0, -k % step)))
    blocks = wide.reshape(b, m, -1, config.block_size)
    limit = finfo(config.data_type).max
    scale = cnp.max(cnp.abs(blocks), axis=-1, initial=0) / limit
    total = 1.0 if config.global_scale is None else config.global_scale.reshape(())
    scale = scale / total
    if config.scale_type == dtypes.float8_e8m0fnu:
        part, exponent = cnp.frexp(scale)
        power = cnp.ldexp(1.0, cnp.where(part == 0.5, exponent - 1, exponent))
        scale = cnp.where(scale > 0, power, 1.0).astype(config.scale_type)
    else:
        most = finfo(config.scale_type).max
        least = finfo(config.scale_type).tiny
        scale = cnp.clip(scale, least, most).astype(config.scale_type)
    units = blocks / (scale.astype("float32") * total)[..., None]
    few = cnp.clip(units, -limit, limit).astype(config.data_type)
    return few.reshape(wide.shape), scale
