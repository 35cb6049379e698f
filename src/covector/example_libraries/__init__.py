"""Small libraries in the style of the field's first examples: optimizers and layers."""

import typing

from covector import namespaces

if typing.TYPE_CHECKING:
    from covector.example_libraries import optimizers as optimizers
    from covector.example_libraries import stax as stax
else:
    __getattr__, __dir__ = namespaces.lazy(
        __name__, (), packages=("optimizers", "stax")
    )
