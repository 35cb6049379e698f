# jaxlib's extension modules carry no types; without this, each name is an error.
from typing import Any

def __getattr__(name: str) -> Any: ...
