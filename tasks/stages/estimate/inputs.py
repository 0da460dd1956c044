"""What an estimate is made of: the queries, and the pairs that the methods were trained on."""

from functools import cached_property
from pathlib import Path

from prefect.logging import get_run_logger

from infra.identity import digest
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

    @property
    def identity(self) -> str:
        """Digest of queries and training pairs."""
        return digest(self.training.fingerprint, self.queries.fingerprint)

    @cached_property
    def notes(self) -> list[str]:
        """What a reader must know of queries and training pairs, each a sentence."""
        queries = counted(len(self.queries), "queries")
        pool = (
            f"KAPE's estimates are of a search among {counted(len(self.queries), 'codes')}, as "
            "many as there are queries: among more codes scores are lower."
        )
        notes = [pool]
        if common := shared_queries(self.training.queries, self.queries.texts):
            notes.append(
                f"Of {queries} {common:,} are training queries, too: scores on them say little "
                "about new queries, and estimates are too high."
            )
        for what, left_out in (
            ("the training pairs", self.training.left_out),
            ("the queries", self.queries.left_out),
        ):
            if left_out:
                counts = ", ".join(f"{number:,} x {reason}" for reason, number in left_out.items())
                notes.append(f"Left out of {what}: {counts}.")
        return notes


def open_input(train: Path, queries: Path) -> EstimationInput:
    """Return training pairs and queries, read, and log how many there are.

    Args:
        train: The training pairs.
        queries: The queries.

    Raises:
        SourceError: A file is missing or malformed, or holds no pairs or no queries.
        PublishError: A file of an export is missing or changed.
    """
    opened = EstimationInput(train.resolve(), queries.resolve())
    sizes = (
        f"{counted(len(opened.queries), 'queries')} of {opened.queries.name}, "
        f"{counted(len(opened.training), 'training pairs')} of {opened.training.name}"
    )
    for note in (sizes, *opened.notes):
        get_run_logger().info("%s", visible(note, _LONGEST))
    return opened
