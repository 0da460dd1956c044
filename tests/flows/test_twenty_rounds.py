"""Laws of twenty rounds of change: what is judged, what it costs, and what is published after each.

Covers `tasks.stages.annotate.plan`.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from agents import journal_ledger, roles
from agents.committee import recipe as recipes_of_agents
from agents.llm.prompt import system_text
from infra.collected import Collected
from infra.identity import PairKey, SearchId
from infra.records import Candidate, Code, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    PublishSettings,
    ReannotationSettings,
    Reason,
    Settings,
    StoreSettings,
)
from infra.store import candidates, corpus, open_database
from infra.store.pending import pairs_in, read_keys
from tasks.benchmarks import columns_of
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.stages.annotate.monitor import store_annotations
from tasks.stages.annotate.plan import AnnotationRun, choose_pairs, current_recipe, plan_run
from tasks.stages.annotate.shard import judge_pairs
from tasks.stages.labels import labelled_benchmark, labels_of_agents
from tests.fakes.llm_server import KEY
from tests.flows.rounds_of_change import (
    ROLES,
    Account,
    DigestServer,
    Key,
    State,
    World,
    number_of,
    twenty_rounds,
    version_line,
)

COLLECTION, TOP_K = "c", 3


@pytest.fixture
def model() -> Iterator[DigestServer]:
    with DigestServer() as server:
        yield server


class Prompts:
    """The agents' texts in the versions of a state."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = State()
        for module in (recipes_of_agents, roles):
            monkeypatch.setattr(module, "system_text", self.text)

    def text(self, name: str, *language: str) -> str:
        version = getattr(self.state, name) if name in ROLES else 0
        return system_text(name, *language) + version_line(version)


class Pipeline:
    """A store in which worlds are collected, annotated and published, in this process.

    Args:
        folder: The store's.
        model: The model.
        prompts: The prompts, which are set to those of each world.
    """

    def __init__(self, folder: Path, model: DigestServer, prompts: Prompts) -> None:
        self._store = StoreSettings(folder=folder)
        self._model = model
        self._prompts = prompts
        self._fingerprint = ""
        self.database = open_database(self._store)

    def settings(self, world: World) -> Settings:
        return Settings(
            store=self._store,
            llm=LanguageModelSettings(
                model=f"openai/{world.state.model}", base_url=self._model.base_url, api_key=KEY,
                max_retries=0,
            ),
            annotation=AnnotationSettings(
                configuration="writer", gold_questions=0, stop_after_failures=1_000
            ),
            reannotation=ReannotationSettings(
                take=world.take, pairs=world.pairs, limits=dict(world.limits)
            ),
        )  # fmt: skip

    def collect(self, world: World) -> tuple[SearchReference, list[Key]]:
        """Store the world's texts and their candidates; return these, in the order of judging."""
        info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
        queries = tuple(Query.of(text) for text in world.queries)
        codes = tuple(Code.of(text) for text in world.codes)
        content = Collected(info=info, queries=queries, codes=codes)
        self._fingerprint = str(number_of(world.queries, world.codes))
        corpus.replace_collections(
            self.database, self._fingerprint, {COLLECTION: content}, annotated=COLLECTION
        )
        search = SearchId(f"search {number_of(sorted(world.codes)) % 10**9}")
        candidates.record_search(self.database, search, COLLECTION, ["made"], TOP_K)
        ranked = {
            query: sorted(codes, key=lambda code: number_of(query.text, code.text))[:TOP_K]
            for query in queries
        }
        rows = [
            Candidate(query_id=query.query_id, code_id=code.code_id, rank=rank, similarity=1,
                      by_encoder={})
            for query, best in ranked.items()
            for rank, code in enumerate(best, 1)
        ]  # fmt: skip
        candidates.add_candidates(self.database, search, rows)
        keys = [Key(query.text, code.text) for query, best in ranked.items() for code in best]
        reference = SearchReference(
            search_id=search, collection=COLLECTION, queries=len(queries), candidates=len(rows)
        )
        return reference, keys

    def requests(self) -> int:
        """Return how many requests the model got."""
        return len(self._model.calls)

    def annotate(self, world: World, search: SearchReference) -> tuple[dict[str, int], list[Key]]:
        """Judge what is pending; return reason → pending pairs, and what was judged, in order."""
        self._prompts.state, self._model.is_broken = world.state, world.is_broken
        settings = self.settings(world)
        recipe = current_recipe(settings.committee)
        run = AnnotationRun.of(search, recipe, settings)
        with disable_run_logger():
            rounds, plan = plan_run.fn(run)
            (of_round,) = choose_pairs.fn(run, rounds)
        assert of_round.pending == plan.taken, "what was planned is what is judged"
        pending = {str(item.reason): item.pending for item in plan.reasons if item.pending}
        if not of_round.pending:
            return pending, []
        pairs = list(pairs_in(self.database, COLLECTION, of_round.pairs_file))
        ledger = journal_ledger(settings.store, settings.llm)
        judged = asyncio.run(
            judge_pairs(pairs, settings.committee, recipe, ledger, asyncio.Semaphore(8))
        )
        store_annotations(self.database, judged.annotations)
        text_of = {pair.key: Key(pair.query.text, pair.code.text) for pair in pairs}
        in_order = read_keys(of_round.pairs_file).to_pylist()
        return pending, [text_of[PairKey(key["query_id"], key["code_id"])] for key in in_order]

    def published(self, search: SearchReference) -> dict[Key, int]:
        """Return the labels that an export would have now."""
        (stored,) = corpus.collections_of(self.database, self._fingerprint)
        source = CollectedSource(collections=(stored,), search=search)
        labels = labels_of_agents(self.database, source)
        assert labels is not None
        benchmark = labelled_benchmark(self.database, labels, PublishSettings())
        columns = columns_of(benchmark)
        texts = {
            row[f"{kind}_id"]: row["text"]
            for kind, table in (("query", columns.queries), ("code", columns.codes))
            for row in table.table.to_pylist()
        }
        return {
            Key(texts[row["query_id"]], texts[row["code_id"]]): int(row["relevance"])
            for row in columns.labels.table.to_pylist()
        }


