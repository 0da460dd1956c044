"""The source of Neural Code Search: questions of Stack Overflow over methods of Android projects.

Source: Li et al., "Neural Code Search Evaluation Dataset" (arXiv 1908.09804). Read are the
published folder ``data`` and the repositories that it lists, unpacked side by side: the methods are
cut out of them. A question's examples, methods that answer it, are its labels.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path

from pydantic import Field

from infra.collected import Item
from infra.identity import QueryId
from infra.records import Code, Label, Query, SourceInfo
from tasks.benchmarks.licences import licence_of_folder
from tasks.corpus.functions import text_of_language
from tasks.corpus.merging import Deduplicator
from tasks.corpus.neural_code_search import (
    QUESTIONS,
    REPOSITORIES,
    MethodTexts,
    corpus_archives,
    read_methods,
    read_questions,
    read_repositories,
    write_corpus,
)
from tasks.filters import QueryReason
from tasks.inputs.text import inside, require_folder, state_of
from tasks.sources import FolderOptions, FolderSource, sources

EXAMPLES = "people:neural-code-search"
UNFOUND = QueryReason("example whose method is not there")


class NeuralCodeSearchOptions(FolderOptions):
    """The options of source neural-code-search."""

    path: Path = Field(
        description="the published folder data; its questions may lack where only its corpus is "
        "searched"
    )
    repositories: Path = Field(
        description="Folder of the unpacked repositories, each as its archive has it (NAME-COMMIT)."
    )


@sources.register("neural-code-search")
class NeuralCodeSearchSource(FolderSource[NeuralCodeSearchOptions]):
    """The questions, the methods of the corpus, and examples as labels."""

    version = "1"
    info = SourceInfo(
        name="neural-code-search",
        licence="CC-BY-NC-4.0",
        revision="arXiv 1908.09804",
        location="https://github.com/facebookresearch/Neural-Code-Search-Evaluation-Dataset",
    )

    def __init__(self, collection: str, options: NeuralCodeSearchOptions) -> None:
        super().__init__(collection, options)
        self._repositories = require_folder(options.repositories, "source.repositories")
        self._archives = corpus_archives(self._folder)
        others = [self._folder / name for name in (QUESTIONS, REPOSITORIES)]
        self._others = inside(self._folder, filter(Path.exists, others))

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a repository of two methods, its corpus, and a question with an example."""
        repository = folder / "app-0f1e"
        repository.mkdir()
        (repository / "Keys.java").write_text(
            "class Keys {\n    void hide(View view) {\n        manager.hide(view);\n    }\n\n"
            "    int twice(int x) {\n        return x + x;\n    }\n}\n"
        )
        (folder / REPOSITORIES).write_text("https://github.com/owner/app/archive/0f1e.zip\n")
        write_corpus(folder, folder)
        question = {
            "stackoverflow_id": 1, "question": "hide the keyboard", "answer": "manager.hide(v);",
            "question_url": "https://stackoverflow.com/q/1", "examples": [1],
        }  # fmt: skip
        (folder / QUESTIONS).write_text(json.dumps([question]))
        return {"path": folder, "repositories": folder}

    def inputs(self) -> list[Path]:
        """Return the published files."""
        return [*self._archives, *self._others]

    def chosen(self) -> Iterable[object]:
        """Return the options, and the state of the Java files of each repository."""
        places = sorted(self._repositories.iterdir())
        states = [state_of(chain([each], each.rglob("*.java"))) for each in places]
        return [*super().chosen(), states]

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the questions, the methods whose repositories are there, and the examples."""
        answered: dict[int, list[QueryId]] = {}
        listed = []
        for file in self._others:
            if file.name == REPOSITORIES:
                listed = read_repositories(file)
                continue
            for question in read_questions(file):
                by = f" by {question.question_author}" if question.question_author else ""
                place = question.question_url or f"question {question.stackoverflow_id}"
                query = Query.of(question.question, f"{place}{by}")
                yield from merged.queries([query])
                for example in question.examples:
                    answered.setdefault(example, []).append(query.query_id)
        texts, licence_of = MethodTexts(self._repositories, listed), lru_cache(licence_of_folder)
        labels = []
        for _, method in chain.from_iterable(map(read_methods, self._archives)):
            text, problem, repository = texts.cut(method)
            if problem:
                merged.dropped[problem] += 1
                continue
            code = Code.of(
                text,
                name=method.method_name,
                origin=f"{method.filepath}:{method.start_line}",
                language="java",
                licence=licence_of(repository),
                url=method.url,
            )
            yield from merged.codes([text_of_language(code)])
            labels += [
                Label(query_id=query, code_id=code.code_id, origin=EXAMPLES, relevance=1.0)
                for query in answered.pop(method.id, ())
            ]
        if answered:
            merged.dropped[UNFOUND] += sum(map(len, answered.values()))
        yield from merged.labels(labels)
