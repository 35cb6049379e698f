"""Pytrees: taking apart, putting together, and the functions on whole trees."""

import collections
import dataclasses
import functools
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covector import tree, tree_util
from covector.errors import TreeMismatch
from tests.tree.examples import TREES, Layer, Point

every_tree = pytest.mark.parametrize("value", TREES.values(), ids=TREES.keys())


# ---- the round trip ---------------------------------------------------------------

pytrees = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=4)
        | st.lists(children, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3), children, max_size=4)
        | st.dictionaries(st.text(max_size=3), children, max_size=4).map(
            collections.OrderedDict
        )
        | st.builds(Point, children, children)
        | st.builds(Layer, children, children, st.sampled_from(["relu", "tanh"]))
    ),
    max_leaves=20,
)


@given(pytrees)
def test_unflatten_undoes_flatten(value):
    leaves, treedef = tree.flatten(value)
    assert tree.unflatten(treedef, leaves) == value
    assert treedef.num_leaves == len(leaves)
    assert tree.structure(value) == treedef


@given(pytrees)
def test_paths_lead_to_the_leaves(value):
    def follow(node, key):
        match key:
            case tree_util.SequenceKey():
                return node[key.idx]
            case tree_util.DictKey():
                return node[key.key]
            case tree_util.GetAttrKey():
                return getattr(node, key.name)

    pairs, treedef = tree.flatten_with_path(value)
    assert treedef == tree.structure(value)
    for path, leaf in pairs:
        assert functools.reduce(follow, path, value) is leaf


@given(pytrees)
def test_a_treedef_knows_the_paths_of_its_leaves(value):
    pairs, treedef = tree.flatten_with_path(value)
    paths = [tree.leaf_path(treedef, position) for position in range(len(pairs))]
    assert paths == [path for path, _ in pairs]


@given(pytrees, pytrees)
def test_a_difference_is_described_exactly_where_there_is_one(one, other):
    same = tree.structure(one) == tree.structure(other)
    assert (tree.describe_difference(one, other) is None) == same
    treedefs = tree.structure(one), tree.structure(other)
    assert (tree.describe_difference(*treedefs) is None) == same


@given(pytrees)
def test_a_leaf_is_a_prefix_of_every_tree_and_so_is_the_tree_itself(value):
    leaves, treedef = tree.flatten(value)
    assert tree.flatten_prefix(7, value, "seven") == [7] * len(leaves)
    assert tree.flatten_prefix(value, treedef, "it", is_leaf=None) == leaves
    assert tree.broadcast(value, value) == value


@every_tree
def test_treedefs_are_pickled(value):
    treedef = tree.structure(value)
    assert pickle.loads(pickle.dumps(treedef)) == treedef


def test_the_registry_is_pickled_by_reference_and_is_not_that_of_jax():
    registry = tree_util.default_registry
    assert pickle.loads(pickle.dumps(registry)) is registry
    jaxlib = pytest.importorskip("jaxlib._jax")
    assert registry is not jaxlib.pytree.default_registry()


def test_equal_structures_are_one_cache_key():
    one, other = tree.structure(Layer(1, 2)), tree.structure(Layer(3, 4))
    assert {one: "program"}[other] == "program"
    assert one != tree.structure(Layer(1, 2, "tanh"))


def test_flatten_costs_one_python_call():
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(event))
    tree.flatten((1, 2))
    sys.setprofile(None)
    assert calls.count("call") == 1


# ---- functions --------------------------------------------------------------------


def test_is_leaf_stops_the_descent():
    pair = lambda x: isinstance(x, tuple)  # noqa: E731
    value = [(1, 2), {"a": (3,)}, None]
    assert tree.leaves(value, is_leaf=pair) == [(1, 2), (3,)]
    assert tree.map(len, value, is_leaf=pair) == [2, {"a": 1}, None]
    assert tree.leaves(value, is_leaf=lambda x: x is None) == [1, 2, 3, None]


def test_is_leaf_may_take_the_path():
    def below_first(path, _):
        return tree_util.keystr(path) == "[0]"

    pairs = tree.leaves_with_path([(1, 2), (3,)], below_first, is_leaf_takes_path=True)
    assert [leaf for _, leaf in pairs] == [(1, 2), 3]
    mapped = tree.map_with_path(
        lambda path, x: (len(path), x),
        [(1, 2), (3,)],
        is_leaf=below_first,
        is_leaf_takes_path=True,
    )
    assert mapped == [(1, (1, 2)), ((2, 3),)]


def test_map_takes_subtrees_of_the_other_trees():
    assert tree.map(lambda x, y: (x, y), (1, 2), ([3, 4], 5)) == ((1, [3, 4]), (2, 5))


def test_reduce_takes_none_as_an_initializer():
    assert tree.reduce(lambda x, y: y, (), None) is None
    assert tree.reduce(lambda x, y: x + y, [1, (2, 3)]) == 6


