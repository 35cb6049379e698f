"""Costs of programs, and the limits of the machine that they run on."""
