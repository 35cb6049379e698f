"""Construction of StableHLO with ``jaxlib.mlir``: types, attributes, operations.

Everything belongs to one MLIR context, which is not thread-safe: building a module
happens ``with hlo.lock, hlo.context, hlo.unknown``, and what leaves it for the compiler
is bytecode (``runtime/modules.py``). Types and attributes are cached for the life of
the process, since making them costs as much as making an operation.
"""

import functools
import operator
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from covector.core import dtypes
from covector.core.source import Line
from covector.core.types import ArrayType, Shape
from covector.lowering.spelling import HloValue, element_name
from covector.runtime import memory, modules

storage_of, shape_of = operator.attrgetter("storage"), operator.attrgetter("shape")


context = modules.new_context()
#: of the context. No context manager of Python wraps it: an exception from a signal or
#: another thread may come between any two lines of that, and leave it locked.
lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A child is not to find the context half-way through a module of another thread.
    os.register_at_fork(
        before=lock.acquire,
        after_in_parent=lock.release,
        after_in_child=lock.release,
    )


with context:
    #: the location where no other is said
    unknown = ir.Location.unknown()

#: the most bytes that XLA can count, and a shape that stands for what is not known
_MOST_BYTES = 2**63 - 1
UNKNOWN = (_MOST_BYTES,)

#: integers narrower than a byte, which MLIR reads from bytes
_BYTES = {
    dtypes.int2: dtypes.int8,
    dtypes.int4: dtypes.int8,
    dtypes.uint2: dtypes.uint8,
    dtypes.uint4: dtypes.uint8,
}


@functools.cache
def tensor_type(type: ArrayType) -> ir.Type:
    """The MLIR type of an array type.

    Raises OutOfMemory for one that no memory holds: XLA would end the process.
    """
    # A symbolic size, of a class of its own, stands for many.
    known = type.size.__class__ is int
    if known and type.size * type.storage.itemsize > _MOST_BYTES:
        words = f"{type} has more bytes than 63 bits can count"
        raise memory.out_of_memory(MemoryError(words))
    dims = "".join([f"{n:d}x" for n in type.shape])
    return ir.Type.parse(f"tensor<{dims}{element_name(type.storage)}>", context)


@functools.cache
def attribute(text: str) -> ir.Attribute:
    """An attribute from its MLIR spelling."""
    return ir.Attribute.parse(text, context)


