"""Laws of drawings: they say what their table says, take the page's looks, and obey no name.

Covers `tasks.reports.labels`.
"""

import math
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from infra.summaries import LabelShape, RankCounts
from tasks.reports.document import Document, Figure, Table
from tasks.reports.figures import (
    Columns,
    Dot,
    Dots,
    Drawing,
    Points,
    Stack,
    columns_figure,
    dots_figure,
    stack_figure,
)
from tasks.reports.labels import agreement_figure, shape_figures
from tasks.reports.render import html_page, markdown_page
from tasks.statistics.agreement import agreement
from tasks.statistics.intervals import Interval

NAMES = (
    "plain", "$x^2$ $\\frac{", '"><script>alert(1)</script>', "a\u202eb\x00", "中文 العربية 🙂",
    "x" * 100_000, "", "_", "</svg>", "&amp;", "line\nend",
)  # fmt: skip


def drawings(name: str) -> list[Drawing]:
    dots = (Dot(name, 0.5, Interval(0.5, 0.4, 0.6)), Dot(name, 0.1))
    return [
        Dots(name, dots),
        Dots(name, dots, None),
        Columns(name, dots, name),
        Stack(name, ((name, name, 3), ("b", name, 1))),
        Points(name, name, ((3.0, 0.5), (4_000.0, 0.1)), (name, name)),
        Points(name, name, ((0.0, 2.0), (1.0, 1.0))),
    ]


def texts_of(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter() if each.tag == "text"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_text_of_bounded_length_and_nothing_else(name: str) -> None:
    for drawing, plain in zip(drawings(name), drawings("plain"), strict=True):
        svg = drawing.svg()
        tags = {each.tag for each in ET.fromstring(svg).iter()}
        assert tags <= {each.tag for each in ET.fromstring(plain.svg()).iter()}
        assert len(svg) < 60_000
        assert max(map(len, texts_of(svg))) <= 48
        assert not re.search("[\x00\u202e]", svg)


@pytest.mark.parametrize("number", range(6))
def test_a_drawing_takes_colours_and_font_of_its_page_and_needs_no_style(number: int) -> None:
    svg = drawings("a name")[number].svg()
    assert not re.search("style|font-family|#[0-9a-f]{6}|DejaVu|metadata|Date", svg)
    assert set(re.findall(r"var\(--(\w+)\)", svg)) & {"accent", "c1"}
    box = ET.fromstring(svg).attrib
    assert set(box) == {"viewBox", "aria-hidden"}
    assert box["viewBox"].startswith("0 0 374 ")
    assert {float(size.removesuffix("px")) for size in re.findall(r'font-size="([^"]+)"', svg)} == {
        12.0
    }


def test_the_same_values_are_drawn_the_same_by_another_process() -> None:
    script = "from tests.tasks.reports.test_figures import drawings\n"
    script += "print(*(each.svg() for each in drawings('a')), sep='')"
    run = [sys.executable, "-c", script]
    other = subprocess.run(run, capture_output=True, text=True, check=True, timeout=300).stdout
    assert other == "".join(each.svg() for each in drawings("a")) + "\n"


def test_a_dot_lies_at_its_value_and_its_interval_around_it() -> None:
    svg = ET.fromstring(
        Dots("score", (Dot("a", 0.0), Dot("b", 0.5, Interval(0.5, 0.25, 1.0)))).svg()
    )
    places = [float(each.attrib["x"]) for each in svg.iter("use") if "y" in each.attrib]
    [(left, right)] = [
        re.findall(r"[ML] ([\d.]+) ", each.attrib["d"])
        for each in svg.iter("path")
        if each.attrib.get("stroke-width") == "2.5"
    ]
    first, second = places[-2:]
    width = 2 * (second - first)
    assert float(left) == pytest.approx(first + 0.25 * width, abs=0.01)
    assert float(right) == pytest.approx(first + width, abs=0.01)


def test_a_page_has_the_drawing_in_words_and_its_table_and_markdown_the_table_alone() -> None:
    table = Table(("method", "MRR"), [("a", "0.5")], caption="Scores")
    one = dots_figure("MRR", [Dot("a", 0.5, Interval(0.5, 0.4, 0.6)), Dot("b", 0.1)], table)
    document = Document("t", lead=[one, Figure(one.image, "the same again")])
    page = html_page(document)
    assert 'aria-label="MRR, a row each, from a 0.500 [0.400, 0.600] to b 0.100"' in page
    assert page.count("<svg") == 2
    assert page.count("<table") == page.count("<h3>Scores</h3>") == 1
    assert page.index("<svg") < page.index("<table")
    assert markdown_page(document).startswith("# t\n\n### Scores\n\n| method | MRR |")


def test_nothing_to_draw_is_said_by_the_table() -> None:
    empty = columns_figure("rank", "share", [], Table(("rank", "share"), [], empty="No label."))
    page = html_page(Document("t", lead=[empty]))
    assert "<svg" not in page
    assert "No label." in page


def test_a_bar_says_support_and_path_in_words_and_shares() -> None:
    counts = {("screened", "clear_match"): 1, ("valid_oracle", "claims_hold"): 2,
              ("valid_oracle", "claims_fail"): 1}  # fmt: skip
    figure = stack_figure(counts, "rests on", "path", "Labels")
    assert [row[0] for row in figure.table.rows] == ["by running", "by running", "by reading"]
    assert [row[3] for row in figure.table.rows] == ["50.0%", "25.0%", "25.0%"]
    shown = texts_of(figure.image.svg())
    assert shown.index("75.0%") < shown.index("25.0%")


def test_the_share_of_matches_by_rank_has_wilsons_interval() -> None:
    ranks = (RankCounts(rank=1, labelled=40, matches=24), RankCounts(rank=2, labelled=5, matches=0))
    [figure] = shape_figures(LabelShape(ranks=ranks))
    # scipy's own: binomtest(24, 40).proportion_ci(method="wilson")
    assert figure.table.rows == [
        ("1", "24", "40", "0.600 [0.446, 0.737]"), ("2", "0", "5", "0.000 [0.000, 0.434]")
    ]  # fmt: skip


def test_agreement_lies_on_the_line_from_minus_one_to_one() -> None:
    both = {("q", str(place)): place % 2 for place in range(40)}
    other = both | {("q", "0"): 1, ("q", "1"): 0}
    figure = agreement_figure(agreement({"ann": both, "bob": other, "cam": both}))
    assert isinstance(figure.image, Dots)
    assert figure.image.ends == (-1.0, 1.0)
    shown = {dot.name: dot for dot in figure.image.dots}
    assert shown["Cohen's kappa, ann and bob"].value == pytest.approx(0.9)
    assert str(shown["Cohen's kappa, ann and cam"]) == "1.000", "no interval of no width"
    assert len(figure.table.rows) == 4


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 0.0])
def test_no_number_keeps_a_page_from_being_drawn(value: float) -> None:
    for drawing in (
        Dots("a", (Dot("b", value, Interval(value, value, value)), Dot("c", 0.5)), None),
        Columns("a", (Dot("b", value),), "c"),
        Points("a", "b", ((value, value), (1.0, 0.5)), ("c", "d")),
        Points("a", "b", ((0.0, value), (1.0, 1.0))),
    ):
        assert drawing.svg().startswith("<svg ")


def test_labels_that_say_nothing_are_not_drawn() -> None:
    assert [*shape_figures(LabelShape())] == []


def test_what_draws_nothing_does_not_load_matplotlib() -> None:
    script = "import sys, tasks.reports.leaderboard_page; print('matplotlib' in sys.modules)"
    run = [sys.executable, "-c", script]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "False\n"
