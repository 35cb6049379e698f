"""Images of any number of axes, in other sizes and at other places."""

from covector import namespaces
from covector.image.resizing import ResizeMethod, resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
__dir__ = namespaces.completions(globals())
