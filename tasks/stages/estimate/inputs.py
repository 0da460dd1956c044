"""What an estimate is made of: the queries, and the pairs that the methods were trained on."""

from collections import Counter
from functools import cached_property
from pathlib import Path

from prefect.logging import get_run_logger

from infra.errors import EstimationError
from infra.records import caseless
from tasks.benchmarks.pairs import Pairs, read_pairs, shared_queries
from tasks.benchmarks.query_files import QueryTexts, read_query_texts
from tasks.reports.text import counted, visible

_LONGEST = 1_000


class EstimationInput:
    """Training pairs and queries, which are read once, on demand.

    Only the paths are pickled, so that it can be a parameter of tasks.

    Args:
        train: What `tasks.benchmarks.pairs.read_pairs` reads.
        queries: What `tasks.benchmarks.query_files.read_query_texts` reads.
    """

    def __init__(self, train: Path, queries: Path) -> None:
        self._train = train
        self._queries = queries

    def __reduce__(self) -> tuple[type["EstimationInput"], tuple[Path, Path]]:
        return EstimationInput, (self._train, self._queries)

    @property
    def name(self) -> str:
        """What the queries are called."""
        return self.queries.name

    @cached_property
    def training(self) -> Pairs:
        """The training pairs."""
        return read_pairs(self._train)

    @cached_property
    def queries(self) -> QueryTexts:
        """The queries."""
        return read_query_texts(self._queries)

    @cached_property
    def overlap(self) -> int:
        """Number of the queries that are training queries, too; capitals make no difference."""
        return shared_queries(self.training.queries, self.queries.texts)

    @cached_property
    def unseen(self) -> Pairs:
        """The training pairs whose query is none of the queries.

        Judged queries that are in the training set have better estimates than the others, so that
        they are no random sample any more: of intervals from 80 of 400 queries that were training
        pairs themselves, 61% held the truth with k = 1, and 96% without these pairs.

        Raises:
            EstimationError: There are none.
        """
        asked = set(map(caseless, self.queries.texts))
        pairs = zip(self.training.queries, self.training.codes, strict=True)
        left = [pair for pair in pairs if caseless(pair[0]) not in asked]
        if not left:
            raise EstimationError(
                f"each training pair of {self.training.name} is of a query of {self.queries.name}: "
                "take other pairs as --train where queries are judged, since with these intervals "
                "would not hold"
            )
        return Pairs.of(self.training.name, left, Counter())

    def notes(self, *, judged: bool) -> list[str]:
        """Return what a reader must know of queries and training pairs, each a sentence.

        Args:
            judged: Whether some of the queries are judged.
        """
        pool = (
            f"KAPE's estimates are of a search among {counted(len(self.queries), 'codes')}, as "
            "many as there are queries: among more codes scores are lower."
        )
        notes = [pool]
        if self.overlap:
            notes.append(self._overlap_note(judged=judged))
        for what, left_out in (
            ("the training pairs", self.training.left_out),
            ("the queries", self.queries.left_out),
        ):
            if left_out:
                counts = ", ".join(f"{number:,} x {reason}" for reason, number in left_out.items())
                notes.append(f"Left out of {what}: {counts}.")
        return notes

    def _overlap_note(self, *, judged: bool) -> str:
        queries = (
            f"Of {counted(len(self.queries), 'queries')} {self.overlap:,} are training queries, too"
        )
        if judged:
            pairs = counted(len(self.training) - len(self.unseen), "training pairs")
            return f"{queries}; left out, so that intervals hold: {pairs}."
        return (
            f"{queries}: scores on them say little about new queries, and estimates are too high."
        )


def open_input(train: Path, queries: Path, *, judged: bool) -> EstimationInput:
    """Return training pairs and queries, read, and log how many there are.

    Args:
        train: The training pairs.
        queries: The queries.
        judged: Whether some of the queries are judged.

    Raises:
        EstimationError: Queries are judged, and all training pairs are of the queries themselves.
        SourceError: A file is missing or malformed, or holds no pairs or no queries.
        PublishError: A file of an export is missing or changed.
    """
    opened = EstimationInput(train.resolve(), queries.resolve())
    logger = get_run_logger()
    sizes = (
        f"{counted(len(opened.queries), 'queries')} of {opened.queries.name}, "
        f"{counted(len(opened.training), 'training pairs')} of {opened.training.name}"
    )
    for note in (sizes, *opened.notes(judged=judged)):
        logger.info("%s", visible(note, _LONGEST))
    return opened
