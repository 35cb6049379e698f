"""A fuzzer of checkpoints: damage to their files, and manifests made to do harm.

    python -m tests.anomalies.damaged_checkpoints SEED ROUNDS

Damage ends in a ``CheckpointError``, or in the values that were saved. A manifest that
was changed and has a fitting digest is another checkpoint, if it is one: then only what
is no ``CovectorError`` is a failure.
"""

import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.errors import CheckpointError, CovectorError
from covector.experimental import checkpoint
from covector.experimental.checkpoint.manifest import sealed

Damage = Callable[[random.Random, Path], None]


def a_tree() -> dict[str, Any]:
    """Leaves of every kind."""
    return {
        "layers": [{"w": cnp.arange(6.0).reshape(2, 3), "b": None}, (cnp.ones(()),)],
        "step": 7,
        "numbers": {2: np.arange(3, dtype=np.int16), 10: np.zeros((0, 4), np.float32)},
        "values": ("name", True, 0.1, float("nan"), 1 - 2j),
        "key": cv.random.key(3),
        "small": cnp.ones(3, "bfloat16"),
    }


def as_text(tree: Any) -> str:
    """Everything that is in a tree, to the last bit."""

    def shown(leaf: Any) -> Any:
        if isinstance(leaf, cv.Array):
            return str(leaf.type), np.asarray(leaf.host()).tobytes()
        if isinstance(leaf, np.ndarray):
            return leaf.dtype, leaf.shape, leaf.tobytes()
        return repr(leaf)

    return repr(cv.tree.map(shown, tree, is_leaf=lambda x: x is None))


# -- damage ----------------------------------------------------------------------------


def _changed_bytes(chance: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content))
    some = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 5)))
    change = chance.choice(["bit", "bit", "cut", "drop", "insert", "double", "end"])
    if change == "bit":
        content[at] ^= 1 << chance.randrange(8)
    elif change == "cut":
        del content[at:]
    elif change == "drop":
        del content[at : at + len(some)]
    elif change == "insert":
        content[at:at] = some
    elif change == "double":
        content[at:at] = content[at : at + chance.randrange(1, 100)]
    else:
        content += some
    path.write_bytes(content)


def manifest_bytes(chance: random.Random, there: Path) -> None:
    _changed_bytes(chance, there / "manifest.json")


def data_bytes(chance: random.Random, there: Path) -> None:
    (stored,) = there.glob("data-*/parts-0.bin")
    _changed_bytes(chance, stored)


def other_files(chance: random.Random, there: Path) -> None:
    """Something else where a file is to be."""
    files = [there / "manifest.json", *there.glob("data-*"), *there.glob("data-*/*")]
    path = chance.choice(files)
    moved = there.parent / "moved"
    path.rename(moved)
    change = chance.choice(["nothing", "link", "folder", "pipe", "empty", "loop"])
    if change == "link":
        path.symlink_to(moved)
    elif change == "folder":
        path.mkdir()
    elif change == "pipe":
        os.mkfifo(path)
    elif change == "empty":
        path.touch()
    elif change == "loop":
        path.symlink_to(path)


def other_manifest(chance: random.Random, there: Path) -> None:
    """A manifest with something else at one path, and the digest that fits it."""
    path = there / "manifest.json"
    manifest = json.loads(path.read_text())
    content = {name: manifest[name] for name in ("number", "tree", "leaves")}
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        _change_member(chance, content)
    path.write_text(sealed(json.dumps(content)[1:] if content else "}"))


def _change_member(chance: random.Random, content: Any) -> None:
    node, nodes = content, []
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = chance.choice(keys)
        nodes.append((node, key))
        node = node[key]
    if not nodes:
        return  # all of it was dropped before
    node, key = chance.choice([*nodes, *nodes[-2:] * 3])
    change = chance.choice(["set", "set", "set", "drop", "double", "other"])
    if change == "set":
        node[key] = chance.choice(_STRANGE)()
    elif change == "drop":
        del node[key]
    elif change == "double" and isinstance(node, list):
        node.insert(key, node[key])
    else:
        other, at = chance.choice(nodes)
        node[key] = json.loads(json.dumps(other[at]))


def _nested() -> Any:
    """Deeper than Python's stack."""
    node: Any = 0
    for _ in range(300):
        node = {"list": [node]}
    return node


_STRANGE: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: -1,
    lambda: 0,
    lambda: 1,
    lambda: 2,
    lambda: 64,
    lambda: 10**6,
    lambda: 2**62,
    lambda: 2**70,
    lambda: 0.5,
    lambda: float("nan"),
    lambda: "",
    lambda: "../../../etc/passwd",
    lambda: "/etc/passwd",
    lambda: "parts-1.bin",
    lambda: "parts-0.bin\n",
    lambda: "float64",
    lambda: "key<what>",
    lambda: "complex",
    lambda: "none",
    lambda: "array",
    lambda: [],
    lambda: [0],
    lambda: [2**31, 2**31],
    lambda: [1] * 65,
    lambda: {},
    lambda: {"list": [0, 1]},
    lambda: {"dict": [["a", 0]]},
    lambda: {"tuple": 3},
    _nested,
]

#: with which exceptions each may end, and whether values have to be those saved
DAMAGES: list[tuple[Damage, type[Exception], bool]] = [
    (manifest_bytes, CheckpointError, True),
    (data_bytes, CheckpointError, True),
    (other_files, CheckpointError, True),
    (other_manifest, CovectorError, False),
]


def failure(damage: Damage, allowed: type[Exception], exact: bool, seed: int) -> str:
    """What went wrong with one damaged checkpoint; nothing where nothing did."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "step"
        shutil.copytree(_whole(), there)
        damage(random.Random(seed), there)
        try:
            found = checkpoint.restore(there)
        except allowed as error:
            # It says where, and what.
            return "" if str(there) in str(error) or not exact else f"says {error}"
        except BaseException as error:  # noqa: BLE001  whatever it is, it is told
            return f"{type(error).__name__}: {str(error)[:200]}"
        if exact and as_text(found) != as_text(a_tree()):
            return "other values"
    return ""


class _Saved:
    """One checkpoint, of which copies are damaged."""

    folder: tempfile.TemporaryDirectory[str] | None = None


def _whole() -> Path:
    if _Saved.folder is None:
        _Saved.folder = tempfile.TemporaryDirectory()
        checkpoint.save(f"{_Saved.folder.name}/whole", a_tree())
    return Path(_Saved.folder.name) / "whole"


def failures(seed: int, rounds: int) -> list[str]:
    """What went wrong with this many damaged checkpoints."""
    found = []
    for k in range(rounds):
        damage, allowed, exact = DAMAGES[k % len(DAMAGES)]
        wrong = failure(damage, allowed, exact, seed + k)
        if wrong:
            found.append(f"{damage.__name__} of seed {seed + k}: {wrong}")
    return found


if __name__ == "__main__":
    wrong = failures(*map(int, sys.argv[1:]))
    sys.stdout.write("\n".join([*wrong, f"{len(wrong)} failures\n"]))
