"""What pytrees say: where two structures differ, and the words of every error."""

import collections
import dataclasses
import functools
import threading

import numpy as np
import pytest

from covector import jit, tree, tree_util
from covector.errors import CovectorError, StaticArgumentError, TreeMismatch
from covector.tree import failures
from tests.tree.examples import TREES, Layer, Point, Scaled, Strict

# ---- differences, in words --------------------------------------------------------

many = {f"layer{i}": i for i in range(30)}

DIFFERENCES = [
    ((1, 2), [1, 2], "A is a tuple of 2 where B is a list of 2"),
    ([1, (2, 3)], [1, (2,)], "at [1] A has a tuple of 2 where B has a tuple of 1"),
    ({"w": (1,)}, {"w": None}, "at ['w'] A has a tuple of 1 where B has None"),
    ({"w": 1}, {"w": {}}, "at ['w'] A has a leaf of type int where B has a dict "
     "without keys"),
    ({"a": 1}, {"b": 1}, "A is a dict with keys ('a') where B is a dict with keys "
     "('b')"),
    (many, many | {"extra": 0}, "A is a dict with 30 keys where B is a dict with 31 "
     "keys, 'extra' among them"),
    (TREES["ordered"], collections.OrderedDict(a=1, b=2),
     "A is an OrderedDict with keys ('b', 'a') where B is an OrderedDict with keys "
     "('a', 'b')"),
    (collections.defaultdict(list, a=1), collections.defaultdict(set, a=1),
     "A is a defaultdict with static data (<class 'list'>, ('a',)) where B is a "
     "defaultdict with static data (<class 'set'>, ('a',))"),
    (Point(1, 2), (1, 2), "A is a Point where B is a tuple of 2"),
    (Layer(1, 2), Layer(1, 2, "tanh"), "A is a Layer with static data ('relu',) where "
     "B is a Layer with static data ('tanh',)"),
    (Layer(1, (2, 3)), Layer(1, 2), "at .b A has a tuple of 2 where B has a leaf of "
     "type int"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "words"), DIFFERENCES)
def test_the_first_difference_is_named(one, other, words):
    assert tree.describe_difference(one, other, ("A", "B")) == words
    treedefs = tree.structure(one), tree.structure(other)
    words = words.replace("a leaf of type int", "a leaf")
    assert tree.describe_difference(*treedefs, ("A", "B")) == words


def test_children_are_counted_where_treedefs_cannot_name_them():
    one, other = Strict(1.0, 2.0), Strict(1.0, None)
    assert tree.describe_difference(one, other, ("A", "B")) == (
        "at .right A has a leaf of type float where B has None"
    )
    treedefs = tree.structure(one), tree.structure(other)
    assert tree.describe_difference(*treedefs, ("A", "B")) == (
        "at [<flat index 1>] A has a leaf where B has None"
    )


def test_two_classes_of_one_name_are_told_apart():
    def make(register):
        class Model:
            pass

        if register:
            tree_util.register_pytree_node(
                Model, lambda _: ((), None), lambda _, __: Model()
            )
        return Model()

    words = tree.describe_difference(make(True), make(True))
    assert f"is a Model (class of {__name__})" in words
    assert "a Model (another class of that name" in words
    assert "a leaf of type Model (another class" in tree.describe_difference(
        make(True), make(False)
    )


def test_static_data_that_prints_alike_is_told_apart():
    class Unit:
        def __repr__(self):
            return "m"

    words = tree.describe_difference(Scaled(1, Unit()), Scaled(1, Unit()))
    assert words.endswith("a Scaled with static data m that prints alike but is not "
                          "equal")  # fmt: skip


def test_a_node_with_another_number_of_children_is_counted():
    class Bag:
        def __init__(self, *items):
            self.items = items

    tree_util.register_pytree_node(
        Bag, lambda bag: (bag.items, None), lambda _, items: Bag(*items)
    )
    words = tree.describe_difference(Bag(1), Bag(1, 2))
    assert words == "the first is a Bag of 1 where the second is a Bag of 2"


# ---- errors -----------------------------------------------------------------------


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert error is RecursionError or isinstance(caught.value, CovectorError)
    return str(caught.value)


def test_map_over_different_structures_names_the_path():
    assert message(
        TreeMismatch, tree.map, max, {"w": (1, 2)}, {"w": 0}, {"w": (1,)}
    ) == (
        "map needs every tree to have the structure of the first, but at ['w'] the "
        "first tree has a tuple of 2 where tree 2 has a leaf of type int."
    )
    text = message(TreeMismatch, tree.map_with_path, max, [1, None], [1, 2])
    assert text.endswith(
        "at [1] the first tree has None where tree 2 has a leaf of type int."
    )
    assert text.startswith("map_with_path needs")


def test_unflatten_counts_its_leaves():
    treedef = tree.structure((0, [0]))
    text = "unflatten needs 2 leaves for PyTreeDef((*, [*])), but got "
    assert message(TreeMismatch, tree.unflatten, treedef, [1]) == text + "1."
    assert message(TreeMismatch, tree.unflatten, treedef, iter("abc")) == text + "3."


