"""Passes: from a program to one that means the same, or to what is known of it."""
