"""Pending pairs: candidates without a fresh label, each for one reason, counted and read in order.

A pair is fresh under a recipe if one that gives the same label has finished it. The others are
pending for the first of these reasons that holds: failed under this recipe; judged by former
recipes whose labels differ; judged by a former recipe; asked for by a leaderboard; of a query of
which no candidate of an earlier search was judged; new among the candidates of another.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from infra.files import atomic_write
from infra.identity import PairKey, RecipeId, SearchId
from infra.records import Pair, Record
from infra.settings import Reason
from infra.store.annotations import load_pairs
from infra.store.corpus import drawn_queries
from infra.store.database import Database, Transaction, statements_beside
from infra.store.labels import CurrentLabels, define_macros
from infra.subsets import ALL, Draw
from infra.summaries import ReasonSpending

_PAIRS_AT_ONCE = 1_000
_SQL = statements_beside(__file__)
_WITHOUT_END = 2**31 - 1  # tries


class RetryPolicy(Record):
    """When a failed pair is due again.

    Attributes:
        after_s: Seconds after the second failure, doubled with each further one.
        longest_s: The most seconds.
        max_tries: Failures after which it is not due any more.
    """

    after_s: float = 0.0
    longest_s: float = 86_400.0
    max_tries: int = _WITHOUT_END


class Selection(Record):
    """Candidates of searches and the recipe that annotates them.

    Attributes:
        search_id: The search; other searches of the labels add what leaderboards asked for.
        recipe_id: The recipe.
        labels: The recipe's labels of these candidates. Labels of other rounds than its
            own count for neither fresh nor former: each judges anew.
        labelling_round: The round in which it judges.
        draw: Of the collection's queries.
        retries: When failed pairs are due.
    """

    search_id: SearchId
    recipe_id: RecipeId
    labels: CurrentLabels
    labelling_round: int = 1
    draw: Draw = ALL
    retries: RetryPolicy = RetryPolicy()


class PendingGroup(NamedTuple):
    """Pending pairs of one reason that were last judged alike.

    Attributes:
        reason: The reason.
        due: Whether they may be judged; failed ones may have to wait.
        recipe_id: The recipe that judged them last; empty if none did.
        roles_asked: The roles that were asked of them then.
        pairs: Their number.
    """

    reason: Reason
    due: bool
    recipe_id: RecipeId
    roles_asked: str
    pairs: int


class PendingCounts(NamedTuple):
    """Numbers of candidates, of fresh ones, of those without a stored code; the pending ones."""

    candidates: int
    fresh: int
    without_code: int
    groups: list[PendingGroup]


@contextmanager
def classified(database: Database, selection: Selection) -> Iterator[Transaction]:
    """Yield a transaction with the candidates as a temporary table ``classified``.

    It has the columns position, rank, query_id, code_id, reason (NULL of fresh ones), due, readable
    (whether the collection has the code), and recipe_id and roles_asked of what was judged last.
    """
    with database.transaction() as tx:
        define_macros(tx)
        drawn = drawn_queries(tx, selection.labels.collection, selection.draw)
        struct = selection.model_dump(exclude={"draw"}) | {
            "labels": selection.labels.struct,
            "drawn": drawn,
        }
        tx.execute(
            "CREATE TEMP TABLE classified AS FROM candidates_by_reason($selection)",
            {"selection": struct},
        )
        yield tx
        tx.execute("DROP TABLE classified")


def count_pending(database: Database, selection: Selection) -> PendingCounts:
    """Return the number of selected, fresh and pending pairs, these by reason.

    A candidate whose code is missing from the collection cannot be judged and is not pending.
    """
    with classified(database, selection) as tx:
        [(candidates, fresh, without_code)] = tx.rows(_SQL["counts"])
        groups = [PendingGroup(*row) for row in tx.rows(_SQL["groups"])]
    return PendingCounts(candidates, fresh, without_code, groups)


def keys_folder(folder: Path) -> Path:
    """Return the folder for files of keys in a store's."""
    return folder / "pending"


@contextmanager
def own_keys(folder: Path) -> Iterator[None]:
    """Remove the files of keys in a store's folder before a run and however it ends.

    The caller holds the writer's lock: those before it are of killed runs, no other run has any.
    """
    _remove_keys(folder)
    try:
        yield
    finally:
        _remove_keys(folder)


def _remove_keys(folder: Path) -> None:
    for left in keys_folder(folder).glob("*.arrow*"):
        left.unlink(missing_ok=True)


def write_pending(
    database: Database,
    selection: Selection,
    taken: Sequence[tuple[Reason, int]],
    file: Path,
) -> int:
    """Write the keys of the pairs that a run judges to a file, in their order; return their number.

    They are found once: what is judged while the run goes on changes no reason of another pair.

    Args:
        database: The store.
        selection: The candidates and the recipe.
        taken: Reasons in order, each with the most pairs; of a reason the best come first, by
            query and then by rank.
        file: The file, which is replaced.
    """
    reasons = [reason for reason, _ in taken]
    columns: dict[str, Sequence[object]] = {"reason": reasons, "most": [most for _, most in taken]}
    with classified(database, selection) as tx, tx.table("taken", columns):
        keys = tx.arrow(_SQL["keys"], [reasons])
    with (
        database.space(),
        atomic_write(file) as partial,  # whole or not at all
        pa.OSFile(str(partial), "wb") as sink,
        pa.ipc.new_file(sink, keys.schema) as writer,
    ):
        writer.write_table(keys)
    return int(keys.num_rows)


def read_keys(file: Path) -> pa.Table:
    """Return the columns ``query_id``, ``code_id`` and ``reason`` of a file, mapped into memory."""
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all()


def pairs_in(database: Database, collection: str, file: Path) -> Iterator[Pair]:
    """Yield the pairs whose keys a file holds; texts are read for few at a time.

    All of a query come together, the queries in the order of their first pairs. Pairs whose texts
    have left the collection meanwhile are left out.

    Args:
        database: The store.
        collection: Whose queries and codes they are.
        file: What `write_pending` wrote.
    """
    keys = read_keys(file)
    queries = keys["query_id"].combine_chunks().dictionary_encode()  # by their first pairs
    order = pc.array_sort_indices(queries.indices)  # a stable sort
    for start in range(0, keys.num_rows, _PAIRS_AT_ONCE):
        some = keys.take(order.slice(start, _PAIRS_AT_ONCE)).to_pylist()
        wanted = [PairKey(row["query_id"], row["code_id"]) for row in some]
        yield from load_pairs(database, wanted, collection)


def spending_by_reason(
    database: Database, file: Path, recipe_id: RecipeId, since: datetime
) -> list[ReasonSpending]:
    """Return the costs of the pairs of a file, by the reasons for which they were taken.

    Args:
        database: The store.
        file: What `write_pending` wrote.
        recipe_id: The recipe that judged them.
        since: When the run began to judge.
    """
    with database.transaction() as tx, tx.stream("taken", read_keys(file).to_reader()):
        given = {"recipe": recipe_id, "since": since}
        return tx.records(ReasonSpending, _SQL["spending"], given)
