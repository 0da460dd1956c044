"""Methods side by side on one benchmark: how good, how sure, and where they all fail."""

from tasks.reports.leaderboard.html import render_leaderboard
from tasks.reports.leaderboard.pooling import Unjudged, judged_share, unjudged_results
from tasks.reports.leaderboard.standings import (
    METRICS,
    RECALL_DEPTHS,
    Cell,
    HardQuery,
    Leaderboard,
    MethodScores,
    Standing,
    stand,
)
from tasks.reports.leaderboard.tables import leaderboard_markdown, per_query_table

__all__ = [
    "METRICS",
    "RECALL_DEPTHS",
    "Cell",
    "HardQuery",
    "Leaderboard",
    "MethodScores",
    "Standing",
    "Unjudged",
    "judged_share",
    "leaderboard_markdown",
    "per_query_table",
    "render_leaderboard",
    "stand",
    "unjudged_results",
]
