"""Laws of written answers: which queries have no match, and that none is asked twice or lost."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.errors import ModelRefusedError, SettingsError
from infra.records import GivenVote
from infra.settings import LanguageModelSettings, Settings
from infra.store import Database, generated
from tasks.runtime.references import CollectedSource
from tasks.stages.generate.write import (
    AnswerWriter,
    Generated,
    GenerationPlan,
    _work,
    plan_generation,
    queries_without_match,
    verifying_committee,
)
from tests.agents.conftest import IN_DOUBT, rule
from tests.fakes.llm_server import ScriptedServer
from tests.tasks.stages.generate.world import (
    QUERIES,
    ROUNDS,
    answer,
    judged_store,
    label,
    said,
    settings_of,
)

PROGRAM = "from target import plus\n\ndef test_it():\n    assert plus(1) > 0"
WRONG, RIGHT = "def plus(x):\n    return 0", "def plus(x):\n    return x + 2"


def test_a_query_has_no_match_once_all_its_candidates_are_finished_and_none_is_1(
    tmp_path: Path,
) -> None:
    database, source = judged_store(tmp_path)
    assert queries_without_match(database, source) == [QUERIES[1].query_id, QUERIES[2].query_id]
    label(database, 1, 0, None, ROUNDS[0], status="failed")
    assert queries_without_match(database, source) == [QUERIES[2].query_id], "it may match yet"
    label(database, 1, 0, None, ROUNDS[0])
    assert len(queries_without_match(database, source)) == 2, "undecided is finished"


def test_with_rounds_the_majority_decides(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path, rounds=3)
    label(database, 1, 0, 1, ROUNDS[1])
    assert QUERIES[1].query_id in queries_without_match(database, source)
    label(database, 1, 0, 1, ROUNDS[2])
    assert QUERIES[1].query_id not in queries_without_match(database, source)
    label(database, 2, 0, None, ROUNDS[2], status="failed")
    assert queries_without_match(database, source) == [QUERIES[2].query_id], "two rounds decide"
    label(database, 2, 0, None, ROUNDS[1], status="failed")
    assert queries_without_match(database, source) == []


def refused(ordinal: int, **fields: object) -> generated.GeneratedCode:
    return answer(1, ordinal, status="refused", **fields)


Sayings = list[dict[str, list[GivenVote]]]
NO = said(answer(1), annotator="first", confirmed=False)
YES = said(answer(1), annotator="second", confirmed=True)


@pytest.mark.parametrize(
    ("answers", "sayings", "state"),
    [
        ([], [], "to_write"),
        ([answer(1)], [], "waiting"),
        ([answer(1)], [YES], "confirmed"),
        ([answer(1)], [YES, NO], "to_write"),
        ([refused(0)], [], "to_write"),
        ([refused(0), refused(1)], [], "given_up"),
        ([refused(0), refused(1, model="another")], [], "to_write"),
        ([refused(0), answer(1, 1)], [], "waiting"),
        ([answer(1), refused(1)], [NO], "to_write"),
        ([answer(1), refused(1), refused(2)], [NO], "given_up"),
    ],
)
def test_a_query_is_counted_by_its_last_answers_and_what_people_say(
    tmp_path: Path,
    answers: list[generated.GeneratedCode],
    sayings: Sayings,
    state: str,
) -> None:
    database, source = judged_store(tmp_path)
    generated.add_answers(database, [(item, ()) for item in answers])
    for votes in sayings:
        generated.add_answers(database, [], votes)
    settings = settings_of(tmp_path)
    plan = plan_generation(database, source, settings.llm.model, settings.generation)
    expected = {"without_match": 2, "to_write": 1, state: 1 + (state == "to_write")}
    assert plan == GenerationPlan(collection="c", **expected)


def script(**more: Any) -> list[dict[str, Any]]:
    """Return a model whose first answer to the second query is wrong and whose next is right."""
    said = {"reason": "it adds nothing", "verdict": "does_not_answer"}
    fine = {"reason": "it adds", "verdict": "answers"}
    return [
        rule("code_writer", {"reply": {"code": WRONG}}, {"reply": {"code": RIGHT}})
        | {"query": QUERIES[1].text},
        rule("code_writer", more or {"reply": {"code": RIGHT}}) | {"query": QUERIES[2].text},
        *IN_DOUBT,
        rule("writer", {"reply": {"reading": "r", "program": PROGRAM}}),
        rule("arbiter", {"reply": said}, code="return 0"),
        rule("arbiter", {"reply": fine}),
    ]


def run(database: Database, source: CollectedSource, settings: Settings) -> Generated:
    generation = settings.generation
    committee = verifying_committee(settings.committee, generation.configuration)
    writer = AnswerWriter(database, "c", committee, generation, "v")
    work = _work(database, source, committee, generation)
    return asyncio.run(writer.answer_all(work, lambda items: None))


def test_a_refused_answer_is_written_again_and_nothing_is_written_twice(
    tmp_path: Path, backend: str
) -> None:
    database, source = judged_store(tmp_path)
    with ScriptedServer(script()) as model:
        settings = settings_of(tmp_path, model.base_url, backend)
        assert run(database, source, settings) == Generated(verified=2, refused=1)
        calls = len(model.calls)
        assert run(database, source, settings) == Generated()
        assert len(model.calls) == calls
    found = generated.load_answers(database, "c")
    assert sorted((item.query, item.ordinal, item.status) for item in found) == [
        (QUERIES[1].text, 0, "refused"),
        (QUERIES[1].text, 1, "verified"),
        (QUERIES[2].text, 0, "verified"),
    ]
    assert {item.origin for item in found} == {"generated:openai/scripted"}


def test_which_queries_are_answered_first_is_drawn_by_the_seed(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)

    def drawn(seed: int) -> list[str]:
        settings = settings_of(tmp_path)
        annotation = settings.annotation.model_copy(update={"seed": seed})
        generation = settings.generation.model_copy(update={"limit": 1})
        committee = replace(settings.committee, annotation=annotation)
        work = _work(database, source, committee, generation)
        return [query.text for query, _ in work]

    assert drawn(0) == drawn(0)
    found = [drawn(seed) for seed in range(10)]
    assert sorted({text for (text,) in found}) == [QUERIES[1].text, QUERIES[2].text]


@pytest.mark.parametrize(
    ("source_name", "counts"),
    [
        ("codesearchnet+staqc", Generated(verified=2, refused=1)),
        ("codesearchnet", Generated(verified=1, refused=3)),
    ],
)
def test_an_answer_needs_no_function_where_staqcs_snippets_are(
    tmp_path: Path, backend: str, source_name: str, counts: Generated
) -> None:
    database, source = judged_store(tmp_path)
    with database.transaction() as tx:
        tx.execute("UPDATE collections SET source = ?", [source_name])
    with ScriptedServer(script(reply={"code": "print(2)"})) as model:
        assert run(database, source, settings_of(tmp_path, model.base_url, backend)) == counts


def test_a_refused_key_ends_the_run_and_what_was_written_stays(
    tmp_path: Path, backend: str
) -> None:
    database, source = judged_store(tmp_path)
    with ScriptedServer(script(status=401, message="no")) as model:
        settings = settings_of(tmp_path, model.base_url, backend)
        one = settings.generation.model_copy(update={"concurrency": 1})
        settings = settings.model_copy(update={"generation": one})
        with pytest.raises(ModelRefusedError):
            run(database, source, settings)
        model.follow(script())
        assert len(generated.load_answers(database, "c")) == 2
        assert run(database, source, settings) == Generated(verified=1)


def test_a_query_whose_reply_cannot_be_read_is_left_for_the_next_run(
    tmp_path: Path, backend: str
) -> None:
    database, source = judged_store(tmp_path)
    with ScriptedServer(script(status=503)) as model:
        settings = settings_of(tmp_path, model.base_url, backend)
        assert run(database, source, settings) == Generated(verified=1, refused=1, failed=1)
        model.follow(script())
        assert run(database, source, settings) == Generated(verified=1)


def test_recorded_replies_write_no_answers() -> None:
    recorded = LanguageModelSettings(model="recorded/stdlib-sample")
    with pytest.raises(SettingsError, match="name a model with --model"):
        verifying_committee(Settings(llm=recorded).committee, "spec")
