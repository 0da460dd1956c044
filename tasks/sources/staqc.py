"""The source of StaQC: code of Stack Overflow's answers, and the questions' titles.

Source: Yao et al., "StaQC: A Systematically Mined Question-Code Dataset from Stack Overflow" (WWW
2018). Its published pickles, in one folder: snippets of answers with several, by (question id,
index), and of answers with one, by question id; titles by question id. They are read as data
(`tasks.inputs.pickles`). A snippet may be a statement, a block or a function; what is no Python is
dropped by the filter ``python-code``.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import Field

from infra.collected import Item
from infra.errors import SourceError
from infra.records import Query, SourceInfo
from infra.text import is_blank
from tasks.corpus.functions import parse_function
from tasks.corpus.merging import Deduplicator
from tasks.filters import CorpusFunction
from tasks.inputs.pickles import pickled_pairs
from tasks.inputs.text import inside, printable
from tasks.sources import FolderOptions, FolderSource, Names, filters_by_default, sources

EMPTY = "empty snippet"

# The published names end with .pickle; copies of them with .pkl.
_SEVERAL = "python_how_to_do_it_by_classifier_multiple_iid_to_code"
_SINGLE = "python_how_to_do_it_qid_by_classifier_unlabeled_single_code_answer_qid_to_code"
_TITLES = (
    "python_how_to_do_it_by_classifier_multiple_qid_to_title",
    "python_how_to_do_it_qid_by_classifier_unlabeled_single_code_answer_qid_to_title",
)
_ENDINGS = (".pickle", ".pkl")


class StaqcOptions(FolderOptions):
    """The options of source staqc."""

    path: Path = Field(description=f"folder with {_SEVERAL}.pickle or {_SINGLE}.pickle")
    title_queries: bool = Field(False, description="Take the questions' titles as queries.")
    filters: Names = filters_by_default("python-code")


@sources.register("staqc")
class StaqcSource(FolderSource[StaqcOptions]):
    """StaQC's snippets of Python, in the order of its files: answers with several come first."""

    version = "3"
    info = SourceInfo(
        name="staqc",
        licence="CC-BY-4.0 AND CC-BY-SA-3.0",
        revision="published WWW 2018 files",
        location="https://github.com/LittleYUYU/StackOverflow-Question-Code-Dataset",
    )

    def __init__(self, collection: str, options: StaqcOptions) -> None:
        super().__init__(collection, options)
        folder = self._folder
        self._snippets = _found(folder, (_SEVERAL, _SINGLE))
        self._titles = _found(folder, _TITLES) if options.title_queries else []
        lacking = "" if self._snippets else f"{_SEVERAL}.pickle and no {_SINGLE}.pickle"
        if options.title_queries and not self._titles:
            lacking = f"{_TITLES[0]}.pickle"
        if lacking:
            raise SourceError(
                f"--path {folder}: there is no {lacking}: take the files from "
                "annotation_tool/data/code_solution_labeled_data/source of StaQC's repository"
            )

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write two snippets of an answer, one of another, and a title."""
        loop = "total = 0\nfor number in numbers:\n    total += number\nprint(total)\n"
        function = "def double(x):\n    return x + x\n"
        files: dict[str, dict[object, str]] = {
            _SEVERAL: {(4, 0): function, (4, 1): loop},
            _SINGLE: {7: "import os\n\nfor name in os.listdir(path):\n    print(name)\n"},
            _TITLES[0]: {4: "How to double a number?"},
        }
        for name, content in files.items():
            (folder / f"{name}.pickle").write_bytes(pickle.dumps(content, protocol=2))
        return {"path": folder, "title_queries": True}

    def inputs(self) -> list[Path]:
        """Return the files of snippets and titles."""
        return [*self._snippets, *self._titles]

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the titles as queries where asked for, and the snippets."""
        for file in self._titles:
            yield from merged.queries(
                Query.of(text, f"question {key}") for key, text in _texts(file) if text.strip()
            )
        for file in self._snippets:
            yield from merged.codes(_functions(file, merged))


def _functions(file: Path, merged: Deduplicator) -> Iterator[CorpusFunction]:
    for key, text in _texts(file):
        if not is_blank(text):
            question, index = key if isinstance(key, tuple) else (key, 0)
            function = parse_function(text, f"question {question}, snippet {index}")
            url = f"https://stackoverflow.com/questions/{question}"
            yield function.with_fields(language="python", url=url)
        else:
            merged.dropped[EMPTY] += 1


def _texts(file: Path) -> Iterator[tuple[object, str]]:
    for number, (key, text) in enumerate(pickled_pairs(file), 1):
        numbers = key if isinstance(key, tuple) and len(key) == 2 else (key,)
        if not (all(isinstance(n, int | str) for n in numbers) and isinstance(text, str)):
            raise SourceError(
                f"{printable(file)}: entry {number:,}: no text by question id, or by question id "
                "and index: copy the published file again"
            )
        yield key, text


def _found(folder: Path, names: Iterable[str]) -> list[Path]:
    files = (folder / f"{name}{ending}" for name in names for ending in _ENDINGS)
    return [file for file in files if file.is_file() and inside(folder, [file])]
