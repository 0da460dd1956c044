"""The suite of the Neural Code Search evaluation dataset (Li et al. 2019, arXiv 1908.09804).

287 questions; for each method a column of the score sheet holds the rank of its first correct
result (FRank), or ``NF`` where none was among the first 50.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from infra.errors import SourceError
from infra.records import Record
from tasks.corpus.neural_code_search import Question, read_questions
from tasks.inputs.tables import read_header, read_rows, whole_number
from tasks.suites import Figures, SuiteOptions, suites

DEEPEST = 50
_NUMBER, _QUESTION, _RANK, _NOT_FOUND = "No.", "StackOverflow ID", " FRank", "NF"

# Method → the rank of each question's first correct result, None where it was not found.
Ranks = dict[str, list[int | None]]


class SheetScores(Record):
    """A method's figures.

    Attributes:
        answered: Depth → number of questions with a correct result among so many first ones.
        reciprocal_rank: Mean over all questions of 1 / FRank, 0 where there is none.
        questions: Number of questions.
    """

    answered: dict[int, int]
    reciprocal_rank: float
    questions: int


class ScoreSheetOptions(SuiteOptions):
    """The options of suite neural-code-search."""

    arguments: ClassVar[tuple[str, ...]] = ("sheet",)

    sheet: Path = Field(description="The score sheet as CSV.", examples=["score_sheet.csv"])
    questions: Path | None = Field(
        None, description="The questions as JSON, to check the sheet with."
    )


@suites.register("neural-code-search")
class NeuralCodeSearch:
    """Score the Neural Code Search sheet: Answered@1, 5, 10 and MRR of each method."""

    Options: ClassVar[type[SuiteOptions]] = ScoreSheetOptions

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a sheet with two questions and one method."""
        sheet = folder / "score_sheet.csv"
        sheet.write_text("No.,StackOverflow ID,NCS FRank\n1,11,NF\n2,22,5\n", encoding="utf-8")
        return {"sheet": sheet}

    def figures(self, options: ScoreSheetOptions) -> Figures:
        """Return the figures of each method."""
        questions = read_questions(options.questions) if options.questions else None
        return sheet_figures(score_sheet(read_score_sheet(options.sheet, questions)))


def sheet_figures(scores: Mapping[str, SheetScores]) -> Figures:
    """Return a row for each method."""
    return Figures(
        columns=("method", "Answered@1", "Answered@5", "Answered@10", "MRR"),
        rows=tuple(
            (method, *map(str, row.answered.values()), f"{row.reciprocal_rank:.3f}")
            for method, row in scores.items()
        ),
    )


def read_score_sheet(file: Path, questions: Sequence[Question] | None = None) -> Ranks:
    """Return method → ranks, in the order of the sheet; a question may appear in it twice.

    Args:
        file: With the columns No., StackOverflow ID and, for each method, "<method> FRank".
        questions: The known questions; any question is taken when not given.

    Raises:
        SourceError: A column has another name, the rows are not numbered 1, 2, 3, a question is
            unknown, or a rank is neither NF nor 1 to 50.
    """
    methods = [name for name in read_header(file) if name.endswith(_RANK)]
    if not methods:
        raise SourceError(f"{file}:1: no column is named '<method>{_RANK}'")
    known = {question.stackoverflow_id for question in questions or ()}
    ranks: Ranks = {method.removesuffix(_RANK): [] for method in methods}
    for number, row in enumerate(read_rows(file, [_NUMBER, _QUESTION, *methods]), 1):
        if row.cells[_NUMBER] != str(number):
            raise SourceError(
                f"{row.place}: row number {row.cells[_NUMBER]!r}, expected {number}: rows are "
                "numbered in their order"
            )
        if known and row.cells[_QUESTION] not in known:
            raise SourceError(f"{row.place}: no question has the id {row.cells[_QUESTION]!r}")
        for method in methods:
            cell = row.cells[method]
            rank = whole_number(cell, 1, DEEPEST)
            if rank is None and cell != _NOT_FOUND:
                raise SourceError(
                    f"{row.place}: {method} is {cell[:40]!r}: it must be 1 to {DEEPEST}, or "
                    f"{_NOT_FOUND}"
                )
            ranks[method.removesuffix(_RANK)].append(rank)
    return ranks


def sheet_text(ranks: Ranks, questions: Sequence[Question]) -> str:
    """Return a score sheet, from which `read_score_sheet` returns these ranks again."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([_NUMBER, _QUESTION, *(f"{method}{_RANK}" for method in ranks)])
    for place, question in enumerate(questions):
        cells = (of_method[place] for of_method in ranks.values())
        found = [_NOT_FOUND if rank is None else rank for rank in cells]
        rows.writerow([place + 1, question.stackoverflow_id, *found])
    return text.getvalue()


def score_sheet(ranks: Ranks, depths: Sequence[int] = (1, 5, 10)) -> dict[str, SheetScores]:
    """Return method → Answered@depth and MRR."""
    scores = {}
    for method, of_method in ranks.items():
        hits = np.array([rank for rank in of_method if rank is not None], np.int64)
        scores[method] = SheetScores(
            answered={depth: int((hits <= depth).sum()) for depth in depths},
            reciprocal_rank=float((1 / hits).sum()) / max(len(of_method), 1),
            questions=len(of_method),
        )
    return scores
