"""Small libraries in the style of the field's first examples: optimizers and layers."""