def counts(pending: Mapping[Reason, Sequence[Key]]) -> dict[str, int]:
    return {reason: len(keys) for reason, keys in pending.items()}


def go_through(rounds: Sequence[tuple[str, World]], pipeline: Pipeline) -> dict[Key, int]:
    """Go through rounds of change, check each against the naive account, return what stands."""
    account, before = Account(), dict[Key, int]()
    for name, world in rounds:
        search, keys = pipeline.collect(world)
        account.searches.setdefault(search.search_id, set()).update(keys)
        pending = account.pending(keys, world.state, search.search_id)
        chosen = account.chosen(pending, world)
        requests = pipeline.requests()
        shown, judged = pipeline.annotate(world, search)
        assert shown == counts(pending), name
        assert judged == chosen, name
        assert pipeline.requests() - requests == account.judge(chosen, world), name
        account.use(world.state)
        published = pipeline.published(search)
        assert published == account.labels(keys), name
        assert {key for key in before if key in keys} <= published.keys(), f"{name}: fewer labels"
        before = published
    return before


def test_rounds_of_change_judge_what_a_naive_comparison_says_and_lose_no_label(
    tmp_path: Path, model: DigestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_through(twenty_rounds()[:5], Pipeline(tmp_path, model, Prompts(monkeypatch)))


@pytest.mark.nightly
def test_twenty_rounds_of_change_end_with_the_labels_of_a_build_from_nothing(
    tmp_path: Path, model: DigestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, rounds = Prompts(monkeypatch), twenty_rounds()
    assert len(rounds) == 20
    published = go_through(rounds, Pipeline(tmp_path / "store", model, prompts))
    _, last = rounds[-1]
    alone = Pipeline(tmp_path / "from nothing", model, prompts)
    search, keys = alone.collect(last)
    alone.annotate(last, search)
    assert alone.published(search) == published
    assert set(published) == set(keys), "at the end every candidate has a label"
