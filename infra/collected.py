"""Contents of collections, whole or read item by item; stored ones by their names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Protocol

from pydantic import Field

from infra.records import Code, Label, Query, Record, SourceInfo

Item = Query | Code | Label


class Content(Protocol):
    """The content of a collection, in an order in which labels follow their queries and codes."""

    @property
    def info(self) -> SourceInfo:
        """Where it comes from, as a whole."""
        ...

    @property
    def parts(self) -> Sequence[SourceInfo]:
        """The sources that it was put together from; none where ``info`` says all."""
        ...

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason → number of items that were dropped; complete once the items have been read."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the log; complete once the items have been read."""
        ...

    def items(self) -> Iterator[Item]:
        """Yield queries, codes and labels.

        Raises:
            SourceError: An input file is malformed, or every function was dropped.
        """
        ...


class Collected(Record):
    """A content that is whole in memory."""

    info: SourceInfo
    queries: tuple[Query, ...] = ()
    codes: tuple[Code, ...] = ()
    labels: tuple[Label, ...] = ()
    dropped: dict[str, int] = Field(default_factory=dict)
    parts: tuple[SourceInfo, ...] = ()
    notes: tuple[str, ...] = ()

    def items(self) -> Iterator[Item]:
        """Yield the queries, the codes and the labels."""
        return chain(self.queries, self.codes, self.labels)


class Streamed:
    """A content whose items are read when they are asked for, and once.

    Args:
        info: Where it comes from.
        items: Its items; what they come from adds to ``dropped`` and ``notes`` meanwhile.
        dropped: Reason → number of dropped items.
        notes: Sentences for the log.
        parts: The sources that it was put together from.
    """

    def __init__(
        self,
        info: SourceInfo,
        items: Iterable[Item],
        dropped: Mapping[str, int],
        notes: Sequence[str] = (),
        parts: Sequence[SourceInfo] = (),
    ) -> None:
        self.info, self.dropped, self.notes, self.parts = info, dropped, notes, parts
        self._items = iter(items)

    def items(self) -> Iterator[Item]:
        """Yield the items, in the order of the input."""
        return self._items


def whole(content: Content) -> Collected:
    """Return a content that is whole in memory; a `Streamed` one is read by this."""
    items = list(content.items())
    return Collected(
        info=content.info,
        queries=tuple(item for item in items if isinstance(item, Query)),
        codes=tuple(item for item in items if isinstance(item, Code)),
        labels=tuple(item for item in items if isinstance(item, Label)),
        dropped=dict(content.dropped),
        parts=tuple(content.parts),
        notes=tuple(content.notes),
    )


class StoredCollection(Record):
    """A stored collection.

    Attributes:
        is_annotated: Whether the agents annotate its pairs.
        input_digest: Of the inputs that it was read from.
        notes: What its owner should know of it, told by the run that reads it.
    """

    name: str
    fingerprint: str
    queries: int
    codes: int
    is_annotated: bool
    input_digest: str
    notes: tuple[str, ...] = Field((), exclude=True)
