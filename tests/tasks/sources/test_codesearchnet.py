"""Laws of CodeSearchNet's and StaQC's published files, made small.

Covers `staqc`.
"""

import gzip
import json
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from infra.errors import SettingsError, SourceError
from infra.records import Code, Query
from tasks.benchmarks.licences import UNKNOWN
from tasks.corpus.merging import REPEATED_CODE, REPEATED_LABEL, REPEATED_QUERY
from tasks.filters.python_code import INCOMPLETE, IRRELEVANT, MIXED, OTHER_LANGUAGE
from tasks.inputs.challenge import read_grades
from tasks.sources.codesearchnet import EMPTY, NO_QUERY, UNFOUND
from tasks.sources.staqc import EMPTY as EMPTY_SNIPPET
from tests.tasks.sources.examples import DOUBLE, HALVE, PYTHON_2, Touches, read_one

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this"


def definition(number: int, function: str, **more: object) -> dict[str, Any]:
    """Return an entry with the keys of *_dedupe_definitions_v2.pkl."""
    nwo = f"owner/repo{number % 2}"
    return {
        "nwo": nwo, "sha": "0" * 40, "path": "m.py", "language": "python",
        "identifier": f"f{number}", "parameters": "(x)", "argument_list": "",
        "return_statement": "", "docstring": "", "docstring_summary": "", "docstring_tokens": [],
        "function": function, "function_tokens": function.split(), "score": 0.5,
        "url": f"https://github.com/{nwo}/blob/{'0' * 40}/m.py#L{number}-L{number + 3}", **more,
    }  # fmt: skip


def row(name: str, code: str, split: str, **more: object) -> dict[str, Any]:
    """Return a line of final/jsonl."""
    return {
        "repo": "owner/repo0", "path": "m.py", "func_name": name, "original_string": code,
        "language": "python", "code": code, "code_tokens": code.split(), "docstring": "",
        "docstring_tokens": [], "sha": "0" * 40, "partition": split,
        "url": f"https://github.com/owner/repo0/blob/0/m.py#{name}", **more,
    }  # fmt: skip


def write_definitions(folder: Path, entries: object, protocol: int = 4) -> Path:
    file = folder / "python_dedupe_definitions_v2.pkl"
    file.write_bytes(pickle.dumps(entries, protocol))
    licences = {"owner/repo0": [("docs/NOTICE", "by us"), ("LICENSE", MIT)], "owner/repo1": []}
    (folder / "python_licenses.pkl").write_bytes(pickle.dumps(licences, protocol))
    return file


