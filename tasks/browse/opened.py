"""The browsed data: a store, copied anew when it has changed, or a folder."""

import logging
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq

from infra.errors import CosqaError, PublishError, SettingsError
from infra.settings import StoreSettings
from infra.store import candidates
from infra.store.browsing import (
    Snapshot,
    Wanted,
    empty_snapshot,
    facet_values,
    find_pairs,
    index_exported,
    index_pairs,
    take_snapshot,
)
from tasks.benchmarks import columns_of
from tasks.benchmarks.evidence import EVIDENCE_FILE
from tasks.browse.pages import pair_page, query_page
from tasks.inputs.formats import benchmark_at
from tasks.inputs.tables import readable
from tasks.stages.coverage import current_labels_of

_PAUSE_S, _SHARE = 5.0, 10  # copies take a tenth of the time at most
_MOST_MB, _ROWS = 4_000, 256  # of a table of a stranger's folder, unpacked; rows at once

TABLES = ("queries", "codes", "labels", "undecided")

_log = logging.getLogger(__name__)


class StoreSnapshots:
    """The newest copy of a store; pages that ask for it never wait for a newer one."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._turn = threading.Lock()
        self._current = self._take()

    def current(self) -> Snapshot:
        """Return the newest copy; where the store has changed since, begin to take another."""
        is_due = time.monotonic() >= self._due and not self._current.is_current()
        if is_due and self._turn.acquire(blocking=False):
            threading.Thread(target=self._renew, name="browse", daemon=True).start()
        return self._current

    def _renew(self) -> None:
        try:
            self._current = self._take()
        except (CosqaError, OSError) as error:
            _log.warning("the pages show the store as it was: %s", error)
            self._due = time.monotonic() + _PAUSE_S
        finally:
            self._turn.release()

    def _take(self) -> Snapshot:
        started = time.monotonic()
        snapshot = take_snapshot(self._settings)
        searches = candidates.searches_by_collection(snapshot)
        index_pairs(snapshot, [current_labels_of(snapshot, *each) for each in searches.items()])
        # What pages need first is read now: a database that was opened just now is slow at that.
        facet_values(snapshot)
        for pair in find_pairs(snapshot, Wanted(), limit=1).pairs:
            asked = {"query": pair.query_id, "code": pair.code_id}
            query_page(snapshot, asked)
            pair_page(snapshot, asked)
        ended = time.monotonic()
        self._due = ended + max(_PAUSE_S, _SHARE * (ended - started))
        return snapshot


class ExportSnapshot:
    """An exported folder, or one in BEIR's form, read once.

    Raises:
        SettingsError: The folder is neither.
        PublishError: It is damaged, or larger than any that this program writes.
        SourceError: A line of it is no query, code or judgement.
    """

    def __init__(self, folder: Path) -> None:
        _refuse_large(folder)
        found = benchmark_at(folder, "test")
        if found is None:
            raise SettingsError(
                f"{folder} is no exported folder: name one that `cosqa publish` has written, or "
                "one in BEIR's form; a store is named by --store"
            )
        self._snapshot = empty_snapshot(folder)
        benchmark = found.benchmark()
        columns = columns_of(benchmark)
        tables = {name: getattr(columns, name).table for name in TABLES}
        recipes = {each.recipe_id: each.body for each in benchmark.recipes}
        evidence = benchmark.evidence.batches()
        index_exported(self._snapshot, benchmark.name, tables, recipes, evidence)

    def current(self) -> Snapshot:
        """Return the snapshot."""
        return self._snapshot


def _refuse_large(folder: Path) -> None:
    """Refuse a folder whose tables are too large for memory, as a few bytes of Parquet may be.

    Evidence is read in parts, of which DuckDB bounds the memory.
    """
    for file in sorted(folder.glob("*.parquet")):
        left = _MOST_MB * 1_000_000
        with readable(file), pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(_ROWS) if file.name != EVIDENCE_FILE else ():
                left -= batch.nbytes
                if left < 0:
                    raise PublishError(f"{file} has more than {_MOST_MB:,} MB unpacked: not read")
    for file in sorted(folder.glob("*.jsonl*")):
        if file.stat().st_size > _MOST_MB * 1_000_000:
            raise PublishError(f"{file} has more than {_MOST_MB:,} MB: not read")
