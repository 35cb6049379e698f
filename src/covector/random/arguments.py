"""Arguments of random functions, checked, and the execution of samplers.

single_key, sample_shape, float_dtype, parameters      arguments, one by one
drawn                                                  all of them, and the draw
sampler                                                small draws run at once on the
                                                       host, large ones compiled
in_long_rows                                           … as an array of longer rows
"""

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ParamSpec, TypeGuard, TypeVar, cast

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.flat import describe_given
from covector.core.key_types import KeyType
from covector.core.primitive import Primitive
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.trace import Tracer, current
from covector.core.types import Shape, broadcast_shapes, show_types
from covector.dispatch.debug_nans import as_one
from covector.dispatch.jit import jit
from covector.errors import ArgumentError, DTypeError, DTypeKindError, TypeMismatch
from covector.lax.control_flow import while_loop
from covector.lowering.evaluate import base
from covector.numpy.axes import canonical_shape, with_out_sharding
from covector.numpy.promote import broadcast_to, standard_promotion
from covector.operations.casting import in_dtype
from covector.operations.identities import computed_once
from covector.operations.joining import Unstack
from covector.operations.random import RandomWrap
from covector.operations.transposing import Reshape
from covector.random import generators
from covector.random.generators import default_key_type
from covector.runtime import client

P = ParamSpec("P")
R = TypeVar("R")

#: the length of rows below which XLA:CPU makes no vectors of them, or few
_SHORT_ROW = 64
#: elements up to which a draw runs operation by operation: each then runs on the host
DRAW_LIMIT = Primitive.host_limit // 2


def is_typed(keys: ArrayLike) -> TypeGuard[Array]:
    """Whether ``keys`` are typed random keys."""
    return isinstance(keys, Array) and dtypes.is_key(keys.type.dtype)


def words(who: str, data: ArrayLike, kind: KeyType | None = None) -> Array:
    """Raw keys: an array ``u32[..., 2]``, or with as many words as keys of ``kind``."""
    kind = kind or default_key_type()
    try:
        found = as_array(data, who)
    except DTypeError:
        raise _no_key(who, data, kind) from None
    if found.type.dtype is not dtypes.uint32 or found.type.shape[-1:] != (kind.words,):
        raise _no_key(who, data, kind)
    return found


def _no_key(who: str, given: Any, kind: KeyType) -> DTypeError:
    """The error for what stands where a key must, which is mostly what follows it."""
    if isinstance(given, np.ndarray | np.generic):
        given = as_array(given, who)
    got = describe_given(given)
    way_out = (
        f"Make one and hand it over first: key = covector.random.key(0); {who}(key, "
        "...). covector.random.split(key) makes new ones, for one draw each."
    )
    if isinstance(given, int) and not isinstance(given, bool):
        way_out = f"A seed is not a key: use {who}(covector.random.key({given}), ...)."
    elif got.endswith("u32[4]"):
        way_out = (
            "Raw keys are taken for keys of the option default_prng_impl; "
            "covector.random.wrap_key_data(key, impl='rbg') says which they are."
        )
    return DTypeError(
        f"{who} needs a random key ({kind}[] or u32[{kind.words}]), but got {got}. "
        f"{way_out}",
        page="random-key",
    )


def keyed(draw: Callable[P, R]) -> Callable[P, R]:
    """A function of a key and of more that must be given: without the key Python would
    miss the last of it, and not the key.
    """

    @functools.wraps(draw)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return draw(*args, **kwargs)
        except TypeError as error:
            entered = cast(Any, error.__traceback__).tb_next is not None
            if entered or not args:
                raise
            try:
                typed(draw.__name__, cast(Any, args[0]))
            except DTypeError as no_key:
                raise no_key from None
            raise

    return called


def typed(who: str, keys: ArrayLike) -> Array:
    """Keys, typed or raw, as typed ones."""
    if is_typed(keys):
        return keys
    kind = default_key_type()
    return RandomWrap(kind)(words(who, keys, kind))


def single_key(who: str, key: ArrayLike) -> Array:
    """``key``, typed or raw, as one typed key."""
    found = typed(who, key)
    if found.type.shape:
        raise TypeMismatch(
            f"{who} needs one random key, but got an array of keys, "
            f"{as_array(key).type}. To draw from each, use "
            f"covector.vmap(lambda key: {who}(key, ...))(keys)."
        )
    return found


def sample_shape(who: str, shape: ShapeLike, name: str = "shape") -> Shape:
    """The shape of the sample, as a tuple; one integer is a shape of one axis."""
    shape = canonical_shape(who, shape, name)
    if any([n < 0 for n in shape]):
        raise ArgumentError(f"{who}: {name} {shape} has a negative length.")
    return shape


def float_dtype(who: str, dtype: DTypeLike | None) -> DType:
    """The floating-point dtype to draw in; None stands for the default one."""
    return _dtype(
        who, dtype, dtypes.default_float, dtypes.is_floating, "floating-point"
    )


def int_dtype(who: str, dtype: DTypeLike | None) -> DType:
    """The integer dtype to draw in; None stands for the default one."""
    return _dtype(who, dtype, dtypes.default_int, dtypes.is_integer, "integer")


def _dtype(
    who: str,
    dtype: Any,
    default: Callable[[bool], Any],
    accepts: Callable[[Any], bool],
    kind: str,
) -> Any:
    if dtype is None:
        return default(options.current().enable_x64)
    dtype = asked_dtype(dtype)
    if not accepts(dtype):
        raise DTypeKindError(
            f"{who} draws {kind} numbers, but got the dtype {dtypes.short_name(dtype)}."
        )
    return dtype


