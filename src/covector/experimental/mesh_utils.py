"""Grids of devices for meshes."""

from covector.core.sharding.making import create_device_mesh

__all__ = ["create_device_mesh"]
