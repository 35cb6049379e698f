"""The handwritten digits that scikit-learn carries: 1,797 real images of 8×8 pixels."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import covector.numpy as cnp
from covector import Array


class Digits(NamedTuple):
    """Images ``f32[n, 8, 8]`` with ink from 0 to 1, and which digit each one shows."""

    images: Array
    labels: Array


def load(seed: int) -> tuple[Digits, Digits]:
    """Four fifths to learn from and one fifth to test with, digits in proportion."""
    pixels, targets = load_digits(return_X_y=True)
    images = np.asarray(pixels / 16, np.float32).reshape(-1, 8, 8)
    labels = np.asarray(targets, np.int32)
    rows = train_test_split(
        np.arange(len(labels)), test_size=0.2, stratify=labels, random_state=seed
    )
    train, test = (Digits(cnp.asarray(images[r]), cnp.asarray(labels[r])) for r in rows)
    return train, test
