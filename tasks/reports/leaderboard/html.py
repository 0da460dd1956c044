"""The leaderboard as one self-contained HTML page: no scripts, nothing fetched, light and dark."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.reports import _text as wording
from tasks.reports.leaderboard import charts
from tasks.reports.leaderboard.pooling import Unjudged
from tasks.reports.leaderboard.standings import Leaderboard

_HERE = Path(__file__).parent
_LONGEST = 400
_SHOWN = 20


def render_leaderboard(
    leaderboard: Leaderboard, unjudged: Sequence[Unjudged], after: Leaderboard | None = None
) -> str:
    """Return the page. Whatever queries and names say, it is shown and never obeyed.

    Args:
        leaderboard: The table.
        unjudged: What stands high and was never judged.
        after: The same methods once that was judged.
    """
    environment = Environment(
        loader=FileSystemLoader([_HERE, _HERE.parent / "run"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cut"] = lambda text: wording.visible(text, _LONGEST)
    environment.filters["count"] = wording.count
    return environment.get_template("leaderboard.html.jinja").render(
        board=leaderboard,
        width=charts.WIDTH,
        intervals=[charts.interval_chart(leaderboard, name) for name in leaderboard.metrics[:3]],
        recall=charts.recall_chart(leaderboard),
        unjudged=unjudged[:_SHOWN],
        unjudged_total=len(unjudged),
        after={each.method: each for each in after.standings} if after else {},
    )
