"""True values of the queries that are judged: the metrics of a method on a benchmark of them."""

from collections.abc import Sequence

import numpy as np

from infra.errors import EstimationError
from infra.records import normalise_query
from tasks.benchmarks import qrels_of
from tasks.benchmarks.query_files import QueryTexts
from tasks.benchmarks.trec import read_run
from tasks.estimation.unlabelled import Judged
from tasks.metrics import evaluate
from tasks.reports.text import counted
from tasks.stages.scoring import OpenBenchmark, Run


class JudgedQueries:
    """The judged queries of a benchmark that are among others.

    Args:
        benchmark: The benchmark; a query without any label is not judged.
        queries: The queries, of which those of the benchmark are a sample.

    Attributes:
        rows: Query of the benchmark → its position among ``queries``.
        others: Number of judged queries that are not among them.

    Raises:
        EstimationError: None of the judged queries is among them.
    """

    def __init__(self, benchmark: OpenBenchmark, queries: QueryTexts) -> None:
        self._benchmark = benchmark
        self._total = len(queries)
        self._file = queries.name
        content = benchmark.content
        self.qrels = qrels_of(content.labels)
        row_of = {text: row for row, text in enumerate(queries.texts)}
        judged = [query for query in content.queries if query.query_id in self.qrels]
        rows = {query.query_id: row_of.get(normalise_query(query.text)) for query in judged}
        first = {row: query for query, row in reversed(rows.items()) if row is not None}
        self.rows = {query: row for row, query in sorted(first.items())}
        self.others = sum(row is None for row in rows.values())
        if not self.rows:
            raise EstimationError(
                f"none of {counted(len(judged), 'judged queries')} of {benchmark.name} is among "
                f"the {self._total:,} of {self._file}: judge a random sample of these"
            )

    @property
    def notes(self) -> list[str]:
        """What a reader must know of them, each a sentence."""
        content = self._benchmark.content
        judged = (
            f"Of {counted(self._total, 'queries')} {len(self.rows):,} are judged, in "
            f"{content.name}; intervals hold if they are a random sample. Judged queries are "
            f"scored among its {counted(len(content.codes), 'codes')}, and one without a match "
            "scores 0."
        )
        notes = [judged]
        if self.others:
            notes.append(
                f"Left out, since {self._file} lacks them: "
                f"{counted(self.others, 'judged queries')} of {content.name}."
            )
        return notes

    def values(self, run: Run, measures: Sequence[str]) -> Judged:
        """Return the true values of a method for the judged queries.

        Args:
            run: The method's rankings of the benchmark.
            measures: Names of metrics; a query without a match counts 0 in each.
        """
        names = {measure: _with_zeros(measure) for measure in measures}
        scores = evaluate(read_run(run.file), self.qrels, names.values())
        return Judged(
            rows=np.array(list(self.rows.values()), np.int64),
            values={
                measure: np.array([scores[name][query] for query in self.rows])
                for measure, name in names.items()
            },
        )


def _with_zeros(measure: str) -> str:
    family, at, depth = measure.partition("@")
    return f"{family}-zero{at}{depth}"