def write_jsonl(folder: Path, split: str, rows: list[dict[str, Any]]) -> Path:
    file = folder / "python" / "final" / "jsonl" / split / f"python_{split}_0.jsonl.gz"
    file.parent.mkdir(parents=True)
    with gzip.open(file, "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return file


read = partial(read_one, "codesearchnet")


@pytest.mark.parametrize("protocol", [0, 2, 3, 4])
def test_definitions_keep_address_licence_and_documentation(tmp_path: Path, protocol: int) -> None:
    entries = [definition(0, DOUBLE, docstring="Twice."), definition(1, HALVE)]
    write_definitions(tmp_path, entries, protocol)
    double, halve = read(tmp_path).codes
    assert (double.name, double.parameters, double.documentation) == ("f0", ("x",), "Twice.")
    assert double.url == entries[0]["url"]
    assert (double.licence, halve.licence) == ("MIT", UNKNOWN)
    assert (double.language, double.split) == ("python", "")
    assert double.origin.startswith("owner/repo0 ")


def test_python_2_is_dropped_and_counted_and_stops_nothing(tmp_path: Path) -> None:
    write_definitions(tmp_path, [definition(n, text) for n, text in enumerate((PYTHON_2, HALVE))])
    collected = read(tmp_path)
    assert len(collected.codes) == 1
    assert collected.dropped == {"function does not parse: Python 2 statement": 1}


def test_empty_functions_are_counted(tmp_path: Path) -> None:
    write_definitions(tmp_path, [definition(0, " \n"), definition(1, HALVE)])
    assert read(tmp_path).dropped == {EMPTY: 1}


def test_documented_functions_keep_the_split_of_their_folder(tmp_path: Path) -> None:
    write_jsonl(tmp_path, "train", [row("a", DOUBLE, "train"), row("b", PYTHON_2, "train")])
    write_jsonl(tmp_path, "test", [row("c", HALVE, "test")])
    collected = read(tmp_path, filters="")
    assert [(code.name, code.split) for code in collected.codes] == [
        ("a", "train"), ("b", "train"), ("c", "test"),
    ]  # fmt: skip
    assert [code.name for code in read(tmp_path, splits=["test"]).codes] == ["c"]
    assert {code.licence for code in collected.codes} == {UNKNOWN}


def test_files_that_were_unpacked_are_read_and_none_may_be_there_in_both_forms(
    tmp_path: Path,
) -> None:
    packed = write_jsonl(tmp_path, "test", [row("c", HALVE, "test", docstring="Half of it.")])
    whole = read(tmp_path, documentation_queries=True)
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    with pytest.raises(SourceError, match=r"python_test_0\.jsonl is there compressed too"):
        read(tmp_path)
    packed.unlink()
    unpacked = read(tmp_path, documentation_queries=True)
    assert unpacked.labels == whole.labels
    assert [query.text for query in unpacked.queries] == ["Half of it."]


def test_the_folder_of_one_language_may_be_given(tmp_path: Path) -> None:
    write_jsonl(tmp_path, "train", [row("a", DOUBLE, "train")])
    assert len(read(tmp_path / "python").codes) == 1
    write_definitions(tmp_path, [definition(0, DOUBLE), definition(1, HALVE)])
    assert len(read(tmp_path / "python").codes) == 2
    assert len(read(tmp_path / "python", part="documented").codes) == 1


def test_documentation_gives_queries_and_the_code_is_searched_without_it(tmp_path: Path) -> None:
    rows = [
        row("a", DOUBLE, "test", docstring="Return twice\nthe number.\n\nMore."),
        row("b", HALVE, "test"),
    ]
    write_jsonl(tmp_path, "test", rows)
    collected = read(tmp_path, documentation_queries=True)
    assert [(query.text, query.split) for query in collected.queries] == [
        ("Return twice the number.", "test")
    ]
    assert [code.text for code in collected.codes] == [
        "def double(x):\n    y = x + x\n    return y", HALVE.strip(),
    ]  # fmt: skip
    [label] = collected.labels
    assert label.query_id == Query.of("Return twice the number.").query_id
    assert label.code_id == collected.codes[0].code_id
    assert collected.dropped == {NO_QUERY: 1}


def test_functions_with_one_paragraph_are_all_relevant_to_it(tmp_path: Path) -> None:
    """No function that its author documented so is left as an irrelevant one."""
    split = "test"
    rows = [
        row("a", DOUBLE, split, docstring="Return a number.\n\nTwice."),
        row("b", HALVE, split, docstring="Return a\n number."),
        row("c", DOUBLE, split, docstring="Return twice."),
        row("d", DOUBLE, split, docstring="Return twice."),
        row("e", HALVE, split, docstring="Return twice."),
        row("f", PYTHON_2, split, docstring="Return twice."),
    ]
    write_jsonl(tmp_path, split, rows)
    collected = read(tmp_path, documentation_queries=True)
    number, twice = collected.queries
    double, halve = collected.codes
    assert (number.text, twice.text) == ("Return a number.", "Return twice.")
    assert [label.key for label in collected.labels] == [
        (query.query_id, code.code_id) for query in (number, twice) for code in (double, halve)
    ]
    assert collected.dropped == {
        REPEATED_QUERY: 3, REPEATED_CODE: 3, REPEATED_LABEL: 1,
        "function does not parse: Python 2 statement": 1,
    }  # fmt: skip


ANNOTATIONS = f"""Language,Query,GitHubUrl,Relevance,Notes
Python,double it,{definition(0, "")["url"]},3,as asked
Python,double it,{definition(0, "")["url"]},0,no
Python,double it,{definition(1, "")["url"]},2,too slow
Python,double it,gone,3,
Python,print it,{definition(2, "")["url"]},3,
Python,halve it,{definition(3, "")["url"]},2,
Go,double it,{definition(4, "")["url"]},3,
"""


def test_what_an_annotator_graded_3_is_right_and_found_by_its_url(tmp_path: Path) -> None:
    texts = [DOUBLE, HALVE, PYTHON_2, "def other(x):\n    return x", "def f(x):\n    return 1"]
    write_definitions(tmp_path, [definition(*each) for each in enumerate(texts)])
    file = tmp_path / "annotationStore.csv"
    file.write_text(ANNOTATIONS)
    collected = read(tmp_path, annotations=file)
    double, printed = collected.queries
    assert [query.text for query in collected.queries] == ["double it", "print it"]
    codes = [code.code_id for code in collected.codes]
    assert codes == [Code.of(text).code_id for text in texts[:4]], "annotated for a query or not"
    assert {label.key: (label.relevance, label.note) for label in collected.labels} == {
        (double.query_id, codes[0]): (1, "as asked; no"),
        (double.query_id, codes[1]): (0, "too slow"),
        (printed.query_id, codes[2]): (1, ""),
    }  # fmt: skip
    assert collected.dropped == {UNFOUND: 1}
    assert len(read(tmp_path, annotations=file, filters="parseable").codes) == 3
    write_jsonl(tmp_path, "test", [row("c", HALVE, "test", docstring="Half of it.")])
    with pytest.raises(SettingsError, match=r"both give queries"):
        read(tmp_path, annotations=file, documentation_queries=True, part="documented")


@pytest.mark.data
@pytest.mark.skipif(
    "CODESEARCHNET_DATA" not in os.environ,
    reason="CODESEARCHNET_DATA names no folder with the challenge's annotationStore.csv",
)
def test_the_published_grades_give_399_pairs_of_95_queries(tmp_path: Path) -> None:
    """The texts are made up: the annotations name functions by their URLs alone."""
    file = Path(os.environ["CODESEARCHNET_DATA"]) / "annotationStore.csv"
    urls = {url for found in read_grades(file)["python"].values() for url in found}
    entries = [
        definition(number, f"def f(x):\n    return x + {number}", url=url)
        for number, url in enumerate(sorted(urls))
    ]
    write_definitions(tmp_path, entries)
    collected = read(tmp_path, annotations=file)
    right = [label for label in collected.labels if label.relevance]
    assert (len(right), len({label.query_id for label in right})) == (399, 95)
    assert (len(collected.queries), len(collected.codes)) == (95, 974)
    assert collected.dropped == {}


def test_other_languages_are_read_by_their_own_syntax(tmp_path: Path) -> None:
    text = "function f(x) { return x; }"
    (tmp_path / "javascript_dedupe_definitions_v2.pkl").write_bytes(
        pickle.dumps([definition(0, text)])
    )
    [code] = read(tmp_path, languages="javascript").codes
    assert (code.text, code.language, code.parameters) == (text, "javascript", ("x",))


def test_queries_need_the_documented_functions(tmp_path: Path) -> None:
    write_definitions(tmp_path, [definition(0, DOUBLE)])
    with pytest.raises(SettingsError, match=r"part = documented"):
        read(tmp_path, documentation_queries=True)


def test_what_is_missing_is_named_with_where_it_is_published(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"v2.pkl nor .*jsonl with functions: .*v2/python.zip"):
        read(tmp_path)
    write_definitions(tmp_path, [definition(0, DOUBLE)])
    with pytest.raises(SourceError, match=r"no .*final/jsonl with functions"):
        read(tmp_path, part="documented")


@pytest.mark.parametrize(
    ("line", "problem"),
    [('{"code": "def', "no complete JSON"), ('{"url": "u"}', "code: Field required"),
     ('{"code": 3, "url": "u"}', "code: Input should be a valid string")],
)  # fmt: skip
def test_a_broken_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = write_jsonl(tmp_path, "train", [row("a", DOUBLE, "train")])
    with gzip.open(file, "at") as stream:
        stream.write(line + "\n")
    with pytest.raises(SourceError, match=rf"jsonl.gz:2: .*{problem}"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([definition(0, DOUBLE), {"url": "u"}], "definition 2: function: Field required"),
        ([["function", DOUBLE]], "definition 1"),
        ({"a": 1}, "this is a dict, no list"),
    ],
)
def test_a_definition_of_another_shape_is_named(
    tmp_path: Path, entries: object, problem: str
) -> None:
    write_definitions(tmp_path, entries)
    with pytest.raises(SourceError, match=problem):
        read(tmp_path)


