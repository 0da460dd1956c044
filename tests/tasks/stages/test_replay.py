"""Laws of replay over a whole store: the same labels, without a server or an engine."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.errors import ReplayError
from infra.records import ExecutionResult
from infra.settings import (
    AnnotationSettings,
    Configuration,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import Database, open_database
from sandbox.backends import backends
from tasks.stages.replay import replay
from tests.agents.conftest import rule
from tests.fakes.annotations import judged
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox
from tests.tasks.stages.test_compare_annotators import TRUTH

PROGRAM = "from target import plus\nassert plus(1) == 3"
SCRIPT = [
    rule("screener", {"reply": {"reason": "r", "verdict": "clear_match"}}, query="add 0"),
    rule("screener", {"text": "nothing"}, query="add 1"),
    rule("screener", {"reply": {"reason": "r", "verdict": "unclear"}}),
    rule("writer", {"reply": {"reading": "r", "program": PROGRAM}}),
    rule("blind_writer", {"reply": {"reading": "r", "program": f"# blind\n{PROGRAM}"}}),
    rule("arbiter", {"reply": {"reason": "r", "verdict": "does_not_answer"}}),
]


def fails(program: str, installed: frozenset[str]) -> ExecutionResult:
    return FAILED if "blind" not in program else PASSED


@pytest.fixture
def store(tmp_path: Path) -> Database:
    """A store that two configurations have filled; the server and the boxes are gone."""
    backends.register("failing")(lambda settings: FakeSandbox(fails))
    rows: tuple[Configuration, ...] = ("paper", "gated")
    with ScriptedServer(SCRIPT) as server:
        for configuration in rows:
            settings = Settings(
                store=StoreSettings(folder=tmp_path),
                llm=LanguageModelSettings(
                    model="openai/scripted", base_url=server.base_url, api_key=SecretStr(KEY)
                ),
                annotation=AnnotationSettings(configuration=configuration),
                sandbox=SandboxSettings(backend="failing"),
            )
            annotated = judged(TRUTH, settings)
            assert {item.status for item in annotated} == {"labelled", "undecided"}
    del backends._entries["failing"]
    return open_database(settings.store)


def derived(database: Database) -> list[tuple[str, int, str]]:
    elsewhere = Settings(llm=LanguageModelSettings(model="openai/another"), store=database.settings)
    results = replay(database, elsewhere)
    return [(item.model, item.pairs, item.digest) for item in results]


def test_all_labels_of_all_recipes_are_derived_again_byte_for_byte(store: Database) -> None:
    first = derived(store)
    assert [(model, pairs) for model, pairs, _ in first] == [("openai/scripted", 4)] * 2
    assert len({digest for _, _, digest in first}) == 2, "the gates give other evidence"
    assert derived(store) == first


def test_a_label_that_was_changed_by_hand_is_found(store: Database) -> None:
    with store.transaction() as tx:
        tx.execute("UPDATE annotations SET label = 1 - label WHERE path = 'clear_match'")
    with pytest.raises(
        ReplayError, match=r"(?s)1 of 4 labels .* stored \('labelled', 0, 'screened'\)"
    ):
        derived(store)


def test_labels_of_another_algorithm_are_skipped_and_it_is_named(
    store: Database,
) -> None:
    with store.transaction() as tx:
        tx.execute(
            "UPDATE recipes SET body = json_merge_patch(body, ?) WHERE body->>'configuration' = ?",
            ['{"algorithm": "cosqa-plus-0"}', "paper"],
        )
    results = list(replay(store, Settings(store=store.settings)))
    assert [(item.made_by, item.pairs) for item in results] == [("cosqa-plus-0", 0), ("", 4)]


def test_labels_whose_texts_the_store_lacks_are_counted_and_not_called_derived(
    store: Database,
) -> None:
    with store.transaction() as tx:
        tx.execute("DELETE FROM queries WHERE text = 'add 1'")
    results = list(replay(store, Settings(store=store.settings)))
    assert [(item.pairs, item.without_text) for item in results] == [(3, 1), (3, 1)]


def test_a_store_without_labels_has_nothing_to_derive(tmp_path: Path) -> None:
    assert derived(open_database(StoreSettings(folder=tmp_path))) == []
