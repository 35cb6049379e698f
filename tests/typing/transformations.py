# pyright: strict
"""What transformed functions take and give, as two type checkers see it.

``test_types_of_users.py`` has both check it, and runs it.
"""

from functools import partial
from typing import Any, NamedTuple, assert_type

import covector as cv
import covector.numpy as cnp
from covector import Array, lax, tree
from covector.typing import ArrayLike


class Params(NamedTuple):
    """A line."""

    slope: Array
    offset: Array


def loss(params: Params, x: Array, *, scale: float = 1.0) -> Array:
    """The squared height of a line."""
    return scale * cnp.sum((params.slope * x + params.offset) ** 2)


def with_aux(params: Params, x: Array) -> tuple[Array, dict[str, int]]:
    """The same, and a note."""
    return loss(params, x), {"steps": 1}


def power(x: ArrayLike, n: int = 2) -> Array:
    """A function of whatever can be made an array."""
    return cnp.asarray(x) ** n


def vector(x: Array) -> Array:
    """A function of arrays."""
    return cnp.stack([x[0] * x[1], cnp.sin(x[0])])


def untyped(params: Any, x: Array) -> Array:
    """A function of a tree that no type describes."""
    return cnp.sum(params["w"] * x)


x = cnp.arange(2.0)
params = Params(cnp.ones(()), cnp.zeros(()))

# -- derivatives: the gradient has the type of the argument ----------------------------

assert_type(cv.grad(loss)(params, x), Params)
assert_type(cv.grad(loss)(params, x, scale=2.0).slope, Array)
assert_type(cv.grad(power)(x[1], n=3), Array)
assert_type(cv.grad(cv.grad(power))(x[1]), Array)
assert_type(cv.grad(with_aux, has_aux=True)(params, x), tuple[Params, dict[str, int]])
assert_type(cv.grad(loss, argnums=(0, 1))(params, x), tuple[Any, ...])
assert_type(cv.value_and_grad(loss)(params, x), tuple[Array, Params])
assert_type(
    cv.value_and_grad(with_aux, has_aux=True)(params, x),
    tuple[tuple[Array, dict[str, int]], Params],
)
assert_type(
    cv.value_and_grad(loss, argnums=(0, 1))(params, x), tuple[Array, tuple[Any, ...]]
)
weights: dict[str, Array] = cv.grad(untyped)({"w": x}, x)
columns: Array = cv.jacobian(vector)(x)
assert_type(cv.jacobian(vector).plan(x).passes, int)
assert_type(cv.jvp(vector, (x,), (x,)), tuple[Array, Array])
value, pull = cv.vjp(loss, params, x)
assert_type(value, Array)
assert_type(pull(value), tuple[Any, ...])
value, push = cv.linearize(vector, x)
assert_type(push(x), Array)

# -- compiled, batched, recomputed: the parameters stay --------------------------------


@cv.jit
def doubled(x: Array, times: int = 1) -> Array:
    """Compiled."""
    return x * 2 * times


@cv.jit(static_argnums=1)
def repeated(x: Array, times: int) -> list[Array]:
    """Compiled, with a static argument."""
    return [x] * times


@cv.checkpoint(prevent_cse=False)
def remembered(x: Array) -> Array:
    """Computed again in reverse mode."""
    return cnp.sin(x)


assert_type(doubled(x, times=2), Array)
assert_type(repeated(x, 2), list[Array])
assert_type(remembered(x), Array)
assert_type(cv.jit(cv.grad(loss))(params, x), Params)
assert_type(cv.vmap(cv.grad(power))(x), Array)
assert_type(cv.vmap(doubled, in_axes=(0, None))(x, 2), Array)
assert_type(cv.checkpoint(loss)(params, x, scale=1.0), Array)
assert_type(cv.vmap(power, memory="1GB")(x), Array)
assert_type(cv.checkpoint(loss, memory=2**30)(params, x, scale=1.0), Array)
assert_type(cv.grad(loss, memory="1.5GB")(params, x, scale=2.0), Params)
assert_type(cv.value_and_grad(loss, memory="1GB")(params, x), tuple[Array, Params])
assert_type(cv.jit(loss, memory_limit="1GiB")(params, x), Array)
assert_type(doubled.lower(x).as_text(), str)
assert_type(doubled.trace(x).lower().compile()(x), Any)
doubled.eval_shape(x)
doubled.clear_cache()


