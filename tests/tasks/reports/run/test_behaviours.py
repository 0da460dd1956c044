"""Laws of the report on labels of codes that behave alike: told where any were compared."""

import pytest

from infra.summaries import BehaviourFigures
from tasks.reports.run import ReportData, render_html, render_markdown
from tests.fakes.reports import realistic_report


def compared(queries: int, consistency: float | None) -> ReportData:
    report = realistic_report()
    assert report.agents is not None
    figures = BehaviourFigures(
        queries=queries, consistency=consistency, changed=17, contradictions=23
    )
    agents = report.agents.model_copy(update={"behaviours": figures})
    return report.model_copy(update={"agents": agents})


@pytest.mark.parametrize("consistency", [0.875, None])
def test_what_the_comparison_changed_and_what_contradicts_is_told(
    consistency: float | None,
) -> None:
    report = compared(1_200, consistency)
    page = render_html(report)
    assert "1,200 queries: 17 labels are others since, 23 differ" in page
    assert ("87.5%" in page) == (consistency is not None)
    text = render_markdown(report)
    assert "| labels changed by comparing codes | 17 |" in text
    assert "| labels that contradict | 23 |" in text


def test_nothing_is_told_where_nothing_was_compared() -> None:
    report = compared(0, None)
    assert "labels are others" not in render_html(report)
    assert "contradict" not in render_markdown(report)
