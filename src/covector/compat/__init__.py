"""Programs written for ``jax`` run on covector: modules of its names, and its hooks."""
