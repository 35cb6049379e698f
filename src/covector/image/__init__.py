"""Images of any number of axes, in other sizes and at other places."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.image.resizing import ResizeMethod, resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)
