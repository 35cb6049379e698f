"""Rows of the operations in ``operations/convolution.py``."""

import numpy as np

from covector.core import dtypes
from covector.operations.convolution import ConvDimensionNumbers, ConvGeneralDilated
from covector.operations.precision import Precision
from tests.laws import Case

_rng = np.random.default_rng(0)


def _x(*shape):
    return np.round(_rng.normal(size=shape), 2)


def _z(*shape):
    return _x(*shape) + 1j * _x(*shape)


def _reference(op):
    """The formula, position by position and tap by tap."""

    def convolve(lhs, rhs):
        a, b, c = op.dimension_numbers
        x, w = lhs.transpose(a), rhs.transpose(b)
        g, h = op.feature_group_count, op.batch_group_count
        room, shape = [], []
        for axis, (low, high) in enumerate(op.padding):
            n, k = x.shape[2 + axis], w.shape[2 + axis]
            long = max((n - 1) * op.lhs_dilation[axis] + 1, 0) if n else 0
            span = (k - 1) * op.rhs_dilation[axis] + 1
            room.append((n, long, low, span))
            free = long + low + high - span
            shape.append(free // op.window_strides[axis] + 1 if free >= 0 else 0)
        batch, outs, ins = x.shape[0] // h, w.shape[0], w.shape[1]
        out = np.zeros((batch, outs, *shape), np.result_type(x, w))
        for n, o, *at in np.ndindex(*out.shape):
            group = o * g * h // outs
            entry = n + (group * batch if h > 1 else 0)
            first = group * ins if g > 1 else 0
            for i, *tap in np.ndindex(*w.shape[1:]):
                source = [
                    p * s + t * r - low
                    for p, s, t, r, (_, _, low, _) in zip(
                        at, op.window_strides, tap, op.rhs_dilation, room, strict=True
                    )
                ]
                inside = all(
                    0 <= q < long and q % d == 0
                    for q, d, (_, long, _, _) in zip(
                        source, op.lhs_dilation, room, strict=True
                    )
                )
                if inside:
                    index = [
                        q // d for q, d in zip(source, op.lhs_dilation, strict=True)
                    ]
                    out[(n, o, *at)] += x[(entry, first + i, *index)] * w[(o, i, *tap)]
        return out.transpose(np.argsort(c))

    return convolve


def _conv(
    rank,
    strides=None,
    padding=None,
    lhs_dilation=None,
    rhs_dilation=None,
    *,
    numbers=None,
    **fields,
):
    axes = tuple(range(rank + 2))
    ones = (1,) * rank
    return ConvGeneralDilated(
        strides or ones,
        padding or ((0, 0),) * rank,
        lhs_dilation or ones,
        rhs_dilation or ones,
        ConvDimensionNumbers(*(numbers or (axes, axes, axes))),
        **fields,
    )


#: compiling a convolution takes long, so only the first row is tried in every dtype
_DTYPES = (dtypes.float32, dtypes.bfloat16, dtypes.int32)


def _case(op, lhs, rhs, reference=True, dtypes=None, **fields):
    if dtypes is None and lhs.dtype == np.float64 and lhs.size:
        dtypes = _DTYPES
    return Case(
        op, (lhs, rhs), _reference(op) if reference else None, dtypes=dtypes, **fields
    )


_NHWC = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
_MIXED = ((2, 1, 0, 3), (1, 3, 2, 0), (3, 0, 2, 1))

CASES = [
    Case(_conv(1), (_x(2, 3, 6), _x(4, 3, 3)), _reference(_conv(1))),
    _case(_conv(1, (2,), ((1, 2),)), _x(2, 2, 7), _x(3, 2, 3)),
    _case(_conv(1, (2,), ((2, 0),), (3,), (2,)), _x(1, 2, 4), _x(2, 2, 3)),
    _case(_conv(1, (3,), ((-1, -2),)), _x(1, 2, 9), _x(2, 2, 2)),
    _case(_conv(1, (1,), ((-3, 4),), (2,)), _x(1, 1, 4), _x(1, 1, 2)),
    _case(_conv(1), _z(1, 2, 4), _z(2, 2, 2)),
    _case(_conv(0), _x(2, 3), _x(4, 3)),
    _case(_conv(2, (1, 2), ((1, 1), (0, 1))), _x(2, 2, 4, 5), _x(3, 2, 3, 2)),
    _case(
        _conv(2, (2, 1), ((1, 1), (1, 0)), numbers=_NHWC),
        _x(2, 4, 5, 3),
        _x(3, 2, 3, 2),
        name="conv in NHWC",
    ),
    _case(
        _conv(2, (1, 1), ((1, 0), (0, 2)), (2, 1), (1, 2), numbers=_MIXED),
        _x(3, 2, 2, 4),
        _x(3, 3, 2, 2),
        name="conv with mixed axes",
    ),
    _case(
        _conv(3, padding=((1, 0), (0, 0), (1, 1))), _x(1, 2, 2, 3, 2), _x(2, 2, 2, 2, 2)
    ),
    _case(
        _conv(2, padding=((1, 1), (1, 1)), feature_group_count=2),
        _x(2, 4, 3, 4),
        _x(6, 2, 3, 3),
        name="conv in two groups",
    ),
    _case(
        _conv(2, (2, 1), ((1, 1), (0, 1)), feature_group_count=3),
        _x(2, 3, 5, 4),
        _x(3, 1, 3, 2),
        name="depthwise conv",
    ),
    _case(
        _conv(1, (1,), ((2, 1),), (2,), (2,), feature_group_count=3),
        _x(2, 3, 4),
        _x(6, 1, 2),
        name="depthwise conv with two outputs per feature",
    ),
    _case(
        _conv(2, (1, 1), ((1, 1), (1, 1)), numbers=_NHWC, feature_group_count=4),
        _x(1, 3, 3, 4),
        _x(3, 3, 1, 4),
        name="depthwise conv in NHWC",
    ),
    _case(
        _conv(1, (2,), ((1, 1),), batch_group_count=2),
        _x(4, 3, 6),
        _x(4, 3, 3),
        name="conv in two batch groups",
    ),
    _case(
        _conv(1, (1,), ((1, 0),), batch_group_count=3),
        _x(3, 2, 4),
        _x(6, 2, 2),
        name="conv in batch groups of one",
    ),
    _case(
        _conv(1, padding=((1, 1),)), _x(2, 3, 4), _x(2, 3, 1), name="conv of one tap"
    ),
    # Those above have few terms; on a CPU, XLA's own convolutions begin here.
    _case(
        _conv(2, (2, 1), ((2, 1), (2, 2)), numbers=_NHWC),
        _x(2, 5, 6, 3),
        _x(5, 5, 3, 2),
        name="conv of many terms in NHWC",
    ),
    _case(
        _conv(2, (1, 1), ((1, 0), (-1, 2)), (2, 1), (1, 2), numbers=_MIXED),
        _x(3, 17, 2, 4),
        _x(3, 3, 2, 17),
        name="conv of many terms with mixed axes",
    ),
    _case(
        _conv(1, (2,), ((1, 2),)),
        _z(1, 33, 5),
        _z(2, 33, 2),
        name="conv of many complex terms",
    ),
    _case(
        _conv(1, (2,), ((1, 0),), feature_group_count=2),
        _x(2, 66, 4),
        _x(4, 33, 2),
        name="conv of many terms in two groups",
    ),
    _case(
        _conv(1, (2,), ((1, 0),), batch_group_count=2),
        _x(4, 33, 4),
        _x(4, 33, 2),
        name="conv of many terms in two batch groups",
    ),
    _case(_conv(1), _x(0, 2, 4), _x(3, 2, 2)),
    _case(_conv(1), _x(1, 0, 4), _x(3, 0, 2)),
    _case(_conv(1), _x(1, 2, 4), _x(0, 2, 2)),
    _case(_conv(1, padding=((1, 2),)), _x(1, 2, 0), _x(2, 2, 2)),
    _case(_conv(1), _x(1, 2, 2), _x(2, 2, 3), name="window wider than the operand"),
    _case(
        _conv(1, padding=((1, 1),)),
        np.array([[[100, -50, 27, 2**31 - 1]]], np.int32),
        np.array([[[3, 2, 1]]], np.int32),
        name="conv that wraps around",
    ),
    _case(
        _conv(1, padding=((1, 1),)),
        np.array([[[1.0, np.inf, 2.0, np.nan, 0.0, 1.0]]]),
        np.array([[[1.0, 0.5]]]),
        name="conv of special values",
        derivative=False,
        dtypes=(dtypes.float32, dtypes.float64, dtypes.bfloat16),
    ),
    _case(
        _conv(1, preferred_element_type=dtypes.float32),
        _x(1, 16, 6),
        _x(3, 16, 3),
        name="conv of narrow floats to float32",
        derivative=False,
        dtypes=(dtypes.bfloat16, dtypes.float16),
    ),
    _case(
        _conv(1, preferred_element_type=dtypes.float64),
        _x(1, 2, 6),
        _x(3, 2, 3),
        name="conv to float64",
        dtypes=(dtypes.float32, dtypes.float64),
    ),
    _case(
        _conv(1, preferred_element_type=dtypes.int32),
        np.full((1, 20, 4), 100, np.int8),
        np.full((2, 20, 2), 100, np.int8),
        False,
        name="conv of int8 to int32",
        dtypes=(dtypes.int8, dtypes.uint8),
    ),
    _case(
        _conv(1, precision=(Precision.HIGHEST, Precision.HIGH)),
        _x(1, 2, 4),
        _x(2, 2, 2),
    ),
]
