"""Types of arrays: interned, so equality is identity; changed one fact at a time."""

import copy
import pickle
import subprocess
import sys
import threading
from itertools import product

import numpy as np
import pytest

import covector as cv
from covector.core import dtypes, types
from covector.core.key_types import KeyType
from covector.core.types import INVARIANT, ArrayType, show_types
from covector.errors import TypeMismatch

KEY = KeyType("threefry2x32")
X, XY = frozenset({"x"}), frozenset({"x", "y"})
SHAPES = ((), (3,), (2, 3), (0, 4))
DTYPES = (dtypes.float32, dtypes.bfloat16, dtypes.complex64, dtypes.int32, dtypes.bool_)
TYPES = [
    ArrayType(*facts)
    for facts in product(SHAPES, (*DTYPES, KEY), (False, True), (INVARIANT, X, XY))
]


def facts(t):
    return t.shape, t.dtype, t.weak, t.varying


def test_equal_types_are_one_object():
    for t in TYPES:
        assert ArrayType(*facts(t)) is t
    assert len({id(t) for t in TYPES}) == len(TYPES)


def test_other_spellings_of_a_type_give_the_same_object():
    t = ArrayType((2, 3), dtypes.float32)
    assert ArrayType((2, 3), "float32") is t
    assert ArrayType((np.int64(2), np.uint8(3)), np.float32) is t
    assert ArrayType((2, 3), np.dtype(">f4").newbyteorder("=")) is t
    assert all(type(n) is int for n in ArrayType((np.int64(2), 3), float).shape)
    spelled_first = ArrayType((5, 7, 9_001), "float32")
    assert ArrayType((5, 7, 9_001), dtypes.float32) is spelled_first


def test_copies_and_pickles_of_a_type_are_that_type():
    for t in TYPES:
        assert pickle.loads(pickle.dumps(t)) is t
        assert copy.copy(t) is t
        assert copy.deepcopy(t) is t


