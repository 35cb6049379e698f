"""What checkpoints say of what they cannot do."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import (
    ArgumentError,
    CheckpointError,
    CheckpointExists,
    CheckpointNotFound,
    DeletedArrayError,
    DTypeError,
    ShardingError,
    TracerArrayConversionError,
    TreeMismatch,
    TypeMismatch,
)
from covector.experimental import checkpoint
from covector.experimental.checkpoint import files
from covector.experimental.checkpoint.manifest import sealed
from tests.meshes import named


@pytest.fixture
def there(tmp_path):
    return tmp_path / "step_1"


def data_of(there):
    (folder,) = there.glob("data-*")
    return folder


def test_no_such_directory(there):
    with pytest.raises(CheckpointNotFound) as caught:
        checkpoint.restore(there)
    assert str(caught.value) == (
        f"there is no checkpoint at {there}: no such directory."
    )
    assert isinstance(caught.value, FileNotFoundError)


def test_a_directory_of_other_things(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointNotFound) as caught:
        checkpoint.restore(tmp_path)
    assert str(caught.value) == (
        f"there is no checkpoint at {tmp_path}: it has no manifest.json."
    )
    with pytest.raises(CheckpointExists) as caught:
        checkpoint.save(tmp_path, cnp.ones(3), overwrite=True)
    assert str(caught.value) == (
        f"save: {tmp_path} holds other files, such as 'notes.txt'. A checkpoint has a "
        "directory of its own."
    )
    with pytest.raises(CheckpointExists, match=r"notes.txt is a file, and not"):
        checkpoint.save(tmp_path / "notes.txt", cnp.ones(3), overwrite=True)
    with pytest.raises(CheckpointNotFound):
        checkpoint.restore(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_process_whose_parts_are_elsewhere(there, monkeypatch):
    monkeypatch.setattr(files.client, "process_count", lambda: 2)
    with pytest.raises(CheckpointError) as caught:
        checkpoint.save(there, cnp.ones(3))
    assert str(caught.value) == (
        f"save: process 1 left no parts in {there}/data-1. All processes have to save "
        "to the same directory, of a file system that they share."
    )


def test_a_checkpoint_is_not_replaced_by_accident(there):
    checkpoint.save(there, cnp.ones(3))
    with pytest.raises(CheckpointExists) as caught:
        checkpoint.save(there, cnp.zeros(3))
    assert str(caught.value) == (
        f"save: there is a checkpoint at {there} already. Pass overwrite=True to "
        "replace it once the new one is whole, or choose another directory."
    )
    assert checkpoint.restore(there).tolist() == [1.0] * 3


def test_a_file_that_is_missing(there):
    checkpoint.save(there, cnp.ones(3))
    (data_of(there) / "parts-0.bin").unlink()
    with pytest.raises(CheckpointError) as caught:
        checkpoint.restore(there)
    assert str(caught.value) == (
        f"the checkpoint at {there} is damaged, or was replaced while it was read: "
        "data-1/parts-0.bin is missing."
    )


@pytest.mark.parametrize("left", [0, 7])
def test_a_file_that_is_too_short(there, left):
    checkpoint.save(there, cnp.ones(3))
    stored = data_of(there) / "parts-0.bin"
    stored.write_bytes(stored.read_bytes()[:left])
    with pytest.raises(CheckpointError) as caught:
        checkpoint.restore(there)
    assert str(caught.value) == (
        f"{stored} is damaged: it has {left} bytes, but a part of the checkpoint ends "
        "at byte 12."
    )


def test_manifests_that_are_none(there):
    checkpoint.save(there, cnp.ones(3))
    path = there / "manifest.json"
    text = path.read_text()
    words = {
        text[:50]: "is damaged: it is not JSON",
        "[]": "is not the manifest of a checkpoint that covector saved",
        text.replace('"version": 2', '"version": 3'): "Restore it with the covector",
        text.replace("float32", "float16"): "its content is not the one that its",
        sealed(text.partition("\n")[2].replace("float32", "float33")): "'float33', w",
    }
    for changed, message in words.items():
        path.write_text(changed)
        with pytest.raises(CheckpointError, match=message):
            checkpoint.restore(there)


def test_a_like_of_another_structure_is_told_by_path(there):
    checkpoint.save(there, {"a": cnp.ones(3), "b": [1, 2]})
    with pytest.raises(TreeMismatch) as caught:
        checkpoint.restore(there, {"a": cnp.ones(3), "c": [1, 2], "b": [1]})
    assert str(caught.value) == (
        f"restore: like has another structure than the checkpoint at {there}: it has "
        "['c'][0], ['c'][1], which the checkpoint has not, and it has not ['b'][1], "
        "which the checkpoint has."
    )
    with pytest.raises(TreeMismatch, match=r"has \['a'\]\['x'\], which"):
        checkpoint.restore(there, {"a": {"x": 1}, "b": [1, 2]})
    with pytest.raises(TreeMismatch, match="it has a leaf at the root, which"):
        checkpoint.restore(there, cnp.ones(3))
    many = {"a": cnp.ones(3), "b": [1] * 9}
    with pytest.raises(TreeMismatch, match=r"\['b'\]\[4\] and 4 more, which"):
        checkpoint.restore(there, many)


def test_shardings_of_another_structure(there):
    checkpoint.save(there, {"a": cnp.ones(3)})
    with pytest.raises(TreeMismatch, match="restore shardings must be a prefix of the"):
        checkpoint.restore(there, shardings={"b": None})


@pytest.mark.parametrize(
    ("saved", "like", "words"),
    [
        (
            np.ones((8, 4), np.float32),
            cv.ShapeDtypeStruct((8, 5), "float32"),
            "restore: ['w'] was saved as f32[8,4], but like has f32[8,5]. A checkpoint "
            "is restored in the shapes that it has; change them afterwards.",
        ),
        (
            np.ones(2, np.float32),
            cv.ShapeDtypeStruct((2,), "int32"),
            "restore: ['w'] was saved as f32[2], but like has i32[2]. Only floating "
            "and complex dtypes become others of their kind, and integers wider ones; "
            "restore it as it was saved, and convert it then.",
        ),
        (np.ones(2, np.int32), np.ones(2, np.int8), "but like has i8[2]. Only"),
        (np.ones(2, np.uint32), np.ones(2, np.float32), "but like has f32[2]. Only"),
        (np.ones(2, np.complex64), np.ones(2, np.float32), "like has f32[2]. Only"),
        (3, cv.ShapeDtypeStruct((), "int32"), "was saved as 3, but like has i32[]."),
        (3, 3.0, "restore: ['w'] was saved as 3, but like has float."),
        (True, 1, "restore: ['w'] was saved as True, but like has int."),
        (None, 1, "restore: ['w'] was saved as None, but like has int."),
        (np.ones(2, np.int32), None, "was saved as i32[2], but like has None."),
    ],
    ids=str,
)
def test_a_like_of_another_type(there, saved, like, words):
    checkpoint.save(there, {"w": saved})
    with pytest.raises(TypeMismatch) as caught:
        checkpoint.restore(there, {"w": like})
    assert words in str(caught.value)


def test_a_like_without_elements_is_checked_too(there):
    checkpoint.save(there, [cnp.zeros((0, 2)), cnp.ones(())])
    like = [cv.ShapeDtypeStruct((0, 3), "float32"), cv.ShapeDtypeStruct((), "float32")]
    with pytest.raises(TypeMismatch, match=r"\[0\] was saved as f32\[0,2\], but like"):
        checkpoint.restore(there, like)


def test_a_like_of_keys_is_not_one_of_numbers(there):
    checkpoint.save(there, cv.random.key(0))
    with pytest.raises(TypeMismatch, match=r"saved as key<fry>\[\], but like has u32"):
        checkpoint.restore(there, cv.ShapeDtypeStruct((), "uint32"))


def test_a_like_with_something_else(there):
    checkpoint.save(there, {"w": 1})
    with pytest.raises(ArgumentError, match=r"of like at \['w'\] is of type object"):
        checkpoint.restore(there, {"w": object()})


def test_a_sharding_that_does_not_fit_names_the_array(there):
    checkpoint.save(there, {"w": cnp.ones(6)})
    with pytest.raises(ShardingError, match="not a multiple of 8") as caught:
        checkpoint.restore(there, shardings=named("x", on="8"))
    assert caught.value.__notes__ == ["while restoring ['w'], f32[6]"]


def test_leaves_that_cannot_be_saved(there):
    with pytest.raises(ArgumentError) as caught:
        checkpoint.save(there, {"f": [len]})
    assert str(caught.value) == (
        "save: the leaf at ['f'][0] is of type builtin_function_or_method. A "
        "checkpoint holds arrays of covector and of NumPy, None, and Python's bool, "
        "int, float, complex, str. Convert it, or leave it out."
    )
    with pytest.raises(DTypeError, match="element type of arrays") as raised:
        checkpoint.save(there, {"s": np.array(["a"])})
    assert raised.value.__notes__ == ["while saving the NumPy array at ['s']"]
    with pytest.raises(ArgumentError, match=r"has the key \(1, 2\) of type tuple"):
        checkpoint.save(there, {(1, 2): 1.0})
    with pytest.raises(TracerArrayConversionError, match="at the root is traced"):
        cv.jit(lambda x: checkpoint.save(there, x))(1.0)
    x = cnp.ones(3) + 1
    x.delete()
    with pytest.raises(DeletedArrayError):
        checkpoint.save(there, x)


class Twins:
    """A class whose children have one name."""


cv.tree_util.register_pytree_with_keys(
    Twins,
    lambda _: ((("same", 1.0), ("same", 2.0)), None),
    lambda _, __: Twins(),
)


def test_leaves_that_cannot_be_told_apart(there):
    with pytest.raises(ArgumentError, match="1 of the 2 leaves have the path of anot"):
        checkpoint.save(there, Twins())
