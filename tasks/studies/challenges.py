"""Figures of published files: CodeSearchNet's annotations, Neural Code Search's score sheet."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from tasks.inputs.challenge import Grades, is_right, read_grades
from tasks.statistics.agreement import cohen_kappa
from tasks.studies import Evidence, Figure, have, studies
from tasks.suites.neural_code_search import read_score_sheet, score_sheet

_NAMES = {"javascript": "JavaScript", "php": "PHP"}


@studies.register("codesearchnet-annotations")
def codesearchnet_annotations(evidence: Evidence) -> Sequence[Figure]:
    """Return the counts of each language and of all."""
    return annotation_figures(read_grades(have(evidence.annotation_store)))


def annotation_figures(grades: Grades) -> list[Figure]:
    """Return the counts of each language and of all, and how far two graders agree."""
    doubles = []
    figures = []
    everything: Counter[str] = Counter()
    for language, by_query in sorted(grades.items()):
        given = [each for by_url in by_query.values() for each in by_url.values()]
        doubles += [each[:2] for each in given if len(each) > 1]
        single = [grade for grades in given for grade in grades]
        of = Counter(grade.relevance for grade in single)
        counts = {
            **{f"grade {relevance}": of[relevance] for relevance in range(4)},
            "all": len(single),
            "with a note": sum(bool(grade.note) for grade in single),
            "right pairs": sum(map(is_right, given)),
            "queries with one": sum(
                any(map(is_right, urls.values())) for urls in by_query.values()
            ),
        }
        everything.update(counts)
        figures += list(_row(_NAMES.get(language, language.capitalize()), counts))
    first, second = ([pair[place].relevance for pair in doubles] for place in (0, 1))
    kappa = cohen_kappa(first, second, range(4))
    return [
        *figures,
        *_row("all", {name: everything[name] for name in ("all", "with a note")}),
        Figure(row="all", column="graded twice or more", value=len(doubles)),
        Figure(
            row="all",
            column="Cohen's kappa, squared weights",
            value=None if isnan(kappa) else kappa,
            n=len(doubles),
        ),
    ]


def _row(name: str, counts: Mapping[str, int]) -> Iterator[Figure]:
    return (Figure(row=name, column=column, value=n) for column, n in counts.items())


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