class Model:
    """A class with compiled methods."""

    def __init__(self, width: int) -> None:
        self.width = width

    @cv.jit(static_argnums=0)
    def apply(self, x: Array) -> Array:
        """Compiled once per model."""
        return x * self.width

    @partial(cv.jit, static_argnames="self")
    def twice(self, x: Array) -> Array:
        """The same, in the older form of the decorator."""
        return self.apply(self.apply(x))


model = Model(3)
assert_type(model.apply(x), Array)
assert_type(Model.apply(model, x), Array)
Model.apply.lower(model, x)
twice: Array = model.twice(x)

mesh = cv.make_mesh((1,), ("batch",))


@cv.shard_map(mesh=mesh, in_specs=cv.P("batch"), out_specs=cv.P("batch"))
def on_shards(x: Array) -> Array:
    """Each device on its shard."""
    return x - lax.pmean(cnp.mean(x), "batch")


assert_type(on_shards(x), Array)

# -- rules of users --------------------------------------------------------------------


@cv.custom_jvp
def safe_sqrt(x: Array) -> Array:
    """A root whose slope is finite."""
    return cnp.sqrt(x)


@safe_sqrt.defjvp
def safe_sqrt_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The slope is that of √(x + 1e-6)."""
    (x,), (dx,) = primals, tangents
    return safe_sqrt(x), dx / (2 * cnp.sqrt(x + 1e-6))


def clipped(x: Array, limit: float) -> Array:
    """The identity; cotangents are clipped."""
    return x


with_clipped_cotangents = cv.custom_vjp(clipped, nondiff_argnums=(1,))


def clipped_fwd(x: Array, limit: float) -> tuple[Array, None]:
    """Nothing is kept."""
    return x, None


def clipped_bwd(limit: float, _: None, cotangent: Array) -> tuple[Array]:
    """The cotangent, within the limits."""
    return (cnp.clip(cotangent, -limit, limit),)


with_clipped_cotangents.defvjp(clipped_fwd, clipped_bwd)
assert_type(safe_sqrt(x), Array)
assert_type(with_clipped_cotangents(x, 1.0), Array)

# -- control flow and trees ------------------------------------------------------------


def step(carry: Params, x: Array) -> tuple[Params, Array]:
    """One step of a scan."""
    return Params(carry.slope + x, carry.offset), carry.slope


def halved(x: Array) -> Array:
    """One step of a loop."""
    return x / 2


def is_large(x: Array) -> Array:
    """Whether a loop goes on."""
    return cnp.any(x > 1)


assert_type(lax.scan(step, params, x), tuple[Params, Array])
assert_type(lax.while_loop(is_large, halved, x), Array)
assert_type(lax.fori_loop(0, 3, lambda i, y: halved(y), x), Array)
assert_type(lax.cond(x[0] > 0, halved, vector, x), Array)
assert_type(lax.switch(1, [halved, vector], x), Array)
assert_type(lax.map(halved, x), Array)
assert_type(lax.associative_scan(cnp.add, x), Array)
assert_type(tree.map(halved, params), Params)
assert_type(tree.leaves(params), list[Any])
assert_type(tree.unflatten(tree.structure(params), [x, x]), Any)

# -- functions whose result depends on an argument -------------------------------------

assert_type(cnp.linspace(0.0, 1.0, 3), Array)
assert_type(cnp.linspace(0.0, 1.0, 3, retstep=True), tuple[Array, Array])
assert_type(cnp.where(x > 0, x, 0.0), Array)
assert_type(cnp.where(x > 0), tuple[Array, ...])
assert_type(cnp.unique(x), Array)
assert_type(cnp.linalg.norm(x), Array)
assert_type(cv.nn.logsumexp(x, return_sign=True), tuple[Array, Array])
assert_type(cv.nn.softmax(x), Array)
assert_type(cv.scipy.special.erf(x), Array)
assert_type(cv.device_put(params), Params)
assert_type(cv.block_until_ready(params), Params)
assert_type(lax.stop_gradient(params), Params)
assert_type(lax.sort(x), Array)
assert_type(lax.dot_general(x, x, (((0,), (0,)), ((), ()))), Array)
assert_type(x.at[0].set(3.0) + 1, Array)
assert_type(1 - x.sum(axis=0).astype("float32"), Array)
assert_type(x.shape, tuple[int, ...])
assert_type(x == 1, Array)
