"""Stage 1: a source is read into collections of queries and codes."""

import time

from prefect.logging import get_run_logger

from infra.errors import StoreError
from infra.identity import digest
from infra.settings import SourceSettings, StoreSettings
from infra.store import benchmarks, corpus, open_database
from infra.store.corpus import StoredCollection
from tasks.runtime.caching import run_stage, stage
from tasks.sources import open_source


def collect_source(store: StoreSettings, source: SourceSettings) -> list[StoredCollection]:
    """Store what a source gives, unless it is stored already.

    Raises:
        UnknownNameError: There is no such source.
        SourceError: An input file is missing or malformed; the store stays as it was.
    """
    reader = open_source(source)
    database = open_database(store)
    fingerprint = reader.fingerprint()
    holds = bool(corpus.collections_of(database, fingerprint))
    key = digest("collect", database.store_id, fingerprint)
    return run_stage(_collect_source, holds, key=key, store=store, source=source)


def stored_collections(store: StoreSettings, source: SourceSettings) -> list[StoredCollection]:
    """Return the collections of a source as it is now.

    Raises:
        StoreError: The source has not been collected, or has changed since.
    """
    held = corpus.collections_of(open_database(store), open_source(source).fingerprint())
    if not held:
        raise StoreError(
            f"{store.folder} holds nothing of source {source.name} as it is now; run "
            "`cosqa collect` with the same options first"
        )
    return held


@stage("collect", "collect-{source.name}")
def _collect_source(
    key: str,  # noqa: ARG001 - names the inputs for Prefect's cache
    store: StoreSettings,
    source: SourceSettings,
) -> list[StoredCollection]:
    database, logger = open_database(store), get_run_logger()
    reader = open_source(source)
    fingerprint = reader.fingerprint()
    if held := corpus.collections_of(database, fingerprint):
        logger.info("%s is unchanged", source.name)
        return held
    started = time.monotonic()
    collected = reader.read()
    main = next(iter(collected))
    corpus.replace_collections(database, fingerprint, collected, for_agents=main)
    for name, content in collected.items():
        logger.info(
            "%s: %s queries, %s codes; dropped: %s", name, f"{len(content.queries):,}",
            f"{len(content.codes):,}", content.dropped or "nothing",
        )  # fmt: skip
        benchmarks.record_stage_run(
            database,
            benchmarks.StageRun(
                collection=name,
                stage="collect",
                items=len(content.queries) + len(content.codes),
                seconds=time.monotonic() - started,
            ),
        )
    return corpus.collections_of(database, fingerprint)
