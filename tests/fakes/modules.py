"""Modules of Python as one module of ours sees them, with other functions.

A patch of `time.time` itself would change the clock of Prefect's and the journal's threads too.
"""

from types import ModuleType, SimpleNamespace
from typing import Any


def with_others(module: ModuleType, **functions: Any) -> SimpleNamespace:
    """Return a module's names with other functions in place of some."""
    return SimpleNamespace(**{**vars(module), **functions})
