"""Which browser labels which sample under which name, kept in the store's folder over restarts.

A name is one browser's in each sample. Another one may go on with it: whoever has lost a browser
must not lose a sample. As it may also be somebody else, it is not shown the labels that were given
before, its own excepted, until all may read them; and the former browser is told.
"""

import hashlib
import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import RootModel, ValidationError

from infra.atomic import atomic_write
from infra.errors import CosqaError
from infra.records import Record

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
    """A browser cannot label a sample under a name.

    Args:
        message: Why.
        sample_id: The sample.
        annotator: The name, where another browser has it and this one may go on.
    """

    def __init__(self, message: str, sample_id: str, annotator: str = "") -> None:
        super().__init__(message)
        self.sample_id, self.annotator = sample_id, annotator


@dataclass
class Holders:
    """The browsers of a store's pages.

    Attributes:
        folder: The store's.
    """

    folder: Path
    _held: dict[str, dict[str, Hold]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read who labelled when the last server ended."""
        try:
            self._held = _Held.model_validate_json((self.folder / FILE).read_bytes()).root
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
        own = _digest(browser)
        with self._turn:
            known = self._held.get(own, {}).get(sample_id)
            if known and not known.is_lost:
                if known.annotator == name:
                    return False
                raise HeldError(
                    f"this browser labels the sample as {known.annotator}: leave it under that "
                    "name first",
                    sample_id,
                )
            for who, of_sample in self._held.items():
                held = of_sample.get(sample_id)
                if who != own and held and held.annotator == name and not held.is_lost:
                    if not here:
                        told = f"{name} labels this sample in another browser"
                        raise HeldError(told, sample_id, name)
                    _log.warning("%s goes on with sample %s in another browser", name, sample_id)
                    of_sample[sample_id] = held.model_copy(update={"is_lost": True})
            hold = Hold(annotator=name, elsewhere=frozenset(labelled))
            self._held.setdefault(own, {})[sample_id] = hold
            self._write()
            return True

    def labelled_here(self, browser: str, sample_id: str, position: int) -> None:
        """Note that a browser has labelled an item itself, whose label it may be shown."""
        own = _digest(browser)
        with self._turn:
            hold = self._held[own][sample_id]
            if position in hold.elsewhere:
                left = hold.elsewhere - {position}
                self._held[own][sample_id] = hold.model_copy(update={"elsewhere": left})
                self._write()

    def leave(self, browser: str, sample_id: str) -> None:
        """Let a browser label a sample no more."""
        with self._turn:
            if self._held.get(_digest(browser), {}).pop(sample_id, None):
                self._write()

    def _write(self) -> None:
        with atomic_write(self.folder / FILE) as partial:
            partial.write_text(_Held(self._held).model_dump_json(), encoding="utf-8")


def _digest(browser: str) -> str:
    """Return what stands for a cookie in the file, by which nobody becomes the browser."""
    return hashlib.sha256(browser.encode()).hexdigest()
