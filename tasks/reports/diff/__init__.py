"""What became of a benchmark between two versions, and what that does to the methods on it."""

from tasks.reports.diff.compare import Difference, Flip, difference
from tasks.reports.diff.effect import Effect, MethodEffect, effect
from tasks.reports.diff.markdown import difference_markdown, rests_on

__all__ = [
    "Difference",
    "Effect",
    "Flip",
    "MethodEffect",
    "difference",
    "difference_markdown",
    "effect",
    "rests_on",
]
