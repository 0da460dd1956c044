"""Laws of forecasts: what their figures follow from, and what would change them.

Covers `tasks.forecast.stages`, `tasks.forecast.rates`, `tasks.forecast.workload`,
`tasks.forecast.measurements` and `tasks.forecast.annotation`.
"""

import pytest

from tasks.forecast.annotation import TokenPrice, bounds, cost_of_pair
from tasks.forecast.forecast import Forecast, forecast
from tasks.forecast.measurements import (
    BUILT_IN_EFFORT,
    PAPER_COST_PER_PAIR_USD,
    Measurements,
    PairEffort,
)
from tasks.forecast.rates import BUILT_IN, Work, rate_of
from tasks.forecast.stages import StageForecast
from tasks.forecast.workload import Cluster, EncoderSize, Workload, base_size_encoders

SMALL = EncoderSize(name="small", dimension=100, parameters=10.0)
HERE = Cluster(cores=2, memory_gb=16)
FULL = Workload(
    codes=653_994, queries=20_604, top_k=20, encoders=base_size_encoders(3), lexical=("bm25",)
)
NOTHING = Measurements()


def run(kind: str, amount: float, seconds: float, name: str = "", cores: int = 2) -> Work:
    return Work(
        kind=kind, name=name, amount=amount, seconds=seconds, cores=cores, described="a run"
    )


def stage(made: Forecast, name: str) -> StageForecast:
    return next(stage for stage in made.stages if stage.stage.startswith(name))


def work_s(made: Forecast, name: str) -> float:
    """Return the seconds of a stage's work, its start left out: that of a workload of nothing."""
    tiny = FULL.model_copy(update={"codes": 1, "queries": 1})
    idle = forecast(tiny, made.cluster, NOTHING)
    return stage(made, name).seconds - stage(idle, name).seconds


def test_without_a_store_every_rate_is_built_in_and_says_so() -> None:
    made = forecast(FULL, HERE, NOTHING)
    assert [item.stage for item in made.stages if item.measured] == []
    assert all("built in" in item.source for item in (*made.stages, made.further_run))
    assert made.seconds == sum(item.seconds for item in made.stages)
    assert made.disk_gb > FULL.texts * 3 * 768 * 4 / 1e9
    assert made.cost_usd == pytest.approx(257)


@pytest.mark.parametrize(
    ("change", "name", "times"),
    [
        ({"codes": 2 * FULL.codes}, "embed", 2),
        ({"codes": 2 * FULL.codes}, "find candidates", 2),
        ({"codes": 2 * FULL.codes, "queries": 2 * FULL.queries}, "find candidates", 4),
        ({"codes": 2 * FULL.codes}, "evaluate bm25", 2),
        ({"queries": 2 * FULL.queries}, "annotate", 2),
        ({"rounds": 3}, "annotate", 3),
        ({"top_k": 40}, "annotate", 2),
    ],
)
def test_time_grows_with_the_work_that_is_named(
    change: dict[str, int], name: str, times: float
) -> None:
    before = work_s(forecast(FULL, HERE, NOTHING), name)
    after = work_s(forecast(FULL.model_copy(update=change), HERE, NOTHING), name)
    assert after / before == pytest.approx(times, rel=0.05)


def test_a_measured_rate_comes_before_a_built_in_one_and_that_of_the_same_encoder_first() -> None:
    runs = [run("embed", 20_000, 100, "small"), run("embed", 40_000, 100, "other")]
    own, others = rate_of("embed", runs, "small"), rate_of("embed", runs[1:], "small")
    assert own.seconds == 100 * 2 / 20_000  # of a core: the run had two
    assert own.measured
    assert "by other" not in own.source
    assert others.seconds == 100 * 2 / 40_000
    assert "by other, scaled" in others.source
    made = forecast(
        FULL.model_copy(update={"encoders": (SMALL,)}), HERE, Measurements(runs=tuple(runs[:1]))
    )
    assert work_s(made, "embed") == pytest.approx(FULL.texts * 10 * 100 / 20_000, rel=1e-3)


def test_an_encoder_in_another_dtype_says_nothing_of_the_time_that_float32_takes() -> None:
    runs = [run("embed", 20_000, 100, "small@bfloat16")]
    assert not rate_of("embed", runs, "small").measured
    assert rate_of("embed", runs, "other@bfloat16").measured


def test_half_precision_is_forecast_several_times_as_fast_on_gpus_as_float32() -> None:
    single, half = (rate_of("embed on GPUs", [], name) for name in ("small", "small@bfloat16"))
    assert single.seconds == pytest.approx(10 * half.seconds)
    assert 2 * 1e6 * 200 / single.seconds < 19.5e12, "more than an A100 has in float32"
    assert ("in float32" in single.source, "in bfloat16" in half.source) == (True, True)
    measured = rate_of(
        "embed on GPUs", [run("embed on GPUs", 20_000, 100, "a@float16")], "a@float16"
    )
    assert measured.measured


def test_batches_are_offered_only_where_the_model_s_provider_takes_them() -> None:
    for takes in (True, False):
        made = forecast(FULL, HERE, NOTHING, takes_batches=takes)
        assert ("the model's batch API" in {one.change for one in made.alternatives}) == takes


