"""A law of publishing: Prefect's cache answers while store, settings and files are as they were.

Covers `tasks.stages.publish`.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from infra.identity import SearchId
from infra.records import Query
from infra.settings import PublishSettings
from infra.store.benchmarks import Published
from infra.store.candidates import count_unjudged
from tasks.benchmarks import Benchmark, verify_export
from tasks.stages import publish
from tasks.stages.labels import label_sets, labelled_benchmark, labels_of_agents
from tasks.stages.publish import has_present_labels, nothing_exported, publish_benchmark
from tests.tasks.stages.generate.world import (
    QUERIES,
    ROUNDS,
    SEARCH,
    also_collected,
    judged_store,
    label,
)


def test_what_is_left_to_judge_is_known(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path)
    assert count_unjudged(database, SEARCH, "c") == (0, 0)
    queries = (*QUERIES[:1], Query.of("new"))
    other = also_collected(database, "d", queries=queries, search=SearchId("other"))
    assert count_unjudged(database, other.search.search_id, "d") == (2, 1)


@pytest.mark.parametrize(
    ("rounds", "spoil", "words"),
    [
        (0, "", "no pair of it is judged: run `cosqa annotate`"),
        (1, "UPDATE annotations SET status = 'failed', label = NULL", "with --reason failed"),
        (1, "UPDATE annotations SET status = 'undecided', label = NULL", "have no label"),
        (1, "UPDATE collections SET licence = 'unknown'", "add a LICENSE to its folder or repo"),
        (
            1,
            "UPDATE collection_codes SET licence = 'unknown'",
            "give --include-unlicensed for private use",
        ),
        (1, "", "its labels are not exported yet: run `cosqa publish`"),
    ],
)
def test_the_error_of_a_run_without_benchmark_says_which_step_gave_nothing(
    tmp_path: Path, rounds: int, spoil: str, words: str
) -> None:
    database, source = judged_store(tmp_path, rounds)
    if spoil:
        with database.transaction() as transaction:
            transaction.execute(spoil)
    sets = label_sets(database, source)
    told = str(nothing_exported(database, sets, PublishSettings(), "c"))
    assert told.startswith("there is no benchmark of c: ")
    assert words in told


@pytest.mark.usefixtures("prefect_server")
def test_an_export_is_read_and_written_anew_only_when_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, source = judged_store(tmp_path)
    labels = labels_of_agents(database, source)
    assert labels is not None
    reads: list[str] = []

    def read(*given: Any) -> Benchmark:
        reads.append("read")
        return labelled_benchmark(*given)

    monkeypatch.setattr(publish, "labelled_benchmark", read)

    @flow
    def published(settings: PublishSettings) -> Published | None:
        return publish_benchmark(database, labels, settings)

    def is_read(**settings: object) -> bool:
        reads.clear()
        first = published(PublishSettings.model_validate({"folder": tmp_path / "out", **settings}))
        assert first is not None
        verify_export(Path(first.folder))
        return bool(reads)

    assert is_read()
    assert not is_read()
    assert is_read(include_undecided=True), "another setting"
    assert not is_read(include_undecided=True)
    with monkeypatch.context() as patch:
        patch.setattr(publish, "program_digest", lambda *_: "other program text")
        assert is_read(include_undecided=True)
    assert is_read(include_undecided=True)
    label(database, 2, 1, 1, ROUNDS[0])
    assert is_read(include_undecided=True), "another label"
    card = tmp_path / "out" / "c-agents" / "README.md"
    card.write_text("changed")
    assert is_read(include_undecided=True), "a file was changed"
    state = card.stat()
    card.write_bytes(b"x" * state.st_size)
    os.utime(card, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert is_read(include_undecided=True), "a file was changed, and its time set back"
    card.unlink()
    assert is_read(include_undecided=True), "a file was lost"
    assert not is_read(include_undecided=True)


@pytest.mark.usefixtures("prefect_server")
def test_an_export_by_other_settings_is_scored_as_it_is_until_labels_or_files_change(
    tmp_path: Path,
) -> None:
    database, source = judged_store(tmp_path)
    labels = labels_of_agents(database, source)
    assert labels is not None

    @flow
    def published(settings: PublishSettings) -> Published | None:
        return publish_benchmark(database, labels, settings)

    def is_scored_as_it_is(folder: str = "out", **settings: object) -> bool:
        chosen = PublishSettings.model_validate({"folder": tmp_path / folder, **settings})
        return has_present_labels(database, labels, chosen)

    assert not is_scored_as_it_is(), "not exported"
    published(PublishSettings(folder=tmp_path / "out", include_undecided=True))
    assert is_scored_as_it_is(include_undecided=True)
    assert is_scored_as_it_is(), "by other settings"
    assert not is_scored_as_it_is("other"), "not exported there"
    label(database, 2, 1, 1, ROUNDS[0])
    assert not is_scored_as_it_is(), "another label"
    published(PublishSettings(folder=tmp_path / "out"))
    assert is_scored_as_it_is(include_undecided=True)
    manifest = tmp_path / "out" / "c-agents" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8")[:200], encoding="utf-8")
    assert not is_scored_as_it_is(), "a file was cut"
