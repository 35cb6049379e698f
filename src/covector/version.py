"""The version of this package, in its one place; the build reads it here too."""

#: the version of this package
__version__ = "0.1.0"