@pytest.mark.parametrize("name", ["python_dedupe_definitions_v2.pkl", "python_licenses.pkl"])
def test_a_hostile_pickle_is_refused_and_does_not_run(tmp_path: Path, name: str) -> None:
    write_definitions(tmp_path, [definition(0, DOUBLE)])
    canary = tmp_path / "canary"
    (tmp_path / name).write_bytes(pickle.dumps([definition(0, DOUBLE), Touches(canary)]))
    with pytest.raises(SourceError, match=rf"{name}: byte [\d,]+: opcode STACK_GLOBAL is refused"):
        read(tmp_path)
    assert not canary.exists()


SEVERAL = "python_how_to_do_it_by_classifier_multiple_iid_to_code.pickle"
SINGLE = "python_how_to_do_it_qid_by_classifier_unlabeled_single_code_answer_qid_to_code.pickle"
TITLES = "python_how_to_do_it_by_classifier_multiple_qid_to_title.pickle"
LOOP = "total = 0\nfor number in numbers:\n    total += number\nprint(total)\n"


def write_pickle(folder: Path, name: str, content: object, protocol: int = 2) -> None:
    (folder / name).write_bytes(pickle.dumps(content, protocol))


read_staqc = partial(read_one, "staqc")


@pytest.mark.parametrize("protocol", [0, 2])
def test_snippets_of_both_files_are_codes_in_their_order(tmp_path: Path, protocol: int) -> None:
    write_pickle(tmp_path, SINGLE, {7: "import os\nprint(os.getcwd())\n"}, protocol)
    write_pickle(tmp_path, SEVERAL, {(4, 0): DOUBLE, (4, 1): LOOP, (5, 0): " \n"}, protocol)
    collected = read_staqc(tmp_path)
    assert [(code.name, code.origin) for code in collected.codes] == [
        ("double", "question 4, snippet 0"), ("", "question 4, snippet 1"),
        ("", "question 7, snippet 0"),
    ]  # fmt: skip
    assert collected.codes[1].text == LOOP.strip()
    assert collected.codes[2].url == "https://stackoverflow.com/questions/7"
    assert {code.licence for code in collected.codes} == {""}
    assert collected.dropped == {EMPTY_SNIPPET: 1}
    assert collected.queries == ()


