# The builders take many more types than the stubs of jaxlib say.
from typing import Any

def __getattr__(name: str) -> Any: ...
