"""The laws that every operation obeys: what a row of the table is, how to measure.

A row is a ``Case``: an operation, NumPy operands, and what NumPy makes of them. The
laws themselves are the tests of ``tests/operations/test_laws.py``. Here is what they
share:

    Case.variants        the operands in every element type that the operation takes
    Case.compiled        the element types among these in which the row is compiled
    host_results, compiled_results, reference_results
    jvp, vjp, quotient   derivatives by rule and by differences, in float64
    agree                whether two results are the same up to rounding
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.key_types import KeyType
from covector.core.number_info import finfo, iinfo
from covector.core.primitive import Primitive
from covector.core.show import show_operation
from covector.core.types import ArrayType
from covector.errors import CovectorError
from covector.lowering.compile import LoweredProgram
from covector.runtime import client
from covector.transforms.linearize import jvp_flat, linearize_flat
from covector.transforms.pullback import pull_back

#: element types in which a row of float64 operands is tried
SWEEP = (
    dtypes.float32,
    dtypes.float64,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.complex64,
    dtypes.complex128,
    dtypes.int32,
    dtypes.int8,
    dtypes.int64,
    dtypes.uint8,
    dtypes.uint32,
    dtypes.bool_,
    dtypes.float8_e4m3fn,
    dtypes.float8_e5m2,
    dtypes.int4,
    dtypes.uint4,
)
KEYS = KeyType("threefry2x32")
#: the element type of NumPy operands that stand for random keys
KEY = np.dtype([("key", KEYS.storage)])


@dataclass(frozen=True, eq=False)
class Case:
    """One row of the table.

    ``op``: the operation. ``args``: NumPy operands; floats are float64 or complex128,
    and random keys ``KEY``.
    The operands that have the element type of the leading one (the first inexact one,
    else the first integer, else the first) are cast for the other element types.

    ``reference``: the results as a function of the operands, by NumPy. ``upcast``: it
    is worked out in float64 and rounded; otherwise in the element type at hand.

    ``rtol``: relative tolerance of the values in float32; it grows and shrinks with the
    machine epsilon. 0 means equal to the bit. Default: 0 for integers and for
    operations that only move elements, 1e-6 (8 epsilon) for others.

    ``derivative``: whether, or for which operands, derivatives are checked at these
    operands; False for points where there is none. ``second_order``: second ones too.

    ``dtypes``: the element types to try. Default: those of ``SWEEP`` that the operation
    takes.

    ``before``: the rows before it of its kind (the class, and the element types among
    its parameters), which the table fills in.
    """

    op: Primitive
    args: tuple[Any, ...]
    reference: Callable[..., Any] | None = None
    _: KW_ONLY
    name: str | None = None
    rtol: float | None = None
    upcast: bool = True
    derivative: bool | tuple[bool, ...] = True
    second_order: bool = True
    dtypes: tuple[Any, ...] | None = None
    before: tuple["Case", ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple([np.asarray(a) for a in self.args]))

    @property
    def label(self) -> str:
        """``reduce_sum[axes=(0,)](f64[3,2])``, or the given name in front of that."""
        types = ", ".join([str(a.type) for a in arrays(self.args)])
        return f"{self.name or show_operation(self.op)}({types})"

    @property
    def lead(self) -> int:
        """Which operand leads: the first inexact one, else the first integer."""
        for kind in (dtypes.is_inexact, dtypes.is_integer):
            for i, a in enumerate(self.args):
                if kind(a.dtype):
                    return i
        return 0

    @property
    def active(self) -> tuple[bool, ...]:
        """The operands with respect to which derivatives are checked."""
        wanted = self.derivative
        if isinstance(wanted, bool):
            wanted = (wanted,) * len(self.args)
        return tuple(
            [
                w and dtypes.is_inexact(a.dtype)
                for w, a in zip(wanted, self.args, strict=True)
            ]
        )

    @functools.cached_property
    def variants(self) -> dict[Any, tuple[ConcreteArray, ...]]:
        """The operands in every element type that the operation takes."""
        found = {}
        for dtype in map(dtypes.as_dtype, self.dtypes or self._candidates()):
            args = self.cast(dtype)
            try:
                self.op.type_rule(*[a.type for a in args])
            except CovectorError:
                if self.dtypes is not None:
                    raise
            else:
                found[dtype] = args
        assert found, f"{self.label}: the operation takes none of its element types"
        return found

    @functools.cached_property
    def compiled(self) -> list[Any]:
        """The element types in which the row is compiled, which is what takes time.

        All that no row of its kind before it is compiled in; of the others the first,
        and every third, from one row to the next different ones. All where it names
        them.
        """
        if self.dtypes is not None:
            return list(self.variants)
        known = {dtype for case in self.before for dtype in case.compiled}
        first, *others = self.variants
        again = {first, *others[len(self.before) % 3 :: 3]}
        return [d for d in self.variants if d in again or d not in known]

    @property
    def computed(self) -> list[Any]:
        """The element types of which there are results, on the host or compiled."""
        known = self.compiled
        return [d for d in self.variants if d in known or self.on_host(d)]

    def _candidates(self) -> tuple[Any, ...]:
        lead = self.args[self.lead].dtype if self.args else dtypes.float64
        if lead == dtypes.float64:
            return (*SWEEP, KEYS)
        if lead == dtypes.complex128:
            return (dtypes.complex64, dtypes.complex128)
        if dtypes.is_integer(lead):
            return tuple([d for d in SWEEP if dtypes.is_integer(d)])
        return (KEYS,) if lead == KEY else (lead,)

    def cast(self, dtype: Any) -> tuple[ConcreteArray, ...]:
        """The operands, those of the leading element type now of another one."""
        if not self.args:
            return ()
        lead = self.args[self.lead].dtype
        return tuple(
            [
                array(_cast(a, dtype), dtype) if a.dtype == lead else array(a)
                for a in self.args
            ]
        )

    def types(self, dtype: Any) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
        """The types of operands and results of a variant."""
        operands = tuple([a.type for a in self.variants[dtype]])
        return operands, tuple(self.op.type_rule(*operands))

    def on_host(self, dtype: Any) -> bool:
        """Whether a variant runs on the host, outside of compiled programs."""
        return self.op.plan(self.types(dtype)[0]).prefers_host

    def moves_only(self) -> bool:
        """Whether the operation takes even random keys, so that it computes nothing."""
        return KEYS in self.variants

    def tolerance(self, dtype: Any) -> float:
        """The relative tolerance of results of an element type."""
        if not dtypes.is_inexact(dtype) or (self.rtol is None and self.moves_only()):
            return 0.0
        wide = finfo(dtypes.float32).eps
        return (1e-6 if self.rtol is None else self.rtol) * finfo(dtype).eps / wide


def _cast(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Float64 operands as other numbers: integers are made of quarters."""
    if x.dtype == KEY:
        return x
    storage = getattr(dtype, "storage", dtype)
    with np.errstate(all="ignore"):
        if dtypes.is_integer(x.dtype) or dtypes.is_inexact(storage):
            return x.astype(storage)
        if dtypes.is_bool(storage):
            return x > 0
        whole = np.rint(4 * np.nan_to_num(x))
        limits = iinfo(storage)
        whole = np.abs(whole) if limits.min == 0 else whole
        return np.clip(whole, limits.min, min(limits.max, 2**53)).astype(storage)


