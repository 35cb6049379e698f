"""Side-by-side timings of covector and its peers: ``python -m benchmarks``.

A *measure* (`measure.py`) is a program written once per peer. A *worker*
(`worker.py`) is a process that holds one peer and times it (`timing.py`). The *session*
(`session.py`) asks the workers in turn, A B C A B C, so that whatever disturbs the
machine disturbs all of them alike. The *report* (`report.py`) turns the answers into
ratios and verdicts.
"""
