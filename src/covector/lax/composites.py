"""``composite``: functions that a compiler may know by name."""

import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from covector import options, tree
from covector.core.flat import FlatFunction, arrays, check_functions
from covector.core.source import wraps
from covector.core.staging import stage
from covector.errors import ArgumentError
from covector.programs.higher_order.composite import Composite
from covector.programs.higher_order.hash_consing import intern

__all__ = ["composite"]

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[a-zA-Z]\w*([.][\w$]+)+", re.ASCII)


def composite(
    decomposition: Callable[P, R], name: str, version: int = 0
) -> Callable[P, R]:
    """``decomposition`` as one operation, which a compiler may know by its name.

    In StableHLO it is ``stablehlo.composite``. A compiler that knows the name, the
    version and the attributes may put something better in its place; all others run the
    decomposition. So do derivatives and batches of it.

    Args:
      decomposition: a function of trees of arrays by position, and of attributes by
        keyword: numbers, texts, NumPy arrays, and sequences and mappings of them. Those
        that are None are not told to the compiler.
      name: a name in a namespace, ``"my.softmax"``.
      version: from 0 to 2³¹ − 1; another meaning should have another one.

    Raises:
      ArgumentError: the name is in no namespace, the version is out of range, or an
        attribute is none of these.

    >>> import covector as cv, covector.numpy as cnp
    >>> tangent = composite(lambda x: cnp.sin(x) / cnp.cos(x), "my.tangent")
    >>> print(tangent(0.0), cv.grad(tangent)(0.0))
    0.0 1.0
    >>> "stablehlo.composite" in cv.jit(tangent).lower(1.0).as_text()
    True
    """
    check_functions("composite", decomposition=decomposition)
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ArgumentError(
            "composite needs a name in a namespace, such as 'my.softmax', but got "
            f"{name!r}."
        )
    if not (type(version) is int and 0 <= version < 2**31):
        raise ArgumentError(
            f"composite {name}: the version must be an integer from 0 to 2**31 - 1, "
            f"but got {version!r}."
        )
    who = f"composite {name}"

    @wraps(decomposition)
    def called(*args: P.args, **attributes: P.kwargs) -> R:
        if options.current().disable_jit:
            return decomposition(*args, **attributes)
        told = _spelled(who, attributes)
        leaves, in_tree = tree.flatten((args, {}))
        leaves = arrays(leaves, who)
        flat = FlatFunction(
            lambda *args: decomposition(*args, **attributes), in_tree, who
        )
        staged = stage(flat, [x.type for x in leaves], name)
        jaxpr = intern(staged.jaxpr)
        operation = jaxpr.memo(Composite, False, name, told, version)
        return flat.out_tree.unflatten(operation(*staged.captured, *leaves))

    return called


def _spelled(who: str, attributes: dict[str, Any]) -> str:
    """The attributes that are told to the compiler."""
    from covector.lowering import hlo  # noqa: PLC0415  it imports MLIR

    told = {key: value for key, value in attributes.items() if value is not None}
    for key, value in told.items():
        try:
            hlo.spelled(value)
        except (TypeError, OverflowError):
            raise ArgumentError(
                f"{who}: the attribute {key}={value!r} is not a real number, text, "
                "NumPy array, nor a sequence or mapping of them. Arrays of the program "
                "are passed by position."
            ) from None
    return hlo.spelled(told)
