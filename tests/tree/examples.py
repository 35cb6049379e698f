"""Classes and trees that the tests of pytrees share: one of every kind of node."""

import collections
import dataclasses

from covector import tree, tree_util

Point = collections.namedtuple("Point", "x y")


@tree_util.register_pytree_node_class
class Scaled:
    """A custom node: one child, and a unit as static data."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def __eq__(self, other):
        return (self.value, self.unit) == (other.value, other.unit)

    def __hash__(self):
        return hash((self.value, self.unit))

    def tree_flatten(self):
        return (self.value,), self.unit

    @classmethod
    def tree_unflatten(cls, unit, children):
        return cls(*children, unit)


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    b: object
    activation: str = tree.static(default="relu")


@tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


@tree_util.register_pytree_with_keys_class
class Strict:
    """A node with keys whose constructor takes numbers only."""

    def __init__(self, left, right):
        if not isinstance(left, float):
            raise TypeError("numbers only")
        self.left, self.right = left, right

    def tree_flatten_with_keys(self):
        keys = tree_util.GetAttrKey("left"), tree_util.GetAttrKey("right")
        return list(zip(keys, (self.left, self.right), strict=True)), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


TREES = {
    "leaf": 1,
    "none": None,
    "empty tuple": (),
    "empty dict": {},
    "nested": {"b": [1, (2, None)], "a": (3, {"k": 4}), "c": []},
    "namedtuple": Point(1, Point((2,), 3)),
    "ordered": collections.OrderedDict(b=1, a=[2]),
    "default": collections.defaultdict(list, b=1, a=(2, 3)),
    "custom": [Scaled(1, "m"), Scaled((2, 3), "s")],
    "dataclass": {"l": Layer(1, [2, 3]), "m": Layer(4, None, "tanh")},
    "static": (Mode("train"), 1),
    "partial": tree_util.Partial(print, 1, (2,), sep=3),
}