def test_several_runs_give_a_range_around_their_mean() -> None:
    runs = (run("collect", 1_000, 10), run("collect", 3_000, 60))
    made = stage(forecast(FULL, HERE, Measurements(runs=runs)), "collect")
    assert made.low is not None
    assert made.high is not None
    assert made.low < made.seconds < made.high
    assert "2 runs" in made.source
    single = stage(forecast(FULL, HERE, Measurements(runs=runs[:1])), "collect")
    assert (single.low, single.high) == (None, None)


def test_a_run_that_is_over_before_it_says_anything_is_not_extrapolated_and_that_is_said() -> None:
    shortest = BUILT_IN["search"].shortest_s
    short = rate_of("search", [run("search", 1, 0.9 * shortest)])
    assert not short.measured
    assert short.seconds == BUILT_IN["search"].seconds
    assert "longest run" in short.source
    assert rate_of("search", [run("search", 1, shortest)]).measured


def test_nodes_and_cores_share_what_can_be_shared() -> None:
    alone, many = (forecast(FULL, HERE.model_copy(update={"nodes": n}), NOTHING) for n in (1, 5))
    assert work_s(alone, "embed") == pytest.approx(5 * work_s(many, "embed"), rel=1e-3)
    for name in ("collect", "find candidates", "publish", "report"):  # on one node
        assert stage(alone, name).seconds == stage(many, name).seconds


def test_an_encoder_that_is_only_evaluated_embeds_all_texts_too_and_none_twice() -> None:
    dense = (SMALL, FULL.encoders[0])
    made = forecast(FULL.model_copy(update={"dense": dense}), HERE, NOTHING)
    embedded = [item.stage for item in made.stages if item.stage.startswith("embed")]
    assert embedded == [f"embed by {one.name}" for one in (*FULL.encoders, SMALL)]


def test_annotation_takes_as_long_as_its_narrowest_place() -> None:
    effort = BUILT_IN_EFFORT
    calls = 1_000 * effort.calls
    slow = bounds(1_000, effort, Cluster(cores=64, in_flight=1))
    assert max(slow, key=lambda name: slow[name]) == "1 requests in flight"
    assert max(slow.values()) == calls * effort.call_seconds
    limited = Cluster(cores=64, in_flight=1_000, requests_per_minute=60)
    assert max(bounds(1_000, effort, limited).values()) == calls
    boxed = effort.model_copy(update={"box_seconds": 30.0})
    assert max(bounds(1_000, boxed, Cluster(cores=2, in_flight=1_000)).values()) == 15_000


def test_money_is_what_was_paid_else_the_model_s_price_else_the_paper_s_mean() -> None:
    price = TokenPrice(model="m", prompt_usd=1e-6, completion_usd=1e-5)
    measured = PairEffort(
        calls=2, call_seconds=1, prompt_tokens=100, completion_tokens=10, executions=0,
        box_seconds=0, cost_usd=0.01, judgements=7, source="measured here",
    )  # fmt: skip
    assert cost_of_pair(measured, price)[0] == 0.01
    unpriced = measured.model_copy(update={"cost_usd": None})
    assert cost_of_pair(unpriced, price)[0] == pytest.approx(100 * 1e-6 + 10 * 1e-5)
    assert cost_of_pair(None, None)[0] == PAPER_COST_PER_PAIR_USD
    known = Measurements(effort=measured)
    batch = HERE.model_copy(update={"batch": True})
    asked, pooled = (forecast(FULL, where, known) for where in (HERE, batch))
    assert asked.cost_usd == pytest.approx(FULL.pairs * 0.01)
    assert pooled.cost_usd == pytest.approx(FULL.pairs * 0.005)
    dearer = forecast(FULL, batch, known, price.model_copy(update={"batch_share": 0.75}))
    assert dearer.cost_usd == pytest.approx(FULL.pairs * 0.0075)


def test_the_built_in_tokens_agree_with_the_paper_s_cost_at_the_prices_of_its_model() -> None:
    price = TokenPrice(model="gpt-4o-mini", prompt_usd=0.15e-6, completion_usd=0.6e-6)
    assert cost_of_pair(None, price)[0] == pytest.approx(PAPER_COST_PER_PAIR_USD, rel=0.1)


def test_the_limit_is_the_kind_of_stage_that_takes_longest_and_what_is_named_helps() -> None:
    made = forecast(FULL, HERE, NOTHING)
    assert next(iter(made.limits)) == "embed"
    assert sum(made.limits.values()) == pytest.approx(made.seconds)
    assert made.alternatives
    for other in made.alternatives:
        cheaper = (other.cost_usd or 0) < (made.cost_usd or 0)
        assert other.seconds < made.seconds or cheaper, other.change


def test_memory_that_a_machine_does_not_have_is_said() -> None:
    needed = stage(forecast(FULL, HERE, NOTHING), "embed").memory_gb
    tight = HERE.model_copy(update={"memory_gb": needed - 0.1})
    assert any("embed" in line for line in forecast(FULL, tight, NOTHING).shortages)
    assert not forecast(FULL, HERE, NOTHING).shortages


def test_measured_memory_grows_with_the_work() -> None:
    held = run("collect", 1_000, 10).model_copy(update={"memory_mb": 1_500.0})
    twice = FULL.model_copy(update={"codes": 1_000, "queries": 1_000})
    made = stage(forecast(twice, HERE, Measurements(runs=(held,))), "collect")
    assert made.memory_gb == pytest.approx(0.5 + 2 * 1.0)
