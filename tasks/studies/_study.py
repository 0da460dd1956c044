"""The figures of studies, and the registry."""

from collections.abc import Callable, Sequence

from infra.records import Record
from infra.registry import Registry
from tasks.studies._evidence import Evidence
from tasks.studies._published import StudyText, paper_data


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


studies: Registry[Callable[[Evidence], Sequence[Figure]]] = Registry(
    "study", "tasks.studies", one_per_file=False
)


def study_text(name: str) -> StudyText:
    """Return the text of a study; where the papers have none of its name, its docstring's."""
    if known := paper_data().studies.get(name):
        return known
    title, _, reading = (studies.get(name).__doc__ or "").partition("\n")
    return StudyText(title=title.removesuffix("."), reading=" ".join(reading.split()))
