"""Laws of a person's own files, and of the packaged sample: its texts, and that its replies fit.

Covers `stdlib_sample`.
"""

import gzip
import json
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest

from agents.committee.configurations import CONFIGURATIONS
from agents.llm.prompt import fence, pair_section
from agents.llm.recorded import key_of, recording
from agents.llm.structured_output import read as read_reply
from infra.collected import Collected
from infra.errors import SourceError
from infra.records import Code, Label, Pair, Query
from infra.settings import Settings, load_settings
from tasks.benchmarks.licences import permits_redistribution
from tasks.corpus.merging import CONFLICT, REPEATED_CODE, REPEATED_QUERY
from tasks.sources import open_source
from tests.tasks.sources.examples import DOUBLE, HALVE, jsonl, read_one, read_whole, write_lines

read = partial(read_one, "jsonl")


def test_each_file_may_be_compressed(tmp_path: Path) -> None:
    jsonl(tmp_path)
    plain = read(tmp_path)
    for file in list(tmp_path.iterdir()):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    packed = read(tmp_path)
    assert (packed.labels, len(packed.codes)) == (plain.labels, 2)


def test_files_become_records(tmp_path: Path) -> None:
    jsonl(tmp_path)
    collected = read(tmp_path)
    double, halve = collected.codes
    assert [query.text for query in collected.queries] == ["double it", "half of it"]
    assert (double.name, double.parameters) == ("double", ("x",))
    assert double.documentation == "Return twice the number."
    assert double.origin == "codes.jsonl:1"
    assert halve.name == "h"
    assert collected.labels == (
        Label(
            query_id=Query.of("double it").query_id,
            code_id=Code.of(DOUBLE).code_id,
            origin="people:jsonl",
            relevance=1.0,
        ),
    )


def test_labels_may_be_missing(tmp_path: Path) -> None:
    jsonl(tmp_path)
    (tmp_path / "labels.jsonl").unlink()
    assert read(tmp_path).labels == ()


def test_equal_lines_become_one_and_of_two_labels_the_higher_stays(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "queries.jsonl", {"query": "a b", "id": "1"}, {"query": "a  b", "id": "2"}
    )
    write_lines(
        tmp_path / "codes.jsonl", {"code": HALVE, "id": "1"}, {"code": f"\n{HALVE}", "id": "2"}
    )
    write_lines(
        tmp_path / "labels.jsonl",
        {"query": "1", "code": "1", "relevance": 0.25},
        {"query": "2", "code": "2", "relevance": 0.75},
        {"query": "1", "code": "2", "relevance": 0},
    )
    collected = read(tmp_path)
    assert [label.relevance for label in collected.labels] == [0.75]
    assert collected.dropped == {REPEATED_QUERY: 1, REPEATED_CODE: 1, CONFLICT: 2}
    note = f"pair: 2, such as {tmp_path}/labels.jsonl:2 (0.75, where 0.25 is given)"
    assert note in collected.notes[0]


LABEL: dict[str, object] = {"query": "q1", "code": "c1", "relevance": 1}


