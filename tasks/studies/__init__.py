"""Studies: tables and figures of the papers computed for one's own benchmark.

To add one, write a file (of any name) with a function from `Evidence`, which the stage gathers, to
figures, and decorate it with ``@studies.register("name")``. It raises `StudyError` where evidence
is missing, and `SourceError` where a file is malformed. Its docstring is its title, and says how
the figures are computed. Of what the papers print, ``published.toml`` has both instead, with the
papers' figures, which are shown with ours by row and column.
`tests/tasks/studies/test_conformance.py` tests it from then on, and ``cosqa study`` shows it.
"""

from tasks.studies._evidence import (
    Annotator,
    BenchmarkFacts,
    CollectionFacts,
    Evidence,
    Mean,
    Missing,
    have,
)
from tasks.studies._published import PublishedFigure, paper_data
from tasks.studies._study import Figure, studies, study_text

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
