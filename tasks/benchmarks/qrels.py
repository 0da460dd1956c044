"""Qrels: the relevance judgements of a benchmark, as a mapping or as columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from infra.records import Label
from tasks.benchmarks.rows import Rows
from tasks.benchmarks.runs import Positions, numbered
from tasks.statistics import Values

Qrels = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class QrelsTable:
    """Qrels as columns; a relevance of 0 is judged and not relevant, one below 0 is not judged.

    So TREC marks what was pooled and not judged (-1), or is junk (-2).

    Attributes:
        query_ids: The judged queries.
        code_ids: The judged codes, each once.
        rows: (pairs,) positions in ``query_ids``.
        columns: (pairs,) positions in ``code_ids``.
        relevance: (pairs,)
    """

    query_ids: Sequence[str]
    code_ids: Sequence[str]
    rows: Positions
    columns: Positions
    relevance: Values

    @classmethod
    def of(cls, qrels: Qrels) -> Self:
        """Return query → code → relevance as columns."""
        query_ids = sorted(qrels)
        sizes = [len(qrels[query]) for query in query_ids]
        rows = np.repeat(np.arange(len(query_ids)), sizes)
        codes = pa.array([code for query in query_ids for code in qrels[query]], pa.string())
        code_ids, columns = numbered(codes)
        relevance = [value for query in query_ids for value in qrels[query].values()]
        return cls(query_ids, code_ids, rows, columns, np.array(relevance, np.float64))

    @classmethod
    def of_labels(cls, labels: Iterable[Label]) -> Self:
        """Return labels as columns; those that are `Rows` are read without a record."""
        rows = Rows.of(Label, labels).ordered()
        query_ids, queries = numbered(rows.column("query_id"))
        code_ids, codes = numbered(rows.column("code_id"))
        return cls(query_ids, code_ids, queries, codes, rows.column("relevance").to_numpy())
