"""Ranked lists beside the relevance of their results, as the arrays that metrics score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tasks.benchmarks.runs import NOTHING, Positions, Qrels, QrelsTable, Rankings, rankings_of
from tasks.statistics import Values

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class JudgedLists:
    """Ranked lists of the queries that have a relevant code, best result first.

    Attributes:
        query_ids: One for each row.
        relevance: (queries, ranks) 0 where there is no result, or it is unjudged or not relevant.
        judged: (queries, ranks) whether the result is judged, by a grade that is not below 0.
        ideal: (queries, most relevant codes of any query) all positive relevances of each query in
            falling order, padded with 0.
        irrelevant: (queries,) how many codes are judged not relevant, returned or not.
        without_relevant: Judged queries without a relevant code; they have no row.
    """

    query_ids: Sequence[str]
    relevance: Values
    judged: Marks
    ideal: Values
    irrelevant: Positions
    without_relevant: Sequence[str]

    @classmethod
    def of(cls, rankings: Rankings, qrels: QrelsTable) -> Self:
        """Return a method's rankings beside the judgements.

        A judged query that the method did not rank has an empty list; an unjudged query
        has none.
        """
        queries = len(qrels.query_ids)
        positive = qrels.relevance > 0
        relevant = np.bincount(qrels.rows[positive], minlength=queries)
        irrelevant = np.bincount(qrels.rows[qrels.relevance == 0], minlength=queries)
        scorable = np.flatnonzero(relevant)
        relevance, judged = _relevance_of(_aligned(rankings, qrels, scorable), qrels, scorable)
        return cls(
            query_ids=[qrels.query_ids[row] for row in scorable.tolist()],
            relevance=relevance,
            judged=judged,
            ideal=_ideal(qrels, relevant)[scorable],
            irrelevant=irrelevant[scorable],
            without_relevant=[
                qrels.query_ids[row] for row in np.flatnonzero(relevant == 0).tolist()
            ],
        )

    @classmethod
    def of_results(cls, results: Mapping[str, Sequence[str]], qrels: Qrels) -> Self:
        """Return results of queries beside the judgements; a result may appear more than once.

        Args:
            results: Query → codes, best first.
            qrels: Query → code → relevance.
        """
        lists = cls.of(rankings_of({}), QrelsTable.of(qrels))
        ranked = [results.get(query, ()) for query in lists.query_ids]
        shape = (len(ranked), max(map(len, ranked), default=0))
        relevance, judged = np.zeros(shape), np.zeros(shape, np.bool_)
        for row, (query, codes) in enumerate(zip(lists.query_ids, ranked, strict=True)):
            for rank, code in enumerate(codes):
                grade = qrels[query].get(code, -1.0)
                judged[row, rank], relevance[row, rank] = grade >= 0, max(grade, 0.0)
        return replace(lists, relevance=relevance, judged=judged)

    @property
    def relevant(self) -> Positions:
        """(queries,) how many codes are relevant, returned or not; at least 1."""
        counted: Positions = np.count_nonzero(self.ideal, axis=1)
        return counted

    def cut(self, depth: int | None) -> Self:
        """Return the first ``depth`` results of each list."""
        return replace(self, relevance=self.relevance[:, :depth], judged=self.judged[:, :depth])

    def condensed(self) -> Self:
        """Return the lists without their unjudged results (Sakai 2007, SIGIR)."""
        order = np.argsort(~self.judged, axis=1, kind="stable")
        return replace(
            self,
            relevance=np.take_along_axis(self.relevance, order, axis=1),
            judged=np.take_along_axis(self.judged, order, axis=1),
        )


def _aligned(rankings: Rankings, qrels: QrelsTable, scorable: Positions) -> Positions:
    """Return (queries, ranks) positions in the judgements' codes; -1 for all others."""
    if not len(rankings.query_ids):
        return np.full((len(scorable), rankings.depth), NOTHING)
    column = np.append(_positions_of(rankings.code_ids, qrels.code_ids), NOTHING)
    queries = [qrels.query_ids[row] for row in scorable.tolist()]
    row = _positions_of(queries, rankings.query_ids)
    positions: Positions = column[rankings.codes[row]]  # NOTHING is -1, where column has it too
    positions[row == NOTHING] = NOTHING
    return positions


def _positions_of(names: Sequence[str], among: Sequence[str]) -> Positions:
    """Return each name's position among others; -1 where it is not one of them."""
    indices = pc.index_in(pa.array(names, pa.string()), pa.array(among, pa.string()))
    positions: Positions = indices.fill_null(NOTHING).to_numpy(zero_copy_only=False)
    return positions.astype(np.int64)


def _relevance_of(codes: Positions, qrels: QrelsTable, scorable: Positions) -> tuple[Values, Marks]:
    """Return relevance and whether judged of (queries, ranks) positions of judged codes."""
    if not len(qrels.rows):
        return np.zeros(codes.shape), np.zeros(codes.shape, np.bool_)
    pairs = qrels.rows * len(qrels.code_ids) + qrels.columns
    order = np.argsort(pairs, kind="stable")
    pairs, grades = pairs[order], qrels.relevance[order]
    wanted = scorable[:, None] * len(qrels.code_ids) + codes
    at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    judged: Marks = (pairs[at] == wanted) & (codes != NOTHING) & (grades[at] >= 0)
    return np.where(judged, grades[at], 0.0), judged


def _ideal(qrels: QrelsTable, relevant: Positions) -> Values:
    positive = qrels.relevance > 0
    rows, grades = qrels.rows[positive], qrels.relevance[positive]
    order = np.lexsort((-grades, rows))
    rows, grades = rows[order], grades[order]
    first = np.concatenate([[0], np.cumsum(relevant)[:-1]]) if len(relevant) else relevant
    ideal = np.zeros((len(relevant), max(relevant, default=0)))
    ideal[rows, np.arange(len(rows)) - first[rows]] = grades
    return ideal
