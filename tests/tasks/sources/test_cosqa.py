"""Laws of CoSQA's and CoSQA+'s published files.

Covers `cosqa_plus`.
"""

import json
import os
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from infra.records import Code, Query
from tasks.corpus.merging import (
    CONFLICT,
    LABEL_OF_DROPPED,
    REPEATED_CODE,
    REPEATED_LABEL,
    REPEATED_QUERY,
    Readable,
)
from tasks.sources import open_source
from tests.tasks.sources.examples import (
    DOUBLE,
    HALVE,
    PYTHON_2,
    cosqa,
    cosqa_row,
    read_all,
    read_one,
    read_whole,
)

RETRIEVAL, PAIRS, BASE = "cosqa-retrieval-dev-1.json", "cosqa-dev.json", "code_idx_map.txt"


@pytest.fixture
def source(tmp_path: Path) -> Readable:
    return open_source(cosqa(tmp_path))


def relevances(collected: Collected) -> dict[tuple[str, str], float]:
    return {(label.query_id, label.code_id): label.relevance for label in collected.labels}


def pair(doc: str, code: str) -> tuple[str, str]:
    return Query.of(doc).query_id, Code.of(code).code_id


def test_queries_are_asked_over_the_whole_code_base(source: Readable) -> None:
    collected = read_whole(source)["cosqa"]
    assert [code.name for code in collected.codes] == ["double", "halve", ""]
    assert relevances(collected) == {pair("python double a number", DOUBLE): 1.0}
    assert {label.origin for label in collected.labels} == {"people:cosqa-retrieval"}


def test_labelled_pairs_are_a_collection_of_their_own(source: Readable) -> None:
    collected = read_whole(source)["cosqa-pairs"]
    assert relevances(collected) == {
        pair("python double a number", DOUBLE): 1.0,
        pair("python shout", HALVE): 0.0,
    }
    assert {label.origin for label in collected.labels} == {"people:cosqa-pairs"}


def test_without_labelled_pairs_there_is_one_collection(source: Readable, tmp_path: Path) -> None:
    (tmp_path / PAIRS).unlink()
    assert list(read_whole(source)) == ["cosqa"]


def test_a_function_that_does_not_parse_stays_in_the_code_base(source: Readable) -> None:
    shout = read_whole(source)["cosqa"].codes[2]
    assert "print x" in shout.text
    assert shout.parameters == ()


def test_filters_drop_functions_and_their_labels(tmp_path: Path) -> None:
    rows = [cosqa_row("double it", DOUBLE, 1), cosqa_row("shout", PYTHON_2, 1)]
    cosqa(tmp_path)
    (tmp_path / PAIRS).write_text(json.dumps(rows))
    main, pairs = read_all("cosqa", tmp_path, filters="testable").values()
    assert [code.name for code in main.codes] == ["double", "halve"]
    assert main.dropped == {"function does not parse: Python 2 statement": 1}
    assert len(pairs.labels) == 1
    assert pairs.dropped == {
        "function does not parse: Python 2 statement": 1,
        "label of a dropped query or function": 1,
    }


def test_what_normalises_to_the_same_is_merged_and_labels_follow(
    source: Readable, tmp_path: Path
) -> None:
    spaced = DOUBLE.replace("\n", "  \n")
    (tmp_path / BASE).write_text(json.dumps({HALVE: 0, DOUBLE: 1, spaced: 2}))
    rows = [
        cosqa_row("double  it", spaced, 1, retrieval_idx=2),
        cosqa_row("double it", DOUBLE, 1, retrieval_idx=1),
    ]
    (tmp_path / RETRIEVAL).write_text(json.dumps(rows))
    collected = read_whole(source)["cosqa"]
    assert len(collected.codes) == 2
    assert relevances(collected) == {pair("double it", DOUBLE): 1.0}
    assert collected.dropped == {REPEATED_CODE: 1, REPEATED_QUERY: 1, REPEATED_LABEL: 1}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (RETRIEVAL, '[\n{"idx": "1"', r"dev-1.json:2: column 12: .*truncated"),
        (BASE, '{"a": 0', r"code_idx_map.txt:1: column 8: .*truncated"),
        (BASE, "[]", r"code_idx_map.txt is no map"),
        (RETRIEVAL, "{}", r"dev-1.json:1: idx: Field required"),
        (RETRIEVAL, "", r"dev-1.json holds no rows"),
        (RETRIEVAL, "[]", r"dev-1.json holds no rows"),
        (PAIRS, " \n", r"cosqa-dev.json holds no rows"),
        (PAIRS, json.dumps([cosqa_row("a", HALVE, 2)]), r"cosqa-dev.json, item 1: label: .*less"),
        (PAIRS, json.dumps([cosqa_row(" ", HALVE, 1)]), r"cosqa-dev.json, item 1: doc: "),
        (PAIRS, '[{"idx": "1"}]', r"cosqa-dev.json, item 1: doc: Field required"),
        (
            RETRIEVAL,
            json.dumps([cosqa_row("a", "def other(): pass", 1)]),
            r"item 1: its code is not in code_idx_map.txt",
        ),
        (
            RETRIEVAL,
            json.dumps([cosqa_row("a", HALVE, 1, retrieval_idx=0)]),
            r"item 1: retrieval_idx is 0, but code_idx_map.txt has its code at 1",
        ),
    ],
)
def test_a_changed_file_is_named_with_its_place(
    source: Readable, tmp_path: Path, file: str, content: str, message: str
) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(SourceError, match=message):
        read_whole(source)


