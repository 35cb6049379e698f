"""The functions of ``covector.ref``, beside the indices that they stand for."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import RefError, TypeMismatch


def test_functions_of_references_do_what_indices_do():
    ref = cv.new_ref(cnp.arange(5))
    cv.ref.set(ref, slice(1, 3), 7)
    assert cv.ref.get(ref, slice(0, 3)).tolist() == [0, 7, 7]
    assert int(cv.ref.swap(ref, 0, 4)) == 4 - 4
    cv.ref.addupdate(ref, np.array([4, 4]), 10)
    assert cv.ref.get(ref).tolist() == ref[...].tolist() == [4, 7, 7, 3, 24]
    cv.ref.addupdate(ref, None, 1)
    cv.ref.set(ref, None, cv.ref.swap(ref, None, ref[::-1]) + ref.get(0))
    assert ref[...].tolist() == [30, 33, 33, 29, 50]


def test_an_empty_reference_has_the_type_asked_for():
    made = cv.empty_ref(cv.typeof(cv.new_ref(1.5)))
    assert cv.typeof(made) == cv.typeof(cv.new_ref(0.0))
    assert cv.empty_ref(cnp.ones(2))[...].tolist() == [0.0, 0.0]
    with pytest.raises(TypeMismatch, match="there is no empty random key"):
        cv.empty_ref(cv.random.key(0))


def test_a_reference_holds_random_keys():
    keys = cv.new_ref(cv.random.split(cv.random.key(0), 3))
    one = cv.random.key(1)
    keys[1] = one
    assert bool((cv.random.key_data(keys[1]) == cv.random.key_data(one)).all())


def test_a_freed_reference_is_not_used_again():
    ref = cv.new_ref(1.0)
    cv.free_ref(ref)
    with pytest.raises(RefError, match="was used after free_ref, which ended it"):
        ref[...] = 1.0
    with pytest.raises(
        TypeMismatch, match="freeze needs a reference, as new_ref makes"
    ):
        cv.freeze(cnp.ones(2))
