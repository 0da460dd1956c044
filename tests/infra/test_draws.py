"""What a random draw by seed and ids promises."""

from collections import Counter

import pytest

from infra.draws import ALL, Draw

IDS = [f"q{number}" for number in range(200)]


def test_a_draw_is_repeated_by_its_seed_whatever_the_order() -> None:
    assert Draw(20, 7).of(IDS) == Draw(20, 7).of([*reversed(IDS), *IDS])
    assert Draw(20, 7).of(IDS) != Draw(20, 8).of(IDS)


@pytest.mark.parametrize(("draw", "size"), [(ALL, 200), (Draw(500), 200), (Draw(20), 20)])
def test_as_many_are_drawn_as_asked_for_and_there_are(draw: Draw, size: int) -> None:
    assert len(draw.of(IDS)) == size


def test_a_larger_draw_holds_a_smaller_one() -> None:
    assert Draw(10, 3).of(IDS) < Draw(50, 3).of(IDS)


def test_each_item_is_as_likely_as_any_other() -> None:
    times = Counter(one for seed in range(400) for one in Draw(5, seed).of(IDS[:20]))
    assert set(times) == set(IDS[:20])
    assert 60 < min(times.values()) < max(times.values()) < 140, "100 expected, deviation 8.7"