def array(values: np.ndarray, dtype: Any = None) -> ConcreteArray:
    """NumPy values as an array of exactly their element type, or of a key type."""
    values = np.array(values)
    if values.dtype == KEY:
        values, dtype = values.view(KEYS.storage), KEYS
    values.flags.writeable = False
    return ConcreteArray(ArrayType(values.shape, dtype or values.dtype), values)


def arrays(values: Sequence[np.ndarray]) -> list[ConcreteArray]:
    return [array(x) for x in values]


def bound(op: Primitive) -> Callable[..., Sequence[Any]]:
    """The operation as a flat function with a sequence of results."""
    return op if op.multiple_results else lambda *args: (op(*args),)


# -- results ---------------------------------------------------------------------------


def host_results(case: Case, dtype: Any) -> list[np.ndarray]:
    """What ``on_host`` gives, as it gives it."""
    with np.errstate(all="ignore"):
        outs = case.op.on_host(*[a.host() for a in case.variants[dtype]])
    return list(outs) if case.op.multiple_results else [outs]


@functools.lru_cache(16)
def compiled_results(case: Case) -> dict[Any, list[np.ndarray]]:
    """What XLA gives, in one program for all element types in which it is compiled."""
    inputs, equations, given = [], [], []
    for dtype in case.compiled:
        args = case.variants[dtype]
        operands, outs = [[Var(t) for t in types] for types in case.types(dtype)]
        inputs.extend(operands)
        given.extend(args)
        equations.append(Equation(case.op, operands, outs, None))
    outputs = [v for e in equations for v in e.outputs]
    program = Jaxpr(inputs, equations, outputs, case.op.name)
    device = client.default_device()
    values = iter(LoweredProgram(program, "law", device).compile()(given))
    return {
        dtype: [next(values).host() for _ in equation.outputs]
        for dtype, equation in zip(case.compiled, equations, strict=True)
    }


def results(case: Case, dtype: Any) -> list[np.ndarray]:
    """What the operation gives: on the host where it can run there, else compiled."""
    if case.on_host(dtype):
        return host_results(case, dtype)
    return compiled_results(case)[dtype]


