"""Annotations, and functions that take what another function takes."""

import inspect
import typing
from typing import Any

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn, random
from covector.core.annotations import with_parameters_of
from covector.errors import CovectorError
from covector.nn import initializers
from covector.scipy.sparse import linalg
from covector.typing import ArrayLike, DTypeLike


def model(x: int, axis: int = 0, *, strict: bool = True) -> Any:
    """What the others take."""


@with_parameters_of(model)
def other(*args: Any, **options: Any) -> Any:
    """Another function."""
    return args, options


def test_the_parameters_are_those_of_the_model():
    assert inspect.signature(other) == inspect.signature(model)


def test_name_and_docstring_are_its_own_and_a_call_goes_straight_to_it():
    assert (other.__name__, other.__doc__) == ("other", "Another function.")
    assert other(1, strict=False) == ((1,), {"strict": False})


def test_a_parameter_that_there_is_not_is_refused_by_its_name():
    argmin: Any = cnp.argmin
    with pytest.raises(TypeError, match="axes"):
        argmin(cnp.ones(2), axes=0)


def borrowers() -> dict[str, Any]:
    """The public functions that take what another takes."""
    spaces = cnp, lax, initializers, linalg
    found = {f"{s.__name__}.{n}": getattr(s, n) for s in spaces for n in s.__all__}
    functions = {n: f for n, f in found.items() if inspect.isfunction(f)}
    return {n: f for n, f in functions.items() if "__signature__" in vars(f)}


def arguments(function: Any, by_name: bool) -> tuple[list[Any], dict[str, Any]]:
    """One argument for each parameter: its default, or an array."""
    args, options = [], {}
    for p in inspect.signature(function).parameters.values():
        value = cnp.ones(2) if p.default is p.empty else p.default
        if p.kind is p.KEYWORD_ONLY or (by_name and p.kind is not p.POSITIONAL_ONLY):
            options[p.name] = value
        else:
            args.append(value)
    return args, options


@pytest.mark.parametrize("by_name", [False, True])
def test_functions_take_what_their_signature_shows_by_position_and_by_name(by_name):
    for name, function in borrowers().items():
        args, options = arguments(function, by_name)
        try:
            function(*args, **options)
        except CovectorError:
            pass  # what it says of these values is another matter
        except TypeError as error:
            assert "argument" not in str(error), name


def test_functions_take_by_position_no_more_than_their_signature_shows():
    for function in borrowers().values():
        args, _ = arguments(function, by_name=False)
        with pytest.raises(TypeError, match="positional"):
            function(*args, None)


def test_programs_that_check_annotations_can_check_those_of_arrays():
    protocols = [
        m
        for alias in (ArrayLike, DTypeLike)
        for m in typing.get_args(alias)
        if getattr(m, "_is_protocol", False)
    ]
    assert len(protocols) == 4
    assert [isinstance(np.ones(2), m) for m in protocols] == [True, False, True, True]
    assert np.ndarray in typing.get_args(ArrayLike)


def test_signatures_are_shown_with_the_names_of_types_and_not_with_long_unions():
    shown = str(inspect.signature(cnp.where))
    assert shown.startswith("(condition: ArrayLike, x: ArrayLike | None = None, y: Arr")
    assert "precision: PrecisionLike | None = None" in str(
        inspect.signature(cnp.matmul)
    )
    spaces = cv, cnp, cnp.linalg, lax, random, nn
    functions = [f for s in spaces for f in vars(s).values() if inspect.isfunction(f)]
    found = {f.__name__: len(str(inspect.signature(f))) for f in functions}
    assert len(found) > 600
    assert sorted(found.values())[len(found) // 2] < 100
    assert max(found.values()) < 1000, max(found, key=lambda name: found[name])
