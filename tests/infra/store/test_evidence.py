"""Laws of what publishing and reporting read from the store by columns.

Covers `infra.store.evidence`, `infra.store.benchmarks`, `infra.store.figures`.
"""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from infra.identity import PairKey, RecipeId
from infra.records import Annotation, Execution, ExecutionResult, LanguageModelCall
from infra.store import Database, annotations, candidates, generated
from infra.store.benchmarks import state_of_labels
from infra.store.evidence import EvidenceSelection, count_evidence, read_evidence
from infra.store.labels import CurrentLabels, decide_labels
from tasks.stages.labels import StoredAnnotations
from tasks.statistics.agreement import majority
from tests.fakes.stores import labels_by
from tests.infra.store.test_store import held_by_another_process
from tests.tasks.stages.generate.world import (
    CODES,
    QUERIES,
    ROUNDS,
    SEARCH,
    answer,
    judged_store,
    judgement,
    said,
)

ALL = labels_by(SEARCH, ROUNDS)
FIRST = labels_by(SEARCH, ROUNDS[:1])


def selected(database: Database, labels: CurrentLabels = ALL) -> EvidenceSelection:
    """Return the evidence that labels rest on now."""
    return EvidenceSelection(decide_labels(database, labels).supporting_annotations)


def with_evidence(database: Database) -> list[Annotation]:
    """Judge all pairs in three rounds with 0 to 2 calls and executions; return what is stored."""
    call = LanguageModelCall(
        role="arbiter", attempt=1, model="m", prompt_digest="d", status="ok", reply="ja, größer"
    )
    result = ExecutionResult(outcome="passed")
    run = Execution(round=0, program="assert f()", beside="import re", result=result)
    stored = []
    for place, (query, code) in enumerate((q, c) for q in QUERIES for c in CODES):
        for number, recipe in enumerate(ROUNDS):
            item = judgement(
                query.query_id, code.code_id, recipe_id=recipe, replicate=number + 1,
                kind="replicate" if number else "first",
                calls=tuple(call.model_copy(update={"attempt": n + 1}) for n in range(place % 3)),
                executions=tuple(run.model_copy(update={"round": n}) for n in range(number)),
            )  # fmt: skip
            stored.append(item)
    failed = stored[4].model_copy(update={"status": "failed", "label": None})
    annotations.add_annotations(database, [failed, *stored[:4], *stored[5:]])
    return [*stored[:4], *stored[5:]]