def test_an_error_of_a_constructor_passes_through_unflatten():
    treedef = tree.structure(Strict(1.0, 2.0))
    with pytest.raises(TypeError, match="numbers only"):
        tree.unflatten(treedef, ["a", "b"])


@pytest.mark.parametrize(
    "kind", [dict, functools.partial(collections.defaultdict, int)]
)
def test_keys_that_do_not_sort_are_named(kind):
    text = message(TreeMismatch, tree.leaves, {"a": [kind({1: 0, "b": 1})]})
    assert text == (
        "flatten takes a dict in the order of its sorted keys, but at ['a'][0] the "
        "keys 1, 'b' of type int and str cannot be sorted. Use keys of one type that "
        "can, or an OrderedDict, which keeps its own order."
    )
    with pytest.raises(TreeMismatch, match="cannot be sorted"):
        tree.leaves_with_path([kind({1: 0, "b": 1})])
    with pytest.raises(TreeMismatch, match="cannot be sorted"):
        tree.map(max, [{"a": 1}], [kind({1: 0, "b": 1})])


def test_deep_nesting_is_a_recursion_error():
    deep = []
    for _ in range(20_000):
        deep = [deep]
    text = message(RecursionError, tree.flatten, deep)
    assert text.startswith("flatten cannot descend to [0][0][0]")
    assert "the tree is nested deeper than Python's recursion limit of" in text
    assert "sys.setrecursionlimit" in message(
        RecursionError, tree.leaves_with_path, deep
    )


def test_a_tree_that_contains_itself_is_a_recursion_error():
    node = {"a": [1]}
    node["a"].append(node)
    assert message(RecursionError, tree.flatten, node) == (
        "flatten met the dict at ['a'][1] inside itself; a pytree cannot contain "
        "itself."
    )


def test_an_error_of_a_flatten_function_gets_a_note_of_the_path():
    class Broken:
        pass

    tree_util.register_pytree_node(Broken, lambda _: 1 / 0, lambda _, __: None)
    with pytest.raises(ZeroDivisionError) as caught:
        tree.flatten({"m": (0, Broken())})
    assert caught.value.__notes__ == ["while flattening the Broken at ['m'][1]"]
    with pytest.raises(ZeroDivisionError) as caught:
        tree.flatten([3], is_leaf=lambda x: x == 3 and 1 / 0)
    assert caught.value.__notes__ == ["while flattening the int at [0]"]


def test_a_prefix_that_does_not_fit_names_the_path():
    prefix, full = ({"w": (0, 1)},), ({"w": {"a": 1, "b": 2}},)
    expected = (
        "vmap in_axes must be a prefix of the argument tree, but at [0]['w'] in_axes "
        "has a tuple of 2 where the argument tree has a dict with keys ('a', 'b')."
    )
    for given_tree in (full, tree.structure(full)):
        text = message(
            TreeMismatch, tree.flatten_prefix, prefix, given_tree, "vmap in_axes"
        )
        assert text == expected
    assert message(TreeMismatch, tree.broadcast, (1, 2), [1, 2]) == (
        "prefix_tree must be a prefix of full_tree, but prefix_tree is a tuple of 2 "
        "where full_tree is a list of 2."
    )


def test_folds_of_nothing_ask_for_a_start():
    assert message(TreeMismatch, tree.reduce, max, [None]) == (
        "reduce of a tree without leaves needs an initializer, but got none."
    )
    assert message(TreeMismatch, tree.reduce_associative, max, ()) == (
        "reduce_associative of a tree without leaves needs an identity, but got none."
    )


def test_transpose_names_the_path():
    outer, inner = tree.structure([0, 0]), tree.structure((0, 0))
    expected = (
        "transpose needs a tree of structure outer_treedef of inner_treedef, but at "
        "[1] the structure has a tuple of 2 where the tree has a tuple of 3."
    )
    value = [(1, 2), (3, 4, 5)]
    assert message(TreeMismatch, tree.transpose, outer, inner, value) == expected
    assert message(TreeMismatch, tree.transpose, outer, None, value) == expected
    text = message(TreeMismatch, tree.transpose, outer, None, (1, 2))
    assert text.endswith("the structure is a list of 2 where the tree is a tuple of 2.")
    text = message(TreeMismatch, tree.transpose, tree.structure(None), None, None)
    assert text == (
        "transpose cannot take inner_treedef from PyTreeDef(None), which has no "
        "leaves. Give inner_treedef."
    )


def test_static_data_must_be_hashable():
    value = {"a": (1, Scaled(2, ["m"]))}
    for given_tree in (value, tree.structure(value)):
        text = message(StaticArgumentError, tree.check_static_data, given_tree, "jit")
        assert text == (
            "jit: the static data of the Scaled at ['a'][1] cannot be hashed "
            "(unhashable type: 'list'): ['m']. Static data is part of the structure. "
            "Make it a hashable value, such as a tuple, or a child."
        )
    for good in TREES.values():
        tree.check_static_data(good, "jit")


