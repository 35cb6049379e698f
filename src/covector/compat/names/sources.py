"""``jax._src``: private modules, as far as packages ask for their names."""

from covector.compat.names.table import Table, module

MODULES: Table = {
    "jax._src": module(),
    "jax._src.ad_checkpoint": module("covector.ad_checkpoint"),
    "jax._src.core": module("covector.core"),
    "jax._src.dtypes": module("covector.dtypes"),
    "jax._src.flatten_util": module("covector.flatten_util"),
    "jax._src.tree_util": module("covector.tree_util"),
    "jax._src.typing": module("covector.typing"),
}
