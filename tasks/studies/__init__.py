"""Studies: tables and figures of the papers computed for one's own benchmark.

To add one, write a file (of any name) with a subclass of `Study` and decorate it with
``@studies.register("name")``. Its figures come from `Evidence`, which the stage gathers; the
papers' figures are in ``published.toml``, under the study's name, and are shown with them by row
and column. `tests/tasks/studies/test_conformance.py` tests it from then on, and ``cosqa study``
shows it.
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
from tasks.studies._published import (
    PublishedFigure,
    absent_figures,
    paper_conditions,
    paper_titles,
    published_figures,
    published_name,
    study_order,
)
from tasks.studies._study import Figure, Study, studies

__all__ = [
    "Annotator",
    "BenchmarkFacts",
    "CollectionFacts",
    "Evidence",
    "Figure",
    "Mean",
    "Missing",
    "PublishedFigure",
    "Study",
    "absent_figures",
    "have",
    "paper_conditions",
    "paper_titles",
    "published_figures",
    "published_name",
    "studies",
    "study_order",
]
