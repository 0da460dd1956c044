"""What became of a benchmark between two versions, and what that does to the methods on it."""

from tasks.differences.compare import Difference, Flip, difference
from tasks.differences.effect import Effect, MethodEffect, effect
from tasks.differences.words import difference_markdown, rests_on

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