def test_titles_are_queries_where_asked_for(tmp_path: Path) -> None:
    write_pickle(tmp_path, SEVERAL, {(4, 0): DOUBLE})
    write_pickle(tmp_path, TITLES, {4: "How to double a number?"})
    [query] = read_staqc(tmp_path, title_queries=True).queries
    assert (query.text, query.origin) == ("How to double a number?", "question 4")


def test_what_is_no_python_is_counted_by_the_four_reasons(tmp_path: Path) -> None:
    snippets = [
        LOOP, "for name in names:", "10:30\n11:20\n12:40", ">>> 1 + 1\n2",
        "<html><body><form action='x'><input type='text' name='a'></form></body></html>",
        "SELECT name FROM people WHERE age > 3 ORDER BY name;",
    ]  # fmt: skip
    write_pickle(tmp_path, SEVERAL, {(1, n): text for n, text in enumerate(snippets)})
    collected = read_staqc(tmp_path)
    assert [code.text for code in collected.codes] == [LOOP.strip()]
    assert collected.dropped == {INCOMPLETE: 1, IRRELEVANT: 1, MIXED: 1, OTHER_LANGUAGE: 2}


@pytest.mark.parametrize("content", [{"a": 3}, {(1, 2, 3): "x"}, {1.5: "x"}, {None: "x"}])
def test_entries_of_another_shape_are_named(tmp_path: Path, content: object) -> None:
    write_pickle(tmp_path, SEVERAL, content)
    with pytest.raises(SourceError, match=r"to_code.pickle: entry 1: no text by question id"):
        read_staqc(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"multiple_iid_to_code.pickle .*StaQC's repository"):
        read_staqc(tmp_path)
    write_pickle(tmp_path, SEVERAL, {(4, 0): DOUBLE})
    with pytest.raises(SourceError, match=r"qid_to_title.pickle"):
        read_staqc(tmp_path, title_queries=True)


def test_a_hostile_pickle_of_snippets_is_refused_and_does_not_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    write_pickle(tmp_path, SEVERAL, {(4, 0): Touches(canary)})
    with pytest.raises(SourceError, match=r"opcode GLOBAL is refused"):
        read_staqc(tmp_path)
    assert not canary.exists()
