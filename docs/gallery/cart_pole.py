"""Reinforcement learning: balancing a pole with PPO.

A cart runs on a track and carries a pole; pushing the cart left or right keeps
the pole upright. Random pushes last some 20 steps. The environment is physics
in a dozen lines, so it is compiled as well: 32 of them run side by side under
`vmap`, a `lax.scan` plays 128 steps, and the whole of training, environments
included, is one compiled program that never returns to Python.

The algorithm is proximal policy optimization (Schulman and others, 2017).

The full program takes about 6 seconds on two CPU cores.
"""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.example_libraries import optimizers

# %%
# ## The environment
#
# Position and velocity of the cart, angle and angular velocity of the pole;
# after Barto, Sutton and Anderson (1983), with the constants of Gymnasium's
# `CartPole-v1`. A pole that leans more than 12 degrees, or a cart that leaves
# the track, ends the episode. After 500 steps it ends as well.

LIMIT = 500


def reset(key: Array) -> Array:
    """A state ``[4]`` near the upright one."""
    return cv.random.uniform(key, (4,), minval=-0.05, maxval=0.05)


def move(state: Array, action: Array) -> Array:
    """The state 0.02 seconds later: 0 pushes to the left, 1 to the right."""
    _, velocity, angle, spin = state
    gravity, cart, pole, half, dt = 9.8, 1.0, 0.1, 0.5, 0.02
    push = cnp.where(action == 1, 10.0, -10.0)
    sine, cosine = cnp.sin(angle), cnp.cos(angle)
    total = cart + pole
    pull = (push + pole * half * spin**2 * sine) / total
    turn = (gravity * sine - cosine * pull) / (
        half * (4 / 3 - pole * cosine**2 / total)
    )
    acceleration = pull - pole * half * turn * cosine / total
    return state + dt * cnp.array([velocity, acceleration, spin, turn])


def fallen(state: Array) -> Array:
    """Whether the pole leans too far or the cart is off the track."""
    return (cnp.abs(state[0]) > 2.4) | (cnp.abs(state[2]) > cnp.deg2rad(12))


# %%
# ## Policy and value
#
# Two small networks: one gives the logits of the two actions, one estimates how
# many more steps the pole will stay up.

Params = Any


def initialize(key: Array) -> Params:
    """The layers of both networks."""

    def network(key, outputs, scale):
        first, second, last = cv.random.split(key, 3)
        orthogonal = cv.nn.initializers.orthogonal
        return [
            (orthogonal(1.4)(first, (4, 64)), cnp.zeros(64)),
            (orthogonal(1.4)(second, (64, 64)), cnp.zeros(64)),
            (orthogonal(scale)(last, (64, outputs)), cnp.zeros(outputs)),
        ]

    policy, value = cv.random.split(key)
    return {"policy": network(policy, 2, 0.01), "value": network(value, 1, 1.0)}


def apply(layers: Any, x: Array) -> Array:
    """A perceptron."""
    *hidden, (weights, bias) = layers
    for w, b in hidden:
        x = cnp.tanh(x @ w + b)
    return x @ weights + bias


def value_of(params: Params, state: Array) -> Array:
    """The estimated sum of discounted rewards from a state."""
    return apply(params["value"], state)[..., 0]


# %%
# ## Playing
#
# `play` is written for one environment: a step of the policy and the physics,
# and a new episode where the old one ended.


class Game(NamedTuple):
    """One environment."""

    state: Array
    age: Array


class Step(NamedTuple):
    """What is learned from; after a rollout ``[steps, environments]``."""

    state: Array
    action: Array
    log_probability: Array
    value: Array
    done: Array
    length: Array  # of the episode that ended here, else 0


def play(params: Params, game: Game, key: Array) -> tuple[Game, Step]:
    """One step of one environment."""
    choose, again = cv.random.split(key)
    log_probabilities = cv.nn.log_softmax(apply(params["policy"], game.state))
    action = cv.random.categorical(choose, log_probabilities)
    following, age = move(game.state, action), game.age + 1
    done = fallen(following) | (age >= LIMIT)
    step = Step(
        game.state,
        action,
        log_probabilities[action],
        value_of(params, game.state),
        done,
        cnp.where(done, age, 0),
    )
    following = cnp.where(done, reset(again), following)
    return Game(following, cnp.where(done, 0, age)), step


def rollout(params: Params, games: Game, key: Array, steps: int) -> tuple[Game, Step]:
    """All environments, ``steps`` steps."""

    def body(games, key):
        keys = cv.random.split(key, len(games.age))
        return cv.vmap(play, in_axes=(None, 0, 0))(params, games, keys)

    return cv.lax.scan(body, games, cv.random.split(key, steps))


# %%
# ## Learning
#
# The advantage of an action is how much better it went than the value network
# expected; generalized advantage estimation computes it backwards in time.
# Every step is rewarded with 1.

DISCOUNT, SMOOTHING, CLIP = 0.99, 0.95, 0.2


