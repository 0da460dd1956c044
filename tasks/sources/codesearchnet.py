"""The source of CodeSearchNet: functions of open-source repositories in six languages.

Source: Husain et al., "CodeSearchNet Challenge: Evaluating the State of Semantic Code Search"
(arXiv 1909.09436). Read as published, unpacked: ``<language>_dedupe_definitions_v2.pkl`` with all
functions of a language, or ``<language>/final/jsonl/{train,valid,test}/*.jsonl.gz`` (or ``*.jsonl``
after gunzip) with those that are documented, and ``<language>_licenses.pkl`` with the licences of
their repositories. Pickles are read as data (`tasks.inputs.pickles`), and everything as it comes:
the files are larger than memory.

With ``annotations`` the challenge's queries and annotated functions are read instead: a function is
relevant to a query where an annotator graded it 3 (`tasks.inputs.challenge`).
"""

import gzip
import json
import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from infra.collected import Item
from infra.errors import SettingsError, SourceError
from infra.records import Code, Label, Query, SourceInfo
from infra.text import is_blank
from tasks.benchmarks.licences import UNKNOWN, licence_of
from tasks.corpus.documentation_pairs import ORIGIN
from tasks.corpus.functions import text_of_language
from tasks.corpus.merging import Deduplicator
from tasks.filters import CorpusFunction, QueryReason
from tasks.filters.documentation import first_paragraph
from tasks.inputs.challenge import Grades, is_right, read_grades
from tasks.inputs.lines import read_lines, validated
from tasks.inputs.pickles import pickled_items, pickled_pairs
from tasks.inputs.text import inside, packed_or_not, printable
from tasks.sources import (
    FolderOptions,
    FolderSource,
    Names,
    filters_by_default,
    sources,
    split_names,
)

NO_QUERY = QueryReason("documentation that is no query")
EMPTY = "empty function"
UNFOUND = "annotated function that is not in the files"
GRADED = "people:codesearchnet-challenge"

_DEFINITIONS, _LICENCES = "{}_dedupe_definitions_v2.pkl", "{}_licenses.pkl"
_WHERE = "https://s3.amazonaws.com/code-search-net/CodeSearchNet/v2"


