"""Queries of one source over the codes of others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from infra.collected import Content, Item, Streamed
from infra.identity import mark
from infra.records import Code, Label, Query, SourceInfo
from tasks.corpus.merging import Deduplicator, QueryReason
from tasks.filters import CorpusFunction, FilterChain
from tasks.inputs.queries import read_queries
from tasks.inputs.text import state_of

LABEL_ELSEWHERE = "label of a function that is in no chosen source of codes"


class Readable(Protocol):
    """The input of collections: a source, or several put together."""

    def fingerprint(self) -> str:
        """Return a digest that changes whenever what `read` would give changes."""
        ...

    def read(self) -> Mapping[str, Content]:
        """Return collection name → content, the main one first."""
        ...


class Component(Protocol):
    """A source of the queries or the codes of a `CombinedSource`."""

    def fingerprint(self) -> str:
        """Return a digest that changes whenever what `main` would give changes."""
        ...

    def main(self) -> Content:
        """Return the content of the main collection; no other is made."""
        ...


class QueriesFile:
    """Queries of a JSON Lines file, as a source without codes.

    Args:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def fingerprint(self) -> str:
        """Return a digest of the file's name, size and time."""
        return mark("queries", state_of([self._file]))

    def main(self) -> Content:
        """Return the queries.

        Raises:
            SourceError: The file is missing or malformed.
        """
        merged = Deduplicator(FilterChain(()))
        queries = merged.queries(query for _, query in read_queries(self._file))
        info = SourceInfo(
            name="queries", licence="unknown", revision="unknown", location=self._file.name
        )
        return Streamed(info, queries, merged.dropped)


class CombinedSource:
    """The queries and labels of one source over the codes of several, in their order.

    Of equal codes the first stays, with its source's name and licence. Of every source the main
    collection is taken.

    Args:
        collection: Name of the collection.
        queries: What gives the queries, and labels of functions that the codes hold too.
        codes: What gives the codes.
    """

    def __init__(self, collection: str, queries: Component, codes: Sequence[Component]) -> None:
        self._name = collection
        self.sources = (queries, *codes)

    def fingerprint(self) -> str:
        """Return a digest of the sources' fingerprints."""
        parts = [source.fingerprint() for source in self.sources]
        return mark("composed", self._name, *parts)

    def read(self) -> dict[str, Content]:
        """Return the one collection.

        Raises:
            SourceError: A source is missing or malformed.
        """
        asked, *found = [source.main() for source in self.sources]
        parts = tuple(dict.fromkeys(content.info for content in (asked, *found)))
        dropped: Counter[str] = Counter()
        notes: list[str] = []
        items = _items(asked, found, dropped, notes)
        return {self._name: Streamed(_joined(parts), items, dropped, notes, parts)}


def _items(
    asked: Content, found: Sequence[Content], dropped: Counter[str], notes: list[str]
) -> Iterator[Item]:
    merged = Deduplicator(FilterChain(()))
    labels: list[Label] = []
    has_codes = False
    for item in asked.items():
        if isinstance(item, Query):
            yield item
        elif isinstance(item, Label):
            labels.append(item)
        else:
            has_codes = True
    dropped.update(
        {
            reason: number
            for reason, number in asked.dropped.items()
            if isinstance(reason, QueryReason) or not has_codes
        }
    )
    for content in found:
        for item in content.items():
            if isinstance(item, Code):
                licence = item.licence or content.info.licence
                code = item.model_copy(update={"source": content.info.name, "licence": licence})
                yield from merged.codes([CorpusFunction(code, None)])
        dropped.update(content.dropped)
        notes.extend(f"{content.info.name}: {note}" for note in content.notes)
    kept = [label for label in labels if merged.has_code(label.code_id)]
    dropped.update(merged.dropped)
    dropped[LABEL_ELSEWHERE] = len(labels) - len(kept)
    for reason in [reason for reason, number in dropped.items() if not number]:
        del dropped[reason]
    yield from kept


def _joined(parts: Sequence[SourceInfo]) -> SourceInfo:
    """Return several sources as one."""

    def all_of(field: str) -> str:
        return "; ".join(f"{part.name}: {getattr(part, field)}" for part in parts)

    return SourceInfo(
        name="+".join(part.name for part in parts),
        licence=all_of("licence"),
        revision=all_of("revision"),
        location=all_of("location"),
    )