def test_static_data_must_compare():
    one, other = Scaled(1, np.ones(2)), Scaled(1, np.ones(2))
    text = message(StaticArgumentError, tree.map, max, [one], [other])
    assert text.startswith("the static data of the Scaled at [0] cannot be compared")
    assert text.endswith("make an array a child instead.")
    text = message(StaticArgumentError, tree.flatten_prefix, [one], [other], "in_axes")
    assert "cannot be compared" in text


def test_a_class_is_registered_once():
    expected = (
        f" of Scaled (class of {Scaled.__module__}), which is a pytree node already. "
        "Register a class once, where it is defined; to flatten it differently, "
        "register a subclass."
    )
    for register, arguments in {
        tree_util.register_pytree_node: (max, max),
        tree_util.register_pytree_with_keys: (max, max),
        tree_util.register_pytree_node_class: (),
        tree_util.register_static: (),
        tree_util.register_dataclass: (["value"], ["unit"]),
    }.items():
        text = message(TreeMismatch, register, Scaled, *arguments)
        assert text == register.__name__ + expected


def test_what_is_not_a_class_is_not_registered():
    text = message(TreeMismatch, tree_util.register_pytree_node, 3, max, max)
    assert text == "register_pytree_node needs a class, but got 3."


def test_missing_methods_are_named():
    class Bare:
        pass

    assert message(TreeMismatch, tree_util.register_pytree_node_class, Bare).endswith(
        "Bare to define tree_flatten and tree_unflatten, but it has no tree_flatten "
        "and no tree_unflatten."
    )
    text = message(TreeMismatch, tree_util.register_pytree_with_keys_class, Bare)
    assert "it has no tree_flatten_with_keys and no tree_unflatten." in text


def test_fields_that_are_not_those_of_the_dataclass_are_named():
    @dataclasses.dataclass
    class Pair:
        x: int
        y: int

    def text(*fields):
        return message(TreeMismatch, tree_util.register_dataclass, Pair, *fields)

    assert text(["x"]) == (
        "register_dataclass needs both of data_fields and meta_fields, or neither, but "
        "got data_fields=['x'] and meta_fields=None."
    )
    assert text(["x", "z"], []) == (
        "register_dataclass of Pair needs every field of its constructor in "
        "data_fields, meta_fields or drop_fields, but missing are ['y'] and unknown "
        "are ['z']."
    )
    assert text(["x", "y"], ["y"]) == (
        "register_dataclass of Pair names a field twice: data_fields=['x', 'y'], "
        "meta_fields=['y']."
    )
    not_dataclass = message(
        TreeMismatch, tree_util.register_dataclass, type("Q", (), {})
    )
    assert not_dataclass.endswith(
        "which is not a dataclass, needs data_fields and meta_fields."
    )


def test_a_leaf_has_no_level():
    assert message(TreeMismatch, tree_util.flatten_one_level, 3) == (
        "flatten_one_level needs a node of a pytree, but got a leaf of type int."
    )


def test_build_tree_names_both_sides():
    text = message(
        TreeMismatch, tree_util.build_tree, tree.structure([0, (0, 0)]), [1, 2]
    )
    assert text.startswith(
        "build_tree needs iterables nested as PyTreeDef([*, (*, *)])"
    )
    assert "but got [1, 2]" in text


@pytest.mark.parametrize("position", [2, -1])
def test_a_path_is_asked_for_a_leaf_that_exists(position):
    with pytest.raises(IndexError, match=f"leaf {position} of a tree with 2 leaves"):
        tree.leaf_path(tree.structure([1, 2]), position)


def descend(levels):
    return levels and descend(levels - 1)


@pytest.mark.parametrize("inside", ["keys", "node", "leaf"])
def test_errors_in_trees_leave_python_its_depth_of_recursion(inside):
    class Refusing:
        pass

    def refuse(_):
        raise ValueError("no children")

    tree_util.register_pytree_node(Refusing, refuse, lambda *_: Refusing())
    bad = [[[0, {1: 0, "a": 0} if inside == "keys" else Refusing()]]]
    is_leaf = (lambda x: refuse(x) if x == 0 else False) if inside == "leaf" else None
    left = failures._levels_left()
    for function in (tree.flatten, tree.flatten_with_path):
        for _ in range(3):
            with pytest.raises(ValueError):
                function(bad, is_leaf)
    with pytest.raises(ValueError):
        jit(lambda given: 0)(bad)
    assert failures._levels_left() == left


def test_a_thread_still_works_after_many_errors_in_trees():
    done = []

    def work():  # a thread of its own, since it would be lost
        for _ in range(300):
            with pytest.raises(TreeMismatch):
                tree.flatten([[[[{1: 0, "a": 0}]]]])
        done.append(descend(300))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [0]
