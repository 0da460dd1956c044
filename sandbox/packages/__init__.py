"""Packages that programs need: which one provides a module, and how pip and apt install it."""
