"""What must be true of every program. A printed script holds the check that failed.

Each check takes a function, its arguments, which of these move, and a tolerance, and
raises where two ways to the same result differ. This module needs only covector.
"""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import analysis
from covector.core.check import check_jaxpr
from covector.sharding import NamedSharding

LANES = 3


def agree(one, other, tolerance, what):
    """Raise unless two lists of arrays are equal, floats up to a part of their size."""
    assert len(one) == len(other), f"{what}: {len(one)} results, and {len(other)}"
    for k, pair in enumerate(zip(one, other, strict=True)):
        x, y = map(np.asarray, pair)
        kinds = (x.shape, x.dtype), (y.shape, y.dtype)
        assert kinds[0] == kinds[1], f"{what}: result {k} is {kinds[0]}, and {kinds[1]}"
        most = 0.0
        if x.dtype == "float64":
            most = tolerance * max(1.0, np.abs(y[np.isfinite(y)]).max(initial=0.0))
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            far = ~(same | (np.abs(x * 1.0 - y) <= most))
        assert not far.any(), f"{what}: result {k} is\n{x}\nand\n{y}"


def slots(args, active, tangents):
    """Tangents where arguments move, None elsewhere."""
    return [
        tangents[active.index(i)] if i in active else None for i in range(len(args))
    ]


def directions(values, seed):
    """An array of random numbers for each array, of its shape."""
    rng = np.random.default_rng(seed)
    return [cnp.array(rng.uniform(-1, 1, np.shape(v))) for v in values]


def of_active(f, args, active):
    """The function of the arguments that move, with the results that may move."""

    def g(*xs):
        full = list(args)
        for i, x in zip(active, xs, strict=True):
            full[i] = x
        return [out for out in f(*full) if out.dtype == "float64"]

    return g, [args[i] for i in active]


def loss(f, args, active, seed=5):
    """A scalar of all results, as a function of the active arguments."""
    g, xs = of_active(f, args, active)

    def scalar(*xs):
        outs = g(*xs)
        weights = directions(outs, seed)
        return sum(cnp.sum(w * cnp.sin(o)) for w, o in zip(weights, outs, strict=True))

    return scalar, xs


def batches(args, seed):
    """Arguments for several lanes, and the axes: None where all have the same."""
    rng = np.random.default_rng(seed)
    axes = [int(a) if a >= 0 else None for a in rng.integers(-1, 2, len(args))]
    axes = [
        a if a is None else min(a, np.ndim(x)) for a, x in zip(axes, args, strict=True)
    ]
    if all(a is None for a in axes):
        axes[0] = 0

    def lanes(x):
        x = np.asarray(x)
        if x.dtype == "float64":
            return [x, *np.round(rng.uniform(-1.2, 1.2, (LANES - 1, *x.shape)), 3)]
        return [x + np.array(i, x.dtype) for i in range(LANES)]

    return axes, [
        x if a is None else cnp.array(np.stack(lanes(x), a))
        for x, a in zip(args, axes, strict=True)
    ]


def lane_by_lane(f, args, axes):
    """What ``vmap`` stands for."""
    outs = []
    for i in range(LANES):
        taken = [
            x if a is None else cnp.array(np.take(np.asarray(x), i, a))
            for x, a in zip(args, axes, strict=True)
        ]
        outs.append([np.asarray(o) for o in f(*taken)])
    return [np.stack(column) for column in zip(*outs, strict=True)]


# -- the checks ------------------------------------------------------------------------


def compiled(f, args, active, tolerance):
    """jit(f) = f, and again."""
    jitted = cv.jit(f)
    wanted = f(*args)
    agree(jitted(*args), wanted, tolerance, "jit(f) and f")
    agree(jitted(*args), wanted, tolerance, "jit(f), the second time, and f")
    agree(f(*args), wanted, tolerance, "f, the second time, and f")


def batch(f, args, active, tolerance):
    """vmap(f) = f for each lane, one by one."""
    axes, over = batches(args, 3)
    agree(
        cv.vmap(f, axes)(*over), lane_by_lane(f, over, axes), tolerance, "vmap(f) and f"
    )


def compiled_batch(f, args, active, tolerance):
    """jit(vmap(f)) = f for each lane; vmap(jit(f)) too."""
    axes, over = batches(args, 4)
    wanted = lane_by_lane(f, over, axes)
    agree(cv.jit(cv.vmap(f, axes))(*over), wanted, tolerance, "jit(vmap(f)) and f")


def derivatives(f, args, active, tolerance):
    """jvp's value = f, ⟨ȳ, Jẋ⟩ = ⟨Jᵀȳ, ẋ⟩, J linear, and linearize = jvp."""
    g, xs = of_active(f, args, active)
    ts = directions(xs, 1)
    outs, pushed = cv.jvp(g, tuple(xs), tuple(ts))
    agree(outs, g(*xs), tolerance, "the value of jvp and f")
    outs, pull = cv.vjp(g, *xs)
    agree(outs, g(*xs), tolerance, "the value of vjp and f")
    weights = directions(outs, 2)
    pulled = pull(weights)
    pairs = [*zip(weights, pushed, strict=True)], [*zip(pulled, ts, strict=True)]
    forth, back = [float(sum(cnp.sum(a * b) for a, b in p)) for p in pairs]
    size = sum(float(cnp.sum(cnp.abs(a * b))) for p in pairs for a, b in p)
    assert abs(forth - back) <= tolerance * max(1.0, size), f"jvp {forth}, vjp {back}"
    agree(cv.linearize(g, *xs)[1](*ts), pushed, tolerance, "linearize and jvp")