def reference_results(case: Case, dtype: Any) -> list[np.ndarray]:
    """What the reference gives, rounded to the types of the results."""
    _, types = case.types(dtype)
    hosts = [a.host() for a in case.variants[dtype]]
    if case.upcast:
        hosts = [_widened(x) for x in hosts]
    with np.errstate(all="ignore"):
        outs = case.reference(*hosts)
        outs = outs if isinstance(outs, tuple | list) else (outs,)
        return [
            np.asarray(o).astype(t.storage) for o, t in zip(outs, types, strict=True)
        ]


def _widened(x: np.ndarray) -> np.ndarray:
    if dtypes.is_floating(x.dtype):
        return x.astype(np.float64)
    if dtypes.is_complex(x.dtype):
        return x.astype(np.complex128)
    return (
        x.astype(np.int8)
        if x.dtype == dtypes.int4
        else (x.astype(np.uint8) if x.dtype == dtypes.uint4 else x)
    )


# -- derivatives, in float64 -----------------------------------------------------------


def directions(values: Sequence[Any], seed: int) -> list[Any]:
    """A direction for each inexact value, None for others; no element is near zero."""
    rng = np.random.default_rng(seed)

    def one(shape: tuple[int, ...]) -> np.ndarray:
        return rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)

    return [
        None
        if not dtypes.is_inexact(v.type.dtype)
        else array(one(v.type.shape) + 1j * one(v.type.shape))
        if dtypes.is_complex(v.type.dtype)
        else array(one(v.type.shape))
        for v in values
    ]


def masked(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """The values where the mask says so, None elsewhere."""
    return [v if m else None for v, m in zip(values, mask, strict=True)]


def masks(active: Sequence[bool]) -> list[tuple[bool, ...]]:
    """All of the active, and each of them alone."""
    indices = [i for i, a in enumerate(active) if a]
    alone = [tuple(i == p for i in range(len(active))) for p in indices]
    return [tuple(active), *alone] if len(indices) > 1 else alone


def jvp(fun: Any, args: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Tangents of the results by rule, None where zero."""
    return jvp_flat(fun, args, tangents)[1]


def vjp(fun: Any, args: Sequence[Any], active: Sequence[bool], cotangents: Any) -> Any:
    """Cotangents of the active operands by rule, None for the others."""
    _, linear = linearize_flat(fun, args, active)
    return masked(pull_back(linear, [a.type for a in args], active, cotangents), active)


def quotient(
    fun: Any, args: Sequence[Any], tangents: Sequence[Any], step: float = 1e-4
) -> list[np.ndarray]:
    """Derivatives by a difference quotient of fourth order."""

    def at(k: int) -> list[np.ndarray]:
        moved = [
            a if t is None else array(a.host() + k * step * t.host())
            for a, t in zip(args, tangents, strict=True)
        ]
        return [np.asarray(o.host()) for o in fun(*moved)]

    return [
        (8 * (b - c) - (a - d)) / (12 * step)
        for a, b, c, d in zip(at(2), at(1), at(-1), at(-2), strict=True)
    ]


def pairing(xs: Sequence[Any], ys: Sequence[Any]) -> tuple[float, float]:
    """⟨x, y⟩ = Re Σ x·y, without conjugation, and its scale Σ |x|·|y|."""
    value = scale = 0.0
    for x, y in zip(xs, ys, strict=True):
        if x is not None and y is not None:
            products = np.asarray(x.host()) * np.asarray(y.host())
            value += float(np.sum(products).real)
            scale += float(np.sum(np.abs(products)))
    return value, scale


# -- agreement -------------------------------------------------------------------------


def agree(got: Any, wanted: Any, rtol: float, atol: float = 0.0) -> None:
    """Raise unless two arrays have one type, and values that are equal up to rounding.

    With no tolerance, zeros need the same sign. NaN equals NaN, infinities themselves.
    """
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if (
        dtypes.is_complex(got.dtype)
        and not (np.isfinite(got) & np.isfinite(wanted)).all()
    ):
        agree(got.real, wanted.real, rtol, atol)
        agree(got.imag, wanted.imag, rtol, atol)
        return
    if dtypes.is_floating(got.dtype) and got.dtype not in (
        dtypes.float32,
        dtypes.float64,
    ):
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    if rtol == atol == 0:
        np.testing.assert_array_equal(got, wanted)
        if dtypes.is_inexact(got.dtype):
            for part in (np.real, np.imag):
                signs = [np.signbit(part(x)) & (part(x) == 0) for x in (got, wanted)]
                np.testing.assert_array_equal(*signs, err_msg="signs of zeros differ")
    else:
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def scale(*values: Any) -> float:
    """The largest finite magnitude among the values, at least a tiny one."""
    sizes = np.concatenate([np.abs(np.ravel(v)).astype(np.float64) for v in values])
    sizes = sizes[np.isfinite(sizes)]
    return max(float(sizes.max(initial=0.0)), 1e-30)
