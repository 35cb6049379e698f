"""The table of names: each module of the field, and where its names come from.

The table is data. ``covector.compat.finder`` makes modules from it; the objects in them
are covector's, the very same ones, so that a call through a name of the field costs
what a call of covector does.
"""

from covector.compat.names import table

#: the version of the interface that the names are of
API_VERSION = "0.10.2"
API_VERSION_INFO = (0, 10, 2)

#: all modules, by their names in the field
MODULES = table.modules()
