"""Stage 1, collect: a source's queries and codes, read into collections of the store."""

from infra.collected import StoredCollection
from infra.errors import StoreError, StoreLockedError
from infra.files import write_outputs
from infra.identity import digest, mark, mark_of, program_digest
from infra.settings import SourceSettings
from infra.store import Database, corpus
from tasks.corpus.merging import ConflictNote
from tasks.reports.text import counted, tally
from tasks.runtime.caching import Parameters, StageRetry, stage
from tasks.runtime.progress import get_run_logger, progress
from tasks.sources import WRITTEN, open_source

# Modules that decide, next to files and settings, what is read.
_READERS = (
    *("tasks.sources", "tasks.corpus", "tasks.filters", "tasks.inputs", "infra.languages"),
    "infra.syntax",
    *("infra.collected", "infra.identity", "infra.records"),
)
_MOST_NOTES = 10  # in the log; all are in a file
_LIBRARIES = ("cosqa-plus", "magika")


def input_digest(source: SourceSettings) -> str:
    """Return a digest that differs whenever reading a source may give something else.

    A file is the same while its name, size and time are; a run with ``reread`` looks into it.
    """
    left_out = dict.fromkeys(("reread", "path", "queries", "codes"), True)
    options = source.model_dump(mode="json", exclude={**left_out, WRITTEN: {"folder"}})
    program = program_digest(_READERS, _LIBRARIES)
    return mark(open_source(source).fingerprint(), mark_of(options), program)


def _is_read(p: Parameters) -> bool:
    """Return True if reading the source again would give what is stored."""
    stored, digest = corpus.collections_of(p.database, p.fingerprint), input_digest(p.source)
    return (
        bool(stored) and not p.source.reread and all(each.input_digest == digest for each in stored)
    )


@stage(
    "collect",
    "read {source.title}",
    key=lambda p: digest("collect", p.database.store_id, p.fingerprint),
    is_valid=_is_read,
    retries=StageRetry((10, 20), (StoreLockedError, OSError)),
)
def collect_source(
    database: Database, source: SourceSettings, fingerprint: str
) -> list[StoredCollection]:
    """Read a source into the store; return its collections.

    Raises:
        SourceError: An input file is missing or malformed; the store is unchanged.
    """
    logger = get_run_logger()
    contents = open_source(source).read()
    main = next(iter(contents))
    with progress("collect", f"items read from {source.title}", None) as bar:
        corpus.replace_collections(
            database, fingerprint, contents, main, bar.advance, input_digest(source)
        )
    told: list[StoredCollection] = []
    for collection in corpus.collections_of(database, fingerprint):
        content = contents[collection.name]
        logger.info(
            "%s: %s and %s read; left out: %s", collection.name,
            counted(collection.queries, "queries"), counted(collection.codes, "codes"),
            tally(content.dropped),
        )  # fmt: skip
        *twins, last = content.notes or ("",)
        for note in (*twins[:_MOST_NOTES], last):
            if note:
                logger.info("%s: %s", collection.name, note)
        if twins:
            file = database.settings.folder / "notes" / f"{collection.name}.txt"
            write_outputs(file.parent, {file.name: "".join(f"{note}\n" for note in content.notes)})
            logger.info("%s: all of these notes are in %s", collection.name, file)
        conflicts = [note for note in content.notes if isinstance(note, ConflictNote)]
        told.append(collection.model_copy(update={"notes": tuple(map(str, conflicts))}))
    return told


def stored_collections(
    database: Database, source: SourceSettings, fingerprint: str
) -> list[StoredCollection]:
    """Return the stored collections of a source, the annotated one first.

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
