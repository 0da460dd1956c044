"""Table 1 of Neural Code Search: its four methods by the published score sheet."""

from collections.abc import Sequence

from tasks.studies import Evidence, Figure, have, studies
from tasks.suites.neural_code_search import read_score_sheet, score_sheet


@studies.register("neural-code-search")
def neural_code_search(evidence: Evidence) -> Sequence[Figure]:
    """Return the figures of each method of the sheet."""
    scores = score_sheet(read_score_sheet(have(evidence.score_sheet)))
    return [
        figure
        for method, row in scores.items()
        for figure in (
            *(
                Figure(row=method, column=f"Answered@{depth}", value=number, n=row.questions)
                for depth, number in row.answered.items()
            ),
            Figure(row=method, column="MRR", value=row.reciprocal_rank, n=row.questions),
        )
    ]