def advantages(steps: Step, last_value: Array) -> Array:
    """``[steps, environments]``."""

    def backward(carry, step):
        advantage, following = carry
        going_on = 1.0 - step.done
        surprise = 1 + DISCOUNT * following * going_on - step.value
        advantage = surprise + DISCOUNT * SMOOTHING * going_on * advantage
        return (advantage, step.value), advantage

    start = cnp.zeros_like(last_value), last_value
    return cv.lax.scan(backward, start, steps, reverse=True)[1]


def loss(params: Params, batch: tuple[Step, Array]) -> Array:
    """The clipped objective, the error of the value, a bonus for entropy."""
    step, advantage = batch
    target = step.value + advantage
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    log_probabilities = cv.nn.log_softmax(apply(params["policy"], step.state))
    taken = cnp.take_along_axis(log_probabilities, step.action[:, None], axis=1)[:, 0]
    ratio = cnp.exp(taken - step.log_probability)
    clipped = cnp.clip(ratio, 1 - CLIP, 1 + CLIP)
    gain = cnp.minimum(ratio * advantage, clipped * advantage).mean()
    error = cnp.mean((value_of(params, step.state) - target) ** 2)
    entropy = -cnp.sum(cnp.exp(log_probabilities) * log_probabilities, axis=1).mean()
    return -gain + 0.5 * error - 0.01 * entropy


def train(
    key: Array, updates: int, environments: int, steps: int = 128
) -> tuple[Params, Array]:
    """The trained networks, and the mean episode length of each update."""
    init, update, get_params = optimizers.adam(
        optimizers.polynomial_decay(2.5e-3, 16 * updates, 0.0)
    )

    def learn(state, batch):
        i, state = state
        gradient = optimizers.clip_grads(cv.grad(loss)(get_params(state), batch), 0.5)
        return (i + 1, update(i, gradient, state)), None

    def one_update(carry, key):
        state, games = carry
        play_key, *shuffles = cv.random.split(key, 5)
        params = get_params(state[1])
        games, played = rollout(params, games, play_key, steps)
        batch = played, advantages(played, value_of(params, games.state))
        count = steps * environments
        flat = cv.tree.map(lambda x: x.reshape(count, *x.shape[2:]), batch)
        for shuffle in shuffles:  # four passes, in four minibatches each
            order = cv.random.permutation(shuffle, count).reshape(4, -1)
            batches = cv.tree.map(lambda x, order=order: x[order], flat)
            state, _ = cv.lax.scan(learn, state, batches)
        ended = cnp.sum(played.length > 0)
        return (state, games), played.length.sum() / cnp.maximum(ended, 1)

    start, begin, run = cv.random.split(key, 3)
    games = Game(
        cv.vmap(reset)(cv.random.split(begin, environments)),
        cnp.zeros(environments, int),
    )
    state = cnp.array(0), init(initialize(start))
    carry = state, games
    carry, lengths = cv.lax.scan(one_update, carry, cv.random.split(run, updates))
    return get_params(carry[0][1]), lengths


# %%
# ## Watching
#
# The trained policy plays without chance: it takes the more likely action.


class Result(NamedTuple):
    """Episode lengths during training; one episode of the trained policy."""

    lengths: np.ndarray
    episode: np.ndarray  # [LIMIT, 4]

    @property
    def balanced(self) -> int:
        """The number of steps before the pole falls."""
        down = np.abs(self.episode[:, 2]) > np.deg2rad(12)
        down |= np.abs(self.episode[:, 0]) > 2.4
        return int(down.argmax()) if down.any() else LIMIT


def main(updates: int = 100, environments: int = 32) -> Result:
    """Train, and play one episode."""
    compiled = cv.jit(train, static_argnames=("updates", "environments"))
    params, lengths = compiled(
        cv.random.key(0), updates=updates, environments=environments
    )

    @cv.jit
    def episode(params, start):
        def step(state, _):
            action = apply(params["policy"], state).argmax()
            return move(state, action), state

        return cv.lax.scan(step, start, length=LIMIT)[1]

    states = episode(params, reset(cv.random.key(1)))
    result = Result(np.asarray(lengths), np.asarray(states))
    print(f"mean episode length at first: {result.lengths[0]:.0f} steps")
    print(f"the trained policy: balanced for {result.balanced} of {LIMIT} steps")
    return result


# %%
# ## The figure


def draw(result: Result) -> Figure:
    """Episode lengths during training; the angle of the pole afterwards."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    left.plot(result.lengths)
    left.set(xlabel="update", ylabel="mean length of an episode")
    seconds = 0.02 * np.arange(result.balanced)
    right.plot(seconds, np.rad2deg(result.episode[: result.balanced, 2]), linewidth=0.7)
    right.set(xlabel="seconds", ylabel="angle of the pole, degrees")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("cart_pole.png")

# %%
# ## What to try next
#
# - Train with ten seeds at once: `vmap(train)` over keys, and draw the ten
#   curves.
# - Let the pole start hanging down, and reward its height.
# - Let the push be any number instead of one of two. `move` is differentiable:
#   learn the policy by `grad` through the physics.
