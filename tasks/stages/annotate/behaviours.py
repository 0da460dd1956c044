"""Behaviours: claims of a query run on all its candidates after a round.

It asks no model. Queries whose annotations have changed since are found in the store, and what is
done is stored in batches: a run that is killed goes on, and a query that failed is tried again.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial

from agents.committee.travelling import QueryBehaviour, travel
from infra.batches import batched
from infra.identity import mark_of
from infra.ids import QueryId
from infra.languages import languages
from infra.program import program_digest
from infra.records import Annotation, Pair
from infra.store import Database, annotations, benchmarks, candidates, open_database
from infra.store.behaviours import (
    CodeBehaviour,
    Comparison,
    DueComparison,
    compared_annotations,
    due_comparisons,
    record_comparisons,
)
from infra.store.labels import CurrentLabels
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from sandbox.contract.kept import CheckedSandbox
from tasks.runtime.caching import BOXES_AWAY, stage
from tasks.runtime.progress import Progress, progress
from tasks.runtime.run_events import artifact_key
from tasks.runtime.run_logger import run_logger
from tasks.stages.annotate.rounds import AnnotationRun, rounds_of
from tasks.stages.candidates import judged_searches
from tasks.stages.coverage import labels_by

# What decides, beside the annotations, how candidates compare.
_PROGRAM = (
    *("agents.claims", "agents.committee.account", "agents.committee.told"),
    *("agents.committee.travelling", "agents.committee.comparison"),
    *("agents.committee.duplicates", "agents.gates", "infra.languages.python"),
)
_LANGUAGE = "python"  # of all codes
_BATCH = 32  # queries that are read and stored together; a killed run has lost as many at most

Judged = list[tuple[Pair, Annotation]]


@stage(
    "compare-behaviours",
    "run the claims of queries of {run.search.collection} on all their candidates",
    retries=BOXES_AWAY,
)
def compare_behaviours(run: AnnotationRun) -> int:
    """Compare the candidates of queries whose annotations have changed; return how many failed.

    Of what a leaderboard asked for, the other candidates of the query are not known here: the next
    run over these compares all.

    Args:
        run: The labelling round that has judged them.

    Raises:
        SandboxError: The engine is gone; what was compared before is stored.
    """
    search, settings = run.search, run.settings
    database = open_database(settings.store)
    due, labels, place = comparisons_due(run)
    if not due:
        return 0
    started = time.monotonic()
    key = artifact_key("behaviours", search.collection)
    with progress(key, "queries compared", len(due)) as bar:
        sandbox = CheckedSandbox(make_sandbox(settings.sandbox), settings.sandbox)
        slots = settings.sandbox.machine_slots
        asyncio.run(Comparing(database, labels, place, sandbox, slots).compare(due, bar))
        benchmarks.record_stage_run(
            database, search.collection, "compare behaviours", bar.done, started
        )
    if failed := len(due) - bar.done:
        run_logger(__name__).warning(
            "the candidates of %s of %s queries were not compared: the next run tries again",
            f"{failed:,}", f"{len(due):,}",
        )  # fmt: skip
    return failed


def comparisons_due(run: AnnotationRun) -> tuple[Sequence[DueComparison], CurrentLabels, int]:
    """Return what is to compare, of which labels, and the place of the round among these."""
    search, database = run.search, open_database(run.settings.store)
    searches = judged_searches(database, search)
    rounds = [item.recipe_id for item in rounds_of(run.recipe, run.settings)]
    labels = labels_by(database, search.collection, searches, rounds)
    place = rounds.index(run.recipe.recipe_id)
    is_pool = search.search_id in candidates.pools_of(database, search.collection)
    program = program_digest(_PROGRAM)
    return () if is_pool else due_comparisons(database, labels, place, program), labels, place


class Comparing:
    """Comparisons of queries' candidates, several at once, which are stored as they are made.

    Args:
        database: The store.
        labels: The labels of the recipe in use.
        labelling_round: The round, from 0, whose annotations are compared.
        sandbox: Where claims run; closed at the end.
        at_once: How many queries are compared at once.
    """

    def __init__(
        self,
        database: Database,
        labels: CurrentLabels,
        labelling_round: int,
        sandbox: Sandbox,
        at_once: int,
    ) -> None:
        self._database = database
        self._labels = labels
        self._round = labelling_round
        self._sandbox = sandbox
        self._places = asyncio.Semaphore(at_once)
        self._language = languages.get(_LANGUAGE)()

    async def compare(self, due: Sequence[DueComparison], bar: Progress) -> None:
        """Compare and store.

        Args:
            due: The queries.
            bar: Counts those that are stored.

        Raises:
            SandboxError: Every query of a batch failed, and the engine does not answer.
        """
        store = partial(
            record_comparisons,
            self._database,
            self._labels.collection,
            self._labels.coverage.sets[0][self._round],
        )
        try:
            for batch in batched(due, _BATCH):
                queries = [item.query_id for item in batch]
                judged = await asyncio.to_thread(self._read, queries)
                made = await asyncio.gather(
                    *(self._made(item, judged.get(item.query_id, [])) for item in batch)
                )
                whole = [item for item in made if item is not None]
                await asyncio.to_thread(store, whole)
                bar.advance(len(whole))
                if not whole:
                    await self._sandbox.check()
        finally:
            await self._sandbox.close()

    def _read(self, queries: Sequence[QueryId]) -> Mapping[QueryId, Judged]:
        """Return query → its judged pairs with all evidence, in the order of their codes."""
        found: dict[QueryId, Judged] = {}
        compared = compared_annotations(self._database, self._labels, self._round, queries)
        for recipe, keys in compared.items():
            pairs = {pair.key: pair for pair in annotations.load_pairs(self._database, keys)}
            for item in annotations.load_annotations(self._database, recipe, list(pairs)):
                found.setdefault(item.query_id, []).append((pairs[item.key], item))
        return {
            query: sorted(judged, key=lambda item: item[0].code.code_id)
            for query, judged in found.items()
        }

    async def _made(self, due: DueComparison, judged: Judged) -> Comparison | None:
        """Return the comparison of a query's candidates, None where it failed."""
        async with self._places:
            try:
                found = None
                if judged:
                    found = await travel(judged, self._sandbox, self._language)
            except Exception as error:  # noqa: BLE001 - one query must not fail the others
                run_logger(__name__).warning(
                    "the candidates of query %s could not be compared (%s: %s)",
                    due.query_id, type(error).__name__, error,
                )  # fmt: skip
                return None
        return comparison_of(due, found, [item for _, item in judged])