@pytest.mark.parametrize(
    ("file", "row", "message"),
    [
        ("codes.jsonl", {"code": ""}, r"codes.jsonl:1: code: String should have"),
        ("codes.jsonl", {"code": " "}, r"codes.jsonl:1: the code is empty"),
        ("codes.jsonl", {"code": "\ufeff\n"}, r"codes.jsonl:1: the code is empty"),
        ("codes.jsonl", {"code": HALVE, "lang": "py"}, r"codes.jsonl:1: lang: Extra"),
        ("labels.jsonl", {"query": "q1", "code": "c1"}, r"labels.jsonl:1: relevance: Field requ"),
        (
            "labels.jsonl",
            LABEL | {"relevance": -1},
            r"labels.jsonl:1: relevance: .*than or equal to 0",
        ),
        (
            "labels.jsonl",
            LABEL | {"relevance": float("nan")},
            r"labels.jsonl:1: relevance: .*finite",
        ),
        ("labels.jsonl", LABEL | {"query": "q9"}, r"labels.jsonl:1: no query has the id 'q9'"),
        ("labels.jsonl", LABEL | {"code": "c9"}, r"labels.jsonl:1: no code has the id 'c9'"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, file: str, row: object, message: str) -> None:
    jsonl(tmp_path)
    write_lines(tmp_path / file, row)
    with pytest.raises(SourceError, match=message):
        read(tmp_path)


UNREADABLE = {"print": "def f(x):\n    print x", "statement": "x = 1", "broken": "def f(:"}


def test_functions_that_do_not_parse_are_dropped_and_counted_with_their_labels(
    tmp_path: Path,
) -> None:
    jsonl(tmp_path)
    bad = [{"code": code, "id": name} for name, code in UNREADABLE.items()]
    several = {"code": f"{HALVE}\n{DOUBLE}", "id": "several"}
    write_lines(tmp_path / "codes.jsonl", *bad, {"code": DOUBLE, "id": "c1"}, several)
    labels = [{"query": "q1", "code": name, "relevance": 1} for name in ("print", "c1")]
    write_lines(tmp_path / "labels.jsonl", *labels)
    collected = read(tmp_path)
    assert [code.name for code in collected.codes] == ["double", "halve"]
    assert [label.code_id for label in collected.labels] == [Code.of(DOUBLE).code_id]
    assert collected.dropped == {
        "function does not parse: Python 2 statement": 1,
        "function does not parse: invalid syntax": 1,
        "text without a function": 1,
        "label of a dropped query or function": 1,
    }


def test_without_filters_functions_that_do_not_parse_stay(tmp_path: Path) -> None:
    jsonl(tmp_path)
    write_lines(tmp_path / "codes.jsonl", {"code": UNREADABLE["print"], "id": "c1"})
    collected = read(tmp_path, filters="")
    assert len(collected.codes) == len(collected.labels) == 1
    assert collected.dropped == {}


def test_an_id_of_two_functions_is_refused(tmp_path: Path) -> None:
    jsonl(tmp_path)
    row = {"code": HALVE, "id": "c1"}
    write_lines(tmp_path / "codes.jsonl", row, row)
    with pytest.raises(SourceError, match=r"codes.jsonl:2: id 'c1' is taken already by .*:1"):
        read(tmp_path)


@pytest.mark.parametrize("file", ["queries.jsonl", "codes.jsonl"])
def test_missing_and_empty_files_are_named(tmp_path: Path, file: str) -> None:
    source = open_source(jsonl(tmp_path))
    (tmp_path / file).write_text("")
    with pytest.raises(SourceError, match=rf"{file} holds no"):
        read_whole(source)
    (tmp_path / file).unlink()
    with pytest.raises(SourceError, match=rf"{file} cannot be read"):
        read_whole(source)
    with pytest.raises(SourceError, match=rf"{file} cannot be read"):
        source.fingerprint()


SETTINGS: Settings = load_settings(preset="sample")
TEXT = (files("agents.llm.recorded") / "stdlib-sample.jsonl").read_text("utf-8")
LINES = [json.loads(line) for line in TEXT.splitlines()[1:]]
AGENTS = {agent.role: agent for agent in CONFIGURATIONS["spec"].agents}


@pytest.fixture(scope="module")
def sample() -> Collected:
    return read_whole(open_source(SETTINGS.source))["stdlib-sample"]


def test_every_function_says_where_it_is_from_and_may_be_redistributed(sample: Collected) -> None:
    assert len(sample.queries) == 40
    assert len(sample.codes) == 1_000
    for code in sample.codes:
        assert permits_redistribution(code.licence)
        assert code.licence == "PSF-2.0"
        assert code.url.startswith("https://github.com/python/cpython/blob/v3.11.7/Lib/")


def test_every_reply_is_readable_and_stands_once() -> None:
    assert len(recording(SETTINGS.llm.model)[1]) == len(LINES)
    for line in LINES:
        read_reply(json.dumps(line["reply"]), AGENTS[line["role"]].reply_type)


def test_every_query_has_a_specification_and_five_screened_codes(sample: Collected) -> None:
    known = recording(SETTINGS.llm.model)[1]
    limit = SETTINGS.llm.max_code_characters
    for query in sample.queries:
        assert key_of("specifier", fence("query", query.text)) in known, query.text
        pairs = [pair_section(Pair(query=query, code=code), limit) for code in sample.codes]
        screened = sum(key_of("screener", pair) in known for pair in pairs)
        # One less where two of them are the same function but for names: that is judged once.
        assert SETTINGS.search.top_k - 1 <= screened <= SETTINGS.search.top_k, query.text
