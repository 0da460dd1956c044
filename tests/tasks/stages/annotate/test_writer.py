"""Annotations that the database refuses cost neither the others nor the run."""

import logging
from pathlib import Path
from typing import Any

import pytest

from infra.errors import StoreError
from infra.identity import RecipeId
from infra.records import (
    Annotation,
    Execution,
    ExecutionResult,
    LanguageModelCall,
)
from infra.settings import StoreSettings
from infra.store import Database, annotations, open_database
from tasks.stages.annotate.writer import store_annotations
from tests.fakes.stores import empty_store

CALL = LanguageModelCall(role="judge", attempt=1, model="m", prompt_digest="d", status="ok")
RUN = Execution(round=0, program="p", result=ExecutionResult(outcome="passed"))


def annotation(name: str, **fields: Any) -> Annotation:
    whole = {
        "query_id": f"q-{name}", "code_id": "c", "recipe_id": "r", "status": "labelled",
        "label": 1, "path": "read_alone", "calls": (CALL,), "executions": (RUN,),
    }  # fmt: skip
    return Annotation.model_validate(whole).model_copy(update=fields)


def call(**fields: Any) -> tuple[LanguageModelCall, ...]:
    return (CALL.model_copy(update=fields),)


def run(**fields: Any) -> tuple[Execution, ...]:
    return (RUN.model_copy(update={"result": RUN.result.model_copy(update=fields)}),)


REFUSED = {
    "count beyond the column": annotation("bad", executions=run(target_calls=2**62)),
    "count beyond any column": annotation("bad", executions=run(asserts_executed=2**70)),
    "tokens beyond the column": annotation("bad", calls=call(prompt_tokens=2**70)),
    "half a surrogate pair in a reply": annotation("bad", calls=call(reply="\ud800")),
    "half a surrogate pair in a reason": annotation("bad", reason="x\udfffy"),
    "half a surrogate pair in a program": annotation(
        "bad", executions=(RUN.model_copy(update={"program": "\udc80"}),)
    ),
    "status that contradicts the label": annotation("bad", label=None),
    "more agreeing than judging": annotation("bad", agreeing=2),
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "store", lock_timeout_s=0.2)


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_refused_annotation_is_a_failed_pair_and_the_others_of_its_batch_are_stored(
    database: Database, refused: Annotation, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    good = [annotation("1"), annotation("2")]
    batch = [*good[:place], refused, *good[place:]]
    with caplog.at_level(logging.WARNING):
        store_annotations(database, batch)
    stored = annotations.finished_pairs(database, RecipeId("r"))
    assert stored == {item.key for item in good}
    with database.transaction() as tx:
        rows = tx.rows("SELECT query_id, status, path, tries FROM annotations WHERE label IS NULL")
    assert rows == [("q-bad", "failed", "internal_error", 1)], "not due for ever"
    assert "q-bad" in caplog.text


def test_each_refusal_of_a_pair_counts_as_one_more_of_its_tries(database: Database) -> None:
    for _ in range(2):
        store_annotations(database, [REFUSED["tokens beyond the column"]])
    with database.transaction() as tx:
        assert tx.rows("SELECT tries FROM annotations") == [(2,)]


def test_a_database_that_cannot_be_opened_ends_the_run(tmp_path: Path) -> None:
    settings = StoreSettings(folder=tmp_path, lock_timeout_s=0.2)
    database = open_database(settings)
    settings.database.write_text("this is no database" * 1000)
    with pytest.raises(StoreError):
        store_annotations(database, [annotation("1"), annotation("2")])
