"""Laws of questions of Stack Overflow: those of a dump, and Neural Code Search as a benchmark.

Covers `neural_code_search`.
"""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from infra.settings import SourceSettings
from tasks.corpus.neural_code_search import NO_REPOSITORY, QUESTIONS, write_corpus
from tasks.sources import open_source, sources
from tasks.sources.neural_code_search import EXAMPLES, UNFOUND
from tests.tasks.corpus.test_mined_questions import answer, dump, question
from tests.tasks.sources.examples import read_one

JAVA = "int twice(int x) {\n    return 2 * x;\n}"


read = partial(read_one, "stack-exchange")


def test_titles_are_queries_answers_are_code_and_labels_join_them(tmp_path: Path) -> None:
    posts = [
        question(1, "How to double", 5), question(2, "Why double", 9),
        answer(3, 1, 2, JAVA, ContentLicense="CC BY-SA 3.0"), answer(4, 2, 2, "because();"),
    ]  # fmt: skip
    dump(tmp_path / "Posts.xml", posts)
    collected = read(tmp_path, tags="java, android", site="android.stackexchange.com")
    [query], [code], [label] = collected.queries, collected.codes, collected.labels
    assert (query.text, query.origin) == ("How to double", "question 1")
    assert (code.text, code.name, code.language) == (JAVA, "twice", "java")
    assert code.url == "https://android.stackexchange.com/a/3"
    assert code.licence == "CC-BY-SA-3.0"
    assert label.key == (query.query_id, code.code_id)
    assert collected.notes[0].startswith("2 questions read, 2 with the tags, 2 most popular of")
    assert collected.notes[0].endswith(
        "2 with an up-voted answer with code, 1 that are no discussions"
    )


def test_one_answer_may_stand_for_two_questions_and_a_filter_drops_code(tmp_path: Path) -> None:
    posts = [question(1, "How to double", 5), question(2, "Double it", 9)]
    posts += [
        answer(3, 1, 2, JAVA),
        answer(4, 2, 2, JAVA),
        question(5, "Else"),
        answer(6, 5, 1, "x"),
    ]
    file = dump(tmp_path / "Posts.xml", posts)
    collected = read(file, tags=["java"], filters=["parseable"])
    assert (len(collected.queries), len(collected.codes), len(collected.labels)) == (3, 1, 2)
    assert sum(collected.dropped.values()) == 3


def test_the_questions_of_an_evaluation_are_read_from_its_file(tmp_path: Path) -> None:
    posts = [question(1, "How to double", 5), question(2, "Double it", 9)]
    posts += [answer(3, 1, 2, JAVA), answer(4, 2, 2, "twice(2)")]
    file = dump(tmp_path / "Posts.xml", posts)
    asked = tmp_path / "287_android_questions.json"
    asked.write_text('[{"stackoverflow_id": 2, "question": "Twice", "answer": "x"}]', "utf-8")
    collected = read(file, evaluated=asked)
    assert [query.text for query in collected.queries] == ["How to double"]
    assert collected.notes[0].endswith("1 that an evaluation does not ask")


def test_a_tag_may_have_any_sign(tmp_path: Path) -> None:
    posts = [question(1, "Sort it", Tags="<c++><.net>"), answer(2, 1, 1, "sort(a);")]
    assert len(read(dump(tmp_path / "a.xml", posts), tags="c++,.net").queries) == 1


def test_a_dump_without_such_questions_says_what_each_step_left(tmp_path: Path) -> None:
    file = dump(tmp_path / "Posts.xml", [question(1, "How to"), answer(2, 1, 0, "x();")])
    with pytest.raises(SourceError, match=r"no question is left of 1 questions read, 1 with the"):
        read(file)
    with pytest.raises(SourceError, match=r"0 with the tags, 0 most popular"):
        read(file, tags="php")


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no Posts\.xml in it: unpack"):
        read(tmp_path)