def spelled(value: Any) -> str:
    """A value of Python or NumPy in MLIR's spelling: ``2 : i64``, ``[true, "a"]``.

    Raises TypeError for what is not a real number, text, array, sequence or mapping.
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, str):
        return str(ir.StringAttr.get(value, context))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, Mapping):
        named = [f"{spelled(str(k))} = {spelled(v)}" for k, v in value.items()]
        return f"{{{', '.join(named)}}}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufV":
        with context:
            return str(constant(value, ArrayType(value.shape, value.dtype)))
    if type(value) in (int, float):
        value = np.asarray(value, type(value))[()]
    if not isinstance(value, np.generic) or not dtypes.is_real(value.dtype):
        raise TypeError(f"{value!r} has no spelling")
    name, size = element_name(value.dtype), value.dtype.itemsize
    if dtypes.is_integer(value.dtype):
        return f"{int(value)} : {name}"
    return f"0x{int(value.view(f'u{size}')):0{2 * size}X} : {name}"


@functools.cache
def symbol(name: str) -> ir.Attribute:
    """``@name``: a function of the module, whatever characters its name has."""
    return ir.FlatSymbolRefAttr.get(name, context)


@functools.cache
def dims(values: tuple[int, ...]) -> ir.Attribute:
    """``array<i64: 0, 1>``: axes, sizes and strides."""
    return ir.DenseI64ArrayAttr.get(list(values), context)


def as_attribute(value: Any) -> Any:
    """An attribute from its MLIR spelling, or from a tuple of numbers; others stay."""
    if isinstance(value, str):
        return attribute(value)
    return dims(value) if isinstance(value, tuple) else value


def rank(x: HloValue) -> int:
    """The number of axes of a value."""
    return ir.RankedTensorType(x.type).rank


def is_argument(x: HloValue) -> bool:
    """Whether a value is an argument, of a function or of a region."""
    return isinstance(x.owner, ir.Block)


def counts_along(x: HloValue, axis: int) -> bool:
    """Whether a value is known to be 0, 1, 2, … along an axis."""
    if is_argument(x):
        return False
    made = x.owner.operation
    if made.name != "stablehlo.iota":
        return False
    return ir.IntegerAttr(made.attributes["iota_dimension"]).value == axis


def constant(values: np.ndarray, type: ArrayType) -> ir.Attribute:
    """The values of a constant operation."""
    values = np.ascontiguousarray(values)
    if values.dtype in _BYTES:
        values = values.astype(_BYTES[values.dtype])
    elif values.dtype.kind == "V":
        values = values.view(f"u{values.dtype.itemsize}")
    return ir.DenseElementsAttr.get(values, type=_element(type), shape=list(type.shape))


@functools.cache
def _element(type: ArrayType) -> ir.Type:
    return ir.Type.parse(element_name(type.storage), context)


def operation(
    name: str,
    results: Sequence[ir.Type],
    operands: Sequence[HloValue],
    attributes: dict[str, ir.Attribute] | None,
    location: ir.Location,
    point: ir.InsertionPoint,
    regions: int = 0,
) -> ir.Operation:
    """One operation, without inference or verification: the module is verified once."""
    return ir.Operation.create(
        name, results, operands, attributes, None, regions, location, point
    )


def results(made: Any) -> list[HloValue]:
    """The result of a lowering rule (a value, several, an operation) as values."""
    if isinstance(made, ir.Value):
        return [made]
    return list(getattr(made, "results", made))


@functools.lru_cache(65536)
def location(name: str, line: Line | None, _: str = "") -> ir.Location:
    """The MLIR location of an operation: its name, in the scopes that the user named
    (``a/b/sin``), the user's function, file and line.

    The last argument is the file, for the cache: code is equal to that of another file,
    as of a cell of a notebook that was run again.
    """
    with context:
        if line is None:
            return ir.Location.name(name)
        name = f"{line.scope}/{name}" if line.scope else name
        location = ir.Location.file(line.file, line.number, 0)
        return ir.Location.name(name, ir.Location.name(line.function, location))


class Module:
    """A module under construction: functions by name, ``main`` among them."""

    def __init__(self, name: str) -> None:
        self.module: Any = ir.Module.create()
        self.module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        #: the Python functions that it calls, by number
        self.host_functions: list[Callable[..., Any]] = []
        #: the element types of what it takes and works out
        self.dtypes: set[np.dtype] = set()
        #: the shapes of arrays in it
        self.shapes: set[Shape] = set()
        #: how many operations there are that give a scalar
        self.scalars: int = 0
        #: whether long rows are added up, element by element
        self.adds_long_rows: bool = False
        #: the routines of LAPACK that are called, and for matrices of which sizes
        self.lapack_calls: set[tuple[str, tuple[int, ...]]] = set()
        self._names: set[str] = set()

    def function(
        self,
        name: str,
        ins: Sequence[ArrayType],
        outs: Sequence[ArrayType],
        public: bool = False,
    ) -> "Function":
        """A function with an empty body and a name made unique."""
        unique = self._unique(name)
        self.dtypes.update(map(storage_of, ins))
        self.shapes.update(map(shape_of, ins))
        in_types = list(map(tensor_type, ins))
        function_type = ir.FunctionType.get(in_types, list(map(tensor_type, outs)))
        op = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(unique),
                "function_type": ir.TypeAttr.get(function_type),
                "sym_visibility": ir.StringAttr.get("public" if public else "private"),
            },
            regions=1,
            loc=unknown,
            ip=ir.InsertionPoint(self.module.body),
        )
        block = op.regions[0].blocks.append(*in_types, arg_locs=[unknown] * len(ins))
        return Function(unique, op, block)

    def _unique(self, name: str) -> str:
        """A name that nothing has here, and is taken from now on."""
        unique, n = name, 0
        while unique in self._names:
            n += 1
            unique = f"{name}_{n}"
        self._names.add(unique)
        return unique

    def over_mesh(self, mesh: str, partitions: int) -> None:
        """Make it a module for the devices of a mesh, in its MLIR spelling."""
        count = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), partitions)
        self.module.operation.attributes["mhlo.num_partitions"] = count
        self._mesh("mesh", mesh)

    def first_device(self) -> str:
        """The name of the mesh of the first device alone."""
        if "first_device" not in self._names:
            self._names.add("first_device")
            self._mesh("first_device", "#sdy.mesh<[], device_ids=[0]>")
        return "first_device"

    def _mesh(self, name: str, mesh: str) -> None:
        ir.Operation.create(
            "sdy.mesh",
            attributes={"sym_name": ir.StringAttr.get(name), "mesh": attribute(mesh)},
            loc=unknown,
            ip=ir.InsertionPoint.at_block_begin(self.module.body),
        )

    def verify(self) -> None:
        """Raise what MLIR finds wrong with the module; that is a bug of covector."""
        self.module.operation.verify()

    def bytecode(self) -> bytes:
        """The module for a context of somebody else's: for the compiler."""
        return modules.bytecode(self.module.operation)

    def text(self, debug_info: bool = False) -> str:
        return self.module.operation.get_asm(
            enable_debug_info=debug_info, large_elements_limit=64
        )

    def portable(self) -> bytes:
        """The module for other versions of the compiler, which read it for years."""
        return modules.portable(self.module)

    def merge(self, source: str) -> str:
        """Add the functions of another module; the name that its ``main`` has here.

        Of its meshes those are added whose names are not taken: they are the same.
        """
        self.shapes.add(UNKNOWN)
        other = ir.Module.parse(source, context)
        names = {}
        for op in list(other.body.operations):
            name = ir.StringAttr(op.attributes["sym_name"]).value
            if op.operation.name == "sdy.mesh":
                if name not in self._names and name != "mesh":
                    self._names.add(name)
                    op.operation.clone(
                        ir.InsertionPoint.at_block_begin(self.module.body)
                    )
                continue
            names[name] = self._unique(name)
        # In two steps, for one may take the name that another had.
        for k, steps in enumerate(({n: f"merged.{n}" for n in names}, names)):
            for old, new in steps.items():
                before = old if k == 0 else f"merged.{old}"
                ir.SymbolTable.replace_all_symbol_uses(before, new, other.operation)
                ir.SymbolTable.set_symbol_name(
                    ir.SymbolTable(other.operation)[before], new
                )
        for op in other.body.operations:
            if op.operation.name == "func.func":
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
                for attributes in ("arg_attrs", "res_attrs"):
                    if attributes in op.attributes:
                        del op.attributes[attributes]
                op.operation.clone(ir.InsertionPoint(self.module.body))
        return names["main"]


