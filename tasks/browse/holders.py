"""The browsers with their samples and names, kept in the store's folder over restarts; their items.

A name is one browser's in each sample. Another one may go on with it: whoever has lost a browser
must not lose a sample. As it may also be somebody else, it is not shown the labels that were given
before, its own excepted, until all may read them; and the former browser is told.
"""

import hashlib
import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import RootModel, ValidationError

from infra.errors import CosqaError
from infra.files import atomic_write
from infra.records import GivenVote, Record
from infra.store import Database, samples
from infra.store.samples import Sample, SampleItem, SampleProgress, ShownItem
from infra.store.votes import load_votes

FILE = "browse-names.json"
_log = logging.getLogger(__name__)


class Hold(Record):
    """A browser's name in a sample.

    Attributes:
        annotator: The name.
        elsewhere: Items that had been labelled under it before, in another browser or on a sheet.
        is_lost: Whether another browser goes on with the name.
    """

    annotator: str
    elsewhere: frozenset[int] = frozenset()
    is_lost: bool = False


_Held = RootModel[dict[str, dict[str, Hold]]]  # digest of a browser's cookie → sample → name


class HeldError(CosqaError):
    """A browser cannot label a sample under a name; ``annotator`` is one that it may take over."""

    def __init__(self, message: str, sample_id: str, annotator: str = "") -> None:
        super().__init__(message)
        self.sample_id, self.annotator = sample_id, annotator


class Holders:
    """The browsers of the pages of a store, whose folder keeps them."""

    def __init__(self, folder: Path) -> None:
        self._file, self._turn = folder / FILE, threading.Lock()
        try:
            self._held = _Held.model_validate_json(self._file.read_bytes()).root
        except (FileNotFoundError, ValidationError):  # then names are asked for again
            self._held = {}

    def of(self, browser: str) -> dict[str, Hold]:
        """Return sample → name of a browser, lost ones among them."""
        return dict(self._held.get(_digest(browser), {}))

    def take(
        self, browser: str, sample_id: str, name: str, labelled: Iterable[int], *, here: bool
    ) -> bool:
        """Let a browser label a sample under a name; return whether it did not before.

        Args:
            browser: Its cookie.
            sample_id: The sample.
            name: The name.
            labelled: The items that have a label under it.
            here: Whether to go on where another browser has the name.

        Raises:
            HeldError: Another one has it, and this is not to go on; or this one has another name.
        """
        with self._turn:
            known = self.of(browser).get(sample_id)
            if known and not known.is_lost:
                if known.annotator == name:
                    return False
                told = f"this browser labels the sample as {known.annotator}: leave it there first"
                raise HeldError(told, sample_id)
            for of_sample in self._held.values():
                held = of_sample.get(sample_id)
                if held and held.annotator == name and not held.is_lost:
                    if not here:
                        told = f"{name} labels this sample in another browser"
                        raise HeldError(told, sample_id, name)
                    _log.warning("%s goes on with sample %s in another browser", name, sample_id)
                    of_sample[sample_id] = held.model_copy(update={"is_lost": True})
            self._put(browser, sample_id, Hold(annotator=name, elsewhere=frozenset(labelled)))
            return True

    def labelled_here(self, browser: str, sample_id: str, position: int) -> None:
        """Note that a browser has labelled an item itself, whose label it may be shown."""
        with self._turn:
            hold = self.of(browser).get(sample_id)
            if hold and position in hold.elsewhere:
                left = {"elsewhere": hold.elsewhere - {position}}
                self._put(browser, sample_id, hold.model_copy(update=left))

    def leave(self, browser: str, sample_id: str) -> None:
        """Let a browser label a sample no more."""
        with self._turn:
            self._put(browser, sample_id, None)

    def _put(self, browser: str, sample_id: str, hold: Hold | None) -> None:
        others = {name: each for name, each in self.of(browser).items() if name != sample_id}
        self._held[_digest(browser)] = others | ({sample_id: hold} if hold else {})
        with atomic_write(self._file) as partial:
            partial.write_text(_Held(self._held).model_dump_json(), encoding="utf-8")


def _digest(browser: str) -> str:
    """Return the digest of a cookie, which is kept in the file in the cookie's place."""
    return hashlib.sha256(browser.encode()).hexdigest()


class SampleState(NamedTuple):
    """A snapshot of a sample in the store."""

    sample: Sample
    progress: Mapping[str, SampleProgress]
    votes: list[GivenVote]
    read_at: datetime

    @property
    def is_open(self) -> bool:
        """True if all may read the labels: several people were given items, and all are done."""
        return len(self.progress) > 1 and all(one.is_done for one in self.progress.values())


@dataclass(frozen=True)
class Place:
    """An item in an annotator's queue."""

    state: SampleState
    hold: Hold
    items: list[ShownItem]
    index: int

    @property
    def annotator(self) -> str:
        """The name."""
        return self.hold.annotator

    @property
    def label(self) -> tuple[str, str, int]:
        """Sample, annotator and item, by which a label in the making is known."""
        return self.state.sample.sample_id, self.annotator, self.shown.position

    @property
    def shown(self) -> ShownItem:
        """The item with its texts."""
        return self.items[self.index]

    @property
    def item(self) -> SampleItem:
        """The item as it was drawn."""
        [item] = [one for one in self.state.sample.items if one.position == self.shown.position]
        return item

    @property
    def is_blind(self) -> bool:
        """True until all items are labelled."""
        return not self.state.progress[self.annotator].is_done

    @property
    def labelled(self) -> set[int]:
        """The items that have a label under the name."""
        return {*labels_under(self.state, self.annotator)}

    @property
    def hidden(self) -> frozenset[int]:
        """The items whose label is not shown, as whoever gave it may be somebody else."""
        return frozenset() if self.state.is_open else self.hold.elsewhere

    @property
    def votes(self) -> dict[int, dict[str, GivenVote]]:
        """The annotator's own votes, by item and phase."""
        found = labels_under(self.state, self.annotator).items()
        return {position: votes for position, votes in found if position not in self.hidden}


def read_state(database: Database, sample_id: str, moment: datetime) -> SampleState:
    """Return a sample as it is in the store."""
    sample = samples.load_sample(database, sample_id)
    progress = {one.annotator: one for one in samples.progress(database, sample.sample_id)}
    return SampleState(sample, progress, load_votes(database, sample.origin), moment)


def labels_under(state: SampleState, name: str) -> dict[int, dict[str, GivenVote]]:
    """Return the votes under a name, by item and phase."""
    positions = {item.key: item.position for item in state.sample.items}
    found: dict[int, dict[str, GivenVote]] = {}
    for vote in state.votes:
        if vote.annotator == name:
            found.setdefault(positions[vote.key], {})[vote.phase] = vote
    return found
