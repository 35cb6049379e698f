"""Optimizers as three functions, of parameters that are trees.

    state = init(params)
    state = update(step, gradients, state)
    params = get_params(state)

An optimizer is written for one array; ``optimizer`` makes it one for trees. ``step``
counts from 0. Learning rates may be functions of it, *schedules*.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from covector import namespaces, tree
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, PyTree
from covector.core.array_like import Array
from covector.core.flat import describe
from covector.errors import TreeMismatch
from covector.example_libraries.schedules import (
    Schedule,
    constant,
    exponential_decay,
    inverse_time_decay,
    make_schedule,
    piecewise_constant,
    polynomial_decay,
)
from covector.tree.keys import GetAttrKey
from covector.tree.nodes import register_pytree_with_keys

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "Schedule",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]
__dir__ = namespaces.completions(globals())


class OptimizerState(NamedTuple):
    """The state of an optimizer: the leaves of a tree for each array of parameters."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


_PACKED = GetAttrKey("packed_state")

register_pytree_with_keys(
    OptimizerState,
    lambda s: (((_PACKED, s.packed_state),), (s.tree_def, s.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


class Optimizer(NamedTuple):
    """The functions of an optimizer."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """The decorator of optimizers that are written for one array.

    ``opt_maker`` returns ``init(x) → state``, ``update(step, gradient, state) → state``
    and ``get_params(state) → x``, where a state is any tree.

    >>> import covector.numpy as cnp
    >>> @optimizer
    ... def descent(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
    >>> init, update, params = descent(0.5)
    >>> params(update(0, {"w": 2.0}, init({"w": 3.0})))
    {'w': 2.0}
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_all(params: PyTree) -> OptimizerState:
            leaves, tree_def = tree.flatten(params)
            return _packed(tree_def, map(init, leaves))

        def update_all(step: Any, gradients: PyTree, state: OptimizerState) -> Any:
            slopes, structure = tree.flatten(gradients)
            if structure != state.tree_def:
                raise TreeMismatch(
                    f"{opt_maker.__name__} needs gradients in the structure of the "
                    f"parameters, {state.tree_def}, but got {structure}."
                )
            pairs = zip(slopes, _states(state), strict=True)
            return _packed(state.tree_def, [update(step, g, s) for g, s in pairs])

        def params_of(state: OptimizerState) -> PyTree:
            return state.tree_def.unflatten(map(get_params, _states(state)))

        return Optimizer(init_all, update_all, params_of)

    return make


def _packed(tree_def: Any, states: Any) -> OptimizerState:
    pairs = [tree.flatten(s) for s in states]
    leaves, structures = zip(*pairs, strict=True) if pairs else ((), ())
    return OptimizerState(tuple(map(tuple, leaves)), tree_def, tuple(structures))


def _states(state: OptimizerState) -> list[Any]:
    """The states of the arrays."""
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [structure.unflatten(leaves) for structure, leaves in pairs]


class JoinPoint:
    """The state for one array, as a leaf of a tree of such states."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> PyTree:
    """The state as a tree like the parameters, with ``JoinPoint``s as leaves.

    >>> state = momentum(0.1, 0.9).init_fn({"w": 1.0})
    >>> tree.map(float, unpack_optimizer_state(state)["w"].subtree)
    (1.0, 0.0)
    """
    return opt_state.tree_def.unflatten(map(JoinPoint, _states(opt_state)))


def pack_optimizer_state(marked_pytree: PyTree) -> OptimizerState:
    """The state of which ``unpack_optimizer_state`` made a tree.

    Raises:
      TreeMismatch: a leaf is no ``JoinPoint``.

    >>> state = sgd(0.1).init_fn([1.0, 2.0])
    >>> pack_optimizer_state(unpack_optimizer_state(state)) == state
    True
    """
    leaves, tree_def = tree.flatten(marked_pytree)
    if not all([isinstance(x, JoinPoint) for x in leaves]):
        raise TreeMismatch(
            "pack_optimizer_state needs a tree of JoinPoints, but got one of "
            f"{', '.join([describe(x) for x in leaves])}."
        )
    return _packed(tree_def, [x.subtree for x in leaves])


# -- optimizers ------------------------------------------------------------------------


@optimizer
def sgd(step_size: Any) -> Any:
    """Steps down the gradient, of ``step_size`` times its length.

    >>> init, update, params = sgd(0.1)
    >>> float(params(update(0, 2.0, init(1.0))))
    0.8
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, x: Any) -> Any:
        return x - rate(i) * g

    return _itself, update, _itself


def _itself(x: Any) -> Any:
    return x


def _first(state: Any) -> Any:
    return state[0]


def _with_zeros(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """An array, and so many averages that begin at zero.

    Each is an array of its own: one array cannot be donated twice.
    """
    return lambda x: (x, *(cnp.zeros_like(x) for _ in range(count)))


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Steps along a velocity: v ← mass · v + g, x ← x − step_size · v."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, v = state
        v = mass * v + g
        return x - rate(i) * v, v

    return _with_zeros(1), update, _first


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """As ``momentum``, with the gradient where the velocity leads: x ← x − step_size ·
    (mass · v + g), with the new v.
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, v = state
        v = mass * v + g
        return x - rate(i) * (mass * v + g), v

    return _with_zeros(1), update, _first


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Gradients over the root of the sum of their squares (Duchi, Hazan, Singer, 2011),
    averaged.
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + cnp.square(g)
        mean = momentum * mean + (1 - momentum) * g * _inverse_root(squares)
        return x - rate(i) * mean, squares, mean

    return _with_zeros(2), update, _first


def _inverse_root(x: Any) -> Array:
    """1 / √x, and 0 where x is."""
    positive = x > 0
    return cnp.where(positive, 1 / cnp.sqrt(cnp.where(positive, x, 1)), 0)


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Gradients over the root of the recent mean of their squares (Hinton, 2012)."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = gamma * squares + (1 - gamma) * cnp.square(g)
        return x - rate(i) * g / cnp.sqrt(squares + eps), squares

    return _with_zeros(1), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9
) -> Any:
    """``rmsprop`` with a velocity."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, v = state
        squares = gamma * squares + (1 - gamma) * cnp.square(g)
        v = momentum * v + rate(i) * g / cnp.sqrt(squares + eps)
        return x - v, squares, v

    return _with_zeros(2), update, _first


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """The recent mean of gradients over the root of that of their squares (Kingma, Ba,
    2015).

    >>> init, update, params = adam(0.1)
    >>> round(float(params(update(0, 2.0, init(1.0)))), 4)
    0.9
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, squares = state
        mean = b1 * mean + (1 - b1) * g
        squares = b2 * squares + (1 - b2) * cnp.square(g)
        # Both began at zero: what a constant gradient would have reached is made up.
        step = mean / (1 - b1 ** (i + 1))
        size = cnp.sqrt(squares / (1 - b2 ** (i + 1)))
        return x - rate(i) * step / (size + eps), mean, squares

    return _with_zeros(2), update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """``adam`` with the largest recent gradient for the root of squares."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = b1 * mean + (1 - b1) * g
        largest = cnp.maximum(b2 * largest, cnp.abs(g))
        step = mean / (1 - b1 ** (i + 1))
        return x - rate(i) * step / (largest + eps), mean, largest

    return _with_zeros(2), update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """``adagrad`` in little memory: a sum for each index of each axis, of which an
    element has the least (Anil, Gupta, Koren, Singer, 2019).
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        x = cnp.asarray(x)
        sums = [cnp.zeros(n, x.dtype) for n in x.shape or (1,)]
        return x, cnp.zeros_like(x), sums

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, sums = state
        full = x.reshape(x.shape or (1,))
        shaped = [
            s.reshape(*[-1 if k == axis else 1 for k in range(full.ndim)])
            for axis, s in enumerate(sums)
        ]
        least = functools.reduce(cnp.minimum, shaped)
        squares = least + cnp.square(cnp.reshape(g, full.shape))
        step = cnp.reshape(g, full.shape) * _inverse_root(squares)
        mean = momentum * mean + (1 - momentum) * step.reshape(x.shape)
        axes = range(full.ndim)
        sums = [squares.max(axis=tuple([k for k in axes if k != a])) for a in axes]
        return x - rate(i) * mean, mean, sums

    return init, update, _first


# -- gradients -------------------------------------------------------------------------


def l2_norm(tree_: PyTree) -> Array:
    """The root of the sum of the squares of all elements.

    >>> float(l2_norm({"a": 3.0, "b": 4.0}))
    5.0
    """
    squares = [cnp.sum(cnp.square(cnp.abs(x))) for x in tree.leaves(tree_)]
    return cnp.sqrt(sum(squares, start=cnp.zeros(())))


def clip_grads(grad_tree: PyTree, max_norm: ArrayLike) -> PyTree:
    """Gradients whose norm, of all together, is at most ``max_norm``.

    >>> [round(float(g), 4) for g in clip_grads([3.0, 4.0], 1.0)]
    [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)
    scale = cnp.where(norm < max_norm, 1, max_norm / cnp.where(norm > 0, norm, 1))
    return tree.map(lambda g: g * scale.astype(cnp.result_type(g)), grad_tree)