@pytest.mark.parametrize(("rows", "part"), [(1, 1_000), (3, 4), (1_000, 1), (1_000, 1_000)])
def test_evidence_is_read_whole_whatever_the_size_of_batches_and_parts(
    tmp_path: Path, rows: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.store.evidence._BATCH", rows)
    monkeypatch.setattr("infra.store.evidence._PART", part)
    database, _ = judged_store(tmp_path, 3)
    stored = with_evidence(database)
    by_pair = sorted(stored, key=lambda item: item.key)  # rounds stay in their order
    selection = selected(database)
    assert list(StoredAnnotations(database, selection)) == by_pair
    assert count_evidence(database, selection) == len(stored)
    one = stored[7]
    key = (one.query_id, one.code_id, one.recipe_id)
    alone = EvidenceSelection(others=(key, ("q", "c", "r")))
    assert list(StoredAnnotations(database, alone)) == [one]


def test_evidence_of_some_codes_is_that_of_all_without_the_others(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path, 3)
    stored = with_evidence(database)
    whole = StoredAnnotations(database, selected(database))
    for codes in ([], [CODES[0].code_id], [CODES[1].code_id, "none"]):
        some = whole.filter_codes(pa.array(codes, pa.string()))
        own = sorted((i for i in stored if i.code_id in codes), key=lambda item: item.key)
        assert list(some) == own
        assert len(some) == len(own)
    none = some.filter_codes(pa.array([CODES[0].code_id]))
    assert list(none) == [], "of both"


def test_annotations_that_change_between_parts_are_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.store.evidence._PART", 1)
    database, _ = judged_store(tmp_path)
    first, second, third, *others = sorted(
        (item for item in with_evidence(database) if item.recipe_id == ROUNDS[0]),
        key=lambda item: item.key,
    )
    reading = iter(StoredAnnotations(database, selected(database, FIRST)))
    assert next(reading) == first
    with held_by_another_process(database.settings.database):
        pass
    call = LanguageModelCall(
        role="coder", attempt=7, model="n", prompt_digest="e", status="ok", reply="new"
    )
    replaced = second.model_copy(update={"label": 1, "calls": (call,) * 4})
    failed = third.model_copy(update={"status": "failed", "label": None, "calls": (call,)})
    later = judgement(QUERIES[0].query_id, "a code of no candidate", recipe_id=ROUNDS[0])
    annotations.add_annotations(database, [replaced, failed, later])
    assert list(reading) == [replaced, *others]


def test_evidence_may_be_left_half_read(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path)
    selection = selected(database)
    for _ in read_evidence(database, selection):
        break
    assert count_evidence(database, selection) == 6


def test_labels_are_those_of_the_majority(tmp_path: Path) -> None:
    """Against `tasks.statistics.agreement.majority`, over labels drawn by lot."""
    draw, database = random.Random(0), judged_store(tmp_path, 3)[0]
    said: dict[PairKey, list[Annotation]] = {}
    for pair in candidates.pairs_of(database, [SEARCH], "c"):
        for recipe in ROUNDS[: draw.randint(1, 3)]:
            label = draw.choice([0, 1, None])
            support = draw.choice(["screened", "void_oracle"]) if label is not None else "undecided"
            status = "undecided" if label is None else "labelled"
            said.setdefault(pair, []).append(
                judgement(*pair, recipe_id=recipe, label=label, support=support, status=status)
            )
    with database.transaction() as tx:
        tx.execute("DELETE FROM annotations")
    annotations.add_annotations(database, [item for items in said.values() for item in items])
    found = decide_labels(database, labels_by(SEARCH, ROUNDS, support=["screened"]))
    labels: dict[tuple[str, str], float] = {}
    undecided: set[tuple[str, str]] = set()
    unfinished = 0
    for pair, items in said.items():
        missing = [None] * (3 - len(items))
        counted: list[int | None] = [
            item.label if item.support == "screened" else None for item in items
        ]
        label = majority([*counted, *missing])
        if label is not None:
            labels[pair] = float(label)
        elif missing:
            unfinished += 1
        elif majority([item.label for item in items]) is None:
            undecided.add(pair)
    rows = found.labels.to_pylist()
    assert {(row["query_id"], row["code_id"]): row["relevance"] for row in rows} == labels
    pairs = {(row["query_id"], row["code_id"]) for row in found.undecided.to_pylist()}
    assert (pairs, found.unfinished) == (undecided, unfinished)
    assert set(found.queries.to_pylist()) == {query for query, _ in said}


def test_the_state_of_labels_changes_with_all_that_they_are_made_from(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path)
    states = [state_of_labels(database, "c", FIRST)]

    def changed() -> bool:
        states.append(state_of_labels(database, "c", FIRST))
        return states[-1] not in states[:-1]

    assert not changed()
    [pair, *_] = candidates.pairs_of(database, [SEARCH], "c")
    other = judgement(*pair, recipe_id=RecipeId("other"))
    annotations.add_annotations(database, [other])
    assert not changed(), "of another recipe"
    annotations.add_annotations(database, [judgement(*pair, recipe_id=ROUNDS[0], label=1)])
    assert changed(), "an annotation was replaced"
    annotations.add_annotations(database, [judgement(*pair, recipe_id=ROUNDS[0], label=0)])
    with database.transaction() as tx:
        tx.execute("UPDATE annotations SET annotated_at = TIMESTAMPTZ '2001-01-01 00:00:00+00'")
    assert changed(), "and by a clock that was set back"
    annotations.add_annotations(database, [judgement(*pair, recipe_id=ROUNDS[0], label=1)])
    with database.transaction() as tx:
        tx.execute("UPDATE annotations SET annotated_at = TIMESTAMPTZ '2001-01-01 00:00:00+00'")
    assert changed(), "once more, at the same time"
    generated.add_answers(database, [(answer(1), ())])
    assert changed(), "an answer was written"
    generated.add_answers(database, [], said(answer(1), confirmed=True))
    assert changed(), "a person confirmed it"
    generated.add_answers(database, [], said(answer(1), confirmed=False))
    assert changed(), "and took it back"
    with database.transaction() as tx:
        tx.execute("UPDATE candidates SET rank = rank + 1")
    assert changed(), "candidates have other ranks"
