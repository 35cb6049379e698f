"""Programs that import packages of the ecosystem are no tests of this environment."""

collect_ignore = ["programs", "measure.py"]
