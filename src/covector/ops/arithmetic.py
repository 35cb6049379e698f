"""Arithmetic: the four operations, remainder, powers, signs and extrema."""

from typing import Any

import numpy as np

from covector.core.primitive import Linear
from covector.ops.broadcasting import spread_like, unbroadcast
from covector.ops.families import Elementwise


class Neg(Elementwise):
    """−x; unsigned integers wrap around."""

    hlo = "stablehlo.negate"
    on_host = staticmethod(np.negative)

    def differential(self, out: Any, x: Any) -> Any:
        return [self]

    def transpose(self, cotangents: Any, x: Any) -> Any:
        return [neg(cotangents[0])]


class Add(Elementwise):
    """x + y."""

    hlo = "stablehlo.add"
    on_host = staticmethod(np.add)

    def linearize(self, active: Any, x: Any, y: Any) -> Any:
        out = self(x, y)

        def push(dx: Any, dy: Any) -> Any:
            if dx is None or dy is None:
                return (spread_like(dx if dy is None else dy, out),)
            return (self(dx, dy),)

        return (out,), push

    def transpose(self, cotangents: Any, x: Any, y: Any) -> Any:
        (ct,) = cotangents
        return [unbroadcast(ct, a.type) if type(a) is Linear else None for a in (x, y)]


class Sub(Elementwise):
    """x − y."""

    hlo = "stablehlo.subtract"
    on_host = staticmethod(np.subtract)

    def linearize(self, active: Any, x: Any, y: Any) -> Any:
        out = self(x, y)

        def push(dx: Any, dy: Any) -> Any:
            if dy is None:
                return (spread_like(dx, out),)
            if dx is None:
                return (spread_like(neg(dy), out),)
            return (self(dx, dy),)

        return (out,), push

    def transpose(self, cotangents: Any, x: Any, y: Any) -> Any:
        (ct,) = cotangents
        return [
            unbroadcast(ct, x.type) if type(x) is Linear else None,
            neg(unbroadcast(ct, y.type)) if type(y) is Linear else None,
        ]


class Mul(Elementwise):
    """x · y."""

    hlo = "stablehlo.multiply"
    on_host = staticmethod(np.multiply)

    def differential(self, out: Any, x: Any, y: Any) -> Any:
        return [lambda dx: self(dx, y), lambda dy: self(x, dy)]

    def transpose(self, cotangents: Any, x: Any, y: Any) -> Any:
        (ct,) = cotangents
        if type(x) is Linear:
            return [unbroadcast(self(ct, y), x.type), None]
        return [None, unbroadcast(self(ct, x), y.type)]


neg, add, sub, mul = Neg(), Add(), Sub(), Mul()