def broadcast_shape(*shapes: Shape) -> Shape | None:
    """The shape that shapes broadcast to; None if there is none."""
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        return None


def parameters(
    who: str, shape: ShapeLike | None, dtype: DType, *values: Any
) -> tuple[Shape, Sequence[Array]]:
    """The shape to draw, and the parameters of a distribution brought to it.

    Without a shape it is the one that the parameters broadcast to. Scalars stay
    scalars.
    """
    arrays = [in_dtype(_real(who, v), dtype, who) for v in values]
    shapes = [a.type.shape for a in arrays]
    wanted = None if shape is None else sample_shape(who, shape)
    if not any(shapes):
        return wanted or (), arrays
    found = broadcast_shape(*shapes, () if wanted is None else wanted)
    if found is None or (wanted is not None and found != wanted):
        shown = show_types([a.type for a in arrays])
        goal = "one shape" if wanted is None else f"the shape {wanted}"
        raise TypeMismatch(f"{who}: the parameters {shown} do not broadcast to {goal}.")
    return found, [broadcast_to(a, found) if a.type.ndim else a for a in arrays]


def _real(who: str, value: Any) -> Any:
    """A parameter, which may be of any dtype of real numbers."""
    if np.iscomplexobj(value):
        raise DTypeError(
            f"{who} needs real parameters, but got {as_array(value).type}. real(x) and "
            "abs(x) make one of a complex number."
        )
    return value


def check_probabilities(who: str, p: Value, top: float = 1.0) -> None:
    """Raise where a probability that is known is NaN, negative, or above ``top``."""
    if isinstance(p, Tracer):
        return
    values = np.asarray(p)
    # Two quick passes, of which a NaN makes a NaN.
    if not values.size or (values.min() >= 0 and values.max() <= top):
        return
    wrong = float(values[~((values >= 0) & (values <= top))][0])
    wanted = "from 0 to 1" if top == 1 else "that are not negative"
    raise ArgumentError(f"{who} needs probabilities p {wanted}, but got {wrong:g}.")


def drawn(
    draw: Callable[..., R],
    key: ArrayLike,
    shape: Any,
    dtype: DTypeLike | None,
    *values: Any,
    out_sharding: ShardingLike | None = None,
    **static: Any,
) -> R:
    """Floating-point numbers that the sampler ``draw_<distribution>`` draws.

    A sampler without parameters is told the dtype; others see it by these. A ``method``
    is one of drawing gamma numbers.
    """
    who = draw.__name__.removeprefix("draw_")
    if "method" in static:
        check_method(who, static["method"])
    key, dtype = single_key(who, key), float_dtype(who, dtype)
    if not values:  # the shape has no default
        out = draw(key, shape=sample_shape(who, shape), dtype=dtype, **static)
    else:
        shape, arrays = parameters(who, shape, dtype, *values)
        out = draw(key, *arrays, shape=shape, **static)
    return with_out_sharding(out, out_sharding)


def sampler(draw: Callable[P, R]) -> Callable[P, R]:
    """Make large draws run as one compiled program.

    ``draw`` takes arrays by index, and by name ``shape`` and what else is hashable.
    """
    compiled: dict[tuple[str, ...], Any] = {}
    draw = standard_promotion(draw)

    @functools.wraps(draw)
    def run(*operands: Value, shape: Shape, **static: Any) -> Array:
        if int(prod(shape)) <= DRAW_LIMIT:
            return as_one(functools.partial(draw, shape=shape, **static), *operands)
        names = ("shape", *static)
        if names not in compiled:
            compiled[names] = jit(draw, static_argnames=names)
        return compiled[names](*operands, shape=shape, **static)

    return cast(Callable[P, R], run)


def in_long_rows(draw: Callable[..., Array]) -> Callable[..., Array]:
    """Let a large array of short rows be drawn as one of longer rows, on one CPU.

    The numbers are the same, each by its place in the order of all. XLA makes no
    vectors of rows of three: normal numbers of 400,000 × 3 took 17 ms, and now 2.7. Of
    several devices, each may want elements of all rows.
    """

    @functools.wraps(draw)
    def run(key: Value, *, shape: Shape, **static: Any) -> Array:
        rows = shape
        if int(prod(shape)) > DRAW_LIMIT and _is_on_one_cpu():
            while len(rows) > 1 and _is_short(rows[-1]):
                rows = (*rows[:-2], rows[-2] * rows[-1])
        out = draw(key, shape=rows, **static)
        # By itself: XLA would see that only the shape is another, and draw in that.
        return out if rows is shape else Reshape(shape)(computed_once(out))

    return run


def _is_on_one_cpu() -> bool:
    return client.default_platform() == "cpu" and client.device_count() == 1


def _is_short(length: Any) -> bool:
    return type(length) is int and length < _SHORT_ROW


def check_method(who: str, method: str) -> None:
    """Raise where there is no such ``method`` of drawing."""
    if method not in ("published", "fast"):
        raise ArgumentError(
            f"{who}: method must be 'published' or 'fast', but is {method!r}."
        )


def subkeys(keys: Value, count: int) -> Sequence[Array]:
    """``count`` new keys for each key, one array for each."""
    return Unstack(keys.type.ndim)(generators.split(keys, (count,)))


def repeat(
    test: Callable[..., Any], step: Callable[..., Any], carry: Sequence[Value]
) -> Sequence[Array]:
    """``while_loop`` over a tuple of arrays; small ones are not compiled for it."""
    eager = current.trace is base
    if eager and max([x.type.size for x in carry]) <= DRAW_LIMIT:
        while test(carry):
            carry = step(carry)
        return carry
    return while_loop(test, step, carry)
