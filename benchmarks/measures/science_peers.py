"""The science programs as NumPy, SciPy, PyTorch and numba write them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

# -- through time ----------------------------------------------------------------------


def pendulum(numba: Any, steps: int) -> Callable[[Any], Any]:
    @numba.njit
    def run(start: np.ndarray) -> Any:
        a, s, h = start[0], start[1], np.float32(0.01)
        for _ in range(steps):
            a1, s1 = s, -np.sin(a)
            a2, s2 = s + h / 2 * s1, -np.sin(a + h / 2 * a1)
            a3, s3 = s + h / 2 * s2, -np.sin(a + h / 2 * a2)
            a4, s4 = s + h * s3, -np.sin(a + h * a3)
            a += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            s += h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
        return a, s

    return run


def lorenz(torch: Any, steps: int) -> Callable[[Any], Any]:
    def run(points: Any) -> Any:
        x, y, z = points
        for _ in range(steps):
            x, y, z = (
                x + 0.01 * 10 * (y - x),
                y + 0.01 * (x * (28 - z) - y),
                z + 0.01 * (x * y - 8 / 3 * z),
            )
        return x, y, z

    return run


def monte_carlo(np: Any, paths: int) -> Callable[[], Any]:
    def price() -> Any:
        walk = np.random.default_rng(0).standard_normal((50, paths), np.float32)
        prices = 100 * np.exp(np.cumsum(walk * np.float32(0.03), 0))
        return np.maximum(prices.mean(0) - 100, 0).mean()

    return price


def torch_monte_carlo(torch: Any, paths: int) -> Callable[[], Any]:
    def price() -> Any:
        prices = 100 * torch.exp(torch.cumsum(torch.randn(50, paths) * 0.03, 0))
        return torch.relu(prices.mean(0) - 100).mean()

    return price


# -- on grids --------------------------------------------------------------------------


def heat(library: Any, steps: int) -> Callable[[Any], Any]:
    def run(u: Any) -> Any:
        u = library.asarray(u) + 0
        for _ in range(steps):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            u[1:-1, 1:-1] += 0.1 * (around - 4 * u[1:-1, 1:-1])
        return u

    return run


def numba_heat(numba: Any, steps: int) -> Callable[[Any], Any]:
    @numba.njit(parallel=True)
    def run(u: np.ndarray) -> np.ndarray:
        u, new = u.copy(), u.copy()
        for _ in range(steps):
            for i in numba.prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                    new[i, j] = u[i, j] + np.float32(0.1) * (around - 4 * u[i, j])
            u, new = new, u
        return u

    return run


SOBEL = np.float32([[1, 0, -1], [2, 0, -2], [1, 0, -1]])


def image_filter(np: Any) -> Callable[..., Any]:
    convolve = import_module("scipy.ndimage").convolve

    def edges(image: Any, kernel: Any) -> Any:
        smooth = convolve(image, kernel, mode="constant")
        across = convolve(smooth, SOBEL, mode="constant")
        return np.hypot(across, convolve(smooth, SOBEL.T, mode="constant"))

    return edges


def torch_image_filter(torch: Any) -> Callable[..., Any]:
    sobel = torch.from_numpy(SOBEL)

    def convolve(image: Any, kernel: Any) -> Any:
        flipped = kernel.flip(0, 1)[None, None]
        return torch.nn.functional.conv2d(image, flipped, padding=kernel.shape[0] // 2)

    def edges(image: Any, kernel: Any) -> Any:
        smooth = convolve(image[None, None], kernel)
        across, down = convolve(smooth, sobel), convolve(smooth, sobel.T)
        return torch.sqrt(across**2 + down**2)[0, 0]

    return edges


def numba_image_filter(numba: Any) -> Callable[..., Any]:
    @numba.njit(parallel=True, fastmath=True)
    def convolve(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        rows, columns = image.shape
        size = kernel.shape[0]
        padded = np.zeros((rows + size - 1, columns + size - 1), np.float32)
        padded[size // 2 : size // 2 + rows, size // 2 : size // 2 + columns] = image
        out = np.zeros_like(image)
        for i in numba.prange(rows):
            for k in range(size):
                for m in range(size):
                    weight = kernel[size - 1 - k, size - 1 - m]
                    for j in range(columns):
                        out[i, j] += weight * padded[i + k, j + m]
        return out

    def edges(image: Any, kernel: Any) -> Any:
        smooth = convolve(image, kernel)
        return np.hypot(convolve(smooth, SOBEL), convolve(smooth, SOBEL.T.copy()))

    return edges


def mandelbrot(np: Any, side: int, rounds: int) -> Callable[[], Any]:
    def image() -> Any:
        line = np.linspace(-2, 2, side, dtype=np.float32)
        c = (line[None, :] - np.float32(0.5)) + 1j * line[:, None]
        z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
        for _ in range(rounds):
            near = z.real**2 + z.imag**2 <= 4
            if not near.any():
                break
            z = np.where(near, z * z + c, z)
            count += near
        return count

    return image


def numba_mandelbrot(numba: Any, side: int, rounds: int) -> Callable[[], Any]:
    @numba.njit(parallel=True)
    def image() -> np.ndarray:
        count = np.zeros((side, side), np.int32)
        for i in numba.prange(side):
            y = np.float32(-2 + 4 * i / (side - 1))
            for j in range(side):
                x = np.float32(-2.5 + 4 * j / (side - 1))
                a = b = np.float32(0)
                while count[i, j] < rounds and a * a + b * b <= 4:
                    a, b = a * a - b * b + x, 2 * a * b + y
                    count[i, j] += 1
        return count

    return image


def life(library: Any, generations: int) -> Callable[[Any], Any]:
    def run(cells: Any) -> Any:
        for _ in range(generations):
            rows = cells + library.roll(cells, 1, 0) + library.roll(cells, -1, 0)
            block = rows + library.roll(rows, 1, 1) + library.roll(rows, -1, 1)
            alive = (block == 3) | ((block == 4) & (cells == 1))
            cells = alive + 0 * cells
        return cells

    return run


def next_wave(library: Any, now: Any, before: Any) -> Any:
    """A step of the wave equation on a torus."""
    roll = library.roll
    around = roll(now, 1, 0) + roll(now, -1, 0) + roll(now, 1, 1) + roll(now, -1, 1)
    return 2 * now - before + 0.2 * (around - 4 * now)


def waves(library: Any, steps: int) -> Callable[[Any], Any]:
    def run(now: Any) -> Any:
        before = now
        for _ in range(steps):
            now, before = next_wave(library, now, before), now
        return now

    return run


def transported(library: Any, u: Any) -> Any:
    """A step of the scheme of Lax and Wendroff, on a ring."""
    left, right = library.roll(u, 1, 0), library.roll(u, -1, 0)
    return u - 0.25 * (right - left) + 0.125 * (right - 2 * u + left)


def transport(library: Any, steps: int) -> Callable[[Any], Any]:
    def run(u: Any) -> Any:
        for _ in range(steps):
            u = transported(library, u)
        return u

    return run


# -- from data -------------------------------------------------------------------------


def k_means(np: Any, clusters: int) -> Callable[[Any], Any]:
    def fit(x: Any) -> Any:
        centres = x[:clusters]
        for _ in range(10):
            nearest = ((centres**2).sum(1) - 2 * x @ centres.T).argmin(1)
            member = np.eye(clusters, dtype=np.float32)[nearest]
            centres = (member.T @ x) / (member.sum(0)[:, None] + np.float32(1e-6))
        return centres

    return fit


def torch_k_means(torch: Any, clusters: int) -> Callable[[Any], Any]:
    def fit(x: Any) -> Any:
        centres = x[:clusters]
        for _ in range(10):
            nearest = ((centres**2).sum(1) - 2 * x @ centres.T).argmin(1)
            sums = torch.zeros(clusters, x.shape[1]).index_add_(0, nearest, x)
            centres = sums / (nearest.bincount(minlength=clusters)[:, None] + 1e-6)
        return centres

    return fit


def page_rank(np: Any, pages: int) -> Callable[..., Any]:
    """With a sparse matrix of SciPy, made each time as the others count links."""
    sparse = import_module("scipy.sparse")

    def rank(sources: Any, targets: Any) -> Any:
        share = 1 / np.maximum(np.bincount(sources, minlength=pages), 1)
        entries = share[sources].astype(np.float32)
        links = sparse.csr_array((entries, (targets, sources)), shape=(pages, pages))
        rank = np.full(pages, 1 / pages, np.float32)
        for _ in range(20):
            rank = np.float32(0.15 / pages) + np.float32(0.85) * (links @ rank)
        return rank

    return rank


def torch_page_rank(torch: Any, pages: int) -> Callable[..., Any]:
    def rank(sources: Any, targets: Any) -> Any:
        share = 1 / sources.bincount(minlength=pages).clamp(min=1)
        rank = torch.full((pages,), 1 / pages)
        for _ in range(20):
            flow = (rank * share)[sources]
            rank = 0.15 / pages + 0.85 * torch.zeros(pages).index_add_(0, targets, flow)
        return rank

    return rank


def numba_page_rank(numba: Any, pages: int) -> Callable[..., Any]:
    @numba.njit
    def rank(sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        leaving = np.zeros(pages, np.float32)
        for source in sources:
            leaving[source] += 1
        share = 1 / np.maximum(leaving, 1)
        rank = np.full(pages, 1 / pages, np.float32)
        for _ in range(20):
            sent, flow = rank * share, np.zeros(pages, np.float32)
            for k in range(sources.size):
                flow[targets[k]] += sent[sources[k]]
            rank = (0.15 / pages + 0.85 * flow).astype(np.float32)
        return rank

    return rank


def power_iteration(library: Any, rounds: int) -> Callable[[Any], Any]:
    def iterate(a: Any) -> Any:
        x = a[0]
        for _ in range(rounds):
            x = a @ x
            x = x / library.sqrt((x**2).sum())
        return x

    return iterate


def torch_convolution(torch: Any) -> Callable[..., Any]:
    def convolve(x: Any, kernel: Any) -> Any:
        flipped = kernel.flip(0)[None, None]
        return torch.nn.functional.conv1d(x[None, None], flipped, padding="same")[0, 0]

    return convolve


# -- step by step ----------------------------------------------------------------------


def numba_edit_distance(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def distance(first: np.ndarray, second: np.ndarray) -> int:
        row = np.arange(second.size + 1, dtype=np.int32)
        for letter in first:
            before = row[0]
            row[0] += 1
            for j in range(second.size):
                changed = before + (second[j] != letter)
                before = row[j + 1]
                row[j + 1] = min(before + 1, row[j] + 1, changed)
        return row[-1]

    return distance


def viterbi(np: Any) -> Callable[..., Any]:
    def path(moves: Any, seen: Any) -> Any:
        score, choices = seen[0], []
        for observed in seen[1:]:
            through = score[:, None] + moves
            choices.append(through.argmax(0))
            score = through.max(0) + observed
        states = [score.argmax()]
        states.extend(choice[states[-1]] for choice in choices[::-1])
        return score.max(), states[-1], np.asarray(states[-2::-1])

    return path


def numba_viterbi(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def path(moves: np.ndarray, seen: np.ndarray) -> Any:
        steps, states = seen.shape
        score, new = seen[0].copy(), seen[0].copy()
        choices = np.zeros((steps - 1, states), np.int32)
        for t in range(1, steps):
            for j in range(states):
                best = 0
                for i in range(1, states):
                    if score[i] + moves[i, j] > score[best] + moves[best, j]:
                        best = i
                new[j] = score[best] + moves[best, j] + seen[t, j]
                choices[t - 1, j] = best
            score, new = new, score
        found = np.zeros(steps, np.int32)
        found[-1] = score.argmax()
        for t in range(steps - 1, 0, -1):
            found[t - 1] = choices[t - 1, found[t]]
        return score.max(), found[0], found[1:]

    return path


def numba_bisection(numba: Any) -> Callable[[Any], Any]:
    @numba.njit(parallel=True)
    def roots(c: np.ndarray) -> np.ndarray:
        out = np.empty_like(c)
        for k in numba.prange(c.size):
            low, high = np.float32(0), np.float32(4)
            while high - low > 1e-5:
                middle = (low + high) / np.float32(2)
                if middle * middle * middle + middle < c[k]:
                    low = middle
                else:
                    high = middle
            out[k] = low
        return out

    return roots


# -- derivatives -----------------------------------------------------------------------


def torch_hessian_vector(torch: Any) -> Callable[..., Any]:
    def product(w1: Any, w2: Any, x: Any, v1: Any, v2: Any) -> Any:
        w1, w2 = w1.detach().requires_grad_(), w2.detach().requires_grad_()
        loss = (torch.tanh(torch.tanh(x @ w1) @ w2) ** 2).mean()
        slopes = torch.autograd.grad(loss, (w1, w2), create_graph=True)
        along = (slopes[0] * v1).sum() + (slopes[1] * v2).sum()
        return torch.autograd.grad(along, (w1, w2))

    return product


def torch_jacobian(torch: Any) -> Callable[..., Any]:
    return torch.func.jacrev(lambda x, w: torch.tanh(w @ x) * x)
