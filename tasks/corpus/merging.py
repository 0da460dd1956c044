"""Items of a source, filtered and without duplicates, and queries of one over others' codes."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Protocol

from infra.collected import Content, Item, Streamed
from infra.errors import SourceError
from infra.identity import mark
from infra.records import Code, Label, Query, SourceInfo
from tasks.filters import (
    CorpusFunction,
    Filter,
    FilterChain,
    QueryReason,
    notes_of,
    reason_to_drop_query,
)
from tasks.inputs.pairs import read_queries
from tasks.inputs.text import state_of


class FilterNote(str):
    """A sentence of a filter about a source's code: it is left out where the code is others'."""

    __slots__ = ()


class ConflictNote(str):
    """A sentence on labels of one pair that contradict each other, for who gave them."""

    __slots__ = ()


CONFLICT = QueryReason("label of a pair that has a higher one")
REPEATED_LABEL = QueryReason("label given twice")
REPEATED_QUERY = QueryReason("query equal to an earlier one")
REPEATED_CODE = "function equal to an earlier one"
LABEL_OF_DROPPED = QueryReason("label of a dropped query or function")

_logger = logging.getLogger(__name__)


class Deduplicator:
    """Lets items of one collection through, and counts by reason what it drops.

    Texts that are equal when normalised are one query or one function: the first stays. Of what
    passed, only a digest of each id is kept, so that a source may be larger than memory.

    Args:
        keep: Filter of functions and queries.

    Attributes:
        dropped: Reason → number of items.
        notes: Sentences for the log.
    """

    def __init__(self, keep: Filter) -> None:
        self.dropped: Counter[str] = Counter()
        self.notes: list[str] = []
        self._keep = keep
        self._queries: set[bytes] = set()
        self._dropped_queries: set[bytes] = set()
        self._codes: set[bytes] = set()
        self._pairs: set[bytes] = set()

    def queries(self, queries: Iterable[Query]) -> Iterator[Query]:
        """Yield the queries that are equal to no earlier one and that the filter keeps."""
        for query in queries:
            short = _short(query.query_id)
            if not _added(short, self._queries):
                self.dropped[REPEATED_QUERY] += 1
            elif reason := reason_to_drop_query(self._keep, query):
                self.dropped[QueryReason(reason)] += 1
                self._dropped_queries.add(short)
            else:
                yield query

    def codes(self, functions: Iterable[CorpusFunction]) -> Iterator[Code]:
        """Yield the functions that are equal to no earlier one and that the filter keeps."""
        for function in functions:
            code = function.code
            known = self.has_code(code.code_id)
            reason = REPEATED_CODE if known else self._keep.reason_to_drop(function)
            if reason is None:
                _added(_short(code.code_id), self._codes)
                yield code
            else:
                self.dropped[reason] += 1
                _logger.debug("%s is dropped: %s", code.origin, reason)

    def has_code(self, code_id: str) -> bool:
        """Return True if a function with this id has passed."""
        return _short(code_id) in self._codes

    def new_labels(self, labels: Iterable[Label]) -> Iterator[Label]:
        """Yield, as they come, the labels of pairs that had none before; they do not conflict."""
        for label in labels:
            if _short(label.query_id) in self._dropped_queries:
                self.dropped[LABEL_OF_DROPPED] += 1
            elif _added(_short(label.query_id) + _short(label.code_id), self._pairs):
                yield label
            else:
                self.dropped[REPEATED_LABEL] += 1

    def labels(self, labels: Iterable[Label], places: Iterable[str] = ()) -> list[Label]:
        """Return labels of one origin of what has passed; of a pair's labels the highest.

        ``places`` has the file and line of each label, where they are known, for a note.
        """
        best: dict[tuple[str, str], Label] = {}
        conflicts, example = 0, ""
        for label, place in zip(labels, chain(places, repeat("")), strict=False):
            is_dropped = _short(label.query_id) in self._dropped_queries
            if is_dropped or not self.has_code(label.code_id):
                self.dropped[LABEL_OF_DROPPED] += 1
                continue
            earlier = best.setdefault(label.key, label)
            if earlier is not label:
                same = earlier.relevance == label.relevance
                self.dropped[REPEATED_LABEL if same else CONFLICT] += 1
                best[label.key] = max(earlier, label, key=lambda label: label.relevance)
                conflicts += not same
                if not (same or example):
                    where = place or f"that of query {label.query_id} and code {label.code_id}"
                    example = f"{where} ({label.relevance:g}, where {earlier.relevance:g} is given)"
        if example:
            self.notes.append(
                ConflictNote(
                    f"labels that contradict another of their pair: {conflicts:,}, "
                    f"such as {example}; the highest counts, so delete those that are wrong"
                )
            )
        return list(best.values())

    def streamed(self, info: SourceInfo, items: Iterable[Item]) -> Streamed:
        """Return a content of items that come through this object's methods as they are read.

        Reading it raises a `SourceError` at its end when the filter has dropped every function.
        """

        def read() -> Iterator[Item]:
            yield from items
            if not self._codes:
                reasons = ", ".join(f"{number:,} x {why}" for why, number in self.dropped.items())
                raise SourceError(
                    f"source {info.name} has no function that its filters keep ({reasons}): set "
                    "source.filters, or give other input"
                )
            self.notes.extend(map(FilterNote, notes_of(self._keep)))

        return Streamed(info, read(), self.dropped, self.notes)


def _short(identity: str) -> bytes:
    """Return the digest in a content-derived id, a third of its size in memory."""
    return bytes.fromhex(identity[1:])


def _added(short: bytes, seen: set[bytes]) -> bool:
    before = len(seen)
    seen.add(short)
    return len(seen) > before


LABEL_ELSEWHERE = QueryReason("label of a function that is in no chosen source of codes")


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
    """Queries of a JSON Lines file, as a source without codes."""

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
        info = SourceInfo(
            name="+".join(part.name for part in parts),
            **{
                field: "; ".join(f"{part.name}: {getattr(part, field)}" for part in parts)
                for field in ("licence", "revision", "location")
            },
        )
        return {self._name: Streamed(info, items, dropped, notes, parts)}


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
    conflicts = [note for note in asked.notes if isinstance(note, ConflictNote)]
    others = (n for n in asked.notes if not isinstance(n, FilterNote | ConflictNote))
    notes.extend(_named(asked.info, others))
    for content in found:
        for item in content.items():
            if isinstance(item, Code):
                licence = item.licence or content.info.licence
                code = item.model_copy(update={"source": content.info.name, "licence": licence})
                yield from merged.codes([CorpusFunction(code, None)])
        dropped.update(content.dropped)
        of_codes = (note for note in content.notes if not isinstance(note, ConflictNote))
        notes.extend(_named(content.info, of_codes))
    kept = [label for label in labels if merged.has_code(label.code_id)]
    notes.extend(_named(asked.info, conflicts if kept else ()))
    dropped.update(merged.dropped)
    dropped[LABEL_ELSEWHERE] = len(labels) - len(kept)
    for reason in [reason for reason, number in dropped.items() if not number]:
        del dropped[reason]
    yield from kept


def _named(info: SourceInfo, notes: Iterable[str]) -> Iterator[str]:
    return (type(note)(f"{info.name}: {note}") for note in notes)
