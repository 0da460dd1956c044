"""Published evaluation suites: readers of their files, and their figures, one file each.

A file that is not as its authors published it is refused with its name and line.

To add a suite, write a file with a class that is made without arguments and has ``Options`` and
``figures``, and decorate it with ``@suites.register("name")``, the name being that of the file with
dashes for underscores. The command ``cosqa suite NAME`` is made from it: the first line of the
class's docstring is its help, the options are those of the model, and the ``examples`` of those
that are required make the example that ends the help.
`tests/tasks/suites/test_conformance.py` tests it from then on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from infra.records import Record
from infra.registry import Registry


class SuiteOptions(BaseModel):
    """Base of a suite's options; each field has a description.

    Attributes:
        arguments: Fields that are given on the command line by position rather than by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    arguments: ClassVar[tuple[str, ...]] = ()


class Figures(Record):
    """A table of figures to print.

    Attributes:
        columns: Names of the columns; the first names the rows.
        rows: As many cells as there are columns.
        notes: Sentences below the table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


class Suite(Protocol):
    """An evaluation suite.

    Attributes:
        Options: The model of its options, the files among them.
    """

    Options: ClassVar[type[SuiteOptions]]

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write small valid files into an empty folder and return the options that read them."""
        ...

    def figures(self, options: Any) -> Figures:  # noqa: ANN401 - its own Options
        """Return the figures as the suite's authors compute them.

        Raises:
            SourceError: A file is missing or malformed; the message names file and line.
        """
        ...


suites: Registry[type[Suite]] = Registry("suite", "tasks.suites")
