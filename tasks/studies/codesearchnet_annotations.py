"""CodeSearchNet's annotation statistics: how many grades each language has."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tasks.files.csv_rows import read_rows
from tasks.studies import Evidence, Figure, Study, have, studies
from tasks.suites.codesearchnet import read_relevances

_GRADES = ("0", "1", "2", "3")
_NAMES = {"javascript": "JavaScript", "php": "PHP"}


@studies.register("codesearchnet-annotations")
class CodeSearchNetAnnotations(Study):
    """Annotations of CodeSearchNet's challenge."""

    title: ClassVar[str] = "Annotations of the CodeSearchNet challenge"
    reading: ClassVar[str] = (
        "Rows of annotationStore.csv by language and grade; graded twice or more are the functions "
        "that a query has several rows for. The file does not name annotators, so that their kappa "
        "cannot be had from it."
    )
    command: ClassVar[str] = "cosqa study --annotation-store annotationStore.csv"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the counts of each language and of all."""
        file = have(evidence.annotation_store)
        read_relevances(file)  # refuses a malformed file
        grades, several = _counted(file)
        figures = []
        for language in sorted({name for name, _ in grades}):
            numbers = {f"grade {grade}": grades[language, grade] for grade in _GRADES}
            row = _NAMES.get(language, language.capitalize())
            columns = numbers | {"all": sum(numbers.values())}
            figures += [Figure(row=row, column=name, value=n) for name, n in columns.items()]
        return [
            *figures,
            Figure(row="all", column="all", value=grades.total()),
            Figure(row="all", column="graded twice or more", value=several),
        ]


def _counted(file: Path) -> tuple[Counter[tuple[str, str]], int]:
    """Return (language, grade) → rows, and how many functions have several rows for a query."""
    grades: Counter[tuple[str, str]] = Counter()
    functions: Counter[tuple[str, ...]] = Counter()
    for row in read_rows(file, ["Language", "Query", "GitHubUrl", "Relevance"], ["Notes"]):
        cells = row.cells
        language = cells["Language"].lower()
        grades[language, cells["Relevance"]] += 1
        functions[language, cells["Query"].lower(), cells["GitHubUrl"]] += 1
    return grades, sum(times > 1 for times in functions.values())