def test_reduce_associative_is_balanced_and_keeps_the_order():
    join = lambda x, y: f"({x}{y})"  # noqa: E731
    value = [1, (2, 3), [4, 5], 6, 7]
    assert tree.reduce_associative(join, value) == "((1(23))((45)(67)))"
    assert tree.reduce_associative(join, None, identity="e") == "e"


def test_transpose_takes_a_mapping_that_joins_the_mappings_inside_of_it():
    @tree_util.register_pytree_node_class
    class Flat:
        """The leaves of all mappings inside, by their paths."""

        def __init__(self, items):
            nested = [(k, getattr(v, "items", {"": v})) for k, v in items.items()]
            self.items = {k + j: x for k, inside in nested for j, x in inside.items()}

        def tree_flatten(self):
            return list(self.items.values()), tuple(self.items)

        @classmethod
        def tree_unflatten(cls, names, children):
            return cls(dict(zip(names, children, strict=True)))

    outer, inner = Flat({"a": 0, "b": 0}), Flat({"x": 0, "y": 0})
    value = Flat({"a": Flat({"x": 1, "y": 2}), "b": Flat({"x": 3, "y": 4})})
    found = tree.transpose(tree.structure(outer), tree.structure(inner), value)
    assert found.items == {"xa": 1, "xb": 3, "ya": 2, "yb": 4}
    with pytest.raises(TreeMismatch):
        tree.transpose(tree.structure(outer), tree.structure((0, 0)), value)


def test_transpose_finds_the_inner_structure():
    rows = {"a": (1, 2), "b": (3, 4)}
    outer = tree.structure({"a": 0, "b": 0})
    expected = ({"a": 1, "b": 3}, {"a": 2, "b": 4})
    assert tree.transpose(outer, None, rows) == expected
    assert tree.transpose(outer, tree.structure((0, 0)), rows) == expected


def test_flatten_prefix_gives_one_entry_per_leaf():
    full = ({"w": (1, 2), "b": 3}, None, [4])
    prefix = ({"w": 0, "b": None}, None, 5)
    assert tree.flatten_prefix(prefix, full, "in_axes") == [None, 0, 0, 5]
    treedef = tree.structure(full)
    assert tree.flatten_prefix(prefix, treedef, "in_axes") == [None, 0, 0, 5]


def test_broadcast_takes_is_leaf_for_the_prefix():
    none = lambda x: x is None  # noqa: E731
    assert tree.broadcast((1, None), (2, (3, 4)), none) == (1, (None, None))


def test_a_namedtuple_names_each_of_its_children():
    pairs, _ = tree_util.flatten_one_level_with_keys(Point(1, 2))
    assert [str(key) for key, _ in pairs] == [".x", ".y"]


def test_keystr_keeps_keys_it_does_not_know():
    path = (tree_util.DictKey("a"), "own", tree_util.FlattenedIndexKey(3))
    assert tree_util.keystr(path) == "['a']own[<flat index 3>]"
    assert tree_util.keystr(path, simple=True, separator="/") == "a/own/3"


def test_fields_outside_the_constructor_are_left_to_it():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Square:
        side: float
        area: float = dataclasses.field(init=False)

        def __post_init__(self):
            self.area = self.side**2

    assert tree.map(lambda x: x + 1, Square(1.0)) == Square(2.0)


def test_dropped_fields_return_to_their_default():
    @functools.partial(tree_util.register_dataclass, drop_fields=["cache"])
    @dataclasses.dataclass
    class Cached:
        x: int
        cache: object = None

    assert tree.map(lambda x: x, Cached(1, "full")) == Cached(1)


def test_any_class_with_such_a_constructor_can_be_a_dataclass_node():
    class Plain:
        def __init__(self, x, name):
            self.x, self.name = x, name

    tree_util.register_dataclass(Plain, data_fields=["x"], meta_fields=["name"])
    mapped = tree.map(lambda x: x + 1, Plain(1, "n"))
    assert (mapped.x, mapped.name) == (2, "n")


def test_static_keeps_other_metadata_and_arguments():
    field = tree.static(default=3, metadata={"unit": "m"})
    assert field.default == 3
    assert dict(field.metadata) == {"unit": "m", "static": True}


def test_binding_more_arguments_extends_a_partial():
    inner = tree_util.Partial(pow, 2)
    outer = tree_util.Partial(inner, 5)
    assert outer() == 32
    assert tree.leaves(outer) == [2, 5]
    assert outer.func is pow


def test_the_arguments_of_a_functools_partial_are_not_data():
    inner = functools.partial(pow, 2)
    outer = tree_util.Partial(inner, 5)
    assert outer() == 32
    assert tree.leaves(outer) == [5]
    assert outer.func is inner
    assert tree.structure(outer) == tree.structure(tree_util.Partial(inner, 6))


def test_a_partial_is_mapped_and_pickled():
    partial = tree_util.Partial(divmod, 7, 2)
    assert tree.map(lambda x: x * 10, partial)() == (3, 10)
    assert pickle.loads(pickle.dumps(partial))() == (3, 1)
    paths = [tree_util.keystr(path) for path, _ in tree.leaves_with_path(partial)]
    assert paths == [".args[0]", ".args[1]"]
