"""Laws that every registered source keeps."""

import os
import shutil
from pathlib import Path

import pytest

from infra.errors import SettingsError, SourceError, UnknownNameError
from infra.records import Code, Query
from infra.settings import SourceSettings
from tasks.corpus.merging import Readable
from tasks.sources import open_source, sources
from tests.tasks.sources.examples import read_whole


@pytest.fixture(params=sources.names())
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> SourceSettings:
    options = sources.get(request.param).write_example(tmp_path)
    return SourceSettings.model_validate({"name": request.param, **options})


def opened(settings: SourceSettings, **changed: object) -> Readable:
    return open_source(SourceSettings.model_validate({**settings.model_dump(), **changed}))


def test_the_main_collection_comes_first_and_names_the_others(settings: SourceSettings) -> None:
    main, *others = read_whole(opened(settings))
    assert main == settings.name
    assert all(other.startswith(f"{main}-") for other in others)


def test_a_collection_can_be_named(settings: SourceSettings) -> None:
    names = list(read_whole(opened(settings)))
    renamed = list(read_whole(opened(settings, collection="mine")))
    assert renamed == [name.replace(settings.name, "mine", 1) for name in names]


def test_reading_twice_gives_equal_collections(settings: SourceSettings) -> None:
    assert read_whole(opened(settings)) == read_whole(opened(settings))


def test_every_collection_has_queries_and_codes_each_once(settings: SourceSettings) -> None:
    for collected in read_whole(opened(settings)).values():
        query_ids = [query.query_id for query in collected.queries]
        code_ids = [code.code_id for code in collected.codes]
        assert query_ids
        assert code_ids
        assert len(set(query_ids)) == len(query_ids)
        assert len(set(code_ids)) == len(code_ids)


def test_ids_follow_from_content(settings: SourceSettings) -> None:
    for collected in read_whole(opened(settings)).values():
        for query in collected.queries:
            assert query.query_id == Query.of(query.text).query_id
        for code in collected.codes:
            assert code.code_id == Code.of(code.text).code_id


def test_labels_are_of_pairs_of_the_collection(settings: SourceSettings) -> None:
    for collected in read_whole(opened(settings)).values():
        query_ids = {query.query_id for query in collected.queries}
        code_ids = {code.code_id for code in collected.codes}
        pairs = [(label.query_id, label.code_id) for label in collected.labels]
        assert all(query in query_ids and code in code_ids for query, code in pairs)
        assert len(set(pairs)) == len(pairs)


def test_licence_revision_and_location_are_said(settings: SourceSettings) -> None:
    for collected in read_whole(opened(settings)).values():
        info = collected.info
        assert info.name == settings.name
        assert info.licence
        assert info.revision
        assert info.location


def test_the_paths_of_this_machine_stay_out_of_the_records(
    settings: SourceSettings, tmp_path: Path
) -> None:
    for collected in read_whole(opened(settings)).values():
        origins = [query.origin for query in collected.queries]
        origins += [code.origin for code in collected.codes]
        said = [*origins, *collected.notes, *collected.dropped, str(collected.info)]
        assert not any(str(tmp_path) in text for text in said)


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


def test_every_option_has_a_description(settings: SourceSettings) -> None:
    for name, option in sources.get(settings.name).Options.model_fields.items():
        assert option.description, name


@pytest.mark.parametrize("name", ["parseable", "testable", "near-duplicates"])
def test_filters_are_honoured_and_what_they_drop_is_counted(
    settings: SourceSettings, name: str
) -> None:
    every = next(iter(read_whole(opened(settings, filters=())).values()))
    kept = next(iter(read_whole(opened(settings, filters=(name,))).values()))
    assert len(every.codes) - len(kept.codes) <= sum(kept.dropped.values())
    assert {code.code_id for code in kept.codes} <= {code.code_id for code in every.codes}


def test_an_unknown_filter_is_refused_with_the_known_ones(settings: SourceSettings) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown filter 'short'.*testable"):
        opened(settings, filters="short")


def test_the_fingerprint_knows_the_filters(settings: SourceSettings) -> None:
    default = sources.get(settings.name).Options.model_fields["filters"].default
    assert opened(settings, filters=default).fingerprint() == opened(settings).fingerprint()
    assert opened(settings, filters="documentation").fingerprint() != opened(settings).fingerprint()


def test_an_unknown_option_is_refused_with_the_known_ones(settings: SourceSettings) -> None:
    with pytest.raises(
        SettingsError, match=r"no option 'pth' .*did you mean 'path'\? Its options: .*filters"
    ):
        opened(settings, pth="x")


def test_a_folder_whose_name_is_not_utf_8_is_refused(
    settings: SourceSettings, tmp_path: Path
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"-\xff"))
    shutil.copytree(tmp_path, folder)
    with pytest.raises(SettingsError, match=r"udcff is not UTF-8: rename"):
        opened(settings, path=folder)


def test_a_missing_folder_is_a_source_error(settings: SourceSettings, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere: no such folder"):
        opened(settings, path=tmp_path / "nowhere")
