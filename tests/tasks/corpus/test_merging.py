"""Laws of functions as they are parsed and merged, and of queries and codes that are chosen apart.

Covers `functions`, `infra.collected` and `infra.settings.sections`.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from infra.collected import Collected, Item, whole
from infra.errors import SettingsError, SourceError, UnknownNameError
from infra.records import Code, Label, Query, SourceInfo
from infra.settings import SourceSettings, load_settings
from infra.settings.reference import settings_reference
from tasks.corpus.functions import parse_function
from tasks.corpus.merging import (
    LABEL_ELSEWHERE,
    LABEL_OF_DROPPED,
    REPEATED_CODE,
    REPEATED_QUERY,
    Deduplicator,
)
from tasks.filters import FilterChain, QueryReason
from tasks.filters.testable import NO_PARAMETER
from tasks.sources import open_source, sources
from tasks.studies import benchmark
from tests.tasks.sources.examples import DOUBLE, HALVE, read_whole, write_lines

INFO = SourceInfo(name="toy", licence="MIT", revision="1", location="here")
GOOD, BAD = "def f(x):\n    return x", "def f(x):\n    print x"
NOT_PARSED = "function does not parse: Python 2 statement"


def collected_of(texts: Iterable[str], labels: Iterable[Label] = (), *queries: Query) -> Collected:
    merged = Deduplicator(FilterChain(("parseable",)))

    def items() -> Iterator[Item]:
        yield from merged.queries(queries)
        yield from merged.codes(parse_function(text, "here") for text in texts)
        yield from merged.labels(labels)

    return whole(merged.streamed(INFO, items()))


def test_what_a_filter_drops_is_counted_by_reason() -> None:
    collected = collected_of((GOOD, BAD, BAD, f"{GOOD}  \n", "x = 1"))
    assert [code.text for code in collected.codes] == [GOOD]
    assert collected.dropped == {NOT_PARSED: 2, REPEATED_CODE: 1, "text without a function": 1}


def labels_of(texts: Iterable[str], *queries: Query) -> list[Label]:
    ids = [parse_function(text, "").code.code_id for text in texts]
    pairs = [{"query_id": query.query_id, "code_id": code} for query in queries for code in ids]
    return [Label(**pair, origin="people", relevance=1.0) for pair in pairs]


def test_labels_of_dropped_functions_are_dropped_and_counted() -> None:
    query = Query.of("q")
    labels = labels_of((GOOD, BAD), query)
    collected = collected_of((GOOD, BAD), labels, query, Query.of(" q "))
    assert [label.code_id for label in collected.labels] == [collected.codes[0].code_id]
    assert collected.dropped == {NOT_PARSED: 1, LABEL_OF_DROPPED: 1, REPEATED_QUERY: 1}


@pytest.mark.parametrize(
    ("text", "is_keyword"),
    [
        ("tf.gather_nd", True), ("os.path.join()", True), ("read_csv", True),
        ("read_csv pandas", False), ("quicksort", False), ("unique elements", False),
        ("python 3.8", False), ("3.8", False), ("how to use os.path.join", False), ("c++", False),
    ],
)  # fmt: skip
def test_plain_technical_keywords_are_left_out_with_their_labels(
    text: str, is_keyword: bool
) -> None:
    stream = Deduplicator(FilterChain(("technical-keywords",)))
    function = parse_function(GOOD, "here")
    asked = [Query.of(text), Query.of("sort a list")]
    labels = labels_of([GOOD], *asked)
    assert [*stream.queries(asked)] == asked[is_keyword:]
    assert [*stream.codes([function])] == [function.code]
    assert stream.labels(labels) == labels[is_keyword:] == [*stream.new_labels(labels)]
    counts = {"query that is a plain technical keyword": 1, LABEL_OF_DROPPED: 2}
    assert dict(stream.dropped) == (counts if is_keyword else {})


def test_a_collection_whose_functions_are_all_dropped_is_refused_with_the_reasons() -> None:
    with pytest.raises(SourceError, match=r"toy has no function.*1 x function does not parse"):
        collected_of([BAD])


DEEP = "def f(x):\n    return " + "(" * 300 + "x" + ")" * 300


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BAD, NOT_PARSED),
        ("def f(x):\n    exec x", NOT_PARSED),
        ("def f(x):\n    try:\n        x()\n    except A, e:\n        pass", NOT_PARSED),
        ("def f(x):\n\tif x:\n        return 1", "function does not parse: tabs and spaces mixed"),
        ("def f(x):\n  y = 1\n   z = 2", "function does not parse: wrong indentation"),
        ("def f(x):\n    return '\0'", "function does not parse: null byte"),
        (DEEP, "function does not parse: nested too deeply"),
        ("def f():\n  return " + "-" * 100_000 + "1", "function does not parse: nested too deeply"),
        ("def f(:", "function does not parse: invalid syntax"),
        ("@decorator\n@another", "function does not parse: invalid syntax"),
        ("class C:\n    x = 1", "text without a function"),
        ("x = 1", "text without a function"),
        ("# only a comment", "text without a function"),
    ],
)
def test_a_text_without_a_readable_function_has_a_problem_of_few_words(
    text: str, problem: str
) -> None:
    function = parse_function(text, "codes.jsonl:3", "given")
    assert (function.syntax, function.parse_error) == (None, problem)
    assert (function.code.name, function.code.origin) == ("given", "codes.jsonl:3")
    assert function.text_without_documentation == function.code.text


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("def f(a, *, b):\n    return a", "f", ("a", "b")),
        ("def f(a):\n    return a\n\ndef g(b):\n    return b", "f", ("a",)),
        ("class C:\n    def m(self, a):\n        return a", "C.m", ("a",)),
        ("@decorator\ndef f(a): pass", "f", ("a",)),
        ("import os\n\nasync def f(): pass", "f", ()),
    ],
)
def test_a_text_is_described_by_its_first_function(
    text: str, name: str, parameters: tuple[str, ...]
) -> None:
    function = parse_function(text, "here")
    assert function.parse_error == ""
    assert (function.code.name, function.code.parameters) == (name, parameters)
    assert function.code.text == text


ELSE = "def other(y):\n    return y + 1\n"
NONE = "def nothing():\n    return 1\n"


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("asked", "first"):
        (tmp_path / name).mkdir()
    write_lines(tmp_path / "asked" / "queries.jsonl", {"query": "double it", "id": "q"})
    asked = [{"code": DOUBLE, "id": "c"}, {"code": HALVE, "id": "d"}]
    write_lines(tmp_path / "asked" / "codes.jsonl", *asked)
    labels = [{"query": "q", "code": code, "relevance": 1} for code in "cd"]
    write_lines(tmp_path / "asked" / "labels.jsonl", *labels)
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "module.py").write_text(f"{ELSE}\n\n{DOUBLE}\n\n{NONE}")
    (tmp_path / "staqc").mkdir()
    sources.get("staqc").write_example(tmp_path / "staqc")
    return tmp_path


def settings(folder: Path, **more: object) -> SourceSettings:
    given = {
        "queries": f"jsonl={folder}/asked",
        "codes": [f"python-source={folder}/second", f"staqc={folder}/staqc"],
        **more,
    }
    return SourceSettings.model_validate(given)


def read(chosen: SourceSettings) -> Collected:
    (collected,) = read_whole(open_source(chosen)).values()
    return collected


def test_queries_and_labels_are_of_one_source_and_codes_of_others_in_order(folders: Path) -> None:
    options = {"filters": "testable"}
    collected = read(settings(folders, **{"python-source": options}))
    assert [query.text for query in collected.queries] == ["double it"]
    assert [(code.source, code.name) for code in collected.codes] == [
        ("python-source", "other"), ("python-source", "double"), ("staqc", "double"),
        ("staqc", ""), ("staqc", ""),
    ]  # fmt: skip
    assert [label.code_id for label in collected.labels] == [Code.of(DOUBLE).code_id]
    assert collected.dropped == {LABEL_ELSEWHERE: 1, NO_PARAMETER: 1}
    assert [part.name for part in collected.parts] == ["jsonl", "python-source", "staqc"]
    assert collected.info.name == "jsonl+python-source+staqc"
    assert any("testable functions of 3" in note for note in collected.notes)


def test_of_equal_codes_the_first_sources_stays(folders: Path) -> None:
    chosen = settings(folders, codes=[f"python-source={folders}/second", f"jsonl={folders}/asked"])
    collected = read(chosen)
    assert [code.source for code in collected.codes] == ["python-source"] * 2 + ["jsonl"]
    assert collected.dropped[REPEATED_CODE] == 1


def test_the_collection_is_named_by_its_sources_or_as_told(folders: Path) -> None:
    assert list(read_whole(open_source(settings(folders)))) == ["jsonl-python-source-staqc"]
    assert list(read_whole(open_source(settings(folders, collection="mine")))) == ["mine"]


def test_a_file_of_queries_is_asked_over_other_codes(folders: Path) -> None:
    collected = read(settings(folders, queries=str(folders / "asked" / "queries.jsonl")))
    assert [query.text for query in collected.queries] == ["double it"]
    assert collected.labels == ()
    with pytest.raises(SourceError, match=r"nowhere.jsonl"):
        read(settings(folders, queries="nowhere.jsonl"))


def test_queries_of_another_source_are_asked_over_the_sources_own_code(folders: Path) -> None:
    collected = read(settings(folders, codes=(), path=folders / "second", filters="testable"))
    assert [code.source for code in collected.codes] == ["python-source"] * 2
    assert len(collected.labels) == 1


def test_the_sources_own_queries_are_asked_over_other_code(folders: Path) -> None:
    chosen = SourceSettings.model_validate(
        {"name": "jsonl", "path": folders / "asked", "codes": [f"staqc={folders}/staqc"]}
    )
    assert [query.text for query in read(chosen).queries] == ["double it"]
    assert {code.source for code in read(chosen).codes} == {"staqc"}


def test_the_fingerprint_knows_every_part(folders: Path) -> None:
    before = open_source(settings(folders)).fingerprint()
    assert open_source(settings(folders)).fingerprint() == before
    reordered = tuple(reversed(settings(folders).codes))
    assert open_source(settings(folders, codes=reordered)).fingerprint() != before
    for file in ("asked/queries.jsonl", "second/module.py"):
        os.utime(folders / file, ns=(0, 0))
        assert open_source(settings(folders)).fingerprint() != before
        before = open_source(settings(folders)).fingerprint()


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"codes": ["stack=x"]}, UnknownNameError, "unknown source 'stack'"),
        ({"staqd": {"path": "x"}}, UnknownNameError, "did you mean 'staqc'"),
        ({"cosqa": {"path": "x"}}, SettingsError, "cosqa is chosen neither by"),
        ({"codes": ["staqc"]}, SettingsError, "give staqc=PATH to --queries or --codes"),
        ({"staqc": {"pth": "x"}}, SettingsError, r"no option 'pth' .*did you mean 'path'"),
    ],
)
def test_what_cannot_be_chosen_is_refused(
    folders: Path, changed: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        open_source(settings(folders, **changed))


def test_parts_come_from_file_and_environment_and_are_printed_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COSQA_CONFIG", raising=False)
    monkeypatch.setenv("COSQA_SOURCE__CODES", "codesearchnet=python/,staqc=StaQC/")
    monkeypatch.setenv("COSQA_SOURCE__STAQC__TITLE_QUERIES", "true")
    (tmp_path / "cosqa.toml").write_text(
        '[source]\nqueries = "cosqa=CoSQA/"\n[source.codesearchnet]\nfilters = ["testable"]\n'
    )
    chosen = load_settings()
    assert chosen.source.codes == ("codesearchnet=python/", "staqc=StaQC/")
    assert chosen.source.options_of_parts == {
        "codesearchnet": {"filters": ["testable"]}, "staqc": {"title_queries": "true"},
    }  # fmt: skip
    text = settings_reference(chosen, sources.get("python-source").Options)
    monkeypatch.delenv("COSQA_SOURCE__CODES")
    monkeypatch.delenv("COSQA_SOURCE__STAQC__TITLE_QUERIES")
    (tmp_path / "cosqa.toml").write_text(text)
    assert load_settings().source == chosen.source


def test_no_other_collection_of_a_part_is_made(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documentation's pairs would take as long as all else."""
    monkeypatch.delattr("tasks.sources.source_code.documentation_pairs")
    [content] = read_whole(open_source(settings(folders))).values()
    assert content.codes


