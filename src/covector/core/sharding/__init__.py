"""Sharding of arrays over devices: meshes, partition specs, shardings.

Mesh            devices in a grid whose axes have names
PartitionSpec   the mesh axes over which each axis of an array is partitioned
Sharding        the two together: which device holds which elements
"""
