import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.reports.run import Histogram
from tasks.reports.run.charts import HEIGHT, WIDTH, chart

_values = st.lists(st.floats(-1, 1), max_size=60)
_histograms = st.lists(st.integers(0, 400_000), min_size=1, max_size=40).map(
    lambda counts: Histogram(
        name="h", edges=tuple(place / 40 for place in range(len(counts) + 1)), counts=tuple(counts)
    )
)


@given(_values)
def test_every_value_is_counted_once(values: list[float]) -> None:
    histogram = Histogram.of("h", values)
    assert sum(histogram.counts) == len(values)
    assert histogram.edges[0] <= min(values, default=1) + 1e-9
    assert histogram.edges[-1] >= max(values, default=0) - 1e-9


def test_values_fall_into_the_bins_they_belong_to() -> None:
    histogram = Histogram.of("h", [0.0, 0.1, 0.5, 0.9, 1.0], bins=2, low=0, high=1)
    assert histogram.edges == (0.0, 0.5, 1.0)
    assert histogram.counts == (2, 3)


@pytest.mark.parametrize("edges", [(0.0, 1.0), (0.0, 1.0, 2.0, 3.0), (0.0, 2.0, 1.0)])
def test_edges_that_do_not_fit_are_refused(edges: tuple[float, ...]) -> None:
    with pytest.raises(ValidationError):
        Histogram(name="h", edges=edges, counts=(1, 2))


@given(_histograms)
def test_everything_is_drawn_inside_the_drawing(histogram: Histogram) -> None:
    drawn = chart(histogram)
    assert len(drawn.bars) == len(histogram.counts)
    for bar in drawn.bars:
        assert drawn.left <= bar.x <= bar.x + bar.width <= drawn.right
        assert drawn.top - 0.01 <= bar.y <= bar.y + bar.height <= drawn.base + 0.01
    assert all(0 <= tick.at <= WIDTH for tick in drawn.across)
    assert all(0 <= tick.at <= HEIGHT for tick in drawn.up)
    assert drawn.up[0].text == "0"


@given(_histograms)
def test_heights_are_proportional_to_counts(histogram: Histogram) -> None:
    drawn = chart(histogram)
    tallest = max(bar.height for bar in drawn.bars)
    most = max(histogram.counts)
    for bar, number in zip(drawn.bars, histogram.counts, strict=True):
        assert bar.height == pytest.approx(tallest * number / most if most else 0, abs=0.02)


@given(_histograms)
def test_the_axes_marks_are_few_different_and_whole(histogram: Histogram) -> None:
    drawn = chart(histogram)
    texts = [tick.text for tick in drawn.up]
    assert len(set(texts)) == len(texts) <= 7
    steps = {int(text.replace(",", "")) for text in texts}
    assert (
        len({high - low for low, high in zip(sorted(steps), sorted(steps)[1:], strict=False)}) == 1
    )


def test_the_median_is_read_off_the_bins() -> None:
    histogram = Histogram(name="h", edges=(0.0, 0.2, 0.4), counts=(1, 3))
    assert "4 pairs; half of them below 0.27" in chart(histogram).summary
