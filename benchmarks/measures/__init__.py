"""The measures, one module per subject, each with ``TITLE`` and ``measures(tiny)``.

``tiny`` asks for sizes that only show that the programs run.
"""

SUBJECTS = tuple(
    f"benchmarks.measures.{name}"
    for name in (
        "importing",
        "first_call",
        "eager",
        "derivatives",
        "dispatch",
        "tracing",
        "large_arrays",
        "linear_algebra",
        "signals",
        "sparse",
        "steps",
        "numerical",
        "packages",
        "loops",
        "devices",
        "processes",
        "compiling",
    )
)