def test_another_encoding_is_named_with_its_line(source: Readable, tmp_path: Path) -> None:
    (tmp_path / PAIRS).write_bytes(b'[\n\n"\xff"]')
    with pytest.raises(SourceError, match=r"cosqa-dev.json:3: byte 0xff is not UTF-8"):
        read_whole(source)


def test_missing_files_are_named(source: Readable, tmp_path: Path) -> None:
    (tmp_path / BASE).unlink()
    with pytest.raises(SourceError, match=r"code_idx_map.txt cannot be read"):
        read_whole(source)
    (tmp_path / RETRIEVAL).unlink()
    with pytest.raises(SourceError, match=r"has no cosqa-retrieval"):
        read_whole(source)


@pytest.mark.data
@pytest.mark.skipif(
    "COSQA_DATA" not in os.environ, reason="COSQA_DATA names no folder with CoSQA's files"
)
def test_the_published_dev_files_have_their_known_counts() -> None:
    main, pairs = read_all("cosqa", Path(os.environ["COSQA_DATA"])).values()
    assert (len(main.queries), len(main.codes), len(main.labels)) == (500, 6267, 500)
    assert sum(not code.name for code in main.codes) == 20
    assert main.dropped == {}
    assert len(pairs.queries) == len(pairs.labels) == 604
    assert Counter(label.relevance for label in pairs.labels) == {1.0: 313, 0.0: 291}


def test_the_split_is_told_by_the_name_of_the_file_and_not_by_the_row(tmp_path: Path) -> None:
    settings = cosqa(tmp_path)
    row = cosqa_row("python halve it", HALVE, 1, idx="cosqa-train-7", retrieval_idx=1)
    (tmp_path / "cosqa-retrieval-test-500.json").write_text(json.dumps([row]))
    train = cosqa_row("python in a train file", HALVE, 1, idx="cosqa-dev-7")
    (tmp_path / "cosqa-train.json").write_text(json.dumps([train]))
    main, pairs = read_whole(open_source(settings)).values()
    assert [query.split for query in main.queries] == ["dev", "test"]
    assert {query.split for query in pairs.queries} == {"dev", "train"}


def test_all_rows_are_queries_in_their_order_and_the_merged_ones_are_counted(
    tmp_path: Path,
) -> None:
    settings = cosqa(tmp_path)
    texts = ["python shout", "python double a number", "python shout", "python  shout ", "new one"]
    rows = [cosqa_row(text, HALVE, 1, idx=f"cosqa-all-{n}") for n, text in enumerate(texts)]
    (tmp_path / "cosqa-all.json").write_text(json.dumps(rows))
    chosen = settings.model_copy(update={"queries": "all"})
    (collected,) = read_whole(open_source(chosen)).values()
    assert [query.text for query in collected.queries] == [
        "python shout", "python double a number", "new one",
    ]  # fmt: skip
    assert [query.split for query in collected.queries] == ["dev", "dev", ""]
    assert collected.dropped[REPEATED_QUERY] == 2
    assert open_source(chosen).fingerprint() != open_source(settings).fingerprint()
    (tmp_path / "cosqa-all.json").unlink()
    with pytest.raises(SourceError, match=r"no cosqa-all.json"):
        read_whole(open_source(chosen))


