"""Leaderboard of retrieval methods on one benchmark, with intervals and significance tests."""

from tasks.reports.leaderboard.build import (
    METRICS,
    RECALL_DEPTHS,
    Cell,
    HardQuery,
    Leaderboard,
    MethodRow,
    MethodScores,
    build_leaderboard,
)
from tasks.reports.leaderboard.html import render_leaderboard
from tasks.reports.leaderboard.pooling import Unjudged, judged_share, unjudged_results
from tasks.reports.leaderboard.tables import leaderboard_markdown, per_query_table

__all__ = [
    "METRICS",
    "RECALL_DEPTHS",
    "Cell",
    "HardQuery",
    "Leaderboard",
    "MethodRow",
    "MethodScores",
    "Unjudged",
    "build_leaderboard",
    "judged_share",
    "leaderboard_markdown",
    "per_query_table",
    "render_leaderboard",
    "unjudged_results",
]
