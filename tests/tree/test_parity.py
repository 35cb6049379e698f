"""Pytrees compared with those of jax: the same leaves, structures, paths and folds."""

import dataclasses
import inspect

import pytest

from covector import tree, tree_util
from tests.tree.examples import TREES, Layer, Mode, Scaled

jax = pytest.importorskip("jax")
theirs = jax.tree_util

theirs.register_pytree_node_class(Scaled)
theirs.register_dataclass(Layer)
theirs.register_static(Mode)

# Partial is a class of each library's own.
SHARED = {name: value for name, value in TREES.items() if name != "partial"}

every_tree = pytest.mark.parametrize("value", SHARED.values(), ids=SHARED.keys())
every_stop = pytest.mark.parametrize(
    "is_leaf",
    [None, lambda x: x is None, lambda x: isinstance(x, tuple), lambda x: True],
    ids=["none", "None", "tuples", "all"],
)


def public(module):
    return {name for name in dir(module) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("ours", "jaxs"), [(tree, jax.tree), (tree_util, theirs)], ids=["tree", "tree_util"]
)
def test_every_public_name_is_here_with_the_same_parameters(ours, jaxs):
    assert public(jaxs) <= public(ours)
    for name in public(jaxs):
        function = getattr(jaxs, name)
        if inspect.isfunction(function):
            expected = inspect.signature(function).parameters.values()
            got = inspect.signature(getattr(ours, name)).parameters.values()
            assert [(p.name, p.kind) for p in got] == [
                (p.name, p.kind) for p in expected
            ], name


@every_tree
@every_stop
def test_flatten(value, is_leaf):
    leaves, treedef = tree.flatten(value, is_leaf)
    expected, expected_treedef = jax.tree.flatten(value, is_leaf)
    assert leaves == expected
    assert str(treedef) == str(expected_treedef)
    assert treedef.num_nodes == expected_treedef.num_nodes
    assert tree.unflatten(treedef, leaves) == value
    assert tree.leaves(value, is_leaf) == jax.tree.leaves(value, is_leaf)


@every_tree
@every_stop
def test_paths(value, is_leaf):
    ours, treedef = tree.flatten_with_path(value, is_leaf)
    expected, expected_treedef = jax.tree.flatten_with_path(value, is_leaf)
    assert ours == expected
    assert str(treedef) == str(expected_treedef)
    for (path, _), (expected_path, _) in zip(ours, expected, strict=True):
        assert tree_util.keystr(path) == theirs.keystr(expected_path)
        simple = {"simple": True, "separator": "."}
        assert tree_util.keystr(path, **simple) == theirs.keystr(path, **simple)


@every_tree
@every_stop
def test_maps(value, is_leaf):
    pair = lambda x, y: (x, y)  # noqa: E731
    options = {"is_leaf": is_leaf}
    assert tree.map(repr, value, **options) == jax.tree.map(repr, value, **options)
    ours = tree.map(pair, value, value, **options)
    assert ours == jax.tree.map(pair, value, value, **options)
    ours = tree.map_with_path(pair, value, **options)
    assert ours == jax.tree.map_with_path(pair, value, **options)


@every_tree
def test_one_level(value):
    assert tree_util.is_tree_node(type(value)) == theirs.is_tree_node(type(value))
    if not tree_util.is_tree_node(type(value)):
        return
    children, data = tree_util.flatten_one_level(value)
    expected, expected_data = theirs.flatten_one_level(value)
    assert (list(children), data) == (list(expected), expected_data)


@every_tree
def test_treedefs(value):
    ours, expected = tree.structure(value), jax.tree.structure(value)
    assert tree_util.treedef_is_leaf(ours) == theirs.treedef_is_leaf(expected)
    children = [str(child) for child in tree_util.treedef_children(ours)]
    assert children == [str(child) for child in theirs.treedef_children(expected)]
    pair = tree_util.treedef_tuple([ours, ours])
    assert str(pair) == str(theirs.treedef_tuple([expected, expected]))


@every_tree
def test_broadcast(value):
    assert tree.broadcast(5, value) == jax.tree.broadcast(5, value)
    assert tree.broadcast(value, value) == jax.tree.broadcast(value, value)
    is_leaf = lambda x: x is None  # noqa: E731
    ours = tree.broadcast([None, 1], [value, value], is_leaf)
    assert ours == jax.tree.broadcast([None, 1], [value, value], is_leaf)


@pytest.mark.parametrize("count", range(1, 18))
def test_reduce_associative_folds_in_the_same_order(count):
    join = lambda x, y: f"({x} {y})"  # noqa: E731
    value = list(range(count))
    ours = tree.reduce_associative(join, value)
    assert ours == jax.tree.reduce_associative(join, value)
    ours = tree.reduce(join, value, "start")
    assert ours == jax.tree.reduce(join, value, "start")


@pytest.mark.parametrize("value", [(), None, True, [1, 0], {"a": (1, True)}, [[], 0.0]])
def test_all(value):
    assert tree.all(value) is jax.tree.all(value)


@pytest.mark.parametrize(
    "values", [[], [1, 2], [1, None], [1, (2,)], [{}], [Mode("m")], ["a", object()]]
)
def test_all_leaves(values):
    assert tree_util.all_leaves(values) == theirs.all_leaves(values)
    tuples = lambda x: isinstance(x, tuple)  # noqa: E731
    assert tree_util.all_leaves(values, tuples) == theirs.all_leaves(values, tuples)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [([0, 0], (0, 0)), ({"a": 0}, [0, {"b": 0}]), ((0,), ()), ([0, 0], 0)],
)
def test_transpose(outer, inner):
    rows = tree.map(lambda _: tree.map(lambda _: object(), inner), outer)
    for structure in (tree.structure(inner), None):
        expected_structure = structure and jax.tree.structure(inner)
        ours = tree.transpose(tree.structure(outer), structure, rows)
        expected = jax.tree.transpose(
            jax.tree.structure(outer), expected_structure, rows
        )
        assert ours == expected


def test_static_fields_are_declared_alike():
    ours, expected = tree.static(default=1), jax.tree.static(default=1)
    assert isinstance(ours, dataclasses.Field)
    assert (ours.default, ours.metadata) == (expected.default, expected.metadata)


def test_a_partial_flattens_into_the_same_leaves():
    arguments = (print, 1, (2, None)), {"sep": [3]}
    ours = tree_util.Partial(*arguments[0], **arguments[1])
    expected = theirs.Partial(*arguments[0], **arguments[1])
    assert tree.leaves(ours) == jax.tree.leaves(expected)
    assert str(tree.structure(ours)) == str(jax.tree.structure(expected))
    assert repr(ours) == repr(expected)
