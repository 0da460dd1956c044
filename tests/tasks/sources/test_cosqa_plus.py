"""Laws of CoSQA+'s published files."""

import json
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from infra.records import Code, Query
from infra.settings import SourceSettings
from tasks.corpus.merging import CONFLICT, LABEL_OF_DROPPED, REPEATED_QUERY
from tasks.sources import open_source
from tests.tasks.sources.examples import DOUBLE, HALVE, PYTHON_2
from tests.tasks.sources.reading import read_whole

QUERY, CODES, PAIRS = (f"test_agent_{name}.json" for name in ("query", "codebase", "pairs"))
FIRST = {
    QUERY: "query.json",
    CODES: "gpt4o_augment_codebase.json",
    PAIRS: "gpt4o_augment_query_code_pairs.json",
}


def pair(query: int, code: int, label: int) -> dict[str, object]:
    return {
        "pair-idx": 9, "query-idx": query, "query": "of the pair", "code-idx": code,
        "code": "of the pair", "label": label,
    }  # fmt: skip


def queries(*texts: str) -> list[dict[str, object]]:
    return [{"query-idx": index, "query": text} for index, text in enumerate(texts, 7)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    codes = [{"code-idx": index, "code": code} for index, code in enumerate((DOUBLE, HALVE))]
    for name, items in (
        (QUERY, queries("double it", "halve it")),
        (CODES, [*codes, {"code-idx": 5, "code": PYTHON_2}]),
        (PAIRS, [pair(7, 0, 1), pair(7, 1, 0), pair(8, 1, 1), pair(8, 5, 0)]),
    ):
        (tmp_path / name).write_text(json.dumps(items), encoding="utf-8")
    return tmp_path


def read(folder: Path, **options: object) -> Collected:
    settings = SourceSettings.model_validate({"name": "cosqa-plus", "path": folder, **options})
    return read_whole(open_source(settings))["cosqa-plus"]


def relevances(collected: Collected) -> dict[tuple[str, str], float]:
    text = {code.code_id: code.text for code in collected.codes}
    asked = {query.query_id: query.text for query in collected.queries}
    return {
        (asked[label.query_id], text[label.code_id]): label.relevance for label in collected.labels
    }


EXPECTED = {
    ("double it", Code.of(DOUBLE).text): 1.0,
    ("double it", Code.of(HALVE).text): 0.0,
    ("halve it", Code.of(HALVE).text): 1.0,
    ("halve it", Code.of(PYTHON_2).text): 0.0,
}


@pytest.mark.parametrize(
    "names", [{}, FIRST, {new: old.replace("gpt4o", "final") for new, old in FIRST.items()}]
)
def test_files_of_either_version_give_queries_codes_and_labels(
    folder: Path, names: dict[str, str]
) -> None:
    for old, new in names.items():
        (folder / old).rename(folder / new)
    collected = read(folder)
    assert relevances(collected) == EXPECTED
    assert collected.codes[0].origin == f"{names.get(CODES, CODES)}, item 1"
    assert {label.origin for label in collected.labels} == {"published:cosqa-plus"}


def test_what_is_equal_is_merged_and_filters_take_labels_along(folder: Path) -> None:
    (folder / QUERY).write_text(json.dumps(queries("double it", "double  it")))
    collected = read(folder, filters="parseable")
    assert [query.query_id for query in collected.queries] == [Query.of("double it").query_id]
    assert relevances(collected) == {
        ("double it", Code.of(DOUBLE).text): 1.0,
        ("double it", Code.of(HALVE).text): 1.0,
    }
    dropped = collected.dropped
    assert (dropped[REPEATED_QUERY], dropped[CONFLICT], dropped[LABEL_OF_DROPPED]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (QUERY, '[\n{"query-idx": 7, "query": "a"},\n{"query', r"query.json:3: column 2: .*trunc"),
        (CODES, '[{"code-idx": 0}]', r"codebase.json, item 1: code: Field required.*code-idx"),
        (CODES, '[{"code-idx": 0, "code": " "}]', r"codebase.json, item 1: code: "),
        (PAIRS, json.dumps([pair(7, 0, 1), pair(7, 0, 2)]), r"pairs.json, item 2: label: .*less"),
        (PAIRS, json.dumps([pair(7, 9, 1)]), r"pairs.json, item 1: there is no query 7 or no code"),
        (QUERY, json.dumps(queries("a") * 2), r"query.json, item 2: the index 7 is taken already"),
    ],
)
def test_a_changed_file_is_named_with_its_place(
    folder: Path, file: str, content: str, message: str
) -> None:
    (folder / file).write_text(content)
    with pytest.raises(SourceError, match=message):
        read(folder)


def test_missing_files_and_those_of_two_versions_are_named(folder: Path) -> None:
    (folder / PAIRS).unlink()
    with pytest.raises(
        SourceError, match=r"has no \*_pairs.json: put the files of one version there"
    ):
        read(folder)
    (folder / "final_augment_codebase.json").write_text("[]")
    with pytest.raises(SourceError, match=r"has final_augment_codebase.json and test_agent_codeb"):
        read(folder)
    for file in folder.glob("*_codebase.json"):
        file.unlink()
    with pytest.raises(SourceError, match=r"has no \*_codebase.json: put the files of one version"):
        read(folder)
