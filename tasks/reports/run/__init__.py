"""The report of a run: an HTML page, and a short one in Markdown."""

from tasks.reports.run.data import (
    PAIRS_SHOWN,
    AgentsPart,
    BenchmarkScores,
    CollectionCounts,
    Histogram,
    MethodMeans,
    PairEvidence,
    ReportData,
    StageTime,
)
from tasks.reports.run.html import render_html
from tasks.reports.run.markdown import render_markdown

__all__ = [
    "PAIRS_SHOWN",
    "AgentsPart",
    "BenchmarkScores",
    "CollectionCounts",
    "Histogram",
    "MethodMeans",
    "PairEvidence",
    "ReportData",
    "StageTime",
    "render_html",
    "render_markdown",
]
