"""Laws of specifications out of the store: those that labels rest on, each once.

Covers `tasks.stages.specifications`, `infra.store.evidence`.
"""

import logging
from pathlib import Path

import pytest

from infra.identity import RecipeId
from infra.records import LanguageModelCall
from infra.settings import PublishSettings
from infra.store import Database, annotations
from tasks.benchmarks import QuerySpecification
from tasks.runtime.references import CollectedSource
from tasks.stages import specifications
from tasks.stages.labels import labelled_benchmark
from tests.fakes.specified import SCREENING, SPECIFICATION, call_of
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store, judgement, labels_in_use

SCREENED = call_of("screener", SCREENING)
UNREADABLE = call_of("specifier", {}, status="unreadable")


def specified(folder: Path, *calls: LanguageModelCall) -> tuple[Database, CollectedSource]:
    """Return a store, in which a recipe that specifies judged all pairs of the second query."""
    database, source = judged_store(folder)
    body = {"model": {"model": "m"}, "prompts": {"specifier": "1", "screener": "2"}}
    annotations.record_recipes(database, {RecipeId("r9"): body}, used_on="c")
    query = QUERIES[1].query_id
    judged = [
        judgement(query, code.code_id, recipe_id="r9", calls=(*calls, SCREENED)) for code in CODES
    ]
    annotations.add_annotations(database, judged)
    return database, source


def exported(database: Database, source: CollectedSource) -> list[QuerySpecification]:
    labels = labels_in_use(database, source)
    return list(labelled_benchmark(database, labels, PublishSettings()).specifications)


def test_a_query_has_the_specification_that_its_candidates_share(tmp_path: Path) -> None:
    call = call_of(
        "specifier", SPECIFICATION | {"clarity": "underspecified", "cannot_show": "time"}, attempt=2
    )
    [found] = exported(*specified(tmp_path, UNREADABLE, call))
    assert found == QuerySpecification(
        query_id=QUERIES[1].query_id,
        recipe_id="r9",
        model="m",
        reading="reverse the characters of a text",
        demands=("the characters come in reverse order", "the text itself stays"),
        left_open=("names of parameters",),
        examples=("'abc' => 'cba'", "'' => ''", "'aab' => 'baa'"),
        clarity="underspecified",
        is_underspecified=True,
        cannot_show="time",
    )


def test_a_specification_with_other_fields_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(specifications, "get_run_logger", logging.getLogger)
    assert exported(*specified(tmp_path, call_of("specifier", {"reading": "as once"}))) == []
    assert "with the fields of another release: 1 specification" in caplog.text


@pytest.mark.parametrize("used", [0, 1])
def test_of_two_replies_the_one_in_use_is_exported(tmp_path: Path, used: int) -> None:
    few = call_of("specifier", SPECIFICATION | {"reading": "z", "examples": "no example"})
    calls = [few, few.model_copy(update={"reply": few.reply.replace('"z"', '"a"')})]
    whole = call_of("specifier", SPECIFICATION | {"reading": "whole"})
    [found] = exported(*specified(tmp_path, *calls))
    assert found.reading == "z", "the first of two as good"
    calls[used] = whole
    (tmp_path / "other").mkdir()
    [found] = exported(*specified(tmp_path / "other", *calls))
    assert found.reading == "whole"