def test_a_type_made_on_several_threads_at_once_is_one_object():
    start, made = threading.Barrier(4), [[] for _ in range(4)]

    def make(into):
        start.wait()
        into += [ArrayType((n, 9_173), dtypes.int8) for n in range(200)]

    threads = [threading.Thread(target=make, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for same in zip(*made, strict=True):
        assert len({id(t) for t in same}) == 1


# -- one fact changes, and the others stay ---------------------------------------------


_AT_THE_END = """
import atexit
types = []
atexit.register(lambda: print(cnp.zeros(3).type is types[0]))  # after covector's own
import covector as cv, covector.numpy as cnp
from covector import export
(n,) = export.symbolic_shape("n")
exported = export.export(cv.jit(cnp.sin))(cv.ShapeDtypeStruct((n, 2 * n), "float32"))
types += [cnp.zeros(3).type, exported.in_avals]
"""


def test_types_are_still_one_object_while_functions_of_atexit_run():
    ended = subprocess.run(
        [sys.executable, "-c", _AT_THE_END], capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("True\n", "")


def test_with_shape_changes_the_shape_only():
    for t, shape in product(TYPES, SHAPES):
        assert facts(t.with_shape(shape)) == (shape, *facts(t)[1:])


def test_with_dtype_changes_the_dtype_and_is_strong_unless_asked():
    for t, dtype in product(TYPES, DTYPES):
        assert facts(t.with_dtype(dtype)) == (t.shape, dtype, False, t.varying)
        assert t.with_dtype(dtype, weak=True) is ArrayType(
            t.shape, dtype, True, t.varying
        )


def test_with_varying_changes_the_axes_only():
    for t, axes in product(TYPES, (INVARIANT, X, XY)):
        assert facts(t.with_varying(axes)) == (*facts(t)[:3], axes)


def test_strong_changes_the_weakness_only():
    for t in TYPES:
        assert facts(t.strong()) == (t.shape, t.dtype, False, t.varying)


def test_changing_a_fact_to_what_it_is_gives_the_type_itself():
    for t in TYPES:
        assert t.with_shape(t.shape) is t
        assert t.with_dtype(t.dtype, t.weak) is t
        assert t.with_varying(t.varying) is t
        assert t.strong().strong() is t.strong()


def test_a_tangent_is_strong_of_the_same_shape_and_axes():
    for t in TYPES:
        tangent = t.tangent()
        assert (tangent.shape, tangent.varying) == (t.shape, t.varying)
        assert not tangent.weak
        assert tangent.dtype is (t.dtype if t.inexact else dtypes.float0)
        assert tangent.tangent() is tangent


# -- what follows from the facts -------------------------------------------------------


def test_rank_and_size_are_those_of_the_shape():
    for t in TYPES:
        assert t.ndim == len(t.shape)
        assert t.size == np.prod(t.shape, dtype=int)


def test_only_real_and_complex_floating_point_numbers_are_inexact():
    for t in TYPES:
        assert t.inexact == (t.dtype in DTYPES[:3])


def test_the_length_is_that_of_the_first_axis():
    assert len(ArrayType((5, 2), dtypes.int32)) == 5
    with pytest.raises(TypeError, match=r"i32\[\] has no length: it is a scalar"):
        len(ArrayType((), dtypes.int32))


def test_elements_are_stored_in_a_dtype_of_numpy():
    assert all(isinstance(t.storage, np.dtype) for t in TYPES)
    assert ArrayType((2,), KEY).storage == KEY.storage
    assert ArrayType((2,), dtypes.float0).storage is dtypes.bool_


def test_the_field_knows_weakness_and_axes_by_other_names():
    for t in TYPES:
        assert (t.weak_type, t.vma) == (t.weak, t.varying)


# -- in words --------------------------------------------------------------------------


def test_different_types_are_printed_differently():
    assert len({repr(t) for t in TYPES}) == len(TYPES)
    assert len({str(t.strong()) for t in TYPES}) == len(TYPES) / 2


def test_a_type_is_printed_as_dtype_shape_and_sorted_axes():
    t = ArrayType((4, 3), dtypes.float32, True, frozenset({"y", "x"}))
    assert str(t) == "f32[4,3]{x,y}"
    assert repr(t) == "ArrayType(f32[4,3]{x,y}, weak)"
    assert show_types([t, t.with_shape(())]) == "f32[4,3]{x,y}, f32[]{x,y}"


def test_a_negative_length_is_refused():
    with pytest.raises(TypeMismatch, match=r"cannot have the shape \(2, -1\)"):
        ArrayType((2, -1), dtypes.float32)


def test_a_type_that_was_refused_is_refused_again():
    for _ in range(2):
        with pytest.raises(TypeMismatch, match="cannot have the shape"):
            ArrayType((-7,), dtypes.float32)


def test_a_type_divides_no_axis_of_the_mesh_in_force():
    for shape in ((), (2, 3)):
        found = ArrayType(shape, dtypes.int32).sharding
        assert tuple(found.spec) == (None,) * len(shape)
        assert found.is_fully_replicated
        assert found.mesh.axis_names == ()
    with cv.set_mesh(cv.make_mesh((1,), ("x",))):
        assert ArrayType((), dtypes.int32).sharding.mesh.axis_names == ("x",)


class Symbolic(int):
    """As a symbolic size is: an int of a class of its own. Its value is one that no
    other shape has: of equal types there is one.
    """


def test_a_size_of_a_class_of_its_own_stays_one_in_shapes():
    n = Symbolic(7919)
    assert types.as_size(n) is n
    assert type(types.as_size(np.int64(3))) is type(types.as_size(True)) is int
    with pytest.raises(TypeError):
        types.as_size(1.5)
    shape = types.ArrayType((np.int32(3), n), "float32").shape
    assert shape[1] is n
    assert type(shape[0]) is int


def test_shapes_with_sizes_of_a_class_of_their_own_broadcast():
    n = Symbolic(7919)
    assert types.broadcast_shapes((2, 1), (3,)) == (2, 3)
    found = types.broadcast_shapes((1, 2), (n, 1), ())
    assert found[0] is n
    assert found == (7919, 2)
    with pytest.raises(ValueError, match="do not broadcast"):
        types.broadcast_shapes((n,), (2,))


def test_a_type_loses_and_gets_an_axis():
    t = ArrayType((2, 3, 4), dtypes.float32, True)
    assert t.without_axis(1) is ArrayType((2, 4), dtypes.float32, True)
    assert t.without_axis(None) is t
    assert t.without_axis(1).with_axis(1, 3) is t
    assert t.with_axis(3, 5).shape == (2, 3, 4, 5)
