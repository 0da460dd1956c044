"""Stage 1, collect: a source's queries and codes, read into collections of the store."""

import os
import time
from collections.abc import Callable
from itertools import chain

from prefect.logging import get_run_logger

from infra.errors import StoreError, StoreLockedError
from infra.identity import digest
from infra.settings import SourceSettings
from infra.store import Database, corpus
from infra.store.corpus import StoredCollection
from tasks.corpus.stamps import stamp_of
from tasks.reports.text import counted, tally
from tasks.runtime.caching import Retries, stage
from tasks.runtime.progress import progress
from tasks.sources import Part, open_source

_LOOK_S = 3.0


def _unchanged(
    database: Database, source: SourceSettings, fingerprint: str, stamp: str
) -> list[StoredCollection]:
    """Return the stored collections of a source if reading it again would give the same."""
    stored = corpus.collections_of(database, fingerprint)
    if not stored or source.reread:
        return []
    names = [collection.name for collection in stored]
    stamps = corpus.stamps_of(database, names)
    return stored if all(stamps.get(name) == stamp for name in names) else []


def _stamp(source: SourceSettings) -> str:
    settings = source.model_dump(mode="json", exclude={"reread"})
    return stamp_of(open_source(source), settings)


def look_at(database: Database, source: SourceSettings, fingerprint: str) -> None:
    """Read what is to be collected for some seconds, so that a bad line is told before a run.

    Raises:
        SourceError: It is malformed.
    """
    if not _unchanged(database, source, fingerprint, _stamp(source)):
        until = time.monotonic() + _LOOK_S
        contents = open_source(source).read().values()
        items = chain.from_iterable(content.items() for content in contents)
        any(time.monotonic() > until for _ in items)


@stage(
    "collect",
    "read {source.title}",
    key=lambda p: digest("collect", p.database.store_id, p.fingerprint),
    is_valid=lambda p: bool(_unchanged(p.database, p.source, p.fingerprint, _stamp(p.source))),
    retries=Retries((10, 20), (StoreLockedError, OSError)),
)
def collect_source(
    database: Database, source: SourceSettings, fingerprint: str
) -> list[StoredCollection]:
    """Read a source into the store, unless it is there unchanged; return its collections.

    Args:
        database: The store.
        source: The source's name and options.
        fingerprint: Digest of the source's current content.

    Raises:
        SourceError: An input file is missing or malformed; the store is unchanged.
    """
    logger = get_run_logger()
    stamp = _stamp(source)
    if stored := _unchanged(database, source, fingerprint, stamp):
        logger.info("%s is unchanged and not read again (--reread reads it)", source.title)
        return stored
    contents = open_source(source).read()
    main = next(iter(contents))
    with progress("collect", f"items read from {source.title}", None) as bar:
        corpus.replace_collections(database, fingerprint, contents, main, bar.advance, stamp)
    stored = corpus.collections_of(database, fingerprint)
    for collection in stored:
        content = contents[collection.name]
        logger.info(
            "%s: %s and %s read; left out: %s", collection.name,
            counted(collection.queries, "queries"), counted(collection.codes, "codes"),
            tally(content.dropped),
        )  # fmt: skip
        for note in content.notes:
            logger.info("%s: %s", collection.name, note)
    return stored


def as_collected(database: Database, source: SourceSettings) -> tuple[SourceSettings, str]:
    """Return a source's settings and fingerprint, with its paths as when it was collected.

    A fingerprint has the paths of the files as they are given. So a source that was collected by
    relative paths is found by absolute ones too, and the other way round.

    Raises:
        SourceError: An input file is missing.
    """
    given = source, open_source(source).fingerprint()
    if corpus.collections_of(database, given[1]):
        return given
    for spell in (os.path.abspath, os.path.relpath):
        spelled = _spelled(source, spell)
        if spelled == source:
            continue
        fingerprint = open_source(spelled).fingerprint()
        if corpus.collections_of(database, fingerprint):
            return spelled, fingerprint
    return given


def _spelled(source: SourceSettings, spell: Callable[[str], str]) -> SourceSettings:
    """Return the settings with another spelling of the paths of source, queries and codes."""

    def of_part(text: str) -> str:
        part = Part.of(text)
        if part is None:
            return spell(text)
        return f"{part.name}={spell(part.path)}" if part.path else text

    given = source.model_dump(mode="json")
    found: dict[str, object] = {"codes": [of_part(text) for text in source.codes]}
    found |= {"path": spell(given["path"])} if given.get("path") else {}
    found |= {"queries": of_part(given["queries"])} if given.get("queries") else {}
    return SourceSettings.model_validate(given | found)


def stored_collections(
    database: Database, source: SourceSettings, fingerprint: str
) -> list[StoredCollection]:
    """Return the stored collections of a source, the annotated one first.

    Args:
        database: The store.
        source: The source's name and options.
        fingerprint: Digest of the source's current content.

    Raises:
        StoreError: The source has not been collected, or has changed since.
    """
    stored = corpus.collections_of(database, fingerprint)
    if not stored:
        raise StoreError(
            f"the store {database.settings.folder} has no collection of source {source.title} with "
            "its present files and options; run `cosqa collect` with the same options first"
        )
    return stored
