"""Laws of `cosqa check-model`: what it says of scripted models, through the command itself."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from infra.records import Code, Pair, Query
from tasks.stages import check_model
from tasks.stages.annotate.gold import gold_questions
from tasks.stages.check_model import is_above_chance, shared_words
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.flows.world import read

(YES,) = read("answers")["steps"]
NO = {"reply": {**YES["reply"], "verdict": "does_not_answer"}}
LABELS = {
    (question.pair.query.text, question.pair.code.text): question.label
    for question in gold_questions(0)
}
ENDLESS = '{"reason": "the function is a function' + " that is a function" * 400
HARMLESS = "probe"


class Judge(ScriptedServer):
    """A model that judges by known labels, of which it gets some wrong or none at all."""

    def __init__(self) -> None:
        super().__init__([])
        self.wrong = 0  # of the first so many questions
        self.always: Mapping[str, Any] | None = None
        self.answers_probes = False
        self.probe: Mapping[str, Any] = {"reply": {"verdict": "yes"}}

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        if call["role"] == HARMLESS:
            return self.probe
        if self.always:
            return self.always
        key = call["query"], call["code"]
        is_wrong = list(LABELS).index(key) < self.wrong
        return YES if bool(LABELS[key]) is not is_wrong else NO


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    monkeypatch.chdir(tmp_path)
    with Judge() as server:
        monkeypatch.setenv("COSQA_LLM__BASE_URL", server.base_url)
        monkeypatch.setenv("COSQA_LLM__API_KEY", KEY)
        monkeypatch.setenv("COSQA_ANNOTATION__CONFIGURATION", "single")
        yield server


def told(*options: str) -> tuple[str, str]:
    """Return what the command prints, and the error that ends it."""
    ended = CliRunner().invoke(app, ["check-model", "--model", "openai/scripted", *options])
    assert bool(ended.exit_code) is bool(ended.exception)
    return " ".join(ended.output.split()), str(ended.exception or "")


def pairs_asked(judge: Judge) -> Sequence[object]:
    return [call for call in judge.calls if call["role"] != HARMLESS]


def test_a_model_that_is_always_right_passes_and_nothing_is_asked_again(judge: Judge) -> None:
    output, error = told("--pairs", "3000")
    assert error == ""
    assert "20 of 20 pairs judged, 20 right" in output
    assert "right labels: 20 of 20: 100.0% (95% interval 83.9% to 100.0%); by chance 50%" in output
    assert "by counting shared words 70.0%" in output
    assert "unreadable replies: 0 of 20" in output
    assert "3,000 pairs (as given): " in output
    assert len(pairs_asked(judge)) == 20
    again, _ = told()
    assert "100 pairs (say how many by --pairs)" in again
    assert len(pairs_asked(judge)) == 20


def test_a_model_of_chance_is_refused_as_soon_as_it_cannot_pass_any_more(judge: Judge) -> None:
    judge.wrong = 20
    _, error = told()
    assert "openai/scripted is not better than chance: of 9 pairs with known labels" in error
    assert "it labelled 0 rightly (4 false passes, 5 false fails" in error
    assert "must lie above 50%, to which the other 11 of 20 could not bring it" in error


@pytest.mark.parametrize("always", [YES, NO, {"text": "I cannot say."}])
def test_a_model_that_always_says_the_same_is_refused(
    judge: Judge, always: Mapping[str, Any]
) -> None:
    judge.always = always
    assert "is not better than chance" in told()[1]


def test_a_model_that_repeats_itself_is_told_by_its_first_pair(judge: Judge) -> None:
    judge.always = {"text": ENDLESS, "finish": "length"}
    assert "repeats itself for ever: a reply of it ends with 'ion that is a" in told()[1]
    assert len(pairs_asked(judge)) == 2, "of one pair, once more"
    judge.probe = judge.always
    assert "repeats itself for ever" in told("--store", "another")[1]
    assert len(pairs_asked(judge)) == 2, "no pair is asked after the small request"


def test_a_model_that_does_not_answer_is_told_after_its_first_pair(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.llm.client._PATIENCE_S", 0.1)
    monkeypatch.setattr(check_model, "_FIRST_S", 0.5)
    judge.probe = judge.always = YES | {"delay_s": 30.0}
    assert "answered no small request, and did not judge one pair in" in told()[1]


def test_a_server_that_is_away_or_refuses_the_key_is_told(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSQA_LLM__API_KEY", "another")
    assert "refused the request (401: " in told()[1]
    monkeypatch.setenv("COSQA_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    assert "check that its server runs" in told()[1]
    assert not pairs_asked(judge)


@pytest.mark.parametrize(
    ("right", "asked", "passes"), [(15, 20, True), (14, 20, False), (20, 20, True), (0, 6, False)]
)
def test_better_than_chance_means_that_the_interval_lies_above_one_half(
    right: int, asked: int, *, passes: bool
) -> None:
    assert is_above_chance(right, asked) is passes


@pytest.mark.parametrize(
    ("query", "code", "share"),
    [
        ("python read json file", "def readJSONFile(path): ...", 0.75),
        ("sort", "def reverse(x): return x[::-1]", 0.0),
    ],
)  # fmt: skip
def test_shared_words_are_those_of_identifiers_too(query: str, code: str, share: float) -> None:
    assert shared_words(Pair(query=Query.of(query), code=Code.of(code))) == share
