"""Foreign functions: kernels in C, C++ or CUDA, called from programs.

A kernel is written against the headers in ``include_dir()``, compiled into a shared
library, and made known under a name:

    library = ctypes.cdll.LoadLibrary("librms.so")
    register_ffi_target("rms_norm", pycapsule(library.RmsNorm), platform="cpu")
    norm = ffi_call("rms_norm", ShapeDtypeStruct(x.shape, x.dtype))(x, eps=1e-5)

The kernels of jaxlib have names too: those of LAPACK begin with ``lapack_``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from covector import namespaces
from covector.callbacks.foreign_call import (
    TYPED,
    ForeignCall,
    custom_call,
    order_of,
    spelled,
    spelled_attributes,
)
from covector.callbacks.opaque import check_vmap_method
from covector.core.annotations import ArrayLike, with_parameters_of
from covector.core.convert import as_array, type_of
from covector.core.sharding.as_sharding import Layout
from covector.core.types import ArrayType
from covector.errors import ArgumentError, how_many
from covector.lowering import hlo
from covector.runtime import foreign_functions
from covector.runtime.foreign_functions import include_dir

__all__ = [
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]
__dir__ = namespaces.completions(globals())

#: the axes of an array in memory, the slowest first; None for row-major
LayoutLike = Layout | Sequence[int] | None


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[LayoutLike] | None = None,
    output_layouts: LayoutLike | Sequence[LayoutLike] = None,
    input_output_aliases: dict[int, int] | None = None,
    custom_call_api_version: int = TYPED,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """A function that calls a foreign function, also in compiled programs.

    It has no derivative: wrap it in a ``custom_jvp`` or ``custom_vjp``.

    Args:
      target_name: the name under which it was registered.
      result_shape_dtypes: what it returns: a ``ShapeDtypeStruct`` (anything with shape
        and dtype), or a sequence of these for several results.
      has_side_effect: it is called also where no result is used.
      vmap_method: what happens under ``vmap``. ``"sequential"`` and
        ``"sequential_unrolled"`` call it for each lane; the others call it once and
        expect a leading axis in each result: with ``"expand_dims"`` operands have it
        too, of size 1 where they are not batched; with ``"broadcast_all"`` of full
        size; with ``"legacy_vectorized"`` only the batched ones have it.
      input_layouts, output_layouts: of each operand and result the order of its axes
        in memory, the slowest first; None for row-major.
      input_output_aliases: results that are to be where operands were, by operand.
      custom_call_api_version: 4 for the typed interface, 1 to 3 for older ones.
      legacy_backend_config: what older interfaces get for attributes.

    Returns:
      a function of arrays. Its keyword arguments are attributes: numbers, bools,
      strings, arrays of NumPy, and sequences and dictionaries of these. Numbers of
      Python have 64 bits; kernels that want others get NumPy's (``np.float32(0.5)``).

    Raises:
      ArgumentError: layouts or aliases do not fit; an attribute is none; under vmap
        without ``vmap_method``.
      NotDifferentiable: a derivative with respect to an operand is asked for.
      DeviceError: nothing has this name on the platform of the program.

    >>> import numpy as np, covector as cv
    >>> x = cv.numpy.array([[4.0, 2.0], [2.0, 5.0]])
    >>> results = cv.ShapeDtypeStruct((2, 2), x.dtype), cv.ShapeDtypeStruct((), "int32")
    >>> potrf = ffi_call("lapack_spotrf_ffi", results, input_layouts=[(1, 0)],
    ...                  output_layouts=[(1, 0), None])
    >>> cv.numpy.tril(potrf(x, uplo=np.uint8(ord("L")))[0]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    who = f"ffi_call of {target_name}"
    check_vmap_method(who, vmap_method)
    several = isinstance(result_shape_dtypes, Sequence)
    promised = result_shape_dtypes if several else [result_shape_dtypes]
    results = tuple([type_of(r).strong() for r in promised])
    orders: Any = output_layouts or None
    if not several or isinstance(output_layouts, Layout):
        orders = [output_layouts]
    output_orders = _orders(who, "output_layouts", orders, "result", results)
    if custom_call_api_version >= TYPED and legacy_backend_config is not None:
        raise ArgumentError(
            f"{who}: legacy_backend_config is for interfaces before version 4. Pass "
            "attributes as keyword arguments."
        )

    def call(*args: ArrayLike, **attributes: Any) -> Any:
        operands = [as_array(x, who) for x in args]
        types = [x.type for x in operands]
        outs = ForeignCall(
            target_name,
            results,
            _config(who, custom_call_api_version, legacy_backend_config, attributes),
            _orders(who, "input_layouts", input_layouts, "operand", types),
            output_orders,
            _aliases(who, input_output_aliases or {}, len(args), len(results)),
            vmap_method,
            has_side_effect,
            custom_call_api_version,
        )(*operands)
        return list(outs) if several else outs[0]

    return call


def _config(
    who: str, version: int, legacy: str | None, attributes: Mapping[str, Any]
) -> str:
    if version >= TYPED:
        return spelled_attributes(attributes, who)
    if attributes:
        raise ArgumentError(
            f"{who}: attributes ({', '.join(attributes)}) need the typed interface, "
            f"version 4, but custom_call_api_version is {version}. Pass "
            "legacy_backend_config."
        )
    return spelled(legacy or "")


def _orders(
    who: str, name: str, given: Any, of: str, types: Sequence[ArrayType]
) -> tuple[Any, ...]:
    """The orders of the axes of operands or results, by their layouts; None for all is
    one None for each.
    """
    layouts = [None] * len(types) if given is None else list(given)
    if len(layouts) != len(types):
        raise ArgumentError(
            f"{who} has {how_many(len(types), of)}, but {name} has "
            f"{how_many(len(layouts), 'entry', 'entries')}."
        )
    pairs = zip(layouts, types, strict=True)
    return tuple([order_of(layout, t, who) for layout, t in pairs])


def _aliases(
    who: str, given: Mapping[int, int], operands: int, results: int
) -> tuple[tuple[int, int], ...]:
    """Pairs of an operand and the result that is to be where that was."""
    aliases = tuple(sorted(given.items()))
    for operand, result in aliases:
        if not (0 <= operand < operands and 0 <= result < results):
            raise ArgumentError(
                f"{who} has {how_many(operands, 'operand')} and "
                f"{how_many(results, 'result')}, but input_output_aliases has "
                f"{operand}: {result}."
            )
    return aliases


# -- registration ----------------------------------------------------------------------


def pycapsule(funcptr: Any) -> Any:
    """A capsule with the address of a function that ``ctypes`` loaded.

    Its library must stay loaded.

    >>> import ctypes
    >>> type(pycapsule(ctypes.pythonapi.Py_IncRef)).__name__
    'PyCapsule'
    """
    return foreign_functions.capsule(funcptr)


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a foreign function known under a name, before programs that call it run.

    A name is registered once per process and platform, and for as long as it lives.

    Args:
      name: what ``ffi_call`` takes as ``target_name``.
      fn: a capsule (``pycapsule``); or a dictionary of capsules by the stages of a
        call: "instantiate", "prepare", "initialize", "execute".
      platform: "cpu", "CUDA" (or "gpu"), "ROCM".
      api_version: 1 for the typed interface, 0 for older ones.
      kwargs: such as ``traits``, as XLA takes them.

    Raises:
      ArgumentError: XLA does not take it: another function has the name, for instance.
    """
    foreign_functions.register_target(name, fn, platform, api_version, **kwargs)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Let XLA divide calls of a target between devices along their leading axes.

    Only for kernels that treat the elements of the leading axis one by one. XLA does
    not check it; the result of another kernel is wrong on more than one device.
    """
    foreign_functions.register_as_batch_partitionable(name)


def register_ffi_type(
    name: str, type_registration: Mapping[str, Any], platform: str = "cpu"
) -> None:
    """Make a type known, whose values kernels keep from call to call.

    Args:
      type_registration: capsules by the names "type_id" and "type_info".

    Raises:
      ArgumentError: XLA does not take it.
    """
    foreign_functions.register_type(name, type_registration, platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """``register_ffi_type`` of a type with no more than the capsule of its id.

    Raises:
      ArgumentError: XLA does not take it.
    """
    foreign_functions.register_type(name, {"type_id": obj}, platform)


# -- for operations of users -----------------------------------------------------------


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Sequence[int] | None] | None = None,
    result_layouts: Sequence[Sequence[int] | None] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    api_version: int = TYPED,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """A function that adds the call of a target to a program: for ``lower`` of an
    operation (docs/internals/add-an-operation.md).

    Args:
      operand_layouts, result_layouts: the axes of each operand and result, the fastest
        first (in ``ffi_call`` it is the slowest); None for row-major.
      backend_config: attributes by name, to which keyword arguments of the function
        are added; or the text that older interfaces get.
      skip_ffi_layout_processing: say nothing of layouts.
      api_version: 4 for the typed interface, 1 to 3 for older ones.
      has_side_effect: it is called also where no result is used.
      operand_output_aliases: results that are to be where operands were, by operand.

    Returns:
      ``add(ctx, *operands, **attributes)``, which returns the operation or its result.
    """
    who = f"ffi_lowering of {call_target_name}"

    def add(ctx: Any, *operands: Any, **attributes: Any) -> Any:
        config = backend_config
        if not isinstance(config, str):
            config = spelled_attributes({**(config or {}), **attributes}, who)
        else:
            config = spelled(config)
        layouts = None
        if not skip_ffi_layout_processing:
            layouts = (
                _fastest_first(operand_layouts, ctx.in_types),
                _fastest_first(result_layouts, ctx.out_types),
            )
        return custom_call(
            ctx,
            call_target_name,
            operands,
            config,
            layouts,
            api_version=api_version,
            has_side_effect=has_side_effect,
            overwritten=operand_output_aliases or {},
        )

    return add


def _fastest_first(
    orders: Sequence[Sequence[int] | None] | None, types: Sequence[ArrayType]
) -> list[Sequence[int]]:
    pairs = zip(orders or [None] * len(types), types, strict=True)
    return [range(t.ndim)[::-1] if order is None else order for order, t in pairs]


@with_parameters_of(build_ffi_lowering_function)
def ffi_lowering(*args: Any, **options: Any) -> Callable[..., Sequence[Any]]:
    """``build_ffi_lowering_function`` with these arguments, whose result is a sequence
    of values: it can be the ``lower`` of an operation as it is.
    """
    add = build_ffi_lowering_function(*args, **options)

    def lower(ctx: Any, *operands: Any, **attributes: Any) -> Sequence[Any]:
        return hlo.results(add(ctx, *operands, **attributes))

    return lower
