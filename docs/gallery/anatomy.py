"""Anatomy of a gradient: what it waits for, and what it holds.

A traced program is data. This one takes the gradient of a deep perceptron apart: which
operations wait for which, how long the longest chain is, and how many bytes are held
while each of them runs. Then it does the same with `checkpoint`, which keeps less and
computes more.

The full program takes about 2 seconds on two CPU cores.
"""

from collections.abc import Callable
from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import covector as cv
import covector.numpy as cnp
from covector import Array, analysis
from covector.core.jaxpr import Jaxpr, Var

# %%
# ## The program
#
# Each layer is a jitted function that is called several times. `inline_calls` puts its
# equations where it is called, and `dce` removes the value of the loss, which the
# gradient alone does not need.

Loss = Callable[[list[Array], Array], Array]


def perceptron(checkpointed: bool) -> Loss:
    """The loss of a perceptron; with checkpoints, layers keep their inputs alone."""

    def layer(w: Array, x: Array) -> Array:
        return cnp.tanh(cnp.sin(x @ w) + x)

    step = cv.checkpoint(layer) if checkpointed else layer

    def loss(weights: list[Array], x: Array) -> Array:
        for w in weights:
            x = step(w, x)
        return (x**2).mean()

    return loss


def gradient_program(loss: Loss, depth: int, width: int, batch: int) -> Jaxpr:
    """The gradient as a program, opened and cleaned."""
    weights = [cnp.ones((width, width))] * depth
    traced = cv.make_jaxpr(cv.grad(loss))(weights, cnp.ones((batch, width)))
    return analysis.dce(analysis.inline_calls(traced))


# %%
# ## What is found
#
# An equation is on the first level on which all that it needs is there. The critical
# path is the longest chain: the forward pass, and the backward pass after it. What
# stands beside the path are the gradients of the weights, which nothing else waits for.


class Anatomy(NamedTuple):
    """The level of each equation and its number in it, the operands that lead from one
    to the other, the critical path, and memory in MiB.
    """

    positions: list[tuple[int, float]]
    edges: list[tuple[int, int]]
    path: tuple[int, ...]
    held: list[float]
    checkpointed: list[float]


def anatomy(program: Jaxpr, checkpointed: Jaxpr) -> Anatomy:
    """The parts of a program, and the memory of another one beside its own."""
    levels = analysis.topological_levels(program)
    path = analysis.critical_path(program).equations
    positions = {}
    for level, group in enumerate(levels.groups):
        # The path is a straight line, the rest stands above it.
        ordered = sorted(group, key=lambda i: i not in path)
        positions.update({i: (level, float(k)) for k, i in enumerate(ordered)})
    maker = {v: i for i, e in enumerate(program.equations) for v in e.outputs}
    edges = [
        (maker[a], i)
        for i, e in enumerate(program.equations)
        for a in e.inputs
        if isinstance(a, Var) and a in maker
    ]
    curves = [
        [n / 2**20 for n in analysis.liveness(p).curve] for p in (program, checkpointed)
    ]
    return Anatomy([positions[i] for i in range(len(positions))], edges, path, *curves)


def main(depth: int = 6, width: int = 64, batch: int = 4096) -> Anatomy:
    """The anatomy of the gradient of a perceptron of this depth."""
    plain, kept = (
        gradient_program(perceptron(checkpointed), depth, width, batch)
        for checkpointed in (False, True)
    )
    found = anatomy(plain, kept)
    path = analysis.critical_path(plain)
    print(
        f"{len(plain.equations)} equations, {len(path.equations)} in the longest chain"
    )
    print(f"on average {path.parallelism:.2f} could run at once")
    peaks = [analysis.liveness(p).peak for p in (plain, kept)]
    print(f"held at most: {' and '.join(f'{p.nbytes / 2**20:.0f} MiB' for p in peaks)}")
    return found


# %%
# ## The figure
#
# The memory of a gradient is a mountain: it grows with each layer of the forward pass,
# and shrinks as the backward pass uses what was kept. With checkpoints only the inputs
# of the layers are kept, and each is computed again on the way back.


def draw(found: Anatomy) -> Figure:
    """Equations by level with the critical path; bytes held as the program runs."""
    figure, (left, right) = plt.subplots(2, 1, layout="constrained", figsize=(7, 4.5))
    on_path = {*found.path}
    for a, b in found.edges:
        critical = a in on_path and b in on_path
        ends = zip(found.positions[a], found.positions[b], strict=True)
        left.plot(*ends, color="C1" if critical else "gray", linewidth=0.4 + critical)
    colours = ["C1" if i in on_path else "C0" for i in range(len(found.positions))]
    left.scatter(*zip(*found.positions, strict=True), c=colours, s=12, zorder=2)
    left.set(xlabel="level", yticks=[], ylabel="equations")
    for label, curve in (("plain", found.held), ("checkpoint", found.checkpointed)):
        share = [i / (len(curve) - 1) for i in range(len(curve))]
        right.plot(share, curve, drawstyle="steps-post", label=label)
    right.set(xlabel="part of the equations that have run", ylabel="MiB held", ylim=0)
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    draw(main()).savefig("anatomy.png")

# %%
# ## What to try next
#
# - Draw a loss of yours: only `perceptron` changes.
# - `critical_path(program, weight=...)` measures in what you like: FLOPs, or seconds.
# - `dependence(program, inputs=[0])` says which equations see the first weight.
# - Compare the peaks with what the compiled programs hold:
#   `cv.jit(f).lower(x).compile().memory_analysis()`.
