"""A name → factory table that plug-ins enter by decorating themselves."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Generic, TypeVar

from infra.errors import UnknownNameError

Factory = TypeVar("Factory", bound=Callable[..., object])


class Registry(Generic[Factory]):
    """Plug-ins of one kind, found by name.

    A plug-in is one file in the kind's folder that decorates its class or factory with
    ``@registry.register("name")``. The folder is imported on the first look-up, so that adding the
    file is all that adding a plug-in takes.

    Args:
        kind: What the entries are, for messages ("encoder").
        package: The dotted name of the folder whose modules register themselves.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._entries: dict[str, Factory] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Return a decorator that enters its target under ``name``."""

        def enter(factory: Factory) -> Factory:
            if self._entries.get(name, factory) is not factory:
                raise ValueError(f"two {self.kind}s are registered as {name!r}")
            self._entries[name] = factory
            return factory

        return enter

    def get(self, name: str) -> Factory:
        """Return the entry of that name.

        Raises:
            UnknownNameError: No such entry; the message lists those that exist.
        """
        self._load()
        try:
            return self._entries[name]
        except KeyError:
            known = ", ".join(self.names())
            raise UnknownNameError(
                f"unknown {self.kind} {name!r}: it must be one of {known}"
            ) from None

    def names(self) -> list[str]:
        """Return all names in alphabetical order."""
        self._load()
        return sorted(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package: ModuleType = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__, f"{self._package}."):
            importlib.import_module(module.name)
