"""What must hold for a sample of a public function; each check yields what does not.

beside_numpy   values, shapes, NaN, signs of zero are NumPy's or SciPy's
beside_jax     … and JAX's, with dtypes and weak types
compiled       jit gives what the operations give one by one
batched        vmap gives what a loop gives, for any choice of operands and axes
watched        while NaN or infinity is looked for, what has none raises nothing
derivatives    jvp is the difference quotient, vjp its adjoint
"""

import functools
import itertools
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.core import dtypes
from covector.errors import CovectorError
from tests import laws
from tests.public import agreement
from tests.public.agreement import Tolerance
from tests.public.deliberate import is_deliberate
from tests.public.draws import Function, Key
from tests.public.table import Row, Sample
from tests.public.worlds import COVECTOR, JAX, NUMPY, World

Check = Callable[[Sample], Iterator[str]]
Outcome = list[Any] | Exception


def attempt(sample: Sample, world: World) -> Outcome:
    """The results of a sample, or the error in their place."""
    try:
        return sample.run(world)
    except Exception as error:  # noqa: BLE001  whatever it is, it is what is compared
        return error


@functools.lru_cache(4)
def ours(sample: Sample) -> Outcome:
    """What covector gives; several checks ask."""
    return attempt(sample, COVECTOR)


@functools.lru_cache(4)
def reference(sample: Sample) -> Outcome | None:
    """What NumPy or SciPy gives, None where they have no such function."""
    return attempt(sample, NUMPY) if sample.row.reference(NUMPY) else None


def tolerance(sample: Sample, wider: bool = False) -> Tolerance:
    """How exactly results are known; less, where a peer had wider numbers."""
    row = sample.row
    scale = 0.0
    if row.cancels or wider:
        values = [getattr(x, "value", x) for x in sample.operands]
        scale = agreement.magnitude([v for v in values if not _is_static(v)] or [1.0])
    return Tolerance(row.rounding, scale, row.zeros)


def _is_static(x: Any) -> bool:
    return isinstance(x, Key | Function)


# -- beside the peers ------------------------------------------------------------------


def beside_numpy(sample: Sample) -> Iterator[str]:
    found = ours(sample)
    if isinstance(found, Exception):
        yield from _refused(sample, found)
        return
    wanted = _promoted(sample) if sample.row.promotes else reference(sample)
    if wanted is None or isinstance(wanted, Exception):
        return
    if len(found) != len(wanted):
        yield f"{len(found)} results, not {len(wanted)}"
        return
    for i, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        other = np.asarray(theirs).dtype != np.asarray(mine).dtype
        if other and _is_inexact(mine):
            precise = _as_precise(sample, mine)[i]
        else:
            precise = theirs
        told = agreement.value_difference(mine, precise, tolerance(sample, other))
        if told:
            yield told


def _promoted(sample: Sample) -> Outcome | None:
    """What NumPy gives for operands of the one dtype to which ours are promoted.

    NumPy promotes float16 and uint32 to float64, in which infinity is larger than the
    largest integer; we and JAX to float16.
    """
    arrays = [x for x in sample.operands if isinstance(x, np.ndarray)]
    if len({x.dtype for x in arrays}) < 2 or not sample.row.reference(NUMPY):
        return reference(sample)
    with COVECTOR.bits(sample.draw.x64):
        common = cnp.result_type(*[x.dtype for x in arrays])

    def cast(x: Any) -> Any:
        return x.astype(common) if isinstance(x, np.ndarray) else x

    return attempt(replace(sample, cast=cast), NUMPY)


def _as_precise(sample: Sample, result: Any) -> list[Any]:
    """What NumPy gives for operands that are as precise as our result.

    It promotes int32 and float32 to float64, and int8 to float16; we have float32.
    """
    dtype = np.asarray(result).real.dtype

    def cast(x: Any) -> Any:
        known = isinstance(x, np.ndarray) and x.dtype.kind in "iuf"
        return x.astype(dtype) if known else x

    try:
        return replace(sample, cast=cast).run(NUMPY)
    except (TypeError, ValueError, IndexError):  # operands that must stay integers
        return reference(sample)


def _refused(sample: Sample, error: Exception) -> Iterator[str]:
    """An error is right where the peers have one too, and must be in our words."""
    if not isinstance(error, CovectorError):
        yield f"raises {type(error).__name__}, not an error of covector: {error}"
        return
    peer = JAX if sample.row.reference(JAX) else NUMPY
    if not sample.row.reference(peer):
        yield f"raises {error!r}"
        return
    wanted = attempt(sample, peer)
    deliberate = is_deliberate(sample.row.name, "refusal", sample.kinds)
    if not isinstance(wanted, Exception) and not deliberate:
        yield f"raises {error!r}, where {peer.root or 'numpy'} gives {wanted}"


