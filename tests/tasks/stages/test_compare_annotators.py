"""Laws of annotator scores: figures from annotations, and a whole run on fakes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from infra.errors import EngineUnavailableError
from infra.records import Annotation, Code, ExecutionResult, Pair, Query
from infra.settings import (
    Configuration,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.backends import backends
from tasks.benchmarks.labelled_pairs import TruePair
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.compare_annotators import (
    AnnotatorScore,
    JudgedTruth,
    alpha_with_people,
    alternative_to_people,
    annotate_in_process,
    annotator_scores,
    committees_of,
    score_agents,
    score_average_human,
    score_humans,
    score_majority,
)
from tests.agents.conftest import IN_DOUBT, rule
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox
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


def call(cost: float | None = 0.5, tokens: int | None = 100) -> dict[str, Any]:
    return {
        "role": "arbiter", "attempt": 1, "model": "m", "prompt_digest": "d", "status": "ok",
        "prompt_tokens": tokens, "completion_tokens": 20, "cost_usd": cost, "seconds": 2.0,
        "cached": True,
    }  # fmt: skip


def run(outcome: str, killed: int = 0, survived: int = 0) -> dict[str, Any]:
    trials = [{"change": "c", "outcome": "assertion_failed"}] * killed
    trials += [{"change": "c", "outcome": "passed"}] * survived
    result = {
        "outcome": outcome, "seconds": 1.0, "asserts_executed": 1, "target_calls": 1
    }  # fmt: skip
    oracle = None if outcome == "raised" else {"trials": trials}
    return {"round": 0, "program": "p", "result": result, "oracle": oracle}


def test_a_failed_pair_is_counted_apart_and_undecided_is_not_right() -> None:
    annotated = [
        annotation(0, 1), annotation(1, None), annotation(2, 0),
        annotation(3, None, status="failed"),
    ]  # fmt: skip
    score = score_agents("ours", TRUTH, annotated)
    assert (score.failed, score.agreement.pairs, score.agreement.decided) == (1, 3, 2)
    assert score.agreement.accuracy == pytest.approx(2 / 3)


def test_test_programs_are_scored_by_what_they_prove() -> None:
    annotated = [
        annotation(0, 1, support="valid_oracle", executions=[run("raised"), run("passed", 3, 1)]),
        annotation(1, 1, support="void_oracle", executions=[run("passed", 0, 4)]),
        annotation(2, 0, support="ungated", executions=[run("raised")]),
        annotation(3, 0, support="screened"),
    ]
    score = score_agents("ours", TRUTH, annotated)
    assert score.executable == pytest.approx(2 / 3)
    assert score.valid_oracles == 0.5
    assert score.mutation_score == pytest.approx((0.75 + 0) / 2)


def test_cost_and_time_are_those_of_a_pair_even_when_replies_were_stored() -> None:
    annotated = [
        annotation(0, 1, calls=[call(), call()], executions=[run("passed")]),
        annotation(1, 1),
    ]
    score = score_agents("ours", TRUTH, annotated)
    assert (score.tokens, score.usd, score.seconds) == (120, 0.5, 2.5)


def test_an_unknown_cost_is_unknown_and_not_zero() -> None:
    score = score_agents("ours", TRUTH, [annotation(0, 1, calls=[call(), call(None, None)])])
    assert (score.tokens, score.usd) == (None, None)


@pytest.mark.parametrize(("labels", "name"), [((1, 0, 1), "always 1"), ((0, 0, 1), "always 0")])
def test_chance_says_the_commoner_label_and_agrees_no_more_than_by_chance(
    labels: tuple[int, ...], name: str
) -> None:
    score = score_majority([true_pair(place, label) for place, label in enumerate(labels)])
    assert (score.name, score.agreement.kappa) == (name, 0)
    assert score.agreement.accuracy == pytest.approx(2 / 3)


def test_people_are_scored_on_what_they_were_asked() -> None:
    truth = [
        true_pair(0, 1, first=1, group=1),
        true_pair(1, 0, first=1),
        true_pair(2, 0, group=None),
    ]
    scores = {score.name: score.agreement for score in score_humans(truth)}
    assert (scores["first"].pairs, scores["first"].accuracy) == (2, 0.5)
    assert (scores["group"].pairs, scores["group"].decided) == (2, 1)


def test_the_average_human_has_the_mean_accuracy_and_the_alpha_of_all_people() -> None:
    """Labels 1 1 0 0 and 1 1 0 1: 5 ones, 3 zeros, one pair that differs; alpha 1 - 2 * 7 / 30."""
    truth = [
        true_pair(number, label, first=label, second=said)
        for number, (label, said) in enumerate([(1, 1), (1, 1), (0, 0), (0, 1)])
    ]
    score = score_average_human(truth, list(score_humans(truth)))
    assert score.agreement.accuracy == pytest.approx((1 + 0.75) / 2)
    assert score.alpha_with_people == pytest.approx(1 - 2 * 7 / 30)
    assert alpha_with_people(truth, [1, 1, 0, 0]) == pytest.approx(1 - 2 * 11 / (2 * 7 * 5))
    assert alpha_with_people(TRUTH, [1, 1, 0, 0]) is None


def test_an_annotator_stands_in_for_people_who_labelled_enough() -> None:
    truth = [
        true_pair(number, number % 2, a=number % 2, b=number % 2, c=number % 2, once=1)
        if number < 4
        else true_pair(number, number % 2, a=number % 2, b=number % 2, c=number % 2)
        for number in range(30)
    ]
    labels = [item.label for item in truth]
    right = alternative_to_people(truth, labels)
    assert right
    assert (right.winning_rate, set(right.people)) == (1, {"a", "b", "c"})
    wrong = alternative_to_people(truth, [1 - label for label in labels])
    assert wrong
    assert not wrong.is_alternative
    assert alternative_to_people(truth[:29], labels[:29]) is None


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
def fake_backend() -> Iterator[str]:
    """A registered backend whose every program passes."""

    def passes(program: str, installed: frozenset[str]) -> ExecutionResult:
        return PASSED

    backends.register("fake")(lambda settings: FakeSandbox(passes))
    yield "fake"
    del backends._entries["fake"]


def compared(settings: Settings, *configurations: Configuration) -> list[AnnotatorScore]:
    judged = []
    for variant in committees_of(settings.committee, ["openai/scripted"], configurations):
        recipe = current_recipe(variant)
        annotate_in_process([item.pair for item in TRUTH], recipe, variant, settings.store)
        name = f"{variant.annotation.configuration} · {recipe.model}"
        judged.append(JudgedTruth(name=name, model=recipe.model, recipe_id=recipe.recipe_id))
    return list(annotator_scores(TRUTH, judged, settings.store))


def test_all_configurations_are_scored_once_and_paid_once(
    server: ScriptedServer, fake_backend: str, tmp_path: Path
) -> None:
    settings = Settings(
        store=StoreSettings(folder=tmp_path),
        llm=LanguageModelSettings(base_url=server.base_url, api_key=SecretStr(KEY)),
        sandbox=SandboxSettings(backend=fake_backend),
    )
    rows: tuple[Configuration, ...] = ("single", "writer", "simulated", "paper", "spec")
    chance, *first = compared(settings, *rows)
    assert chance.name == "always 1"
    assert [score.name for score in first] == [f"{row} · openai/scripted" for row in rows]
    assert {score.agreement.accuracy for score in first} == {0.5}
    assert {score.agreement.kappa for score in first} == {0}
    by_row = dict(zip(rows, first, strict=True))
    assert (by_row["single"].executable, by_row["paper"].executable) == (None, 1)
    assert (by_row["paper"].valid_oracles, by_row["spec"].valid_oracles) == (None, 1)
    assert by_row["spec"].mutation_score == 1
    assert by_row["spec"].usd is None
    calls_before = len(server.calls)
    again = compared(settings, *rows)
    assert again == [chance, *first]
    assert len(server.calls) == calls_before, "what was judged is not judged again"


def test_a_configuration_that_runs_nothing_needs_no_engine(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    settings = Settings(
        store=StoreSettings(folder=tmp_path),
        llm=LanguageModelSettings(base_url=server.base_url, api_key=SecretStr(KEY)),
    )
    _, score = compared(settings, "simulated")
    assert score.agreement.decided == len(TRUTH)
    with pytest.raises(EngineUnavailableError):
        compared(settings, "executor")
