"""Upkeep of a store: the check of its exports, and the removal of what no label needs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISREG

from infra.errors import PublishError
from infra.journal import old_contents
from infra.settings import Settings
from infra.store import Database, benchmarks, candidates, open_database
from infra.store.check import CollectionCoverage, Finding, Found, Retention, leftovers, remove
from tasks.benchmarks import read_benchmark, read_manifest
from tasks.benchmarks.manifest import verify_export
from tasks.stages.coverage import labels_by, last_recipe

_PUBLISH = "publish it again, or into another folder with --output"


def check_exports(database: Database, *, thorough: bool) -> Iterator[Finding]:
    """Yield what is found in the folders of published benchmarks, which users may have moved.

    Args:
        database: The store.
        thorough: Whether to compare all files with their checksums, and the records with the
            fingerprint.
    """
    for published in benchmarks.all_benchmarks(database):
        folder, problem = Path(published.folder), ""
        try:
            manifest = verify_export(folder) if thorough else read_manifest(folder)
            if manifest.fingerprint != published.benchmark_id:
                continue  # a later version took its place
            if thorough:
                read_benchmark(folder)
        except (PublishError, OSError) as error:
            problem = str(error)
        yield Finding(
            check=f"{published.name} is as it was published",
            problem=problem,
            advice=_PUBLISH,
            is_fault=False,
        )


class Pruning:
    """What `cosqa store prune` removes of a store.

    Args:
        settings: The store, and how long it keeps what.
        now: The time from which days are counted back.
    """

    def __init__(self, settings: Settings, now: datetime | None = None) -> None:
        database = open_database(settings.store)
        now = now or datetime.now(UTC)
        self._store = settings.store
        self._days = settings.retention.replies_days
        self._before = now - timedelta(days=self._days or 0)
        self._retention = Retention(database, settings.retention, now, coverages(database))

    def find(self) -> list[Found]:
        """Return what would be removed, and its bytes."""
        found = self._retention.find()
        if self._days is not None:
            found.append(Found(f"entries of {self._store.journal.name}", *self._old_contents()))
        left = leftovers(self._store)
        size = sum(map(_size, left))
        return [*found, Found("files of killed runs", len(left), size)]

    def remove(self) -> None:
        """Remove it; a run that is killed meanwhile leaves the rest to the next one."""
        if self._days is not None:
            self._old_contents(remove=True)
        self._retention.remove()
        for path in leftovers(self._store):
            remove(path)

    def _old_contents(self, *, remove: bool = False) -> tuple[int, int]:
        needed = self._retention.needed_replies()
        return old_contents(self._store.journal, self._before, needed, remove=remove)


def _size(path: Path) -> int:
    """Return a file's bytes; 0 for a folder, and for a file that has just gone."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    return found.st_size if S_ISREG(found.st_mode) else 0


def coverages(database: Database) -> list[CollectionCoverage]:
    """Return which annotations count, of all collections with labels by agents."""
    found = []
    for collection, searches in candidates.searches_by_collection(database).items():
        recipe = last_recipe(database, collection, searches)
        if recipe:
            labels = labels_by(database, collection, searches, recipe.rounds)
            found.append(CollectionCoverage(collection, labels.coverage))
    return found