def backward(f, args, active, tolerance):
    """vjp's value = f, and vjp of a sum of cotangents = the sum of vjps."""
    g, xs = of_active(f, args, active)
    outs, pull = cv.vjp(g, *xs)
    agree(outs, g(*xs), tolerance, "the value of vjp and f")
    one, other = directions(outs, 2), directions(outs, 3)
    both = [a + b for a, b in zip(one, other, strict=True)]
    sums = [a + b for a, b in zip(pull(one), pull(other), strict=True)]
    agree(pull(both), sums, tolerance, "vjp of a sum and the sum of vjps")


def difference_quotient(f, args, active, tolerance):
    """grad = the difference quotient; False where the quotients tell nothing."""
    scalar, xs = loss(f, args, active)
    scalar = cv.jit(scalar)
    ts = directions(xs, 1)
    slopes = cv.grad(scalar, tuple(range(len(xs))))(*xs)
    slope = sum(float(cnp.sum(s * t)) for s, t in zip(slopes, ts, strict=True))

    def at(step):
        return float(scalar(*[x + step * t for x, t in zip(xs, ts, strict=True)]))

    def quotient(h):
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    coarse, fine = quotient(1e-3), quotient(3e-4)
    doubt = abs(coarse - fine)
    if doubt > 1e-3 * max(1.0, abs(fine)):
        return False
    size = max(1.0, abs(slope))
    far = abs(slope - fine) > 3 * doubt + max(tolerance, 1e-6) * size
    assert not far, f"grad says {slope}, the difference quotients {coarse}, {fine}"
    return True


def gradients(f, args, active, tolerance):
    """The eager gradient = the compiled one; value_and_grad's value = the loss."""
    scalar, xs = loss(f, args, active)
    every = tuple(range(len(xs)))
    value, slopes = cv.value_and_grad(scalar, every)(*xs)
    agree([value], [scalar(*xs)], tolerance, "the value of value_and_grad and the loss")
    compiled = cv.jit(cv.value_and_grad(scalar, every))(*xs)
    agree(
        [compiled[0]], [value], tolerance, "the value of jit(value_and_grad) and grad"
    )
    agree(compiled[1], slopes, tolerance, "jit(grad) and grad")


def checkpointed(f, args, active, tolerance):
    """The gradient of a checkpointed function = that of the function."""
    scalar, xs = loss(f, args, active)
    every = tuple(range(len(xs)))
    slopes = cv.grad(scalar, every)(*xs)
    policies = cv.checkpoint_policies
    for policy in (
        None,
        policies.save_only_these_names("kept"),
        policies.dots_saveable,
    ):
        again = cv.grad(cv.checkpoint(scalar, policy=policy), every)(*xs)
        agree(again, slopes, tolerance, "grad of checkpoint and grad")


def compiled_checkpoint(f, args, active, tolerance):
    """The compiled gradient of a checkpointed jitted function = the gradient."""
    scalar, xs = loss(f, args, active)
    every = tuple(range(len(xs)))
    slopes = cv.grad(scalar, every)(*xs)
    again = cv.jit(cv.grad(cv.checkpoint(cv.jit(scalar)), every))(*xs)
    agree(again, slopes, tolerance, "jit(grad(checkpoint(jit(f)))) and grad(f)")


def batch_of_gradients(f, args, active, tolerance):
    """vmap(grad(f)) = grad(f) one by one = grad of the sum of vmap(f)."""
    axes, over = batches(args, 6)
    for i in active:
        axes[i] = 0 if axes[i] is None else axes[i]
    over = [
        x
        if np.ndim(x) > np.ndim(a) or axes[i] is None
        else cnp.stack([x] * LANES, axes[i])
        for i, (x, a) in enumerate(zip(over, args, strict=True))
    ]

    def lane(*args):
        scalar, xs = loss(f, args, active)
        return scalar(*xs)

    slope = cv.grad(lane, tuple(active))
    wanted = lane_by_lane(slope, over, axes)
    out_axes = tuple(axes[i] for i in active)
    batched = cv.jit(cv.vmap(slope, axes))(*over)
    agree(batched, wanted, tolerance, "vmap(grad(f)) and grad(f)")
    summed = cv.grad(lambda *a: cnp.sum(cv.vmap(lane, axes)(*a)), tuple(active))(*over)
    summed = [cnp.moveaxis(x, a, 0) for x, a in zip(summed, out_axes, strict=True)]
    agree(summed, wanted, tolerance, "grad of the sum of vmap(f) and grad(f)")


