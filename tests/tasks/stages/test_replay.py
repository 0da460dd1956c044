"""Laws of replay over a whole store: the same labels by kept replies, without a model."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.errors import ReplayError
from infra.records import ExecutionResult
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import open_database
from sandbox.backends import backends
from tasks.stages.replay import replay
from tests.agents.conftest import IN_DOUBT, rule
from tests.fakes.annotations import judged
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox
from tests.fakes.specified import SCREENING
from tests.tasks.stages.test_compare_annotators import TRUTH

PROGRAM = "from target import plus\nassert plus(1) == 3"
SCRIPT = [
    rule("screener", {"reply": SCREENING | {"adapter": ""}}, query="add 0"),
    rule("screener", {"text": "nothing"}, query="add 1"),
    *IN_DOUBT,
    rule("writer", {"reply": {"reading": "r", "program": PROGRAM}}),
    rule("blind_writer", {"reply": {"reading": "r", "program": f"# blind\n{PROGRAM}"}}),
    rule("arbiter", {"reply": {"reason": "r", "verdict": "does_not_answer"}}),
]


def fails(program: str, installed: frozenset[str]) -> ExecutionResult:
    return FAILED if "blind" not in program else PASSED


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a filled store, without the model's address and key."""
    backends.register("failing")(lambda settings: FakeSandbox(fails))
    settings = Settings(
        store=StoreSettings(folder=tmp_path),
        llm=LanguageModelSettings(model="openai/scripted"),
        annotation=AnnotationSettings(configuration="spec", evidence="read"),
        sandbox=SandboxSettings(backend="failing"),
    )
    with ScriptedServer(SCRIPT) as server:
        reached = {"base_url": server.base_url, "api_key": SecretStr(KEY)}
        llm = settings.llm.model_copy(update=reached)
        annotated = judged(TRUTH, settings.model_copy(update={"llm": llm}))
    assert {item.status for item in annotated} == {"labelled", "undecided"}
    yield settings
    del backends._entries["failing"]


def test_all_labels_of_the_recipe_are_made_again(settings: Settings) -> None:
    [result] = replay(settings)
    assert (result.model, result.pairs, result.left_out) == ("openai/scripted", 4, {})


def test_a_label_that_was_changed_by_hand_is_found(settings: Settings) -> None:
    with open_database(settings.store).transaction() as tx:
        tx.execute("UPDATE annotations SET label = 1 - label WHERE path = 'clear_match'")
    with pytest.raises(
        ReplayError, match=r"(?s)1 of 4 labels .* stored \('labelled', 0, 'screened'\)"
    ):
        list(replay(settings))


def test_labels_that_cannot_be_made_again_are_counted_with_the_reason(settings: Settings) -> None:
    with open_database(settings.store).transaction() as tx:
        tx.execute("DELETE FROM queries WHERE text = 'add 1'")
    settings.store.journal.unlink()
    [result] = replay(settings)
    assert result.pairs == 0
    assert result.left_out == {
        "their texts are not in the store": 1,
        "no reply to this request of the specifier is stored": 3,
    }


def test_another_recipe_has_no_labels_to_make_again(settings: Settings) -> None:
    other = settings.model_copy(update={"annotation": AnnotationSettings(configuration="paper")})
    [result] = replay(other)
    assert (result.pairs, result.left_out) == (0, {})
