"""Rows of ``covector.nn.initializers``: what they make is called with a key and shape."""

from collections.abc import Callable
from typing import Any

from tests.public.draws import Draw, Maker
from tests.public.rows.random_numbers import FLOATS, key
from tests.public.table import rows


def weights(draw: Draw) -> tuple[Any, Any]:
    """A key, and the shape of a kernel."""
    return key(draw), tuple([draw.integer(1, 5) for _ in range(draw.integer(2, 4))])


def called(make: Callable[..., Any], of: Any, given: tuple[Any, ...], **named: Any) -> Any:
    """``make`` with its keywords, and the initializer that it gives with a key."""
    return make(**of)(*given, **named)


def made(**keywords: tuple[Any, ...]) -> Maker:
    """Keywords of the function that makes the initializer, and those of a call."""

    def make(draw: Draw) -> Any:
        return (draw.some(**keywords), weights(draw)), draw.some(dtype=FLOATS)

    return make


AXES: dict[str, tuple[Any, ...]] = {"in_axis": (0, -2), "out_axis": (-1,)}
DRAWN: dict[str, Any] = {"derivative": False, "rounding": 64.0}
rows("nn.initializers", "zeros ones",
     lambda draw: (weights(draw), draw.some(dtype=FLOATS)), placed=False, **DRAWN)  # fmt: skip
rows("nn.initializers", "uniform", made(scale=(0.5,)), calling=called, **DRAWN)
rows("nn.initializers", "normal", made(stddev=(0.5,)), calling=called, **DRAWN)
rows("nn.initializers", "truncated_normal", made(stddev=(0.5,), lower=(-1.0,)),
     calling=called, **DRAWN)  # fmt: skip
rows("nn.initializers", "glorot_normal glorot_uniform he_normal he_uniform "
     "kaiming_normal kaiming_uniform lecun_normal lecun_uniform xavier_normal "
     "xavier_uniform", made(**AXES), calling=called, **DRAWN)  # fmt: skip


def constant(draw: Draw) -> Any:
    value = draw.pick(2, -1.5, True)
    return ({"value": value}, weights(draw)), draw.some(dtype=FLOATS)


def scaled(draw: Draw) -> Any:
    modes = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
    kinds = ("truncated_normal", "normal", "uniform")
    of = {
        "scale": draw.pick(1.0, 2.5),
        "mode": draw.pick(*modes),
        "distribution": draw.pick(*kinds),
    } | draw.some(**AXES)
    return (of, weights(draw)), draw.some(dtype=(*FLOATS, "complex64"))


rows("nn.initializers", "constant", constant, calling=called, placed=False, **DRAWN)
rows("nn.initializers", "variance_scaling", scaled, calling=called, **DRAWN)


def centred(draw: Draw) -> Any:
    window = tuple([draw.integer(1, 4) for _ in range(draw.integer(1, 3))])
    shape = (*window, draw.integer(1, 3), draw.integer(2, 4))
    return (draw.some(scale=(2.0,)), (key(draw), shape)), draw.some(dtype=("float32",))


def columns(draw: Draw) -> Any:
    of = draw.some(scale=(2.0,), column_axis=(0, -1))
    return (of, weights(draw)), draw.some(dtype=("float32",))


TURNED = DRAWN | {"rounding": 1024.0, "calling": called}
rows("nn.initializers", "orthogonal", columns, **TURNED)
rows("nn.initializers", "delta_orthogonal", centred, **TURNED)
