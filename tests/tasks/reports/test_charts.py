"""Laws of charts: all is drawn inside, in proportion, and can be read."""

import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tasks.reports.charts import Row, curve, intervals

HOSTILE = "</svg><script>alert(1)</script>\" onload='alert(1)"


def drawn(svg: Markup) -> ET.Element:
    """Return a drawing, of which no mark is outside."""
    root = ET.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for each in root.iter():
        assert all(0 <= float(each.get(x, 0)) <= width for x in ("x", "x1", "x2", "cx"))
        assert all(0 <= float(each.get(y, 0)) <= height for y in ("y", "y1", "y2", "cy"))
        for x, y in points(each):
            assert 0 <= x <= width
            assert 0 <= y <= height
    return root


def points(line: ET.Element) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in line.get("points", "").split())
    return [(float(x), float(y)) for x, y in pairs]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=12))
def test_an_interval_holds_its_value_and_stands_in_its_row(found: list[tuple[float, ...]]) -> None:
    rows = [
        Row(f"method {place}", mean, low, high, "t", "a")
        for place, (low, mean, high) in enumerate(map(sorted, found))
    ]
    root = drawn(intervals("scores", rows))
    assert [tspan.text for tspan in root.iter("tspan")][1::2] == [row.name for row in rows]
    spans = [each for each in root.iter("line") if each.get("class") == "span"]
    dots = list(root.iter("circle"))
    for span, dot in zip(spans, dots, strict=True):
        ends = float(span.attrib["x1"]), float(span.attrib["x2"])
        assert ends[0] <= float(dot.attrib["cx"]) <= ends[1]
    heights = [float(dot.attrib["cy"]) for dot in dots]
    assert heights == sorted(heights)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8))
def test_a_curve_keeps_to_the_drawing_and_to_the_order_of_its_values(values: list[float]) -> None:
    root = drawn(curve("loss", list(enumerate(values)), "told"))
    [line] = root.iter("polyline")
    heights = [y for _, y in points(line)]
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [heights[place] for place in order] == sorted(heights, reverse=True)
    assert len(list(root.iter("circle"))) == (len(values) == 1), "a single point is seen"


def test_no_rows_are_a_drawing_too() -> None:
    drawn(intervals("nothing", []))


def test_long_names_are_shortened_and_whole_in_the_tooltip() -> None:
    name = "bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2"
    svg = intervals("scores", [Row(name, 0.5, 0.4, 0.6, f"{name}: 0.5")])
    assert ">bag-of-wor…niLM-L6-v2<" in svg
    assert f"<title>{name}: 0.5</title>" in svg


def test_every_chart_says_what_it_shows_and_obeys_no_text() -> None:
    for svg in (
        intervals(HOSTILE, [Row(HOSTILE, 0.5, 0, 1, HOSTILE, HOSTILE)]),
        curve(HOSTILE, [(0, 1)], HOSTILE),
    ):
        root = ET.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == HOSTILE
        assert "<script" not in svg
        assert {"title", "text"} <= set(re.findall(r"<(\w+)", svg))
