"""The report as one self-contained HTML page: no scripts, nothing fetched, light and dark."""

from pathlib import Path

from tasks.reports._page import page_environment
from tasks.reports.study import charts
from tasks.reports.study.build import StudyReport
from tasks.reports.study.tables import HEADER, cells, condition_rows, differed, notes_of

_HERE = Path(__file__).parent
_LONGEST = 600


def render_study(report: StudyReport) -> str:
    """Return the page. Text of names and messages is escaped."""
    environment = page_environment(_HERE, _LONGEST)
    environment.globals.update(
        bar_charts=charts.bar_charts,
        cells=cells,
        conditions=condition_rows(report),
        differed=differed,
        notes_of=notes_of,
    )
    return environment.get_template("study.html.jinja").render(
        report=report, header=HEADER, width=charts.WIDTH, height=charts.HEIGHT
    )
