"""``covector explain``: shows what a function does and costs, by its source lines."""

import importlib
import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import covector as cv
from covector.core import dtypes
from covector.core.source import wraps
from covector.core.types import ArrayType
from covector.errors import ArgumentError, CovectorError, MissingLibrary, did_you_mean

_TYPE = re.compile(r"([a-z]\w*)(?:\[([\d,\s]*)\])?")
_DTYPES = {dtypes.short_name(dtype): dtype for dtype in dtypes.NUMBERS}


def add_options(parser: ArgumentParser) -> None:
    """The options of explain: a function, the types of its arguments, and views."""
    parser.add_argument(
        "function",
        help="module:function, as in train:loss or models.mlp:Net.loss; modules are "
        "looked for in this folder first",
    )
    parser.add_argument(
        "--shapes",
        type=_type,
        nargs="*",
        default=[],
        metavar="f32[32,784]",
        help="the types of the arguments",
    )
    parser.add_argument("--grad", action="store_true", help="explain its gradient")
    parser.add_argument(
        "--vmap", action="store_true", help="over the first axis of all arguments"
    )
    parser.add_argument(
        "--run",
        dest="measure",
        action="store_true",
        help="measure it on random arguments",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the data")
    parser.add_argument(
        "--lines", type=int, default=40, help="how many lines (default: %(default)s)"
    )


def _type(text: str) -> ArrayType:
    """A type as programs show it: ``f32[32,784]``, or ``f32`` for a number."""
    found = _TYPE.fullmatch(text.strip())
    dtype = _DTYPES.get(found[1]) if found else None
    if found is None or dtype is None:
        known = (
            f"{', '.join(_DTYPES)}.{did_you_mean(found[1] if found else '', _DTYPES)}"
        )
        raise ArgumentTypeError(
            f"a type is written as f32[32,784], or f32 for a single number, not "
            f"{text!r}. The element types are {known}"
        )
    sizes = [size.strip() for size in (found[2] or "").split(",")]
    if "" in sizes[:-1]:
        raise ArgumentTypeError(f"a size is missing in {text!r}")
    return ArrayType(tuple([int(size) for size in sizes if size]), dtype)


def run(options: Namespace) -> int:
    """Explain the function; 1 where there is none, or it fails on these types."""
    try:
        explanation = explained(options)
        if options.html is not None:
            explanation.html(options.html)
            print(f"The page is in {options.html}")
        if options.json is not None:
            text = json.dumps(explanation.to_dict(), allow_nan=False)
            options.json.write_text(text, encoding="utf-8")
            print(f"The data is in {options.json}")
        if options.html is None and options.json is None:
            _show(explanation, options.lines)
    except (CovectorError, OSError) as error:
        print(f"covector explain: {error}", file=sys.stderr)
        return 1
    return 0


def _show(explanation: Any, lines: int) -> None:
    try:
        explanation.show(lines=lines)
    except MissingLibrary:  # of colours only
        print(explanation)


def explained(options: Namespace) -> Any:
    """The explanation that the options ask for."""
    fun, given = find(options.function), options.shapes
    if options.vmap:
        fun = cv.vmap(fun)
    if options.grad:
        fun = cv.grad(_summed(fun) if options.vmap else fun)
    if not options.measure:
        return cv.explain(fun)(*given)
    random = np.random.default_rng(0)
    return cv.explain(fun)(*[_values(type, random) for type in given]).run()


def _summed(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The sum over a batch, of which there is a gradient."""

    @wraps(fun)
    def summed(*args: Any) -> Any:
        return cv.numpy.sum(fun(*args))

    return summed


def _values(type: ArrayType, random: np.random.Generator) -> Any:
    """Numbers of a normal distribution; of integers and bools, zeros."""
    if not type.inexact:
        return cv.numpy.zeros(type.shape, type.dtype)
    return cv.numpy.asarray(random.standard_normal(type.shape), dtype=type.dtype)


def find(name: str) -> Callable[..., Any]:
    """The function of ``module:function``."""
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise ArgumentError(
            f"a function is named as module:function, as in train:loss, not {name!r}."
        )
    found: Any = _module(module_name.removesuffix(".py").replace("/", "."))
    for i, part in enumerate(path.split(".")):
        if not hasattr(found, part):
            where = ".".join([module_name, *path.split(".")[:i]])
            near = did_you_mean(part, dir(found))
            raise ArgumentError(f"{where} has no {part!r}.{near}")
        found = getattr(found, part)
    if not callable(found):
        raise ArgumentError(
            f"{name} is not a function, but of type {type(found).__name__}."
        )
    return found


def _module(name: str) -> Any:
    """A module, which may be a file of this folder."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there, but one that it imports is not
        raise ArgumentError(
            f"there is no module {name!r}: neither a file of the folder {folder} nor "
            "an installed one."
        ) from None
