"""The leaderboard as one self-contained HTML page: no scripts, nothing fetched, light and dark."""

from collections.abc import Sequence
from pathlib import Path

from tasks.reports import text
from tasks.reports._page import page_environment
from tasks.reports.leaderboard import charts
from tasks.reports.leaderboard.build import Leaderboard
from tasks.reports.leaderboard.pooling import Unjudged

_HERE = Path(__file__).parent
_LONGEST = 400
_SHOWN = 20


def render_leaderboard(
    leaderboard: Leaderboard, unjudged: Sequence[Unjudged], after: Leaderboard | None = None
) -> str:
    """Return the page. Text of queries and names is escaped.

    Args:
        leaderboard: The scores.
        unjudged: Results among the first 10 of a method that were never judged.
        after: The scores after those results were judged.
    """
    environment = page_environment(_HERE, _LONGEST)
    environment.filters["count"] = text.count
    environment.filters["breakable"] = text.breakable
    return environment.get_template("leaderboard.html.jinja").render(
        board=leaderboard,
        width=charts.WIDTH,
        intervals=[charts.interval_chart(leaderboard, name) for name in leaderboard.metrics[:3]],
        recall=charts.recall_chart(leaderboard),
        unjudged=unjudged[:_SHOWN],
        unjudged_total=len(unjudged),
        after={row.method: row for row in after.rows} if after else {},
    )
