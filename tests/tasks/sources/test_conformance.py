"""Laws that every registered source keeps."""

import os
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.records import Code, Query
from infra.settings import SourceSettings
from tasks.sources import Source, sources
from tests.tasks.sources.examples import EXAMPLES


@pytest.fixture(params=sources.names())
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> SourceSettings:
    assert request.param in EXAMPLES, f"write an example of {request.param} in examples.py"
    return EXAMPLES[request.param](tmp_path)


def opened(settings: SourceSettings, **changed: object) -> Source:
    return sources.get(settings.name)(settings.model_copy(update=changed))


def test_the_main_collection_comes_first_and_names_the_others(settings: SourceSettings) -> None:
    main, *others = opened(settings).read()
    assert main == settings.name
    assert all(other.startswith(f"{main}-") for other in others)


def test_a_collection_can_be_named(settings: SourceSettings) -> None:
    names = list(opened(settings).read())
    renamed = list(opened(settings, collection="mine").read())
    assert renamed == [name.replace(settings.name, "mine", 1) for name in names]


def test_reading_twice_gives_equal_collections(settings: SourceSettings) -> None:
    assert opened(settings).read() == opened(settings).read()


def test_every_collection_has_queries_and_codes_each_once(settings: SourceSettings) -> None:
    for collected in opened(settings).read().values():
        query_ids = [query.query_id for query in collected.queries]
        code_ids = [code.code_id for code in collected.codes]
        assert query_ids
        assert code_ids
        assert len(set(query_ids)) == len(query_ids)
        assert len(set(code_ids)) == len(code_ids)


def test_ids_follow_from_content(settings: SourceSettings) -> None:
    for collected in opened(settings).read().values():
        for query in collected.queries:
            assert query.query_id == Query.of(query.text).query_id
        for code in collected.codes:
            assert code.code_id == Code.of(code.text).code_id


def test_labels_are_of_pairs_of_the_collection(settings: SourceSettings) -> None:
    for collected in opened(settings).read().values():
        query_ids = {query.query_id for query in collected.queries}
        code_ids = {code.code_id for code in collected.codes}
        pairs = [(label.query_id, label.code_id) for label in collected.labels]
        assert all(query in query_ids and code in code_ids for query, code in pairs)
        assert len(set(pairs)) == len(pairs)


def test_licence_revision_and_location_are_said(settings: SourceSettings) -> None:
    for collected in opened(settings).read().values():
        info = collected.info
        assert info.name == settings.name
        assert info.licence
        assert info.revision
        assert info.location


def test_the_paths_of_this_machine_stay_out_of_the_records(
    settings: SourceSettings, tmp_path: Path
) -> None:
    for collected in opened(settings).read().values():
        origins = [query.origin for query in collected.queries]
        origins += [code.origin for code in collected.codes]
        assert not any(str(tmp_path) in origin for origin in origins)


def test_the_fingerprint_stays_while_nothing_changes(settings: SourceSettings) -> None:
    assert opened(settings).fingerprint() == opened(settings).fingerprint()


def test_the_fingerprint_knows_the_collections_name(settings: SourceSettings) -> None:
    named = opened(settings, collection="mine")
    assert named.fingerprint() != opened(settings).fingerprint()


def test_the_fingerprint_changes_with_every_file(settings: SourceSettings, tmp_path: Path) -> None:
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        before = opened(settings).fingerprint()
        state = file.stat()
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1_000_000))
        assert opened(settings).fingerprint() != before, file


def test_a_missing_folder_is_a_source_error(settings: SourceSettings, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere is no folder"):
        opened(settings, path=tmp_path / "nowhere")