def beside_jax(sample: Sample) -> Iterator[str]:
    found = ours(sample)
    if sample.row.reference(JAX) is None or isinstance(found, Exception):
        return
    wanted = attempt(sample, JAX)
    if isinstance(wanted, Exception):
        yield from _accepted(sample, found)
        return
    if len(found) != len(wanted):
        yield f"{len(found)} results, not {len(wanted)}"
        return
    bound = tolerance(sample)
    if not isinstance(beside := reference(sample), Exception) and beside is not None:
        bound = replace(bound, zeros=False)  # NumPy says which zeros are negative
    for mine, theirs in zip(found, wanted, strict=True):
        for aspect, told in {
            "value": agreement.value_difference(mine, theirs, bound),
            "dtype": agreement.type_difference(mine, theirs),
            "weak type": agreement.weakness_difference(mine, theirs),
        }.items():
            if told and not is_deliberate(sample.row.name, aspect, sample.kinds):
                yield told


def _accepted(sample: Sample, found: list[Any]) -> Iterator[str]:
    """What NumPy and JAX both refuse is likely a mistake of the caller."""
    refusal = reference(sample)
    deliberate = is_deliberate(sample.row.name, "acceptance", sample.kinds)
    if isinstance(refusal, Exception) and not deliberate:
        yield f"gives {found}, where NumPy and JAX raise {refusal!r}"


# -- the transformations ---------------------------------------------------------------


def compiled(sample: Sample) -> Iterator[str]:
    wanted = ours(sample)
    if isinstance(wanted, Exception) or sample.row.traced is None:
        return
    function, operands = _flat(sample)
    if not sample.row.traced:
        try:
            cv.jit(function)(*operands)
        except CovectorError:
            return
        yield "can be traced, though its row says that it cannot"
        return
    with COVECTOR.bits(sample.draw.x64):
        found = cv.jit(function)(*operands)
        yield from _compared(sample, found, wanted)


def placed(sample: Sample) -> Iterator[str]:
    """Results are where the operands were put, with the same values."""
    wanted = ours(sample)
    if isinstance(wanted, Exception):
        return
    function, operands = _flat(sample)
    # Programs for several devices are compiled, which takes time: one in eight.
    put = _sharded if zlib.crc32(str(sample).encode()) % 8 == 0 else _on_last_device
    with COVECTOR.bits(sample.draw.x64):
        given = [put(x) if isinstance(x, cv.Array) else x for x in operands]
        homes = {frozenset(x.devices()) for x in given if isinstance(x, cv.Array)}
        if not homes:
            return
        (home,) = homes
        found = function(*given)
        for x in found if sample.row.placed else ():
            if isinstance(x, cv.Array) and not (x.committed and x.devices() == home):
                yield f"of operands on {set(home)}, {x.type} is on {x.sharding}"
        yield from _compared(sample, found, wanted)


def _on_last_device(x: Any) -> Any:
    return cv.device_put(x, cv.devices()[-1])


def _sharded(x: Any) -> Any:
    """An array over two devices, sharded along the first axis of even length."""
    even = [k for k, n in enumerate(x.shape) if n and n % 2 == 0]
    spec = cv.P(*[None] * even[0], "x") if even else cv.P()
    return cv.device_put(x, cv.NamedSharding(cv.make_mesh((2,), ("x",)), spec))


def batched(sample: Sample) -> Iterator[str]:
    if isinstance(ours(sample), Exception) or not sample.row.traced:
        return
    with COVECTOR.bits(sample.draw.x64):
        function, operands = _flat(sample)
        rng = sample.draw.rng
        able = [i for i, x in enumerate(operands) if hasattr(x, "ndim")]
        if not able:
            return
        chosen = {i for i in able if rng.random() < 0.5} or {
            able[rng.integers(len(able))]
        }
        axes = [int(rng.integers(x.ndim + 1)) if i in chosen else None
                for i, x in enumerate(operands)]  # fmt: skip
        other = chosen if sample.row.shuffled else set()
        others = [
            _shuffled(x, rng) if i in other else x for i, x in enumerate(operands)
        ]
        batch = [x if a is None else cnp.stack([x, y], a)
                 for x, y, a in zip(operands, others, axes, strict=True)]  # fmt: skip
        found = cv.vmap(function, in_axes=tuple(axes))(*batch)
        for lane, given in enumerate((operands, others)):
            mine = [x[lane] for x in found]
            for told in _compared(sample, mine, function(*given)):
                yield f"in_axes={axes}, lane {lane}: {told}"


def watched(sample: Sample) -> Iterator[str]:
    """What is made on the way, and left out again, is no concern of who looks for it.

    It is asked of samples whose operands and results have none of what is looked for.
    """
    wanted = ours(sample)
    if isinstance(wanted, Exception):
        return
    for option, bad in (("debug_nans", np.isnan), ("debug_infs", np.isinf)):
        known = [getattr(x, "value", x) for x in sample.operands]
        arrays = [_floats(x) for x in (*known, *wanted) if not _is_static(x)]
        if any([bad(x).any() for x in arrays]):
            continue
        with options.override(**{option: True}):
            found = attempt(sample, COVECTOR)
        if isinstance(found, Exception):
            yield f"under {option}, {found!r}"
        else:
            yield from _compared(sample, found, wanted)


