"""The validated inputs of a run: checked and opened once, by its command or else by its flow.

A command checks them before a server starts, and hands them on; the flow takes those, where its
settings are the same. A deployment's flow, to which no command has handed any, makes the check.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from infra.settings import CommitteeSettings, Settings
from infra.store import Database, open_database
from tasks.runtime.input_checks import with_named_encoders
from tasks.runtime.references import RecipeReference
from tasks.sources import WRITTEN, open_source, place_written


@dataclass(frozen=True)
class ValidatedInputs:
    """The validated inputs of a run.

    Attributes:
        given: The settings as they were given.
        settings: Those with encoders by name, and with the model's key if that is in a block.
        opened: What the check has opened: the source of a pipeline, the data of a training.
        recipes: The recipes of the agents whose model and engine were checked.
    """

    given: Settings
    settings: Settings
    opened: Any
    recipes: dict[CommitteeSettings, RecipeReference] = field(default_factory=dict, compare=False)

    @cached_property
    def database(self) -> Database:
        """The store, opened when it was first asked for."""
        return open_database(self.settings.store)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the source's content when it was first asked for."""
        source = self.opened or open_source(self.settings.source)
        return str(source.fingerprint())


_handed_on: list[ValidatedInputs] = []


def check(settings: Settings, needs: Callable[[Settings], object]) -> ValidatedInputs:
    """Return the validated inputs of a run.

    ``needs`` checks names, files and folders, and returns what it has opened. The store's folder is
    absolute: workers of a cluster have working folders of their own.

    Raises:
        UnknownNameError: There is no such source, encoder or retrieval method.
        SourceError: An input file is missing.
    """
    named = with_named_encoders(settings)
    store = named.store.model_copy(update={"folder": named.store.folder.absolute()})
    source = place_written(named.source, store.folder / WRITTEN, named.search.top_k)
    chosen = named.model_copy(update={"store": store, "source": source})
    return ValidatedInputs(settings, chosen, needs(chosen))


@contextmanager
def handed_on(ready: ValidatedInputs) -> Iterator[None]:
    """Let a flow that this process runs inside the ``with`` take what its command has checked."""
    _handed_on.append(ready)
    try:
        yield
    finally:
        _handed_on.clear()


def take_checked(settings: Settings) -> ValidatedInputs | None:
    """Return the inputs that this process's command checked by these settings, once."""
    ready = _handed_on.pop() if _handed_on else None
    return ready if ready and ready.given == settings else None
