"""The measures, one module per subject, each with ``TITLE`` and ``measures(tiny)``.

``tiny`` asks for sizes that only show that the programs run.
"""

SUBJECTS = tuple(
    f"benchmarks.measures.{name}"
    for name in (
        "elementwise",
        "reductions",
        "short_rows",
        "products",
        "windows",
        "sorting",
        "random_numbers",
        "indexing",
        "sparse",
        "networks",
        "training",
        "science",
        "algorithms",
        "linear_algebra",
        "signals",
        "eager",
        "scripts",
        "first_call",
        "dispatch",
        "tracing",
        "numerical",
        "packages",
        "loops",
        "recurrences",
        "devices",
        "processes",
        "compiling",
        "importing",
    )
)
