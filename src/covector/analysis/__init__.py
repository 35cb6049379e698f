"""Programs as data: passes that simplify them, and questions about them.

Each function takes a ``Jaxpr``, as ``covector.make_jaxpr(f)(*args)`` gives it, and
returns another that means the same, or plain data. Compilation needs none of them: XLA
simplifies what it compiles. They show programs, and let tools be built.
"""

import typing

from covector import namespaces

if typing.TYPE_CHECKING:
    from covector.analysis.compiled.changes import *
    from covector.analysis.compiled.compilation import *
    from covector.analysis.compiled.fusion_plan import *
    from covector.analysis.costs.count import *
    from covector.analysis.costs.machine import *
    from covector.analysis.costs.roofline import *
    from covector.analysis.explain.explanation import *
    from covector.analysis.gradients.report import *
    from covector.analysis.passes.dependence import *
    from covector.analysis.passes.elimination import *
    from covector.analysis.passes.folding import *
    from covector.analysis.passes.graphs import *
    from covector.analysis.passes.inlining import *
    from covector.analysis.passes.levels import *
    from covector.analysis.passes.liveness import *
    from covector.analysis.passes.merging import *
else:
    #: modules that are imported when one of their names is first used
    _LAZY = (
        "compiled.changes",
        "compiled.compilation",
        "compiled.fusion_plan",
        "costs.count",
        "costs.machine",
        "costs.roofline",
        "explain.explanation",
        "gradients.report",
        "passes.dependence",
        "passes.elimination",
        "passes.folding",
        "passes.graphs",
        "passes.inlining",
        "passes.levels",
        "passes.liveness",
        "passes.merging",
    )
    __getattr__, __dir__ = namespaces.lazy(__name__, _LAZY)