def test_a_corpus_that_is_not_there_is_refused_by_its_option(tmp_path: Path) -> None:
    dump(tmp_path / "Posts.xml", [question(1, "How to double", 5)])
    with pytest.raises(SourceError, match=r"absent: no such folder.*source\.corpus"):
        read(tmp_path, corpus=tmp_path / "absent")


def test_questions_whose_code_has_no_match_in_a_corpus_are_left_out(tmp_path: Path) -> None:
    posts = [question(1, "How to double"), answer(2, 1, 1, JAVA)]
    posts += [question(3, "How to read"), answer(4, 3, 1, "for (String s : in.lines()) print(s);")]
    file = dump(tmp_path / "Posts.xml", posts)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    body = "int two(int a) { int b = 2 * a; return b; }"
    (corpus / "A.java").write_text(f"class A {{ {body} }}")
    collected = read(file, tags="java", corpus=corpus)
    assert [query.text for query in collected.queries] == ["How to double"]
    assert "1 whose code has a match in the corpus" in collected.notes[0]
    settings = SourceSettings(name="stack-exchange", path=file, corpus=corpus)
    before = open_source(settings).fingerprint()
    (corpus / "A.java").write_text("class A {}")
    assert open_source(settings).fingerprint() != before


def read_methods(folder: Path) -> Collected:
    return read_one("neural-code-search", folder, repositories=folder)


def example(folder: Path) -> None:
    sources.get("neural-code-search").write_example(folder)


def test_methods_know_where_they_are_and_examples_are_labels(tmp_path: Path) -> None:
    example(tmp_path)
    (tmp_path / "app-0f1e" / "LICENSE").write_text("The MIT License (MIT)")
    collected = read_methods(tmp_path)
    first, second = collected.codes
    assert first.text == "void hide(View view) {\n    manager.hide(view);\n}"
    assert first.url == "https://github.com/owner/app/blob/0f1e/Keys.java#L2-L4"
    assert (first.name, first.parameters, first.language) == ("hide", ("view",), "java")
    assert (first.licence, first.origin) == ("MIT", "owner/app/Keys.java:2")
    assert second.name == "twice"
    [query] = collected.queries
    assert (query.text, query.origin) == ("hide the keyboard", "https://stackoverflow.com/q/1")
    [label] = collected.labels
    assert (label.key, label.origin) == ((query.query_id, first.code_id), EXAMPLES)
    assert collected.dropped == {}


def test_what_is_not_there_is_counted(tmp_path: Path) -> None:
    example(tmp_path)
    asked = {"stackoverflow_id": 2, "question": "other", "answer": "", "examples": [1, 2, 77]}
    (tmp_path / QUESTIONS).write_text(json.dumps([asked, {**asked, "stackoverflow_id": 3}]))
    collected = read_methods(tmp_path)
    assert len(collected.labels) == 2
    assert collected.dropped[UNFOUND] == 2
    shutil.copytree(tmp_path / "app-0f1e", tmp_path / "app-2")
    shutil.rmtree(tmp_path / "app-0f1e")
    (tmp_path / "android_repositories_download_links.txt").write_text(
        "https://github.com/owner/app/archive/2.zip\n"
    )
    assert len(read_methods(tmp_path).codes) == 2  # the list decides which folder is whose


def test_a_repository_that_is_not_there_is_counted_by_its_methods(tmp_path: Path) -> None:
    example(tmp_path)
    with (tmp_path / "android_repositories_download_links.txt").open("a") as file:
        file.write("https://github.com/owner/second/archive/3.zip\n")
    shutil.copytree(tmp_path / "app-0f1e", tmp_path / "second-3")
    (tmp_path / "second-3" / "Keys.java").write_text("class B {\n  void b() { c(); }\n}\n")
    assert write_corpus(tmp_path, tmp_path)["methods"] == 3
    shutil.rmtree(tmp_path / "second-3")
    collected = read_methods(tmp_path)
    assert len(collected.codes) == 2
    assert collected.dropped == {NO_REPOSITORY: 1}
