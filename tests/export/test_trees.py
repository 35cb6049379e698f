"""Structures are stored with the classes of users in them, by name."""

import dataclasses
from collections import OrderedDict, namedtuple

import pytest

import covector as cv
from covector import export
from covector.errors import ExportError
from covector.export import trees

Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")


@dataclasses.dataclass
class Scaled:
    """A value with static data."""

    x: object
    scale: float


cv.tree_util.register_pytree_node(
    Scaled, lambda s: ((s.x,), s.scale), lambda scale, xs: Scaled(*xs, scale)
)


@pytest.fixture(autouse=True)
def nothing_is_registered_afterwards():
    by_type, by_name = dict(trees._by_type), dict(trees._by_name)
    yield
    for now, before in ((trees._by_type, by_type), (trees._by_name, by_name)):
        now.clear()
        now.update(before)


def test_containers_of_python_come_back():
    tree = ({"b": [1, None], "a": ()}, {3: 1, 1: (2,)}, [])
    treedef = cv.tree.structure(tree)
    assert trees.read(trees.written(treedef)) == treedef


def test_classes_of_users_come_back_by_name():
    export.register_namedtuple_serialization(Pair, serialized_name="Pair")
    export.register_pytree_node_serialization(
        Scaled,
        serialized_name="Scaled",
        serialize_auxdata=lambda scale: str(scale).encode(),
        deserialize_auxdata=float,
    )

    def f(p):
        return Scaled(p.a.x * p.b, 2.5)

    p = Pair(Scaled(2.0, 0.5), 3.0)
    made = export.deserialize(export.export(cv.jit(f))(p).serialize())
    out = made.call(p)
    assert isinstance(out, Scaled)
    assert (float(out.x), out.scale) == (6.0, 2.5)


def test_a_node_may_be_made_of_its_children_in_another_way():
    export.register_pytree_node_serialization(
        OrderedDict,
        serialized_name="OrderedDict",
        serialize_auxdata=lambda keys: ",".join(keys).encode(),
        deserialize_auxdata=lambda text: text.decode().split(","),
        from_children=lambda keys, xs: OrderedDict(zip(keys, xs, strict=True)),
    )
    treedef = cv.tree.structure(OrderedDict(z=1, a=(2, 3)))
    assert trees.read(trees.written(treedef)) == treedef


def test_classes_and_names_that_are_unknown_or_taken():
    structure = cv.tree.structure(Pair(1, 2))
    with pytest.raises(ExportError, match=r"nodes of Pair cannot .*namedtuple_serial"):
        trees.written(structure)
    export.register_namedtuple_serialization(Pair, serialized_name="Pair")
    text = trees.written(structure)
    with pytest.raises(ExportError, match="the class has a serialization already"):
        export.register_namedtuple_serialization(Pair, serialized_name="again")
    with pytest.raises(ExportError, match="'Pair' stands for Pair already"):
        export.register_namedtuple_serialization(Other, serialized_name="Pair")
    trees._by_name.clear()
    with pytest.raises(ExportError, match=r"nodes named 'Pair'.*Register it before"):
        trees.read(text)
    with pytest.raises(ExportError, match=r"needs a namedtuple, but got .*Scaled"):
        export.register_namedtuple_serialization(Scaled, serialized_name="s")
    with pytest.raises(ExportError, match="not a node of a pytree"):
        export.register_pytree_node_serialization(
            set, serialized_name="s", serialize_auxdata=bytes, deserialize_auxdata=set
        )
    with pytest.raises(ExportError, match="strings or numbers as keys"):
        trees.written(cv.tree.structure({(1, 2): 3}))


def test_a_namedtuple_with_other_fields_is_refused():
    export.register_namedtuple_serialization(Pair, serialized_name="Pair")
    text = trees.written(cv.tree.structure(Pair(1, 2)))
    trees._by_type.clear()
    trees._by_name.clear()
    renamed = namedtuple("Pair", "a c")
    export.register_namedtuple_serialization(renamed, serialized_name="Pair")
    with pytest.raises(ExportError, match=r"has the fields a,c, but was .* with a,b"):
        trees.read(text)
