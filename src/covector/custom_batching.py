"""Functions whose ``vmap`` is given by a rule."""

from covector.programs.custom_rules.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