def comparison_of(
    due: DueComparison, found: QueryBehaviour | None, judged: Sequence[Annotation]
) -> Comparison:
    """Return what is stored of how a query's candidates behave.

    The mark of a behaviour is that of these claims: codes that were compared by others have
    another, though they may have given the same.

    Args:
        due: The query, and the name of the comparison.
        found: How they behave; None where they have no claims.
        judged: Their annotations, in the order of ``found``.
    """
    if found is None:
        return Comparison(query_id=due.query_id, comparison=due.comparison)
    claims = tuple(_storable(str(claim)) for claim in found.claims)
    recipes: dict[str, str] = {item.code_id: item.recipe_id for item in judged}
    codes = tuple(
        CodeBehaviour.model_validate(
            code.model_dump()
            | {
                "recipe_id": recipes[code.code_id],
                "outcomes": tuple(map(_storable, code.outcomes)),
                "behaviour": code.behaviour and mark_of([*claims, code.behaviour]),
                "reason": _storable(code.reason),
            }
        )
        for code in found.codes
    )
    return Comparison(
        query_id=due.query_id, comparison=due.comparison, claims=claims,
        consistency=found.consistency, codes=codes,
    )  # fmt: skip


def _storable(text: str) -> str:
    """Return text as the store takes it: what programs give may have lone surrogates."""
    return text.encode(errors="backslashreplace").decode()
