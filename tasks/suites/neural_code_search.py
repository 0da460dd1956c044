"""The Neural Code Search evaluation dataset (Li et al. 2019, arXiv 1908.09804).

287 questions; for each method a column of the score sheet says at which rank its first correct
result stood (FRank), or ``NF`` where none was among the first 50.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from infra.errors import SourceError
from infra.records import Record
from tasks.files.csv_rows import Row, read_header, read_rows
from tasks.files.text import read_text

DEEPEST = 50
_NUMBER, _QUESTION, _RANK, _NOT_FOUND = "No.", "StackOverflow ID", " FRank", "NF"

# Method → the rank of each question's first correct result, None where it was not found.
Ranks = dict[str, list[int | None]]


class Question(BaseModel):
    """A question with its answer and some functions of the corpus that answer it."""

    model_config = ConfigDict(frozen=True)

    stackoverflow_id: str = Field(min_length=1, coerce_numbers_to_str=True)
    question: str = Field(min_length=1)
    answer: str
    examples: tuple[int, ...] = ()


class SheetScores(Record):
    """A method's figures.

    Attributes:
        answered: Depth → how many questions have a correct result so high.
        reciprocal_rank: Mean over all questions of 1 / FRank, 0 where it was not found.
        questions: How many were asked.
    """

    answered: dict[int, int]
    reciprocal_rank: float
    questions: int


def read_questions(file: Path) -> list[Question]:
    """Return the questions of ``287_android_questions.json``.

    Raises:
        SourceError: The file is missing, no JSON, or a question lacks something.
    """
    try:
        questions = TypeAdapter(list[Question]).validate_python(json.loads(read_text(file)))
    except json.JSONDecodeError as error:
        raise SourceError(f"{file}:{error.lineno}: no JSON: {error.msg}") from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise SourceError(f"{file}: item {place}: {problem['msg']}") from None
    return questions


def read_score_sheet(file: Path, questions: Sequence[Question] | None = None) -> Ranks:
    """Return method → ranks, in the order of the sheet; a question may stand in it twice.

    Args:
        file: With the columns No., StackOverflow ID and, for each method, "<method> FRank".
        questions: What may be asked; anything when not given.

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
        _check(row, number, known)
        for method in methods:
            ranks[method.removesuffix(_RANK)].append(_rank(row, method))
    return ranks


def score_sheet(ranks: Ranks, depths: Sequence[int] = (1, 5, 10)) -> dict[str, SheetScores]:
    """Return method → Answered@depth and MRR."""
    return {method: _score(of_method, depths) for method, of_method in ranks.items()}


def _score(ranks: Sequence[int | None], depths: Sequence[int]) -> SheetScores:
    found = np.array([rank for rank in ranks if rank is not None], np.int64)
    return SheetScores(
        answered={depth: int((found <= depth).sum()) for depth in depths},
        reciprocal_rank=float((1 / found).sum()) / max(len(ranks), 1),
        questions=len(ranks),
    )


def _check(row: Row, number: int, known: set[str]) -> None:
    if row.cells[_NUMBER] != str(number):
        raise SourceError(f"{row.place}: row {row.cells[_NUMBER]!r} stands where {number} should")
    if known and row.cells[_QUESTION] not in known:
        raise SourceError(f"{row.place}: no question has the id {row.cells[_QUESTION]!r}")


def _rank(row: Row, column: str) -> int | None:
    cell = row.cells[column]
    if cell == _NOT_FOUND:
        return None
    if not (cell.isascii() and cell.isdigit() and 1 <= int(cell) <= DEEPEST):
        raise SourceError(
            f"{row.place}: {column} is {cell!r}: it must be 1 to {DEEPEST}, or {_NOT_FOUND}"
        )
    return int(cell)
