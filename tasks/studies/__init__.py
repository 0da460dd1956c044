"""Studies: tables and figures of the papers computed for one's own benchmark.

To add one, write a file (of any name) with a function from `Evidence`, which the stage gathers, to
figures, and decorate it with ``@studies.register("name")``. It raises `StudyError` where evidence
is missing, and `SourceError` where a file is malformed. Its docstring is its title, and says how
the figures are computed. Of what the papers print, ``published.toml`` has both instead, with the
papers' figures, which are shown with ours by row and column.
`tests/tasks/studies/test_conformance.py` tests it from then on, and ``cosqa study`` shows it.
"""

from collections.abc import Callable, Sequence

from infra.records import Record
from infra.registry import Registry
from tasks.studies._evidence import (
    Annotator,
    BenchmarkFacts,
    CollectionFacts,
    Evidence,
    Mean,
    Missing,
    have,
)
from tasks.studies._published import PublishedFigure, StudyText, paper_data

__all__ = [
    "Annotator",
    "BenchmarkFacts",
    "CollectionFacts",
    "Evidence",
    "Figure",
    "Mean",
    "Missing",
    "PublishedFigure",
    "have",
    "paper_data",
    "studies",
    "study_text",
]


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
