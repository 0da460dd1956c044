"""Sources: where queries, functions and people's labels come from.

What belongs here is one file a kind of input, which reads and checks and runs nothing: the code of
a corpus is parsed, never imported. Rules that say which functions a benchmark keeps are in
`tasks/rules`.

To add one, write a file with a class that takes `SourceSettings`, refuses in its constructor the
settings it has no use for, and gives `fingerprint` and `read`; decorate it with
``@sources.register("name")``. `tests/tasks/sources` judges it from then on.
"""

from collections.abc import Callable
from typing import Protocol

from infra.records import Collected
from infra.registry import Registry
from infra.settings import SourceSettings


class Source(Protocol):
    """Something that can be read into collections."""

    def fingerprint(self) -> str:
        """Return a digest that changes whenever what `read` would give changes.

        Cheap: it looks at the names, sizes and times of files, not into them.

        Raises:
            SourceError: An input file is missing.
        """
        ...

    def read(self) -> dict[str, Collected]:
        """Return collection name → content.

        The first is the main collection, whose candidates the agents judge; its name is
        ``settings.collection``, or else the source's own. The names of the others begin with it.

        Raises:
            SourceError: An input file is missing or malformed; the message names file and line.
        """
        ...


SourceFactory = Callable[[SourceSettings], Source]

sources: Registry[SourceFactory] = Registry("source", "tasks.sources")
