"""The source of functions in files of several languages: a folder or an installed distribution.

The folder may be that of one repository, or hold those of many. Nothing of the corpus is imported
or run.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from infra.collected import Content, Item, whole
from infra.errors import SettingsError
from infra.records import SourceInfo
from tasks.corpus.documentation_pairs import DocumentedFunction, documentation_pairs
from tasks.corpus.functions import find_functions
from tasks.corpus.merging import Deduplicator
from tasks.corpus.source_files import (
    SourceFiles,
    folder,
    installed,
    languages_of,
    most_popular_first,
    of_languages,
)
from tasks.inputs.pairs import read_queries
from tasks.inputs.text import printable
from tasks.sources import Languages, Names, Source, SourceOptions, filters_by_default, sources

_OF_OTHERS = ("special-methods", "testable", "near-duplicates")  # than one's own folder
_logger = logging.getLogger(__name__)


class SourceCodeOptions(SourceOptions):
    """The options of source source-code."""

    path: Path | None = Field(None, description="Folder of source files.")
    languages: Languages = ()
    distribution: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="Installed distribution to read instead of a folder, or a list of them."
    )
    popularity: Path | None = Field(
        None,
        description="CSV of libraries.io's columns: repositories that it lists, that are no forks "
        "and that others use are read, the most popular first, and these give the documentation "
        "queries in place of a sample.",
    )
    queries: Path | None = Field(
        None,
        description="JSON Lines file of queries; files without any give the benchmark by "
        "documentation alone.",
    )
    documentation_queries: int = Field(
        500,
        ge=0,
        description="Documentation paragraphs taken as queries in each language; 0 makes no "
        "such benchmark, and a file of queries none but where this is set.",
    )
    seed: int = Field(20250, description="Chooses which documentation paragraphs are taken.")
    filters: Names = filters_by_default(
        "special-methods", "testable", "marked-near-duplicates",
        more=" If not given, near duplicates of a folder are kept and named in the log; those of "
        "other code are left out.",
    )  # fmt: skip


@sources.register("source-code")
class SourceCode(Source[SourceCodeOptions]):
    """Source files: their functions for annotation, and pairs by documentation."""

    version = "7"
    name: ClassVar[str] = "source-code"
    others: ClassVar[str] = ""  # the way to read files of other languages

    def __init__(self, collection: str, options: SourceCodeOptions) -> None:
        is_own = options.path is not None and options.popularity is None
        if not is_own and "filters" not in options.model_fields_set:
            options = options.model_copy(update={"filters": _OF_OTHERS})
        super().__init__(collection, options)
        self._files = self.files_of(options)
        self._queries = self.queries_of(options)
        is_asked = options.queries is None or "documentation_queries" in options.model_fields_set
        self._documented = options.documentation_queries if is_asked else 0

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a module of two functions and a file with a query."""
        (folder / "package").mkdir()
        (folder / "package" / "arithmetic.py").write_text(
            'def double(x):\n    """Return twice the number."""\n    y = x + x\n    return y\n\n\n'
            "def halve(x):\n    return x / 2\n",
            encoding="utf-8",
        )
        queries = folder / "queries.jsonl"
        queries.write_text(json.dumps({"query": "double it"}) + "\n", encoding="utf-8")
        return {"path": folder, "queries": queries}

    def inputs(self) -> list[Path]:
        """Return the files, those of a distribution as they are installed, and queries."""
        return [*self._files.files, *filter(None, (self._queries, self._options.popularity))]

    def chosen(self) -> Iterable[object]:
        """Return the options, and where the files come from."""
        files = self._files
        below = sorted((str(folder), licence) for folder, licence in files.own_licences.items())
        origin = files.licence, files.revision, files.location, below
        return [*super().chosen(), self._documented, *origin, [*map(printable, files.outside)]]

    @property
    def info(self) -> SourceInfo:
        """Origin and licence of the files."""
        return self._files.info(self.name)

    def read(self) -> Mapping[str, Content]:
        """Return the queries over the functions, and the documentation pairs.

        Raises:
            SourceError: The file of queries is missing or malformed, or the filters drop every
                function.
        """
        unread: Counter[str] = Counter()
        documented: list[DocumentedFunction] = []
        main = self.content(lambda merged: self._items(merged, unread, documented))
        if not self._documented:
            return {self._name: main}
        collections = {self._name: whole(main)}
        collections[f"{self._name}-documentation"] = documentation_pairs(
            documented,
            self.info,
            queries=self._documented,
            seed=None if self._options.popularity else self._options.seed,
            dropped=unread,
            by_repository=self._files.holds_repositories,
        )
        return collections

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the queries and the functions."""
        return self._items(merged, Counter(), [])

    def _items(
        self, merged: Deduplicator, unread: Counter[str], documented: list[DocumentedFunction]
    ) -> Iterator[Item]:
        """Yield the same; note what was left out of the files, and functions for documentation."""
        if self._queries:
            yield from merged.queries(query for _, query in read_queries(self._queries))
        files, popularity = self._files, self._options.popularity
        if files.unread and self.others:
            _logger.warning(
                "files of other languages are not read, %s: %s",
                of_languages(files.unread), self.others,
            )  # fmt: skip
        if popularity:
            files = most_popular_first(files, popularity, unread)
        for function in find_functions(files, unread):
            yield from merged.codes([function])
            documented.append(DocumentedFunction.of(function))
        merged.dropped.update(unread)

    def queries_of(self, options: SourceCodeOptions) -> Path | None:
        """Return the file of queries; None where documentation alone gives queries.

        Raises:
            SettingsError: Neither does.
        """
        if options.queries is not None or options.documentation_queries:
            return options.queries
        raise SettingsError(
            "there are no queries: source.documentation_queries is 0, and python-source has "
            "queries for the standard library only; give --queries with a JSON Lines file, a line "
            'such as {"query": "python parse iso date"}'
        )

    def files_of(self, options: SourceCodeOptions) -> SourceFiles:
        """Return the files that the options name.

        Raises:
            SettingsError: They name no place or two, or the distribution is not installed.
            SourceError: The folder is missing or empty.
        """
        if options.path is not None and options.distribution is not None:
            raise SettingsError(
                f"source.path = {options.path} and source.distribution = {options.distribution} "
                "are both given: leave one out"
            )
        chosen = languages_of(options.languages)
        if options.path is not None:
            return folder(options.path, chosen, self.others)
        if options.distribution is not None:
            return installed(str(options.distribution), chosen)
        raise SettingsError(
            f"source {self.name} needs files: give --path with a folder, or "
            "--set source.distribution=NAME"
        )
