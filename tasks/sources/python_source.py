"""Functions of Python files: a folder, an installed distribution or the standard library.

Nothing of the corpus is imported or run.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from infra.errors import SettingsError
from infra.identity import digest, digest_of
from infra.records import Code, Collected
from infra.settings import SourceSettings
from tasks.corpus.documentation_pairs import documentation_pairs
from tasks.corpus.functions import Found, find_functions
from tasks.corpus.merging import Merged
from tasks.corpus.python_files import PythonFiles, folder, installed, standard_library
from tasks.files.json_lines import read_queries
from tasks.files.text import state_of
from tasks.filters.duplicates import EXACT, NEAR, exact_duplicates, near_duplicates
from tasks.sources import sources

STANDARD_LIBRARY_QUERIES = Path(__file__).with_name("stdlib_queries.jsonl")

_RULES = "1"  # to be raised when the same files are to give other records


@sources.register("python-source")
class PythonSource:
    """Python files: the testable functions for the agents, and pairs by documentation.

    Args:
        settings: ``path`` or ``distribution`` names the files, and then ``queries`` the queries;
            without either it is the standard library, which has queries of its own.

    Raises:
        SettingsError: Two places are named, no queries are given for one's own files, or the
            distribution is not installed.
        SourceError: The folder is missing or empty.
    """

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._name = settings.collection or settings.name
        self._queries = _queries_of(settings)
        self._python = _files_of(settings)

    def fingerprint(self) -> str:
        """Return a digest of the files' names, sizes and times, and of the settings that matter."""
        chosen = [self._name, self._settings.documentation_queries, self._settings.seed]
        origin = [self._python.licence, self._python.revision, self._python.location]
        state = state_of([*self._python.files, self._queries])
        return digest("python-source", _RULES, digest_of([*chosen, *origin]), state)

    def read(self) -> dict[str, Collected]:
        """Return the queries over the testable functions, and the documentation pairs.

        Raises:
            SourceError: The file of queries is missing or malformed.
        """
        merged = Merged()
        merged.add_queries(query for _, query in read_queries(self._queries))
        unread: Counter[str] = Counter()
        found = find_functions(self._python, unread)
        dropped = unread + Counter(merged.dropped)
        collections = {
            self._name: Collected(
                info=self._python.info(self._settings.name),
                queries=merged.queries,
                codes=_testable(found, dropped),
                dropped=dict(dropped),
            )
        }
        if self._settings.documentation_queries:
            collections[f"{self._name}-documentation"] = self._documentation(found, unread)
        return collections

    def _documentation(self, found: list[Found], unread: Counter[str]) -> Collected:
        pairs = documentation_pairs(
            found,
            self._python.info(self._settings.name),
            queries=self._settings.documentation_queries,
            seed=self._settings.seed,
        )
        return pairs.model_copy(update={"dropped": {**unread, **pairs.dropped}})


def _testable(found: Iterable[Found], dropped: Counter[str]) -> tuple[Code, ...]:
    kept = []
    for each in found:
        if each.untestable is None:
            kept.append(each.code)
        else:
            dropped[each.untestable] += 1
    kept = _without(kept, exact_duplicates(code.text for code in kept), EXACT, dropped)
    kept = _without(kept, near_duplicates([code.text for code in kept]), NEAR, dropped)
    return tuple(kept)


def _without(codes: list[Code], rows: set[int], rule: str, dropped: Counter[str]) -> list[Code]:
    dropped[rule] += len(rows)
    return [code for row, code in enumerate(codes) if row not in rows]


def _queries_of(settings: SourceSettings) -> Path:
    if settings.queries is not None:
        return settings.queries
    if settings.path is None and settings.distribution is None:
        return STANDARD_LIBRARY_QUERIES
    raise SettingsError(
        "python-source has queries for the standard library only: give --queries with a JSON "
        'Lines file for these files, a line such as {"query": "python parse iso date"}'
    )


def _files_of(settings: SourceSettings) -> PythonFiles:
    if settings.path is not None and settings.distribution is not None:
        raise SettingsError(
            f"source.path = {settings.path} and source.distribution = {settings.distribution} "
            "are both given: leave one out"
        )
    if settings.path is not None:
        return folder(settings.path)
    if settings.distribution is not None:
        return installed(settings.distribution)
    return standard_library()
