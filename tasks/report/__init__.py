"""The report of a run: one HTML page for people, and a short one in Markdown."""

from tasks.report.data import (
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
from tasks.report.page import render_html
from tasks.report.summary import render_markdown

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