class Function:
    """A function under construction."""

    def __init__(self, name: str, op: Any, block: Any) -> None:
        self.name: str = name
        self.op: Any = op
        self.block: Any = block
        self.arguments: list[HloValue] = list(block.arguments)
        self.point: Any = ir.InsertionPoint(block)

    def argument_attributes(self, attributes: Sequence[dict[str, str]]) -> None:
        """Attributes of the arguments, such as donation, in their MLIR spelling."""
        self.op.attributes["arg_attrs"] = _each(attributes)

    def result_attributes(self, attributes: Sequence[dict[str, str]]) -> None:
        """Attributes of the results, such as shardings."""
        self.op.attributes["res_attrs"] = _each(attributes)


def _each(attributes: Sequence[dict[str, str]]) -> ir.Attribute:
    return ir.ArrayAttr.get(
        [ir.DictAttr.get({k: attribute(v) for k, v in a.items()}) for a in attributes]
    )


def fill_region(
    op: ir.Operation,
    index: int,
    types: Sequence[ArrayType],
    body: Callable[[ir.InsertionPoint, list[HloValue]], None],
) -> None:
    """Build the one block of a region: ``body`` gets where to insert, and arguments."""
    tensors = [tensor_type(t) for t in types]
    block = op.regions[index].blocks.append(*tensors, arg_locs=[unknown] * len(tensors))
    body(ir.InsertionPoint(block), list(block.arguments))
