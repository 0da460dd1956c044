"""The base of all studies, their figures, and the registry."""

from collections.abc import Sequence
from typing import ClassVar

from infra.records import Record
from infra.registry import Registry
from tasks.studies._evidence import Evidence


class Figure(Record):
    """A computed figure.

    Attributes:
        row: The name of its row, a method's being that of the registry.
        column: The name of its column.
        value: An integer is a count; None is unknown.
        n: The number of items that it is taken over, None where it has none.
        note: A remark on this figure alone.
    """

    row: str
    column: str
    value: int | float | None
    n: int | None = None
    note: str = ""


class Study:
    """Base of all studies.

    Attributes:
        title: Of the table or figure.
        reading: How the figures are computed, and which choices the papers leave open.
        command: The command that computes it, with the files that it needs.
    """

    title: ClassVar[str]
    reading: ClassVar[str]
    command: ClassVar[str] = "cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the figures.

        Raises:
            StudyError: Their evidence is missing.
            SourceError: A file that they are computed from is malformed.
        """
        raise NotImplementedError


studies: Registry[type[Study]] = Registry("study", "tasks.studies", one_per_file=False)
