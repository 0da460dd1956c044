"""Studies: tables and figures of the papers computed for one's own benchmark, one file each.

To add one, write a file with a subclass of `Study` and decorate it with
``@studies.register("name")``, the name being that of the file with dashes for underscores. Its
figures come from `Evidence`, which the stage gathers; what the papers print is in
``published.toml``, under the study's name, and is put beside them by row and column.
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
from tasks.studies._published import PublishedFigure, published_figures, published_name
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
    "have",
    "published_figures",
    "published_name",
    "studies",
]
