"""Every public function has a row, or a reason why samples of it make no sense."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_origin

import pytest

import covector
import covector.numpy as cnp
from tests.public.table import load
from tests.public.worlds import World

TABLE = load()
#: what has no values to compare, or works on files; its own tests look at it
WITHOUT = {
    "numpy.__array_namespace_info__": "tells about the library",
    "numpy.array_repr": "words",
    "numpy.array_str": "words",
    "numpy.finfo": "an object of facts",
    "numpy.iinfo": "an object of facts",
    "numpy.from_dlpack": "takes another library's array",
    "numpy.fromfile": "a file",
    "numpy.load": "a file",
    "numpy.save": "a file",
    "numpy.savez": "a file",
    "numpy.get_printoptions": "options of printing",
    "numpy.set_printoptions": "options of printing",
    "numpy.printoptions": "options of printing",
    "Array.at": "the rows at.…",
    "Array.aval": "the type, an object",
    "Array.flat": "an iterator",
    "Array.to_device": "moves an array",
    "random.key_dtype": "a dtype",
    "random.key_impl": "a name",
    "random.define_generator": "takes functions: tests/random/test_generators.py",
    "scipy.optimize.minimize": "takes functions: tests/scipy/optimize",
    "nn.get_scaled_dot_general_config": "a configuration",
} | {
    f"lax.{name}": reason
    for reason, names in {
        "shapes and numbers of axes, no arrays: tests/lax": """
            broadcast_shapes conv_dimension_numbers conv_general_permutations
            conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple
            padtype_to_pads reduce_window_shape_tuple shape_as_value dtype stage""",
        "takes functions: tests/programs": """
            associative_scan composite cond custom_linear_solve custom_root fori_loop
            map scan switch while_loop platform_dependent""",
        "communicates between devices or lanes of vmap: tests/programs/spmd": """
            all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin
            ppermute pshuffle psum psum_scatter pswapaxes pvary ragged_all_to_all""",
        "says where an array is: tests/programs/spmd": "with_sharding_constraint",
        "tokens, of no value: tests/lax/test_identities.py": """
            after_all create_token dce_sink""",
        "another value each time: tests/lax/test_generators.py": "rng_uniform",
    }.items()
    for name in names.split()
}
SPACES = {
    "image": covector.image,
    "numpy": covector.numpy,
    "lax": covector.lax,
    "nn": covector.nn,
    "random": covector.random,
    "ops": covector.ops,
    "scipy": covector.scipy,
}
FUNCTION = World("covector").function
UFUNC_METHODS = ("reduce", "accumulate", "outer", "reduceat", "at")


def is_type(value: Any) -> bool:
    """Whether it is a class, or an alias of types such as ``tuple[int, ...]``."""
    return inspect.isclass(value) or get_origin(value) is not None


def functions(module: ModuleType, name: str) -> Iterator[str]:
    """The public functions of a module and of its public modules."""
    for member in module.__all__:
        value = getattr(module, member)
        if inspect.ismodule(value):
            yield from functions(value, f"{name}.{member}")
        elif callable(value) and not is_type(value):
            yield f"{name}.{member}"


def assert_covered(names: Iterator[str]) -> None:
    missing = [name for name in names if name not in TABLE and name not in WITHOUT]
    # Another name of a function, ``asin = arcsin``, is covered with it.
    covered = {FUNCTION(name) for name in TABLE if name.startswith("numpy.")}
    missing = [n for n in missing if FUNCTION(n) not in covered]
    assert not missing, f"without a row in tests/public/rows/: {', '.join(missing)}"


@pytest.mark.parametrize("name", SPACES)
def test_every_public_function_has_a_row(name):
    assert_covered(functions(SPACES[name], name))


def test_every_method_and_attribute_of_arrays_has_a_row():
    names = [n for n in dir(covector.Array) if not n.startswith("_")]
    assert_covered(f"Array.{n}" for n in names)


def test_every_update_has_a_row():
    updates = type(cnp.zeros(2).at[0])
    names = [n for n, f in inspect.getmembers(updates, inspect.isfunction)]
    assert_covered(f"at.{n}" for n in names if not n.startswith("_"))


def test_every_method_of_ufuncs_has_a_row():
    ufuncs = [n for n in cnp.__all__ if isinstance(getattr(cnp, n), cnp.ufunc)]
    two = [n for n in ufuncs if getattr(cnp, n).nin == 2]
    assert_covered(
        f"numpy.{n}.{method}"
        for n in two
        for method in UFUNC_METHODS
        if not (n.startswith("logical") and method == "at")
    )


def test_no_reason_outlives_its_function():
    assert not [name for name in WITHOUT if name in TABLE]
