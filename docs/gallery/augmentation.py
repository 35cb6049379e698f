"""Few images: a convolutional network with data augmentation.

scikit-learn carries 1,797 handwritten digits. This program may look at 200 of
them and has to read the others. A convolutional network learns the 200 by heart
in no time; what helps is to show it, at each step, every image slightly
rotated, scaled and shifted.

The random transformation is written for one image and one random key. `vmap`
gives each image of the batch its own, and `jit` compiles augmentation and
training step into one program.

The full program takes about 8 seconds on two CPU cores.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.example_libraries import optimizers
from covector.scipy.ndimage import map_coordinates

# %%
# ## Augmentation
#
# A random affine map says where each pixel of the new image comes from;
# `map_coordinates` interpolates there.


def augment(key: Array, image: Array) -> Array:
    """The image ``[8, 8]``, rotated, scaled and shifted a little at random."""
    rotation, scale, shift = cv.random.split(key, 3)
    angle = cv.random.uniform(rotation, minval=-0.25, maxval=0.25)
    factor = cv.random.uniform(scale, minval=0.9, maxval=1.15)
    center = (cnp.array(image.shape) - 1) / 2
    moved = center + cv.random.uniform(shift, (2,), minval=-1.0, maxval=1.0)

    cosine, sine = factor * cnp.cos(angle), factor * cnp.sin(angle)
    turn = cnp.array([[cosine, -sine], [sine, cosine]])
    pixels = cnp.indices(image.shape).reshape(2, -1) - center[:, None]
    source = turn @ pixels + moved[:, None]
    return map_coordinates(image, source, order=1).reshape(image.shape)


# %%
# ## The network
#
# Two convolutions, the second with stride 2, a mean over the remaining 4×4
# pixels, and a linear layer. It takes a batch, because convolutions do.

Params = dict[str, Array]


def initialize(key: Array) -> Params:
    """Filters of 3×3 pixels, ``HWIO``, and the last layer."""
    he_normal = cv.nn.initializers.he_normal()
    first, second, last = cv.random.split(key, 3)
    return {
        "first": he_normal(first, (3, 3, 1, 24)),
        "second": he_normal(second, (3, 3, 24, 48)),
        "last": he_normal(last, (4 * 4 * 48, 10)),
        "bias": cnp.zeros(10),
    }


def logits(params: Params, images: Array) -> Array:
    """``[n, 8, 8]`` to ``[n, 10]``."""

    def convolve(x, filters, stride):
        return cv.lax.conv_general_dilated(
            x,
            filters,
            window_strides=(stride, stride),
            padding="SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    x = cv.nn.relu(convolve(images[..., None], params["first"], 1))
    x = cv.nn.relu(convolve(x, params["second"], 2))
    return x.reshape(len(x), -1) @ params["last"] + params["bias"]


def loss(params: Params, images: Array, labels: Array) -> Array:
    """The mean cross entropy."""
    log_probabilities = cv.nn.log_softmax(logits(params, images))
    return -cnp.mean(cnp.sum(cv.nn.one_hot(labels, 10) * log_probabilities, axis=1))


@cv.jit
def accuracy(params: Params, images: Array, labels: Array) -> Array:
    """The fraction of images that are read correctly."""
    return cnp.mean(logits(params, images).argmax(axis=1) == labels)


# %%
# ## Training
#
# `augmented` is a Python bool, so it is static: `jit` compiles a program with
# the augmentation, and one without.

Digits = tuple[Array, Array]
BATCH = 64
EVERY = 20


def train(
    train: Digits, test: Digits, steps: int, augmented: bool
) -> tuple[np.ndarray, Params]:
    """The test accuracy every few steps, and the trained parameters."""
    init, update, get_params = optimizers.adam(2e-3)

    @cv.jit
    def step(i, state, key):
        pick, change = cv.random.split(cv.random.fold_in(key, i))
        rows = cv.random.randint(pick, (BATCH,), 0, len(train[1]))
        images, labels = train[0][rows], train[1][rows]
        if augmented:
            images = cv.vmap(augment)(cv.random.split(change, BATCH), images)
        gradient = cv.grad(loss)(get_params(state), images, labels)
        return update(i, gradient, state)

    state = init(initialize(cv.random.key(0)))
    history = []
    for i in range(steps):
        state = step(i, state, cv.random.key(1))
        if (i + 1) % EVERY == 0:
            history.append(accuracy(get_params(state), *test))
    return np.array(history), get_params(state)


class Result(NamedTuple):
    """Test accuracies during training, and images with their augmentations."""

    plain: np.ndarray
    augmented: np.ndarray
    examples: np.ndarray  # [images, variants, 8, 8]


def main(images: int = 200, steps: int = 1000) -> Result:
    """Train twice from the same start: on plain and on augmented images."""
    pixels, labels = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(
        (pixels / 16).astype(np.float32).reshape(-1, 8, 8),
        labels.astype(np.int32),
        train_size=images,
        random_state=0,
        stratify=labels,
    )
    digits = cnp.array(x_train), cnp.array(y_train)
    test = cnp.array(x_test), cnp.array(y_test)
    plain, _ = train(digits, test, steps, augmented=False)
    augmented, _ = train(digits, test, steps, augmented=True)

    keys = cv.random.split(cv.random.key(2), (4, 7))
    variants = cv.vmap(cv.vmap(augment, in_axes=(0, None)))(keys, x_train[:4])
    examples = np.concatenate([x_train[:4, None], variants], axis=1)
    print(f"read correctly, of {len(y_test)} new images")
    print(f"  trained on the images as they are: {plain[-1]:.1%}")
    print(f"  trained on augmented images:       {augmented[-1]:.1%}")
    return Result(plain, augmented, examples)


# %%
# ## The figure
#
# On the left, the first image of each row is a training image and the others
# are augmentations of it.


def draw(result: Result) -> Figure:
    """Augmented images; the test accuracy with and without augmentation."""
    figure, (left, right) = plt.subplots(
        1, 2, layout="constrained", width_ratios=[1.3, 1]
    )
    rows = [np.hstack(np.pad(row, ((0, 0), (1, 1), (1, 1)))) for row in result.examples]
    left.imshow(np.vstack(rows), cmap="gray_r")
    left.set_axis_off()
    steps = EVERY * np.arange(1, len(result.plain) + 1)
    right.plot(steps, 100 * result.plain, label="as they are")
    right.plot(steps, 100 * result.augmented, label="augmented")
    best = 100 * max(result.plain.max(), result.augmented.max())
    right.set(xlabel="step", ylabel="test accuracy, %", ylim=(best - 20, 100))
    right.legend()
    return figure


if __name__ == "__main__":
    draw(main()).savefig("augmentation.png")

# %%
# ## What to try next
#
# - Train on 50 images, or on all but 300.
# - Average the predictions over ten augmentations of each test image.
# - Mix pairs of images and their labels (*mixup*): four more lines in `step`.
