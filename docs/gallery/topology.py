"""The shape of a bridge: topology optimization.

Given a beam that rests on two supports and carries a load in the middle, and
material for two fifths of its volume: where should the material go? What an
optimizer finds looks like what engineers built in iron.

The beam is divided into square finite elements. Each has a density between 0
and 1, which scales its stiffness; the objective is the work of the load, `f ·
u` with `K u = f`. Nobody derives its sensitivities: `value_and_grad`
differentiates through the assembly of the stiffness matrix and the linear
solve.

The full program takes about 20 seconds on two CPU cores.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.scipy.linalg import solve
from covector.scipy.signal import convolve2d

# %%
# ## Finite elements
#
# The stiffness of an element is the integral of Bᵀ C B, where B turns the
# displacements of the four corners into strains and C turns strains into
# stresses; Gauss's rule with four points is exact.


def element_stiffness(poisson: float = 0.3) -> np.ndarray:
    """``[8, 8]`` for a unit square in plane stress: x, y of each corner."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    stress = np.array([[1, poisson, 0], [poisson, 1, 0], [0, 0, (1 - poisson) / 2]])
    stiffness = np.zeros((8, 8))
    for point in corners / np.sqrt(3):
        # Derivatives of the shape functions (1 ± s)(1 ± t) / 4.
        dx, dy = corners.T * (1 + corners * point)[:, ::-1].T / 2
        strain = np.zeros((3, 8))
        strain[0, 0::2] = strain[2, 1::2] = dx
        strain[1, 1::2] = strain[2, 0::2] = dy
        stiffness += strain.T @ (stress / (1 - poisson**2)) @ strain / 4
    return stiffness


class Beam(NamedTuple):
    """Half of a beam: the other half is its mirror image in the left edge."""

    shape: tuple[int, int]  # rows and columns of elements
    unknowns: np.ndarray  # [elements, 8], which displacements an element has
    free: np.ndarray  # those that are not held by a support
    load: np.ndarray  # on each displacement


def beam(rows: int, columns: int) -> Beam:
    """A load on the upper left corner, a support under the lower right one."""
    node = np.arange((rows + 1) * (columns + 1)).reshape(rows + 1, columns + 1)
    corners = [node[1:, :-1], node[1:, 1:], node[:-1, 1:], node[:-1, :-1]]
    corners = np.stack(corners, axis=-1).reshape(-1, 4)
    unknowns = (2 * corners[:, :, None] + [0, 1]).reshape(-1, 8)
    load = np.zeros(2 * node.size)
    load[2 * node[0, 0] + 1] = -1.0
    held = [*(2 * node[:, 0]), 2 * node[-1, -1] + 1]
    return Beam((rows, columns), unknowns, np.delete(np.arange(len(load)), held), load)


# %%
# ## The objective
#
# Cubing the densities makes half-filled elements a bad bargain (SIMP), and
# averaging each with its neighbours keeps the optimizer from making
# chequerboards.
#
# `.at[...].add` assembles the global matrix: entries that several elements
# share are added. The derivative of that is a gather, and the derivative of
# `solve` is another solve with the same factors; neither is written here.


def blur(densities: Array) -> Array:
    """The mean over each element and its neighbours."""
    weights = cnp.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]])
    total = convolve2d(densities, weights, mode="same")
    return total / convolve2d(cnp.ones_like(densities), weights, mode="same")


def compliance(densities: Array, beam: Beam) -> Array:
    """The work of the load: small for a stiff structure."""
    stiffness = 1e-6 + blur(densities).ravel() ** 3
    blocks = stiffness[:, None, None] * element_stiffness()
    rows, columns = beam.unknowns[:, :, None], beam.unknowns[:, None, :]
    matrix = cnp.zeros((len(beam.load), len(beam.load))).at[rows, columns].add(blocks)
    matrix = matrix[np.ix_(beam.free, beam.free)]
    load = beam.load[beam.free]
    return load @ solve(matrix, load, assume_a="pos")


# %%
# ## The optimizer
#
# The optimality criteria method: multiply each density by the root of how much
# it helps per volume, over a price. The price that spends exactly the given
# volume is found by bisection.


def update(densities: Array, gradient: Array, volume: float) -> Array:
    """The next densities, none moved by more than 0.2."""
    low, high = (
        cnp.maximum(densities - 0.2, 0.0),
        cnp.minimum(densities + 0.2, 1.0),
    )

    def at_price(log_price):
        helpful = cnp.sqrt(cnp.maximum(-gradient, 0.0) / cnp.exp(log_price))
        return cnp.clip(densities * helpful, low, high)

    def bisect(_, bracket):
        cheap, dear = bracket
        middle = (cheap + dear) / 2
        too_much = at_price(middle).mean() > volume
        return cnp.where(too_much, middle, cheap), cnp.where(too_much, dear, middle)

    bracket = cnp.array(-30.0), cnp.array(30.0)
    return at_price(cv.lax.fori_loop(0, 60, bisect, bracket)[1])


class Result(NamedTuple):
    """The densities at the end and early on; the compliance of each step."""

    densities: np.ndarray
    early: np.ndarray
    compliances: np.ndarray


def main(
    rows: int = 16, columns: int = 48, steps: int = 50, volume: float = 0.4
) -> Result:
    """Start from an even grey."""
    with cv.enable_x64(True):  # stiffnesses differ by a factor of a million
        half = beam(rows, columns)

        @cv.jit
        def step(densities):
            value, gradient = cv.value_and_grad(compliance)(densities, half)
            return update(densities, gradient, volume), value

        densities = early = cnp.full(half.shape, volume)
        compliances = []
        for i in range(steps):
            densities, value = step(densities)
            compliances.append(float(value))
            if i == 7:
                early = densities
    print(f"compliance {compliances[0]:.0f} → {compliances[-1]:.0f}")
    return Result(np.asarray(densities), np.asarray(early), np.array(compliances))


# %%
# ## The figure
#
# The whole beam, after 8 steps and at the end. Black is material.


def draw(result: Result) -> Figure:
    """The structure, and how the compliance falls."""
    figure, axes = plt.subplots(
        3, 1, layout="constrained", figsize=(7, 4), height_ratios=[2, 2, 1.5]
    )
    for ax, half in zip(axes, (result.early, result.densities), strict=False):
        whole = np.hstack([half[:, ::-1], half])
        ax.imshow(whole, cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    axes[2].plot(result.compliances)
    axes[2].set(yscale="log", xlabel="step", ylabel="compliance")
    return figure


if __name__ == "__main__":
    draw(main()).savefig("topology.png")

# %%
# ## What to try next
#
# - Put the load at the bottom, or several loads: sum the compliances.
# - Let a small network with random weights describe the densities, and train
#   its weights by Adam (Hoyer, Sohl-Dickstein and Greydanus, 2019).
# - For larger beams, solve by `scipy.sparse.linalg.cg` with a function that
#   applies the matrix; its derivative is a solve by `cg` as well.
