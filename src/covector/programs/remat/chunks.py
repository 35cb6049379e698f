"""``vmap(f, memory=)``: a batch in chunks, each as large as a budget of memory allows.

The program of one lane is staged once. ``Chunked`` runs it over the batch by a scan
over chunks of lanes, and what is left of the lanes after it; which size of a chunk fits
is found by compiling. Its derivative is that of a scan whose body is a checkpoint: a
chunk keeps nothing but its operands, and the size is chosen anew so that values and
cotangents together fit.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from covector import tree
from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask, drop, merge, select
from covector.core.primitive import Linearized, operation
from covector.core.sizes import bytes_of
from covector.core.staging import restage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import ArgumentError, AxisError, RefError
from covector.operations.broadcasting import batched, move_axis
from covector.operations.joining import Concatenate
from covector.operations.slicing import index_axis
from covector.operations.transposing import Reshape
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.call import Inlined, call
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.partition import Partition, Policy, of_call
from covector.programs.higher_order.regions import communicates
from covector.programs.jit.arguments import JitSpec
from covector.programs.jit.jit import PjitFunction
from covector.programs.jit.program import Program
from covector.programs.remat.checkpoint import Checkpoint
from covector.programs.remat.compiled_memory import (
    check_alone,
    largest_made,
    memory_of,
    over_budget,
    value_and_pullback,
)
from covector.programs.remat.policies import checkpoint_policies
from covector.runtime.executable import MemoryUse
from covector.transforms.batch import BatchTrace, batch_jaxpr
from covector.transforms.linearize import linearize_jaxpr
