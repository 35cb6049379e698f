"""Classes of the field, as programs ask for them: of instances, and in annotations."""

import typing

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat import finder

jax = finder.make("jax")
Tracer = finder.find("jax.core", "Tracer")


def _kinds(x):
    of = (jax.Array, Tracer, finder.find("jax.numpy", "ndarray"))
    return tuple(isinstance(x, kind) for kind in of)


def test_arrays_are_instances_of_array_and_no_tracers():
    assert _kinds(cnp.ones(2)) == _kinds(cv.random.key(0)) == (True, False, True)
    assert issubclass(type(cnp.ones(2)), jax.Array)
    assert not any(_kinds(np.ones(2))) and not any(_kinds(1.0))


@pytest.mark.parametrize(
    "trace",
    [
        lambda f: cv.jit(f)(1.0),
        lambda f: cv.grad(f)(1.0),
        lambda f: cv.vmap(f)(cnp.ones(2)),
        lambda f: cv.eval_shape(f, 1.0),
    ],
)
def test_what_stands_for_an_array_is_both(trace):
    seen = []

    def look(x):
        seen.append((_kinds(x), issubclass(type(x), jax.Array)))
        return cnp.sum(x)

    trace(look)
    assert seen == [((True, True, True), True)]


def test_array_is_part_of_annotations():
    def loss(x: jax.Array, scale: "jax.Array | None" = None) -> jax.Array:
        return x if scale is None else x * scale

    hints = typing.get_type_hints(loss, {"jax": jax})
    assert hints == {"x": cv.Array, "scale": cv.Array | None, "return": cv.Array}