def _floats(x: Any) -> np.ndarray:
    """An array of floats or complex numbers; without elements, if it has others."""
    x = np.asarray(x)
    if not dtypes.is_inexact(x.dtype):
        return np.zeros(0)
    return x if x.dtype.kind == "c" else x.astype(np.float64)


def _compared(sample: Sample, found: list[Any], wanted: list[Any]) -> Iterator[str]:
    bound = tolerance(sample)
    for mine, theirs in zip(found, wanted, strict=True):
        for told in (
            agreement.value_difference(mine, theirs, bound),
            agreement.type_difference(mine, theirs),
            agreement.weakness_difference(mine, theirs),
        ):
            if told:
                yield told


def _flat(sample: Sample) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The sample as a function of its arrays, keys and numbers, and those."""
    function = sample.row.reference(COVECTOR)
    every = sample.operands
    variable = [not isinstance(x, Function) for x in every]

    def flat(*values: Any) -> list[Any]:
        given = iter(values)
        merged = [
            next(given) if v else COVECTOR.operand(x)
            for x, v in zip(every, variable, strict=True)
        ]
        return sample.call(function, merged)

    with COVECTOR.bits(sample.draw.x64):
        return flat, [COVECTOR.operand(x) for x in itertools.compress(every, variable)]


def _shuffled(x: Any, rng: np.random.Generator) -> Any:
    """Another operand of the same type, with values that this one has."""
    order = rng.permutation(x.size)
    return x.reshape(-1)[order].reshape(x.shape)


#: dtypes in which derivatives are as exact as the checks ask
SMOOTH = ("float64", "complex128")


def derivatives(sample: Sample) -> Iterator[str]:
    row = sample.row
    if not row.derivative or row.traced is None or isinstance(ours(sample), Exception):
        return
    with COVECTOR.bits(True):
        function, operands = _flat(sample)
        active = [str(getattr(x, "dtype", "")) in SMOOTH for x in operands]
        args = list(itertools.compress(operands, active))

        def flat(*values: Any) -> list[Any]:
            given = iter(values)
            merged = [
                next(given) if a else x for x, a in zip(operands, active, strict=True)
            ]
            return [cnp.asarray(y) for y in function(*merged) if _is_inexact(y)]

        outs = flat(*args) if args else []
        if outs:
            yield from _derivatives(flat, args, outs)


def _derivatives(flat: Any, args: list[Any], outs: list[Any]) -> Iterator[str]:
    tangents, cotangents = laws.directions(args, 1), laws.directions(outs, 2)
    out_tangents = laws.jvp(flat, args, tangents)
    pulled = laws.vjp(flat, args, [True] * len(args), cotangents)
    (left, size), (right, other) = (
        laws.pairing(cotangents, out_tangents),
        laws.pairing(pulled, tangents),
    )
    if not abs(left - right) <= 1e-9 * max(size, other, 1e-3):
        yield f"vjp {right!r} is not the adjoint of jvp {left!r}"
    coarse, fine = (laws.quotient(flat, args, tangents, h) for h in (1e-4, 5e-5))
    for rule, first, second in zip(out_tangents, coarse, fine, strict=True):
        known = np.zeros_like(second) if rule is None else np.asarray(rule)
        bound = 1e-6 * max(agreement.magnitude([second]), 1.0)
        settled = (
            np.abs(first - second) <= bound
        )  # elsewhere: a kink is within the step
        wrong = settled & ~(np.abs(known - second) <= 20 * bound)
        if wrong.any():
            yield f"jvp {known[wrong]}, but quotients {second[wrong]}"


def _is_inexact(x: Any) -> bool:
    return dtypes.is_inexact(
        np.asarray(x).dtype if not hasattr(x, "dtype") else x.dtype
    )


# -- running them ----------------------------------------------------------------------

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        beside_numpy,
        beside_jax,
        compiled,
        placed,
        batched,
        watched,
        derivatives,
    )
}


def differences(row: Row, seed: int, number: int, names: list[str]) -> list[str]:
    """One line for each difference of a sample, with what reproduces it."""
    told = []
    for name in names:
        sample = sample_of(row, seed, number, name == "derivatives")
        try:
            found = list(CHECKS[name](sample))
        except Exception as error:  # noqa: BLE001  a check that raises has found something
            where = traceback.extract_tb(error.__traceback__)[-1]
            found = [f"{error!r} at {where.filename}:{where.lineno}"]
        told += [
            f"{sample}: {name}: {what}"
            f"  [python -m tests.public {row.name} --seed {seed} --number {number}]"
            for what in found
        ]
    return told


@functools.lru_cache(4)
def sample_of(row: Row, seed: int, number: int, smooth: bool) -> Sample:
    return row.sample(seed, number, smooth)