def test_notes_of_the_source_of_queries_are_kept_but_those_about_its_own_code(
    folders: Path,
) -> None:
    posts = folders / "Posts.xml"
    sources.get("stack-exchange").write_example(folders)
    asked = {"queries": f"stack-exchange={posts}", "stack-exchange": {"filters": "testable"}}
    collected = read(settings(folders, **asked))
    of_queries, *others = collected.notes
    assert of_queries.startswith("stack-exchange: 1 questions read, ")
    assert of_queries.endswith("1 that are no discussions")
    assert not any(note.startswith("stack-exchange: ") for note in others)


def test_only_contradicting_labels_that_count_are_told(folders: Path) -> None:
    with (folders / "asked" / "labels.jsonl").open("a") as file:
        file.write('{"query": "q", "code": "c", "relevance": 0}\n')
    told = "contradict another of their pair: 1, such as"
    assert any(told in note for note in read(settings(folders)).notes)
    queries = folders / "asked" / "queries.jsonl"
    for unused in (
        {"codes": [f"staqc={folders}/staqc"], "queries": queries},
        {"codes": [f"jsonl={folders}/asked"], "queries": queries},
    ):
        assert not any("contradict" in note for note in read(settings(folders, **unused)).notes)


def test_reasons_to_drop_queries_and_labels_are_of_one_kind() -> None:
    """Those that the figures of a collection leave out of its functions."""
    reasons = benchmark._OF_QUERIES | benchmark._OF_LABELS
    assert {type(reason) for reason in reasons} == {QueryReason}
