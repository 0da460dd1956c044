"""Constructors and special methods, which several filters drop."""

SPECIAL = "constructor or special method"


def is_special(name: str) -> bool:
    """Return whether a name is that of a constructor or another method that Python itself calls."""
    last = name.rpartition(".")[2]
    return last.startswith("__") and last.endswith("__")
