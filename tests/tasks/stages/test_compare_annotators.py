"""Laws of annotator scores: figures from annotations, and a whole run on fakes."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agents import JournalLedger, journal_ledger
from infra.errors import EngineUnavailableError
from infra.identity import RecipeId
from infra.records import Annotation, Code, Pair, Query
from infra.settings import (
    Configuration,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from tasks.inputs.pairs import TruePair
from tasks.runtime.progress import Progress
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.compare_annotators import (
    AnnotatorScore,
    JudgedTruth,
    alpha_with_people,
    annotate_in_process,
    annotator_scores,
    committees_of,
    score_agents,
    score_average_human,
    score_humans,
)
from tests.agents.conftest import IN_DOUBT, rule
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.flows.world import read


def true_pair(number: int, label: int, **by_people: int | None) -> TruePair:
    pair = Pair(
        query=Query.of(f"add {number}"),
        code=Code.of(f"def plus(x):\n    return x + {number} * 2", name="plus"),
    )
    return TruePair(pair=pair, label=label, by_people=by_people)


TRUTH = tuple(true_pair(number, int(number < 2)) for number in range(4))


def annotation(place: int, label: int | None, **fields: Any) -> Annotation:
    query, code = TRUTH[place].key
    return Annotation.model_validate(
        {
            "query_id": query,
            "code_id": code,
            "recipe_id": "r",
            "status": "undecided" if label is None else "labelled",
            "label": label,
            "path": "unclear_passed",
            **fields,
        }
    )


def call(cost: float | None = 0.5) -> dict[str, Any]:
    return {
        "role": "arbiter", "attempt": 1, "model": "m", "prompt_digest": "d", "status": "ok",
        "cost_usd": cost, "seconds": 2.0, "cached": True,
    }  # fmt: skip


def run(outcome: str) -> dict[str, Any]:
    return {"round": 0, "program": "p", "result": {"outcome": outcome, "seconds": 1.0}}


def scored(annotated: list[Annotation]) -> AnnotatorScore:
    annotator = JudgedTruth(configuration="paper", model="m", recipe_id=RecipeId("r"))
    return score_agents(annotator, TRUTH, annotated)


def test_a_failed_pair_is_counted_apart_and_undecided_is_not_right() -> None:
    annotated = [
        annotation(0, 1), annotation(1, None), annotation(2, 0),
        annotation(3, None, status="failed"),
    ]  # fmt: skip
    score = scored(annotated)
    assert (score.failed, score.pairs, score.decided) == (1, 3, 2)
    assert score.accuracy == pytest.approx(2 / 3)


def test_a_score_of_few_pairs_has_a_wide_interval() -> None:
    score = scored([annotation(place, int(place < 2)) for place in range(4)])
    assert score.interval
    assert (score.accuracy, score.interval.high) == (1, 1)
    assert score.interval.low == pytest.approx(0.5101, abs=1e-4)
    assert scored([]).accuracy is None


def test_a_program_counts_as_executable_by_its_last_run() -> None:
    annotated = [
        annotation(0, 1, executions=[run("raised"), run("passed")]),
        annotation(1, 1, executions=[run("raised")]),
        annotation(2, 0),
    ]
    assert scored(annotated).executable == 0.5


def test_cost_and_time_are_those_of_a_pair_even_when_replies_were_stored() -> None:
    annotated = [
        annotation(0, 1, calls=[call(), call()], executions=[run("passed")]),
        annotation(1, 1),
    ]
    score = scored(annotated)
    assert (score.usd, score.seconds) == (0.5, 2.5)
    assert scored([annotation(0, 1, calls=[call(), call(None)])]).usd is None


def test_people_are_scored_on_what_they_were_asked() -> None:
    truth = [
        true_pair(0, 1, first=1, group=1),
        true_pair(1, 0, first=1),
        true_pair(2, 0, group=None),
    ]
    scores = {score.name: score for score in score_humans(truth)}
    assert (scores["first"].pairs, scores["first"].accuracy) == (2, 0.5)
    assert (scores["group"].pairs, scores["group"].decided) == (2, 1)


def test_the_average_human_has_the_mean_accuracy_and_the_alpha_of_all_people() -> None:
    """Labels 1 1 0 0 and 1 1 0 1: 5 ones, 3 zeros, one pair that differs; alpha 1 - 2 * 7 / 30."""
    truth = [
        true_pair(number, label, first=label, second=said)
        for number, (label, said) in enumerate([(1, 1), (1, 1), (0, 0), (0, 1)])
    ]
    score = score_average_human(truth, list(score_humans(truth)))
    assert score.accuracy == pytest.approx((1 + 0.75) / 2)
    assert score.alpha_with_people == pytest.approx(1 - 2 * 7 / 30)
    assert alpha_with_people(truth, [1, 1, 0, 0]) == pytest.approx(1 - 2 * 11 / (2 * 7 * 5))
    assert alpha_with_people(TRUTH, [1, 1, 0, 0]) is None


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    program = "from target import plus\nassert plus(1) > 0"
    *by_specification, in_doubt = IN_DOUBT  # who is asked last, after the rows of the ablation
    script = [
        *by_specification,
        rule("screener", {"reply": {"reason": "r", "verdict": "unclear"}}, *in_doubt["steps"]),
        read("answers"),
        rule("writer", {"reply": {"reading": "r", "program": program}}),
        rule("simulator", {"reply": {"outcome": "passed", "message": ""}}),
        rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}}, code="* 2"),
    ]
    with ScriptedServer(script) as served:
        yield served


@pytest.fixture
def settings(server: ScriptedServer, backend: str, tmp_path: Path) -> Settings:
    return Settings(
        store=StoreSettings(folder=tmp_path),
        llm=LanguageModelSettings(base_url=server.base_url, api_key=SecretStr(KEY)),
        sandbox=SandboxSettings(backend=backend),
    )


def compared(settings: Settings, *configurations: Configuration) -> list[AnnotatorScore]:
    judged = []
    for variant in committees_of(settings.committee, ["openai/scripted"], configurations):
        recipe = current_recipe(variant)
        annotate_in_process([item.pair for item in TRUTH], recipe, variant, settings.store)
        judged.append(
            JudgedTruth(
                configuration=variant.annotation.configuration, model=recipe.model,
                recipe_id=recipe.recipe_id,
            )
        )  # fmt: skip
    return list(annotator_scores(TRUTH, judged, settings.store))


def test_all_configurations_are_scored_once_and_paid_once(
    server: ScriptedServer, settings: Settings
) -> None:
    rows: tuple[Configuration, ...] = ("single", "writer", "simulated", "paper", "spec")
    first = compared(settings, *rows)
    assert [score.name for score in first] == list(rows)
    assert {(score.model, score.accuracy) for score in first} == {("openai/scripted", 0.5)}
    by_row = dict(zip(rows, first, strict=True))
    assert (by_row["single"].executable, by_row["paper"].executable) == (None, 1)
    assert by_row["spec"].usd is None
    calls_before = len(server.calls)
    again = compared(settings, *rows)
    assert again == first
    assert len(server.calls) == calls_before, "what was judged is not judged again"


def test_judged_pairs_are_told_while_they_come_and_so_is_what_the_others_wait_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("tasks.stages.compare_annotators._REFRESH_S", 0.001)
    monkeypatch.setattr("tasks.runtime.progress._SECONDS_BETWEEN_REPORTS", 0.0)
    waits = {"status": 429, "retry_after": "0.2"}
    asked = read("answers")
    with ScriptedServer([{**asked, "steps": [waits, *asked["steps"]]}]) as served:
        llm = settings.llm.model_copy(update={"base_url": served.base_url})
        settings = settings.model_copy(update={"llm": llm})
        [single] = committees_of(settings.committee, ["openai/scripted"], ["single"])
        bar = Progress("pairs judged", len(TRUTH))
        recipe = current_recipe(single)
        annotate_in_process([item.pair for item in TRUTH], recipe, single, settings.store, bar)
    assert bar.done == len(TRUTH)
    assert re.search(r"0 of 4 pairs judged, none in .* wait: .* asks to wait \(429\)", caplog.text)


def test_a_pace_that_was_learnt_holds_for_all_pairs_whatever_is_stored_together(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledgers: list[JournalLedger] = []

    def noted(*given: Any) -> JournalLedger:
        ledgers.append(journal_ledger(*given))
        return ledgers[-1]

    monkeypatch.setattr("tasks.stages.compare_annotators._STORED_TOGETHER", 1)
    monkeypatch.setattr("tasks.stages.compare_annotators.journal_ledger", noted)
    [score] = compared(settings, "single")
    assert (score.decided, len(ledgers)) == (len(TRUTH), 1)


def test_a_configuration_that_runs_nothing_needs_no_engine(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    settings = settings.model_copy(update={"sandbox": SandboxSettings()})
    [score] = compared(settings, "simulated")
    assert score.decided == len(TRUTH)
    with pytest.raises(EngineUnavailableError):
        compared(settings, "executor")
