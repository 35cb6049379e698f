"""The API reference has every public name, and what it says of each is right."""

import ast
import importlib
import inspect
import re

import pytest

import covector
from covector.core.annotations import Named
from website import (
    class_members,
    contents,
    definitions,
    docstrings,
    entries,
    pages,
    signatures,
)
from website.entries import entries as all_entries


def paths(names):
    return {f"{module}.{name}" for module, inside in names.items() for name in inside}


def same(one, other):
    """Whether two names stand for one thing. Tests of examples may import a module a
    second time, so classes and functions are compared by their names.
    """
    if isinstance(one, Named) and one is not other:
        return one.value == other
    if hasattr(one, "__qualname__"):
        return (one.__module__, one.__qualname__) == (
            getattr(other, "__module__", None),
            getattr(other, "__qualname__", None),
        )
    return one is other or repr(one) == repr(other)


def test_every_public_name_is_on_a_page_and_nothing_else_is():
    public = paths(contents.public_names())
    assert public - {*all_entries()} == set(), "add them to website/contents.py"
    assert {*all_entries()} - public == set(), "these are not public"


def test_no_name_is_on_two_pages():
    listed = [p for page in contents.pages() for p in paths(page.names)]
    assert len(listed) == len({*listed})


def test_every_public_name_has_a_docstring_or_a_comment():
    entries = all_entries().items()
    assert [p for p, e in entries if not e.original.docstring.strip()] == []


def test_the_sources_tell_where_each_name_is_defined():
    """So that signatures and links are those of what a program gets."""
    wrong = []
    for path, entry in all_entries().items():
        found = entry.definition
        if isinstance(found.statement, ast.ImportFrom):
            continue  # of another library
        if not same(definitions.value(found.module, found.name), entry.value):
            wrong.append(path)
    assert wrong == []


def test_what_several_modules_have_is_described_once():
    found = all_entries()
    assert found["covector.numpy.asin"].original.path == "covector.numpy.arcsin"
    assert found["covector.sharding.make_mesh"].original.path == "covector.make_mesh"
    assert found["covector.tree_util.tree_map"].original.path == "covector.tree.map"
    assert "The same as" in entries.markdown(found["covector.numpy.asin"])


@pytest.mark.parametrize(
    ("path", "signature"),
    [
        ("covector.numpy.sin", "sin(x: ArrayLike, /) -> Array"),
        ("covector.numpy.add", "add(x1, x2, /)"),
        ("covector.numpy.nansum", "nansum(\n    a: ArrayLike,\n    axis: Axes = None"),
        ("covector.random.key", "key("),
    ],
)
def test_signatures_are_those_of_the_source(path, signature):
    entry = all_entries()[path]
    shown = signatures.signature(entry.definition, entry.name, entry.value)
    assert shown.startswith(signature)


