"""Comparison of two versions of a benchmark, and how the scores of methods change with it."""

from tasks.reports.diff.compare import Difference, Flip, difference
from tasks.reports.diff.markdown import describe_evidence, difference_markdown
from tasks.reports.diff.score_changes import ScoreChange, ScoreChanges, score_changes

__all__ = [
    "Difference",
    "Flip",
    "ScoreChange",
    "ScoreChanges",
    "describe_evidence",
    "difference",
    "difference_markdown",
    "score_changes",
]
