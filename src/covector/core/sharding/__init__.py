"""Where the parts of arrays are: meshes of devices, specs that divide axes, shardings.

Mesh            devices in a grid whose axes have names
PartitionSpec   over which of those axes each axis of an array is divided
Sharding        the two together: which device holds which elements
"""
