"""Pages about judging: what became of a run's pairs, and what a pair was judged by."""

from tasks.reports.judging.pages import funnel_markdown, pairs_markdown
from tasks.reports.judging.run import JudgedPair, JudgedRun
from tasks.reports.judging.specified import ClaimLine, SpecifiedPart, specified_text

__all__ = [
    "ClaimLine",
    "JudgedPair",
    "JudgedRun",
    "SpecifiedPart",
    "funnel_markdown",
    "pairs_markdown",
    "specified_text",
]