def second_order(f, args, active, tolerance):
    """Forward over reverse = reverse over forward = reverse over reverse."""
    scalar, xs = loss(f, args, active)
    every, ts = tuple(range(len(xs))), tuple(directions(xs, 8))
    slope = cv.grad(scalar, every)
    wanted = cv.jvp(slope, tuple(xs), ts)[1]

    def along(*xs):
        return cv.jvp(scalar, xs, ts)[1]

    def projected(*xs):
        return sum(cnp.sum(s * t) for s, t in zip(slope(*xs), ts, strict=True))

    agree(cv.grad(along, every)(*xs), wanted, tolerance, "grad of jvp and jvp of grad")
    agree(
        cv.grad(projected, every)(*xs),
        wanted,
        tolerance,
        "grad of grad and jvp of grad",
    )


def on_devices(f, args, active, tolerance):
    """shard_map of vmap(f) over two devices = f for each lane."""
    two = [cnp.stack([x, x + x.dtype.type(1)]) for x in args]
    wanted = [
        np.stack([np.asarray(a), np.asarray(b)])
        for a, b in zip(f(*[x[0] for x in two]), f(*[x[1] for x in two]), strict=True)
    ]
    mesh = cv.make_mesh((min(2, cv.device_count()),), ("devices",))
    sharded = cv.shard_map(
        cv.vmap(lambda *args: list(f(*args))),
        mesh=mesh,
        in_specs=cv.P("devices"),
        out_specs=cv.P("devices"),
    )
    agree(cv.jit(sharded)(*two), wanted, tolerance, "shard_map of vmap(f) and f")


def sharded(f, args, active, tolerance):
    """jit(f) of arrays that are sharded over two devices = f, and so its gradient."""
    mesh = cv.make_mesh((min(2, cv.device_count()),), ("devices",))

    def over_devices(x):
        axes = [i for i, n in enumerate(x.shape) if n % 2 == 0]
        entries = [None] * (axes[-1] if axes else 0) + ["devices"] * bool(axes)
        return cv.device_put(x, NamedSharding(mesh, cv.P(*entries)))

    shards = [over_devices(x) for x in args]
    agree(cv.jit(f)(*shards), f(*args), tolerance, "jit(f) of sharded arrays and f")
    scalar, xs = loss(f, args, active)
    slope = cv.grad(scalar, tuple(range(len(xs))))
    scalar, sharded_xs = loss(f, shards, active)
    sharded_slope = cv.jit(cv.grad(scalar, tuple(range(len(xs)))))
    agree(
        sharded_slope(*sharded_xs),
        slope(*xs),
        tolerance,
        "jit(grad(f)) of sharded arrays and grad(f)",
    )


def through_passes(program):
    """A program after all passes, each of which is done at once."""
    for simplify in (
        analysis.merge_common,
        analysis.inline_calls,
        analysis.dce,
        analysis.fold_constants,
        analysis.merge_common,
    ):
        program = simplify(program)
        check_jaxpr(program)
        assert simplify(program) is program, f"{simplify.__name__} twice and once"
    return program


def simplified(f, args, active, tolerance):
    """Passes on the program of f change no value; an output is the same alone; and one
    that does not depend on an argument stays when that moves.
    """
    program = cv.make_jaxpr(f)(*args)
    wanted = program(*args)
    agree(through_passes(program)(*args), wanted, tolerance, "simplified f and f")
    for k, out in enumerate(wanted):
        part = analysis.dce(program, outputs=[k])
        agree(part(*args), [out], tolerance, "an output alone and among others")
    moved = program(args[0] + args[0].dtype.type(1), *args[1:])
    depends = analysis.dependence(program, inputs=[0]).outputs
    for before, after, moves in zip(wanted, moved, depends, strict=True):
        if not moves:
            agree([after], [before], 0.0, "an output that does not depend, and before")


def simplified_gradient(f, args, active, tolerance):
    """The gradient of simplified f, and the simplified gradient, = the gradient."""
    scalar, xs = loss(f, args, active)
    every = tuple(range(len(xs)))
    slopes = cv.grad(scalar, every)(*xs)
    program = cv.make_jaxpr(cv.grad(scalar, every))(*xs)
    agree(through_passes(program)(*xs), slopes, tolerance, "simplified grad and grad")
    again, _ = loss(through_passes(cv.make_jaxpr(f)(*args)), args, active)
    agree(cv.grad(again, every)(*xs), slopes, tolerance, "grad of simplified f, and f")


#: check: how often it is made, of 1
CHECKS = {
    compiled: 0.4,
    batch: 0.3,
    compiled_batch: 0.1,
    derivatives: 0.35,
    backward: 0.15,
    difference_quotient: 0.1,
    gradients: 0.1,
    checkpointed: 0.12,
    compiled_checkpoint: 0.04,
    batch_of_gradients: 0.04,
    second_order: 0.1,
    on_devices: 0.04,
    sharded: 0.05,
    simplified: 0.1,
    simplified_gradient: 0.1,
}
#: checks of forward mode
FORWARD = {derivatives, second_order}
