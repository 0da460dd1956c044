"""Answers to queries without a match: these queries, and the task that has answers written.

A query has no match when agents have finished all its candidates and label none 1. Several queries
are worked on at once.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from agents import (
    Committee,
    WrittenAnswer,
    build_committee,
    build_model,
    journal_ledger,
    recipe_of,
    written_answer,
)
from agents.llm.client import LanguageModel
from agents.roles.write import RefusedCode
from infra.errors import (
    LanguageModelError,
    ModelRefusedError,
    ModelUnavailableError,
    RunStopError,
    SettingsError,
)
from infra.identity import PairKey, QueryId
from infra.records import Query, Record
from infra.settings import (
    CommitteeSettings,
    Configuration,
    GenerationSettings,
    LanguageModelSettings,
)
from infra.store import Database, annotations, candidates, corpus, generated
from infra.store.generated import GeneratedCode
from infra.store.labels import decide_labels
from infra.subsets import Draw
from sandbox.backends import make_sandbox
from sandbox.contract.check import CheckedSandbox
from tasks.reports.text import counted
from tasks.runtime.caching import MODEL_AWAY, stage
from tasks.runtime.progress import artifact_key, get_run_logger, progress, run_logger
from tasks.runtime.references import CollectedSource
from tasks.stages.annotate.monitor import store_annotations
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.labels import labels_of_agents

_SNIPPETS = "staqc"  # the source whose code need not be a function

Work = tuple[Query, Sequence[GeneratedCode]]

State = Literal["confirmed", "waiting", "given up", "open"]

Item = TypeVar("Item")


class GenerationPlan(Record):
    """Numbers of the queries without a match by their state.

    Attributes:
        collection: The queries' collection.
        without_match: Number of queries without a match.
        confirmed: Number with an answer that people confirmed.
        waiting: Number with a verified answer that nobody has confirmed yet.
        given_up: Number whose last answers were all refused, as often as the settings allow.
        to_write: Number that the next run writes answers to.
    """

    collection: str
    without_match: int = 0
    confirmed: int = 0
    waiting: int = 0
    given_up: int = 0
    to_write: int = 0


def plan_generation(
    database: Database, source: CollectedSource, model: str, settings: GenerationSettings
) -> GenerationPlan:
    """Count the queries without a match by their state."""
    collection = source.main.name
    queries = queries_without_match(database, source)
    answers = answers_by_query(database, collection)
    states = [state_of(answers.get(query, ()), model, settings.max_tries) for query in queries]
    to_write = states.count("open")
    return GenerationPlan(
        collection=collection,
        without_match=len(queries),
        confirmed=states.count("confirmed"),
        waiting=states.count("waiting"),
        given_up=states.count("given up"),
        to_write=min(to_write, settings.limit or to_write),
    )


def queries_without_match(database: Database, source: CollectedSource) -> list[QueryId]:
    """Return the queries whose candidates are all finished and none of them labelled 1, in order.

    The current labels count, with labelling rounds the majority's. Candidates that were left
    undecided are finished; queries without candidates have nothing that was judged, and are left
    out.
    """
    labels = labels_of_agents(database, source)
    if labels is None or labels.current is None:
        return []
    judged = decide_labels(database, labels.current)
    relevance_of: dict[PairKey, float | None] = {
        PairKey(row["query_id"], row["code_id"]): row.get("relevance")
        for table in (judged.labels, judged.undecided)
        for row in table.to_pylist()
    }
    matched: dict[QueryId, bool] = {}
    for pair in candidates.pairs_of(database, labels.searches, source.main.name):
        may_match = relevance_of.get(pair, 1) == 1
        matched[pair.query_id] = matched.get(pair.query_id, False) or may_match
    return [query for query, has_match in matched.items() if not has_match]


def answers_by_query(
    database: Database, collection: str
) -> Mapping[QueryId, Sequence[GeneratedCode]]:
    """Return the answers to each of a collection's queries, oldest first."""
    answers: dict[QueryId, list[GeneratedCode]] = {}
    for item in generated.load_answers(database, collection):
        answers.setdefault(item.query_id, []).append(item)
    return answers


def state_of(answers: Sequence[GeneratedCode], model: str, max_tries: int) -> State:
    """Return the state of a query with these answers, oldest first.

    A model is given up after some refused answers, counted anew from a person's refusal on.
    """
    accepted = [item for item in answers if not item.is_refused]
    if accepted:
        return "confirmed" if any(item.confirmed for item in accepted) else "waiting"
    tries = 0
    for item in answers:
        by_model = item.status == "refused" and item.model == model
        tries = 0 if item.confirmed is False else tries + by_model
    return "open" if tries < max_tries else "given up"


def require_writer(llm: LanguageModelSettings) -> None:
    """Refuse recorded replies, which are of their own pairs alone."""
    if llm.is_recorded:
        raise SettingsError(f"{llm.model} cannot write anything: name a model with --model")


async def ask_each(
    items: Iterable[Item],
    ask: Callable[[Item], Awaitable[None]],
    at_once: int,
    advance: Callable[[int], None],
) -> None:
    """Ask about items, several at once; call ``advance`` after each.

    Raises:
        LanguageModelError: The first that was raised; by then those in flight have ended.
    """
    queue, errors = iter(items), list[LanguageModelError]()

    async def take() -> None:
        for item in queue:
            try:
                await ask(item)
            except LanguageModelError as error:
                errors.append(error)
            if errors:
                return
            advance(1)

    await asyncio.gather(*(take() for _ in range(at_once)))
    if errors:
        raise errors[0]


