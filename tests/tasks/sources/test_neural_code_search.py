"""Laws of Neural Code Search as a benchmark: methods by their lines, examples as labels."""

import json
import shutil
from pathlib import Path

from infra.collected import Collected
from infra.settings import SourceSettings
from tasks.corpus.neural_code_search import NO_REPOSITORY, QUESTIONS, write_corpus
from tasks.sources import open_source, sources
from tasks.sources.neural_code_search import EXAMPLES, UNFOUND
from tests.tasks.sources.reading import read_whole


def read(folder: Path) -> Collected:
    settings = {"name": "neural-code-search", "path": folder, "repositories": folder}
    [collected] = read_whole(open_source(SourceSettings.model_validate(settings))).values()
    return collected


def example(folder: Path) -> None:
    sources.get("neural-code-search").write_example(folder)


def test_methods_know_where_they_are_and_examples_are_labels(tmp_path: Path) -> None:
    example(tmp_path)
    (tmp_path / "app-0f1e" / "LICENSE").write_text("The MIT License (MIT)")
    collected = read(tmp_path)
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
    collected = read(tmp_path)
    assert len(collected.labels) == 2
    assert collected.dropped[UNFOUND] == 2
    shutil.copytree(tmp_path / "app-0f1e", tmp_path / "app-2")
    shutil.rmtree(tmp_path / "app-0f1e")
    (tmp_path / "android_repositories_download_links.txt").write_text(
        "https://github.com/owner/app/archive/2.zip\n"
    )
    assert len(read(tmp_path).codes) == 2  # the list decides which folder is whose


def test_a_repository_that_is_not_there_is_counted_by_its_methods(tmp_path: Path) -> None:
    example(tmp_path)
    with (tmp_path / "android_repositories_download_links.txt").open("a") as file:
        file.write("https://github.com/owner/second/archive/3.zip\n")
    shutil.copytree(tmp_path / "app-0f1e", tmp_path / "second-3")
    (tmp_path / "second-3" / "Keys.java").write_text("class B {\n  void b() { c(); }\n}\n")
    assert write_corpus(tmp_path, tmp_path)["methods"] == 3
    shutil.rmtree(tmp_path / "second-3")
    collected = read(tmp_path)
    assert len(collected.codes) == 2
    assert collected.dropped == {NO_REPOSITORY: 1}