ASKED, CODES, JUDGED = (f"test_agent_{name}.json" for name in ("query", "codebase", "pairs"))
FIRST = {
    ASKED: "query.json",
    CODES: "gpt4o_augment_codebase.json",
    JUDGED: "gpt4o_augment_query_code_pairs.json",
}


def judged(query: int, code: int, label: int) -> dict[str, object]:
    return {
        "pair-idx": 9, "query-idx": query, "query": "of the pair", "code-idx": code,
        "code": "of the pair", "label": label,
    }  # fmt: skip


def asked(*texts: str) -> list[dict[str, object]]:
    return [{"query-idx": index, "query": text} for index, text in enumerate(texts, 7)]


@pytest.fixture
def plus(tmp_path: Path) -> Path:
    codes = [{"code-idx": index, "code": code} for index, code in enumerate((DOUBLE, HALVE))]
    pairs = [judged(7, 0, 1), judged(7, 1, 0), judged(8, 1, 1), judged(8, 5, 0)]
    codes.append({"code-idx": 5, "code": PYTHON_2})
    for name, items in ((ASKED, asked("double it", "halve it")), (CODES, codes), (JUDGED, pairs)):
        (tmp_path / name).write_text(json.dumps(items), encoding="utf-8")
    return tmp_path


read_plus = partial(read_one, "cosqa-plus")


@pytest.mark.parametrize(
    "names", [{}, FIRST, {new: old.replace("gpt4o", "final") for new, old in FIRST.items()}]
)
def test_files_of_either_version_give_queries_codes_and_labels(
    plus: Path, names: dict[str, str]
) -> None:
    for old, new in names.items():
        (plus / old).rename(plus / new)
    collected = read_plus(plus)
    assert relevances(collected) == {
        pair("double it", DOUBLE): 1.0, pair("double it", HALVE): 0.0,
        pair("halve it", HALVE): 1.0, pair("halve it", PYTHON_2): 0.0,
    }  # fmt: skip
    assert collected.codes[0].origin == f"{names.get(CODES, CODES)}, item 1"
    assert {label.origin for label in collected.labels} == {"published:cosqa-plus"}


def test_what_is_equal_is_merged_and_filters_take_labels_along(plus: Path) -> None:
    (plus / ASKED).write_text(json.dumps(asked("double it", "double  it")))
    collected = read_plus(plus, filters="parseable")
    assert [query.query_id for query in collected.queries] == [Query.of("double it").query_id]
    expected = {pair("double it", code): 1.0 for code in (DOUBLE, HALVE)}
    assert relevances(collected) == expected
    dropped = collected.dropped
    assert (dropped[REPEATED_QUERY], dropped[CONFLICT], dropped[LABEL_OF_DROPPED]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (ASKED, '[\n{"query-idx": 7, "query": "a"},\n{"query', r"query.json:3: column 2: .*trunc"),
        (CODES, '[{"code-idx": 0}]', r"codebase.json, item 1: code: Field required.*code-idx"),
        (CODES, '[{"code-idx": 0, "code": " "}]', r"codebase.json, item 1: code: "),
        (
            JUDGED,
            json.dumps([judged(7, 0, 1), judged(7, 0, 2)]),
            r"pairs.json, item 2: label: .*less",
        ),
        (
            JUDGED,
            json.dumps([judged(7, 9, 1)]),
            r"pairs.json, item 1: there is no query 7 or no code",
        ),
        (ASKED, json.dumps(asked("a") * 2), r"query.json, item 2: the index 7 is taken already"),
    ],
)
def test_a_changed_file_of_cosqa_plus_is_named_with_its_place(
    plus: Path, file: str, content: str, message: str
) -> None:
    (plus / file).write_text(content)
    with pytest.raises(SourceError, match=message):
        read_plus(plus)


def test_missing_files_and_those_of_two_versions_are_named(plus: Path) -> None:
    (plus / JUDGED).unlink()
    with pytest.raises(
        SourceError, match=r"has no \*_pairs.json: put the files of one version there"
    ):
        read_plus(plus)
    (plus / "final_augment_codebase.json").write_text("[]")
    with pytest.raises(SourceError, match=r"has final_augment_codebase.json and test_agent_codeb"):
        read_plus(plus)
    for file in plus.glob("*_codebase.json"):
        file.unlink()
    with pytest.raises(SourceError, match=r"has no \*_codebase.json: put the files of one version"):
        read_plus(plus)
