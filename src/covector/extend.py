"""Operations of one's own: the parts that an operation outside of covector is made of.

An operation is a class whose fields are its parameters and whose methods are its
rules. What a rule is for, and when it may be left out, ``Primitive`` says.

>>> import covector as cv, covector.numpy as cnp
>>> from covector import extend
>>> @extend.operation
... class Scaled(extend.Primitive):
...     factor: float
...
...     def type_rule(self, x):
...         return [x]
...
...     def differential(self, out, x):
...         return [self]
...
...     def transpose(self, cotangents, x):
...         return [self(cotangents[0])]
...
...     def batch(self, size, args, dims):
...         return [self(args[0])], dims
...
...     def lower(self, ctx, x):
...         factor = ctx.constant(self.factor, ctx.in_types[0])
...         return ctx.op("stablehlo.multiply", [x, factor])
>>> float(cv.jit(cv.grad(lambda x: Scaled(3.0)(x) ** 2))(cnp.asarray(1.0)))
18.0
"""

from covector.core.convert import as_array
from covector.core.primitive import Linear, ManyResults, Primitive, operation
from covector.core.source import pass_over
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.operations.broadcasting import align, batched, move_axis, zeros
from covector.operations.families import Bilinear, Elementwise

__all__ = [
    "ArrayType",
    "Bilinear",
    "Elementwise",
    "Linear",
    "ManyResults",
    "Primitive",
    "Work",
    "align",
    "as_array",
    "batched",
    "move_axis",
    "operation",
    "pass_over",
    "zeros",
]
