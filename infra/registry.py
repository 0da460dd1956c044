"""A registry of plug-ins by name, each imported when it is looked up."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from infra.errors import UnknownNameError

Factory = TypeVar("Factory", bound=Callable[..., object])


class Registry(Generic[Factory]):
    """Plug-ins of one kind, found by name.

    A plug-in is a module or a package in the kind's folder that decorates its class or factory with
    ``@registry.register("name")``; adding the file adds the plug-in. The file is
    called as the plug-in is, ``-`` written ``_``: ``tf-idf`` is in ``tf_idf.py``. So a list of the
    names imports nothing, and a look-up imports that file alone. Files whose name begins with
    ``_`` hold what plug-ins share, and register nothing.

    Args:
        kind: What the entries are, for messages ("encoder").
        package: The dotted name of the folder whose modules register themselves.
        one_per_file: False where a file may register several plug-ins under any names; the first
            look-up then imports the whole folder.
    """

    def __init__(self, kind: str, package: str, *, one_per_file: bool = True) -> None:
        self.kind = kind
        self.package = package
        self._one_per_file = one_per_file
        self._entries: dict[str, Factory] = {}

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Return a decorator that registers its target under ``name``."""

        def add(factory: Factory) -> Factory:
            if self._entries.get(name, factory) is not factory:
                raise ValueError(f"two {self.kind}s are registered as {name!r}")
            self._entries[name] = factory
            return factory

        return add

    def get(self, name: str) -> Factory:
        """Return the entry of that name.

        Raises:
            UnknownNameError: No such entry; the message lists those that exist.
        """
        if name not in self._entries:
            for module in self._modules():
                if not self._one_per_file or _name_of(module) == name:
                    importlib.import_module(f"{self.package}.{module}")
        try:
            return self._entries[name]
        except KeyError:
            known = self.names()
            if name not in known:
                raise UnknownNameError(unknown_name(self.kind, name, known)) from None
            module = f"{self.package}.{name.replace('-', '_')}"
            raise UnknownNameError(
                f"{module} registers no {self.kind} {name!r}: a file is called as what it "
                "registers, with - written _"
            ) from None

    def names(self) -> list[str]:
        """Return all names in alphabetical order."""
        modules = self._modules()
        if self._one_per_file:
            return sorted({*self._entries, *map(_name_of, modules)})
        for module in modules:
            importlib.import_module(f"{self.package}.{module}")
        return sorted(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _modules(self) -> list[str]:
        """Return the plug-ins' modules, those of folders added to the package's path included."""
        folders = importlib.import_module(self.package).__path__
        names = (module.name for module in pkgutil.iter_modules(folders))
        return [name for name in names if not name.startswith("_")]


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Return the message about a name that does not exist, with the one that was probably meant."""
    close = difflib.get_close_matches(name, known, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown {kind} {name!r}{hint}: it must be one of {', '.join(known)}"


def _name_of(module: str) -> str:
    return module.replace("_", "-")
