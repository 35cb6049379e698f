"""A run of the program that is explained, kernel by kernel."""

from covector import tree
from covector.analysis.explain.compiled_parts import Measured
from covector.analysis.explain.origin import Origin
from covector.analysis.profile.measure import profile
from covector.core.convert import ShapeDtypeStruct
from covector.core.types import ArrayType
from covector.dispatch.stages import Compiled
from covector.errors import ArgumentError


def measure(origin: Origin, repeats: int | None) -> Measured:
    """The time of a run, and of each kernel in it.

    Raises:
      ArgumentError: only the types of the arguments are known.
    """
    traced, program, _ = origin.subject
    args, kwargs, _ = traced.spec.split(origin.args, origin.kwargs)
    leaves = tree.leaves((args, kwargs))
    if len(leaves) < traced.in_tree.num_leaves or any(
        [isinstance(x, ShapeDtypeStruct | ArrayType) for x in leaves]
    ):
        raise ArgumentError(
            f"run needs values, but {traced.fun_name} was explained for types. Explain "
            "it with arrays: explain(f)(*arrays).run()."
        )
    found = profile(Compiled(traced, program), repeats=repeats)(*args, **kwargs)
    name = origin.plan.module
    kernels = {k.name: k.seconds for k in found.kernels if k.program == name}
    return Measured(found.wall_s, kernels)