class _Function(BaseModel):
    """A function of either file, by the keys that are read."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    text: str
    url: str
    repository: str
    name: str
    docstring: str = ""


class _Definition(_Function):
    text: str = Field(alias="function")
    repository: str = Field("", alias="nwo")
    name: str = Field("", alias="identifier")


class _Documented(_Function):
    text: str = Field(alias="code")
    repository: str = Field("", alias="repo")
    name: str = Field("", alias="func_name")


class CodeSearchNetOptions(FolderOptions):
    """The options of source codesearchnet."""

    path: Path = Field(description="folder of the unpacked archives, or of one language")
    languages: Names = Field(
        ("python",), min_length=1, description="Languages, such as python,java, in their order."
    )
    part: Literal["auto", "definitions", "documented"] = Field(
        "auto",
        description="definitions reads all functions of *_dedupe_definitions_v2.pkl, documented "
        "those of final/jsonl; auto takes the first of both that is there.",
    )
    splits: Annotated[
        tuple[Literal["train", "valid", "test"], ...], BeforeValidator(split_names)
    ] = Field(
        ("train", "valid", "test"), min_length=1, description="Splits of the documented functions."
    )
    documentation_queries: bool = Field(
        False,
        description="Take first paragraphs of documentation as queries, and the functions without "
        "it as their relevant code; needs part=documented.",
    )
    annotations: Path | None = Field(
        None,
        description="The challenge's annotationStore.csv: its queries with a right answer (a grade "
        "of 3) over all annotated functions; by itself no filter is set.",
    )
    filters: Names = filters_by_default("parseable")

    @model_validator(mode="before")
    @classmethod
    def _as_published(cls, given: dict[str, object]) -> dict[str, object]:
        """Keep annotated functions that Python 3 does not parse: they are right answers too."""
        return {"filters": (), **given} if given.get("annotations") else given


@sources.register("codesearchnet")
class CodeSearchNetSource(FolderSource[CodeSearchNetOptions]):
    """CodeSearchNet's published functions, with their splits, addresses and licences."""

    version = "10"
    info = SourceInfo(
        name="codesearchnet",
        licence="of each function's repository",
        revision="v2",
        location="https://github.com/github/CodeSearchNet",
    )

    def __init__(self, collection: str, options: CodeSearchNetOptions) -> None:
        super().__init__(collection, options)
        self._files = {language: self._files_of(language) for language in options.languages}
        if options.documentation_queries and any(
            file.suffix == ".pkl" for files in self._files.values() for file in files
        ):
            raise SettingsError(
                "source.documentation_queries needs source.part = documented: definitions come "
                "with and without documentation"
            )
        if options.documentation_queries and options.annotations:
            raise SettingsError(
                "source.annotations and source.documentation_queries both give queries: leave one "
                "out"
            )

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write two documented functions of Python as they are published."""
        split = folder / "python" / "final" / "jsonl" / "test"
        split.mkdir(parents=True)
        bodies = {"double": "return x + x", "halve": "return x / 2"}
        rows = [
            {
                "repo": "owner/name", "path": "m.py", "func_name": name, "language": "python",
                "code": f'def {name}(x):\n    """Return {name} the number."""\n    {body}',
                "docstring": f"Return {name} the number.", "partition": "test",
                "url": f"https://github.com/owner/name/blob/0/m.py#{name}",
            }
            for name, body in bodies.items()
        ]  # fmt: skip
        with gzip.open(split / "python_test_0.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        licences = {"owner/name": [("LICENSE", "The MIT License (MIT)")]}
        (folder / "python_licenses.pkl").write_bytes(pickle.dumps(licences))
        return {"path": folder, "documentation_queries": True}

    def inputs(self) -> list[Path]:
        """Return the files of functions and grades, and those of licences that are there."""
        licences = filter(Path.exists, map(self._licences, self._files))
        grades = [self._options.annotations] if self._options.annotations else []
        return [*chain.from_iterable(self._files.values()), *licences, *grades]

    def require_licences(self) -> None:
        """Refuse files whose functions would all be of unknown licence.

        Raises:
            SourceError: The licences of a language are missing.
        """
        for file in map(self._licences, self._files):
            if not file.is_file():
                raise SourceError(
                    f"{printable(file)} with the functions' licences is missing: copy it there "
                    "from the published archive, or give --include-unlicensed for private use"
                )

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Return the functions, and queries and labels by documentation or grades if asked for."""
        if self._options.annotations:
            return self._annotated(read_grades(self._options.annotations), merged)
        functions = self._functions(merged)
        if self._options.documentation_queries:
            return self._pairs(functions, merged)
        return merged.codes(map(text_of_language, functions))

    def _pairs(self, functions: Iterable[Code], merged: Deduplicator) -> Iterator[Item]:
        """Yield documentation as queries, and the functions without it.

        As in its evaluation each function answers its own paragraph; several may have the same one.
        """
        for code in functions:
            parsed = text_of_language(code)
            bare = Code.of(
                parsed.text_without_documentation,
                **parsed.code.model_dump(exclude={"code_id", "text"}),
            )
            codes = list(merged.codes([CorpusFunction(bare, parsed.syntax, parsed.parse_error)]))
            yield from codes
            paragraph = first_paragraph(code.documentation)
            if paragraph and merged.has_code(bare.code_id):
                query = Query.of(paragraph, code.origin, code.split)
                pair = {"query_id": query.query_id, "code_id": bare.code_id}
                yield from merged.queries([query])
                yield from merged.new_labels([Label(**pair, origin=ORIGIN, relevance=1.0)])
            elif codes:
                merged.dropped[NO_QUERY] += 1

    def _annotated(self, grades: Grades, merged: Deduplicator) -> Iterator[Item]:
        """Yield the queries with a right answer, the functions annotated for them, and the labels.

        Grades name a function by its URL; several that hold one text share its best grade.
        Notes of a pair are joined.
        """
        asked: dict[tuple[str, str], list[tuple[Query, bool, str]]] = {}
        for language in self._files:
            for text, graded in grades.get(language, {}).items():
                query, has_answer = Query.of(text), any(map(is_right, graded.values()))
                for url, given in graded.items():
                    note = "; ".join(grade.note for grade in given if grade.note)
                    judged = [(query, is_right(given), note)] if has_answer else []
                    asked.setdefault((language, url), []).extend(judged)
                yield from merged.queries([query] if has_answer else ())
        labels = []
        for code in self._functions(merged, asked.keys()):
            yield from merged.codes([text_of_language(code)])
            for query, right, note in asked.pop((code.language, code.url), ()):
                pair = {"query_id": query.query_id, "code_id": code.code_id}
                labels.append(Label(**pair, origin=GRADED, relevance=float(right), note=note))
        if asked:
            merged.dropped[UNFOUND] += len(asked)
        yield from merged.labels(labels)

    def _functions(
        self, merged: Deduplicator, chosen: Collection[tuple[str, str]] | None = None
    ) -> Iterator[Code]:
        """Yield the functions of all files, or of some (language, URL); empty ones are counted."""
        for language, files in self._files.items():
            licences = _read_licences(self._licences(language))
            for file in files:
                for place, function in _read(file):
                    if chosen is not None and (language, function.url) not in chosen:
                        continue
                    if is_blank(function.text):
                        merged.dropped[EMPTY] += 1
                        continue
                    yield Code.of(
                        function.text,
                        name=function.name,
                        documentation=function.docstring,
                        origin=f"{function.repository} {Path(place).name}".strip(),
                        language=language,
                        licence=licences.get(function.repository, UNKNOWN),
                        url=function.url,
                        split="" if file.suffix == ".pkl" else file.parent.name,
                    )

    def _files_of(self, language: str) -> list[Path]:
        """Return the files with a language's functions."""
        definitions = self._beside(language, _DEFINITIONS.format(language))
        if self._options.part != "documented" and definitions.is_file():
            return [definitions]
        folders = [self._folder / language / "final" / "jsonl", self._folder / "final" / "jsonl"]
        folder = next(filter(Path.is_dir, folders), folders[0])
        found = (
            packed_or_not(self._folder, f"{folder.relative_to(self._folder)}/{split}/*.jsonl")
            for split in self._options.splits
        )
        files = list(chain.from_iterable(found))
        if not files or self._options.part == "definitions":
            wanted = {"definitions": definitions, "documented": folder}
            missing = wanted.get(self._options.part, f"{definitions} nor {folder}")
            raise SourceError(
                f"--path {self._folder}: there is no {missing} with functions: unpack "
                f"{_WHERE}/{language}.zip there"
            )
        return files

    def _licences(self, language: str) -> Path:
        return self._beside(language, _LICENCES.format(language))

    def _beside(self, language: str, name: str) -> Path:
        """Return the path of a pickle, which the archive has beside the language's folder."""
        places = [self._folder / name, self._folder / language / name, self._folder.parent / name]
        found = next(filter(Path.is_file, places), places[0])
        folder = self._folder if found.is_relative_to(self._folder) else found.parent
        return inside(folder, [found])[0]


def _read(file: Path) -> Iterator[tuple[str, _Function]]:
    """Yield the functions of a file, each with its place."""
    if file.suffix != ".pkl":
        yield from read_lines(file, _Documented)
        return
    for number, item in enumerate(pickled_items(file), 1):
        place = f"{printable(file)}: definition {number:,}"
        yield place, validated(place, item, _Definition)


def _read_licences(file: Path) -> dict[str, str]:
    """Return repository → licence; none where there is no such file.

    The texts of a repository are one pair of path and text, or a list of such pairs.
    """
    if not file.exists():
        return {}
    found = {}
    for repository, texts in pickled_pairs(file):
        pairs = [texts] if isinstance(texts, tuple) else texts
        if not isinstance(repository, str) or not isinstance(pairs, list) or () in pairs:
            raise SourceError(
                f"{printable(file)}: no map of repositories to paths and texts of licences: copy "
                "the published file again"
            )
        found[repository] = licence_of(
            str(pair[-1]) for pair in pairs if pair and isinstance(pair, tuple)
        )
    return found
