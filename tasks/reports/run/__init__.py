"""The report of a run: one HTML page for people, and a short one in Markdown."""

from tasks.reports.run.data import (
    AgentsPart,
    BenchmarkScores,
    Canaries,
    CollectionCounts,
    Effort,
    Histogram,
    MethodScores,
    PairEvidence,
    ReportData,
    StageTime,
)
from tasks.reports.run.html import render_html
from tasks.reports.run.markdown import render_markdown

__all__ = [
    "AgentsPart",
    "BenchmarkScores",
    "Canaries",
    "CollectionCounts",
    "Effort",
    "Histogram",
    "MethodScores",
    "PairEvidence",
    "ReportData",
    "StageTime",
    "render_html",
    "render_markdown",
]