class Generated(Record):
    """The answers that a run wrote.

    Attributes:
        verified: Number of verified answers.
        refused: Number of answers that the agents refused.
        failed: Number of queries that were not answered, for want of a readable reply or a box.
        sheet: The sheet of all answers that wait for people; None where none waits.
    """

    verified: int = 0
    refused: int = 0
    failed: int = 0
    sheet: Path | None = None


def verifying_committee(
    committee: CommitteeSettings, configuration: Configuration
) -> CommitteeSettings:
    """Return the committee that verifies answers."""
    require_writer(committee.llm)
    chosen = {"configuration": configuration, "evidence": "all", "rounds": 1}
    return replace(committee, annotation=committee.annotation.model_copy(update=chosen))


@stage(
    "generate-codes",
    "write answers to queries of {source.main.name} by {committee.llm.model}",
    retries=MODEL_AWAY,
)
def generate_codes(
    database: Database,
    source: CollectedSource,
    committee: CommitteeSettings,
    generation: GenerationSettings,
) -> Generated:
    """Write and verify answers to the queries without a match that have none yet."""
    recipe = current_recipe(committee)
    body = recipe_of(committee, recipe.sandbox)
    annotations.record_recipes(database, {recipe.recipe_id: body})
    work = _work(database, source, committee, generation)
    collection = source.main.name
    writer = AnswerWriter(database, collection, committee, generation, recipe.recipe_id)
    with progress(artifact_key("generation", collection), "queries worked on", len(work)) as bar:
        found = asyncio.run(writer.answer_all(work, bar.advance))
    get_run_logger().info(
        "%s verified, %s refused, %s failed", counted(found.verified, "answers"),
        f"{found.refused:,}", counted(found.failed, "queries"),
    )  # fmt: skip
    return found


def _work(
    database: Database,
    source: CollectedSource,
    committee: CommitteeSettings,
    generation: GenerationSettings,
) -> list[Work]:
    """Return the queries to answer, with the answers that were written to them before."""
    collection = source.main.name
    answers = answers_by_query(database, collection)
    query_of = {query.query_id: query for query in corpus.load_queries(database, collection)}
    wanted = [
        query
        for query in queries_without_match(database, source)
        if state_of(answers.get(query, ()), committee.llm.model, generation.max_tries) == "open"
    ]
    drawn = Draw(generation.limit, committee.annotation.seed).of(wanted)
    return [(query_of[query], answers.get(query, ())) for query in wanted if query in drawn]


@dataclass(eq=False)
class AnswerWriter:
    """Writes answers to several queries at once, and stores each as it comes."""

    database: Database
    collection: str
    committee: CommitteeSettings
    generation: GenerationSettings
    recipe_id: str
    # DuckDB opens one file in one thread at a time.
    _storing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _counts: Counter[str] = field(default_factory=Counter)
    _failed_in_a_row: int = 0

    def __post_init__(self) -> None:
        """Read whether snippets, which need be no function, are searched."""
        info, _ = corpus.load_source(self.database, self.collection)
        self._snippets = _SNIPPETS in info.name.split("+")

    async def answer_all(self, work: Iterable[Work], advance: Callable[[int], None]) -> Generated:
        """Answer queries, and return the counts; call ``advance`` after each query.

        Raises:
            LanguageModelError: The run ended early; answers in flight are stored.
        """
        chosen = self.committee
        ledger = journal_ledger(self.database.settings, chosen.llm)
        sandbox = CheckedSandbox(make_sandbox(chosen.sandbox), chosen.sandbox)
        model = build_model(chosen.llm, ledger)
        committee = build_committee(model, chosen, self.recipe_id, sandbox)

        async def ask(item: Work) -> None:
            await self._answer(item[0], list(item[1]), model, committee)

        try:
            await ask_each(work, ask, self.generation.concurrency, advance)
        finally:
            await committee.close()
            await sandbox.close()
        return Generated.model_validate(self._counts)

    async def _answer(
        self,
        query: Query,
        answers: list[GeneratedCode],
        model: LanguageModel,
        committee: Committee,
    ) -> None:
        """Write answers until one is verified or no try is left, and count them."""
        asked, tries = self.committee.llm.model, self.generation.max_tries
        try:
            while state_of(answers, asked, tries) == "open":
                # A person's reason comes before the agents'.
                refused = [RefusedCode(item.code, item.notes or item.reason) for item in answers]
                written = await written_answer(
                    query, refused[-tries:], model, committee, snippets=self._snippets
                )
                if written is None:
                    raise ModelUnavailableError(f"{asked} wrote no code")
                async with self._storing:
                    answer = await asyncio.to_thread(self._store, query, len(answers), written)
                answers.append(answer)
                self._counts[written.status] += 1
            self._failed_in_a_row = 0
        except (RunStopError, ModelRefusedError):
            raise
        except LanguageModelError as error:
            self._counts["failed"] += 1
            self._failed_in_a_row += 1
            run_logger(__name__).warning("query %s is not answered: %s", query.query_id, error)
            if self._failed_in_a_row >= self.committee.annotation.stop_after_failures:
                raise ModelUnavailableError(
                    f"{self._failed_in_a_row} queries failed in a row, the last one with: {error}; "
                    "written answers are stored: remove the cause and run the same command again"
                ) from error

    def _store(self, query: Query, ordinal: int, written: WrittenAnswer) -> GeneratedCode:
        """Store a written answer and what verified it; return it as it is stored."""
        answer = GeneratedCode(
            collection=self.collection,
            query_id=query.query_id,
            query=query.text,
            ordinal=ordinal,
            code_id=written.code.code_id,
            code=written.code.text,
            model=self.committee.llm.model,
            recipe_id=self.recipe_id,
            status=written.status,
            reason=written.reason,
        )
        if written.annotation:
            store_annotations(self.database, [written.annotation])
        generated.add_answers(self.database, [(answer, written.calls)])
        return answer
