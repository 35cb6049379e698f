"""``jax`` is covector here; see ``covector dropin status``."""

from covector.compat import finder

finder.open_door(__name__)
