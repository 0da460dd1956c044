"""Laws of what a run over so many pairs is expected to take."""

import numpy as np
import pytest

from tasks.statistics.forecast import (
    ANY_PATH,
    BUILT_IN_EFFORT,
    Amount,
    Cluster,
    Expected,
    History,
    PathEffort,
    Spread,
    TokenPrice,
    _total,
    expected_effort,
    sum_of,
)

ONE = Cluster(cores=2, in_flight=10)
PRICE = TokenPrice(model="m", prompt_usd=1e-6, completion_usd=2e-6)


def path(met: str, pairs: int, requests: float, usd: float | None = 0.01) -> PathEffort:
    return PathEffort(
        met=met,
        pairs=pairs,
        requests=Spread(mean=requests, variance=0.0),
        tokens=Spread(mean=1_000 * requests, variance=0.0),
        seconds=Spread(mean=6.0 * requests, variance=4.0),
        box_seconds=Spread(mean=0.0, variance=0.0),
        usd=None if usd is None else Spread(mean=usd, variance=0.0),
    )


def history(*paths: PathEffort, **more: object) -> History:
    row = {"paths": {item.met: item for item in paths}, "price": PRICE, "basis": "b"}
    return History.model_validate(row | more)


def test_pairs_take_what_those_of_their_path_took_and_new_ones_what_all_did() -> None:
    known = history(path(ANY_PATH, 100, 2.0), path("screener", 50, 1.0), path("rare", 3, 9.0))
    found = expected_effort({"screener": 10, "rare": 10, ANY_PATH: 5}, known, ONE)
    assert found.requests.expected == 10 * 1 + 10 * 2 + 5 * 2
    assert found.tokens.expected == 40_000
    assert found.usd
    assert found.usd.low == found.usd.high == found.usd.expected == pytest.approx(0.25)
    assert found.minutes.expected == pytest.approx(40 * 6 / 10 / 60)


def test_the_providers_limit_decides_the_time_where_it_is_the_slowest() -> None:
    limited = ONE.model_copy(update={"requests_per_minute": 2})
    found = expected_effort({ANY_PATH: 10}, history(path(ANY_PATH, 100, 2.0)), limited)
    assert found.minutes.expected == pytest.approx(10)


def test_without_history_built_in_figures_are_taken_without_an_interval() -> None:
    found = expected_effort({ANY_PATH: 10}, history(), ONE)
    assert found.requests == Amount(expected=10 * BUILT_IN_EFFORT.calls)
    assert found.usd
    assert found.usd.low is None
    assert found.usd.expected == pytest.approx(
        10 * (BUILT_IN_EFFORT.prompt_tokens * 1e-6 + BUILT_IN_EFFORT.completion_tokens * 2e-6)
    )
    free = expected_effort({ANY_PATH: 10}, history(free=True), ONE)
    assert free.usd == Amount(expected=0.0)


def test_no_run_is_planned_to_be_over_before_one_pair_can_be() -> None:
    many = ONE.model_copy(update={"in_flight": 512})
    known = expected_effort({ANY_PATH: 1}, history(path(ANY_PATH, 100, 2.0)), many).minutes
    assert known.low == known.expected == pytest.approx((10 + 12) / 60)
    assert known.high is not None
    assert known.high >= known.expected
    new = expected_effort({ANY_PATH: 3}, history(), many).minutes
    of_one = BUILT_IN_EFFORT.calls * BUILT_IN_EFFORT.call_seconds
    assert new.expected == pytest.approx((10 + of_one) / 60)
    assert (new.low, new.high) == (None, None)


def test_a_run_without_pairs_takes_no_time() -> None:
    for known in (history(), history(path(ANY_PATH, 100, 2.0))):
        assert expected_effort({ANY_PATH: 0}, known, ONE).minutes.expected == 0.0
        assert expected_effort({}, known, ONE).minutes.expected == 0.0


def test_many_pairs_take_what_they_took_whatever_the_start() -> None:
    found = expected_effort({ANY_PATH: 1_000}, history(path(ANY_PATH, 100, 2.0)), ONE)
    assert found.minutes.expected == pytest.approx(1_000 * 12 / 10 / 60)


def test_batches_cost_their_share_and_an_unknown_cost_is_the_price_of_usual_tokens() -> None:
    known = path(ANY_PATH, 100, 2.0, usd=None)
    whole = expected_effort({ANY_PATH: 10}, history(known), ONE).usd
    half = expected_effort({ANY_PATH: 10}, history(known, batch_share=0.5), ONE).usd
    assert whole
    assert half
    assert half.expected == pytest.approx(whole.expected / 2)
    assert whole.low is None


@pytest.mark.parametrize(("known", "new"), [(3, 50), (20, 20), (200, 1_000), (500, 10)])
def test_the_interval_holds_the_sum_in_about_95_of_100_cases(known: int, new: int) -> None:
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(1_000):
        before, later = generator.gamma(3, 2, known), generator.gamma(3, 2, new).sum()
        spread = Spread(mean=float(before.mean()), variance=float(before.var(ddof=1)))
        amount = _total([(spread, known, new)])
        assert amount.low is not None
        assert amount.high is not None
        held += amount.low <= later <= amount.high
    assert 900 <= held <= 990


def test_one_judged_pair_gives_a_wide_interval_rather_than_none() -> None:
    amount = _total([(Spread(mean=2.0, variance=0.0), 1, 10)])
    assert amount.low == 0.0
    assert amount.high
    assert amount.high > 40


def test_what_judges_take_one_after_the_other_is_added_and_unknown_if_one_is() -> None:
    known = Amount(expected=2.0, low=1.0, high=4.0)
    cheap = Expected(requests=known, tokens=known, usd=known, minutes=known)
    dear = cheap.model_copy(update={"usd": None, "minutes": Amount(expected=3.0)})
    both = sum_of([cheap, dear])
    assert both.requests == Amount(expected=4.0, low=2.0, high=8.0)
    assert both.usd is None
    assert both.minutes == Amount(expected=5.0)
    assert sum_of([cheap]) == cheap
