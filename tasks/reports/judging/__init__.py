"""Pages about a run of judges: what became of its pairs, and which were slow or failed."""

from tasks.reports.judging.pages import funnel_markdown, pairs_markdown
from tasks.reports.judging.run import JudgedPair, JudgedRun

__all__ = ["JudgedPair", "JudgedRun", "funnel_markdown", "pairs_markdown"]
