"""Laws of charts: all is drawn inside, in proportion, and can be read."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tasks.reports.charts import (
    FIFTHS,
    Line,
    Mark,
    Row,
    apart,
    intervals,
    lines,
    steps,
)

HOSTILE = "</svg><script>alert(1)</script>\" onload='alert(1)"
_counts = st.lists(st.integers(0, 400_000), min_size=1, max_size=40)
_shares = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def drawn(svg: Markup) -> ET.Element:
    """Return a drawing, of which no mark is outside."""
    root = ET.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for each in root.iter():
        for across, size in (("x", "width"), ("x1", ""), ("x2", ""), ("cx", "")):
            far = float(each.get(across, 0)) + float(each.get(size, 0) if each.tag == "rect" else 0)
            assert 0 <= far <= width
        for up, size in (("y", "height"), ("y1", ""), ("y2", ""), ("cy", "")):
            far = float(each.get(up, 0)) + float(each.get(size, 0) if each.tag == "rect" else 0)
            assert 0 <= far <= height
        for x, y in points(each):
            assert 0 <= x <= width
            assert 0 <= y <= height
    return root


def points(line: ET.Element) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in line.get("points", "").split())
    return [(float(x), float(y)) for x, y in pairs]


def texts(root: ET.Element, kind: str) -> list[str]:
    return [each.text or "" for each in root.iter("text") if kind in each.get("class", "")]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=12))
def test_an_interval_holds_its_value_and_stands_in_its_row(found: list[tuple[float, ...]]) -> None:
    rows = [
        Row(f"method {place}", [Mark(mean, "t", low, high), Mark(mean, "u")], "a")
        for place, (low, mean, high) in enumerate(map(sorted, found))
    ]
    for start in (0, None):
        root = drawn(intervals("scores", rows, start=start))
        assert [tspan.text for tspan in root.iter("tspan")][1::2] == [row.name for row in rows]
        spans = [each for each in root.iter("line") if each.get("class") == "span"]
        dots = [each for each in root.iter("circle") if each.get("class") == "dot"]
        for span, dot in zip(spans, dots, strict=True):
            low, mean, high = (float(value) for value in (
                span.attrib["x1"], dot.attrib["cx"], span.attrib["x2"]))  # fmt: skip
            assert low <= mean <= high
        heights = [float(dot.attrib["cy"]) for dot in dots]
        assert heights == sorted(heights)


@given(st.lists(_shares, min_size=1, max_size=12))
def test_lines_keep_to_the_drawing_and_their_labels_do_not_touch(found: list[list[float]]) -> None:
    shown = [Line(list(enumerate(values)), "told", name="a name", letter="a") for values in found]
    root = drawn(lines("recall", shown, [(0, "0"), (7, "7")], FIFTHS))
    for line, values in zip(root.iter("polyline"), found, strict=True):
        heights = [y for _, y in points(line)]
        order = sorted(range(len(values)), key=values.__getitem__)
        assert [heights[place] for place in order] == sorted(heights, reverse=True)
    labels = sorted(float(g.findall("text")[0].attrib["y"]) for g in root.iter("g"))
    assert all(lower - upper > 15 for upper, lower in pairwise(labels))


def test_no_rows_and_no_intervals_are_a_drawing_too() -> None:
    drawn(intervals("nothing", []))
    drawn(intervals("a point", [Row("one", [Mark(0.5, "t")]), Row("two", [])], start=None))


def test_a_line_of_one_point_is_seen() -> None:
    dots = drawn(lines("", [Line([(1, 0.5)], "")], FIFTHS)).iter("circle")
    assert [float(dot.attrib["r"]) > 0 for dot in dots] == [True]


def test_long_names_are_shortened_and_whole_in_the_tooltip() -> None:
    name = "bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2"
    chart = intervals("scores", [Row(name, [Mark(0.5, f"{name}: 0.5", 0.4, 0.6)])])
    curve = lines("recall", [Line([(0, 0.5)], f"{name}: 0.5", name=name)], [(0, ""), (1, "")])
    for svg in (chart, curve):
        assert ">bag-of-wor…niLM-L6-v2<" in svg
        assert f"<title>{name}: 0.5</title>" in svg


def test_every_chart_says_what_it_shows_and_obeys_no_text() -> None:
    across = [(0, HOSTILE), (1, HOSTILE)]
    for svg in (
        intervals(HOSTILE, [Row(HOSTILE, [Mark(0.5, HOSTILE)], HOSTILE)]),
        lines(HOSTILE, [Line([(0, 1)], HOSTILE, name=HOSTILE)], across),
    ):
        root = ET.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == HOSTILE
        assert "<script" not in svg
        assert {"title", "text"} <= set(re.findall(r"<(\w+)", svg))


@given(st.floats(-5, 5), st.floats(0, 9), st.integers(2, 8))
def test_round_steps_enclose_a_range(low: float, size: float, about: int) -> None:
    found = steps(low, low + size, about)
    assert found[0] <= low + 1e-6
    assert found[-1] >= low + size - 1e-6
    assert 2 <= len(found) <= about + 3


@given(st.lists(st.floats(12, 272), max_size=12))
def test_labels_keep_their_order_and_their_distance(places: list[float]) -> None:
    found = apart(places, gap=15, lowest=272)
    assert max(found, default=0) <= 272
    ordered = sorted(zip(places, found, strict=True))
    for (_, upper), (_, lower) in pairwise(ordered):
        assert abs(lower - upper) >= 15 - 1e-9
    assert [each for _, each in ordered] == pytest.approx(sorted(found)) or len(set(places)) < len(
        places
    )