def test_parameters_of_signatures_are_those_that_the_function_takes():
    wrong = []
    for path, entry in all_entries().items():
        if not inspect.isfunction(entry.value):
            continue
        shown = signatures.signature(entry.definition, entry.name, entry.value)
        takes = ast.parse(f"def {shown}: ...".replace("= ...", "= 0")).body[0].args
        names = [a.arg for a in [*takes.posonlyargs, *takes.args, *takes.kwonlyargs]]
        given = inspect.signature(entry.value).parameters.values()
        of_kind = [p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if names != [p.name for p in of_kind]:
            wrong.append((path, shown))
    assert wrong == []


DOCSTRING = """Adds *one*, or ``n``, to what_is[0] in place of ``f(a,
    b)``.

    Args:
      n: how many; of ``[k]``
        numbers.
      a, b: the others.

    Returns:
      A sum.

    A picture::

        a --- b

        c

    Raises:
      TypeMismatch: never.

    >>> 1 + 1
    2

    >>> 2 + 2
    4
    """
MARKDOWN = r"""Adds *one*, or `n`, to what\_is\[0\] in place of `f(a, b)`.

**Parameters**{ .section }

-   **`n`**: how many; of `[k]`
    numbers.
-   **`a`**, **`b`**: the others.

**Returns**{ .section }

A sum.

A picture:

```text
a --- b

c
```

**Raises**{ .section }

-   `TypeMismatch`: never.

```pycon
>>> 1 + 1
2

>>> 2 + 2
4
```"""


def test_docstrings_become_markdown():
    assert docstrings.markdown(DOCSTRING) == MARKDOWN


def test_code_that_is_a_public_name_is_a_link_and_a_parameter_is_none():
    entry = all_entries()["covector.lax.scan"]
    code = entries.linker(entry, "scan(f, init, xs, length)")
    for_loop = "[`fori_loop`](control-flow.md#covector.lax.fori_loop)"
    assert code("fori_loop") == for_loop
    assert code("numpy.sum()") == (
        "[`numpy.sum()`](../numpy/reductions.md#covector.numpy.sum)"
    )
    assert code("length") == "`length`"
    assert code("no_such_name") == "`no_such_name`"


def test_every_page_of_the_navigation_is_made():
    made = pages.generated()
    inner = [x for item in pages.navigation()[1:] for x in item.values()]
    lists = [x if isinstance(x, list) else [{"": x}] for x in inner]
    linked = [path for items in lists for item in items for path in item.values()]
    assert {*linked} == {page.path for page in contents.pages()}
    assert {*linked, pages.INDEX} <= {*made}


def test_members_of_arrays_are_all_described():
    members = class_members.of(covector.Array)
    assert {n for n in dir(covector.Array) if n[0] != "_"} <= {*members}
    assert members["cumsum"].signature.startswith("cumsum(\n    axis: int | None")
    assert members["ndim"].signature == "Array.ndim: int"


#: the functions that programs of the field call most
MOST_USED = {
    "covector.numpy": """
        abs add all allclose any append arange arccos arctan2 argmax argmin argsort
        array asarray atleast_1d broadcast_to ceil clip concatenate cos cumsum diag
        diff dot einsum empty equal exp expand_dims expm1 eye finfo flip floor full
        full_like hstack isclose iscomplexobj isfinite isinf isnan issubdtype
        linspace log log1p logical_and logical_not logical_or matmul max maximum
        mean meshgrid min minimum mod moveaxis multiply ndim ones ones_like outer
        pad power prod real repeat reshape result_type roll round searchsorted shape
        sign sin size sort split sqrt square squeeze stack std sum swapaxes take
        take_along_axis tanh tensordot tile trace transpose tril triu vectorize
        where zeros zeros_like""",
    "covector": """
        default_backend device_count device_get device_put devices eval_shape grad
        jit jvp local_device_count local_devices make_jaxpr pmap process_count
        process_index value_and_grad vjp vmap""",
    "covector.lax": """
        cond conv_general_dilated dynamic_slice dynamic_slice_in_dim
        dynamic_update_slice fori_loop psum rsqrt scan select stop_gradient switch
        top_k while_loop with_sharding_constraint""",
    "covector.random": """
        PRNGKey bernoulli categorical choice fold_in key normal permutation randint
        split uniform""",
    "covector.tree_util": """
        register_pytree_node register_pytree_node_class tree_flatten tree_leaves
        tree_map tree_map_with_path tree_reduce tree_structure tree_unflatten""",
    "covector.numpy.linalg": """
        cholesky eigh inv norm solve svd""",
    "covector.nn": """
        log_softmax one_hot relu sigmoid softmax softplus""",
    "covector.scipy.linalg": """
        solve_triangular""",
    "covector.scipy.special": """
        logsumexp""",
    "covector.flatten_util": """
        ravel_pytree""",
}


def most_used():
    """By their full names."""
    for module, names in MOST_USED.items():
        space = importlib.import_module(module)
        yield from (
            (f"{module}.{name}", getattr(space, name)) for name in names.split()
        )


def test_what_is_used_most_says_all_that_a_reader_asks():
    """Which arguments there are, what is returned and raised, and what is beside it."""
    lacking = {}
    for path, function in most_used():
        text = inspect.getdoc(function)
        parameters = inspect.signature(function).parameters
        parts = [">>> ", "Returns:", "See also: "] + ["Args:"] * bool(parameters)
        missing = [part for part in parts if f"\n{part}" not in text]
        missing += [name for name in parameters if not re.search(rf"\b{name}\b", text)]
        if missing:
            lacking[path] = missing
    assert lacking == {}


def test_what_is_used_most_says_what_it_raises():
    """But what takes anything."""
    silent = [p for p, f in most_used() if "\nRaises:" not in inspect.getdoc(f)]
    assert silent == ["covector.default_backend", "covector.lax.stop_gradient"]
