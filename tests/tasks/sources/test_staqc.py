"""Laws of StaQC's published pickles, made small."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from infra.settings import SourceSettings
from tasks.filters.python_code import INCOMPLETE, IRRELEVANT, MIXED, OTHER_LANGUAGE
from tasks.sources import open_source
from tasks.sources.staqc import EMPTY
from tests.tasks.sources.reading import read_whole

SEVERAL = "python_how_to_do_it_by_classifier_multiple_iid_to_code.pickle"
SINGLE = "python_how_to_do_it_qid_by_classifier_unlabeled_single_code_answer_qid_to_code.pickle"
TITLES = "python_how_to_do_it_by_classifier_multiple_qid_to_title.pickle"
LOOP = "total = 0\nfor number in numbers:\n    total += number\nprint(total)\n"
FUNCTION = "def double(x):\n    return x + x\n"


def write(folder: Path, name: str, content: object, protocol: int = 2) -> None:
    (folder / name).write_bytes(pickle.dumps(content, protocol))


def read(folder: Path, **options: object) -> Collected:
    settings = SourceSettings.model_validate({"name": "staqc", "path": folder, **options})
    (collected,) = read_whole(open_source(settings)).values()
    return collected


@pytest.mark.parametrize("protocol", [0, 2])
def test_snippets_of_both_files_are_codes_in_their_order(tmp_path: Path, protocol: int) -> None:
    write(tmp_path, SINGLE, {7: "import os\nprint(os.getcwd())\n"}, protocol)
    write(tmp_path, SEVERAL, {(4, 0): FUNCTION, (4, 1): LOOP, (5, 0): " \n"}, protocol)
    collected = read(tmp_path)
    assert [(code.name, code.origin) for code in collected.codes] == [
        ("double", "question 4, snippet 0"), ("", "question 4, snippet 1"),
        ("", "question 7, snippet 0"),
    ]  # fmt: skip
    assert collected.codes[1].text == LOOP.strip()
    assert collected.codes[2].url == "https://stackoverflow.com/questions/7"
    assert {code.licence for code in collected.codes} == {""}
    assert collected.dropped == {EMPTY: 1}
    assert collected.queries == ()


def test_titles_are_queries_where_asked_for(tmp_path: Path) -> None:
    write(tmp_path, SEVERAL, {(4, 0): FUNCTION})
    write(tmp_path, TITLES, {4: "How to double a number?"})
    [query] = read(tmp_path, title_queries=True).queries
    assert (query.text, query.origin) == ("How to double a number?", "question 4")


def test_what_is_no_python_is_counted_by_the_four_reasons(tmp_path: Path) -> None:
    snippets = [
        LOOP, "for name in names:", "10:30\n11:20\n12:40", ">>> 1 + 1\n2",
        "<html><body><form action='x'><input type='text' name='a'></form></body></html>",
        "SELECT name FROM people WHERE age > 3 ORDER BY name;",
    ]  # fmt: skip
    write(tmp_path, SEVERAL, {(1, n): text for n, text in enumerate(snippets)})
    collected = read(tmp_path)
    assert [code.text for code in collected.codes] == [LOOP.strip()]
    assert collected.dropped == {INCOMPLETE: 1, IRRELEVANT: 1, MIXED: 1, OTHER_LANGUAGE: 2}


@pytest.mark.parametrize("content", [{"a": 3}, {(1, 2, 3): "x"}, {1.5: "x"}, {None: "x"}])
def test_entries_of_another_shape_are_named(tmp_path: Path, content: object) -> None:
    write(tmp_path, SEVERAL, content)
    with pytest.raises(SourceError, match=r"to_code.pickle: entry 1: no text by question id"):
        read(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"multiple_iid_to_code.pickle .*StaQC's repository"):
        read(tmp_path)
    write(tmp_path, SEVERAL, {(4, 0): FUNCTION})
    with pytest.raises(SourceError, match=r"qid_to_title.pickle"):
        read(tmp_path, title_queries=True)


def test_a_hostile_pickle_is_refused_and_does_not_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Runs:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.system, (f"touch {canary}",)

    write(tmp_path, SEVERAL, {(4, 0): Runs()})
    with pytest.raises(SourceError, match=r"opcode GLOBAL is refused"):
        read(tmp_path)
    assert not canary.exists()
