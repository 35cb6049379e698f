"""``check_gradients``: which part of a gradient is wrong, or of no use, and why."""
