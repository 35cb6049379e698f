"""The NumPy namespace (trial)."""
from covector.numpy.promote import promote
from covector.ops import arithmetic as A, transcendental as T
from covector.ops.broadcasting import ReduceSum
def add(x, y, /): return A.add(*promote("add", x, y))
def subtract(x, y, /): return A.sub(*promote("subtract", x, y))
def multiply(x, y, /): return A.mul(*promote("multiply", x, y))
def negative(x, /): return A.neg(x)
def sin(x, /): return T.sin(x)
def sum(x): return ReduceSum(tuple(range(x.ndim)))(x)
