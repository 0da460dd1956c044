"""Label sets: the stored labels of one origin, and the benchmark made of them.

With the agents' labels come the evidence of each, and written answers to queries without a match.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from agents.committee.recipe import criterion_of
from infra.collected import StoredCollection
from infra.identity import CodeId, PairKey, RecipeId, SearchId
from infra.records import Code, Criterion, Label, Query, Record
from infra.settings import PublishSettings
from infra.store import Database, annotations, candidates, corpus, generated
from infra.store.annotations import StoredRecipe
from infra.store.evidence import EvidenceSelection, count_evidence, read_evidence
from infra.store.labels import CurrentLabels, Decided, decide_labels
from infra.store.samples import FinalLabel, final_labels
from tasks.benchmarks import (
    AnnotationStream,
    Benchmark,
    LabelledPair,
    LabelRecipe,
    Rows,
    Undecided,
    columns_of,
)
from tasks.benchmarks.benchmark import MAJORITY, PEOPLE
from tasks.benchmarks.rows import EVIDENCE
from tasks.benchmarks.splits import (
    count_matches,
    published_split,
    repositories_by_query,
    split_queries,
    split_repositories,
)
from tasks.reports.text import counted
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.stages.annotate.gold import held_labels, stored_gold_counts
from tasks.stages.candidates import judged_searches
from tasks.stages.coverage import labels_by, last_recipe
from tasks.stages.specifications import specifications_of

Which = Literal["none", "confirmed", "verified"]
UNCOLLECTED = "label of people whose query or code is no longer collected"


class LabelSet(Record):
    """Reference to the labels of a collection's pairs by one origin.

    Attributes:
        name: Name of the benchmark made of them.
        searches: The searches of the collection whose candidates the agents annotate.
        current: Which labels of the agents are meant; None for those that came with the source, and
            for those of people where no agent has judged (`MAJORITY`).
    """

    collection: StoredCollection
    origin: str
    name: str
    searches: tuple[SearchId, ...] = ()
    current: CurrentLabels | None = None


def label_sets(
    database: Database, source: CollectedSource, *, people: bool = True
) -> list[LabelSet]:
    """Return the label sets of a source's collections, of the agents those by the last recipe.

    Where no agent has judged, those of people are a set of their own, if ``people`` are asked for.
    """
    sets = []
    judged = labels_of_agents(database, source)
    if judged is None and people:
        judged = _people_alone(database, source)
    for collection in source.collections:
        origins = corpus.label_origins(database, collection.name)
        is_main = collection == source.main
        searches = judged_searches(database, source.search) if is_main else ()
        for origin in origins:
            suffix = "" if len(origins) == 1 else "-" + origin.replace(":", "-")
            name = f"{collection.name}{suffix}"
            sets.append(
                LabelSet(collection=collection, origin=origin, name=name, searches=tuple(searches))
            )
        if judged and is_main:
            sets.append(judged)
    return sets


def labels_of_agents(database: Database, source: CollectedSource) -> LabelSet | None:
    """Return the labels of a source's main collection by the recipe in use, None without any."""
    recipe = judging_recipe(database, source.search)
    if recipe is None:
        return None
    searches = judged_searches(database, source.search)
    return LabelSet(
        collection=source.main,
        origin=annotations.label_origin(recipe.recipe_id, len(recipe.rounds)),
        name=f"{source.main.name}-agents",
        searches=tuple(searches),
        current=labels_by(database, source.main.name, searches, recipe.rounds),
    )


def _people_alone(database: Database, source: CollectedSource) -> LabelSet | None:
    """Return the set of people's labels of a source's main collection, None without any."""
    if not any(_labels_of_people(database, source.main.name, "exact")):
        return None
    return LabelSet(
        collection=source.main,
        origin=MAJORITY,
        name=f"{source.main.name}-people",
        searches=tuple(judged_searches(database, source.search)),
    )


def judging_recipe(database: Database, search: SearchReference) -> StoredRecipe | None:
    """Return the recipe last used on a search's candidates, or None without annotations.

    Recipes of pools count only if the search itself has no annotations: the few pairs of a pool
    that another model judged do not make that the one in use.
    """
    own, *pools = judged_searches(database, search)
    return last_recipe(database, search.collection, [own]) or last_recipe(
        database, search.collection, pools
    )


def labelled_benchmark(
    database: Database, labels: LabelSet, settings: PublishSettings
) -> Benchmark:
    """Return the benchmark of a collection with the labels of one origin.

    Labels of the agents come with the answers that were written to queries without a match. Where
    people alone have judged, queries are those with a pair on which a majority agrees.
    """
    if labels.current:
        current = labels.current.model_copy(update={"support": settings.support})
        benchmark = _labelled_by_agents(database, labels, current, settings)
    elif labels.origin == MAJORITY:
        own, left_out = _labels_of_people(database, labels.collection.name, "exact")
        people = Rows.of(Label, own)
        judged = pc.unique(people.column("query_id"))
        benchmark = _benchmark(database, labels, people, judged, left_out)
    else:
        given = corpus.label_columns(database, labels.collection.name, labels.origin)
        benchmark = _benchmark(database, labels, Rows(Label, given), pc.unique(given["query_id"]))
    found: Sequence[CodeId] = ()
    if settings.code_base == "candidates":
        found = candidates.candidate_codes(database, labels.searches, labels.collection.name)
    if found:  # and codes with a label; a collection without candidates keeps all its codes
        columns = columns_of(benchmark)
        judged = (rows.column("code_id") for rows in (columns.labels, columns.undecided))
        kept = {*found, *(code for ids in judged for code in pc.unique(ids).to_pylist())}
        own_ids = columns.codes.column("code_id")
        chosen = pc.is_in(own_ids, value_set=pa.array(sorted(kept), pa.string()))
        codes = columns.codes.where(chosen)
        benchmark = benchmark.model_copy(update={"codes": codes, "code_base": "candidates"})
    is_judged = labels.current or labels.origin == MAJORITY  # candidates, and not the source's
    found_by = candidates.encoders_of(database, labels.searches) if is_judged else ()
    return benchmark.model_copy(update={"found_by": tuple(found_by)})


def require_trusted(database: Database, labels: CurrentLabels, gold_limit: float) -> None:
    """Refuse labels that stand by recipes that judged too many gold questions wrongly.

    Raises:
        GoldQuestionError: There are such labels, and are to be held.
    """
    failed = {
        origin: held
        for origin, recipe in labels.origins.items()
        if (held := held_labels(
            database, _rounds_of(labels, recipe), gold_limit,
            annotations.model_of(annotations.load_recipe(database, recipe)),
        ))
    }  # fmt: skip
    if failed:
        given = pc.unique(decide_labels(database, labels).labels["origin"]).to_pylist()
        for held in (failed[origin] for origin in given if origin in failed):
            raise held


def _rounds_of(labels: CurrentLabels, recipe: RecipeId) -> tuple[RecipeId, ...]:
    return next((rounds for rounds in labels.sets if recipe in rounds), (recipe,))


def with_split(benchmark: Benchmark, settings: PublishSettings) -> Benchmark:
    """Return a benchmark whose queries are split as the settings ask, by the labels that it holds.

    Where they ask for none and all queries are published with their part, that split stays. Nothing
    is to be left out of the benchmark afterwards.
    """
    if settings.split is None:
        published = published_split(benchmark.queries)
        return benchmark.model_copy(update={"splits": published}) if published else benchmark
    if settings.split_by == "repository":
        homes = repositories_by_query(benchmark.codes, benchmark.labels)
        by_repository = split_repositories(homes, settings.split, settings.split_seed)
        return benchmark.model_copy(update={"splits": by_repository})
    columns = columns_of(benchmark)
    queries, judged = columns.queries.column("query_id").to_pylist(), columns.labels
    relevant = judged.column("query_id").filter(pc.greater(judged.column("relevance"), 0))
    matches = count_matches(queries, relevant.to_pylist())
    parts = split_queries(matches, settings.split, settings.split_seed)
    return benchmark.model_copy(update={"splits": parts})


def _labelled_by_agents(
    database: Database, labels: LabelSet, current: CurrentLabels, settings: PublishSettings
) -> Benchmark:
    """Return the current labels of the agents, each with the recipe that gave it as its origin."""
    rounds, collection = current.sets[0], labels.collection.name
    recipe = annotations.load_recipe(database, rounds[0])
    judged, left_out = decide_labels(database, current), 0
    if settings.labels != "agents":
        people, left_out = _labels_of_people(
            database, collection, criterion_of(recipe), judged.labels
        )
        judged = _with_people(judged, people, alone=settings.labels == "people")
    is_stale = pc.invert(judged.labels["fresh"])
    rows = Rows(Label, judged.labels)
    benchmark = _benchmark(database, labels, rows, judged.queries, left_out).model_copy(
        update={
            "recipe": recipe,
            "rounds": rounds if len(rounds) > 1 else (),
            "recipes": label_recipes(database, current, judged.labels["origin"]),
            "stale": Rows(LabelledPair, judged.labels.filter(is_stale)),
            "undecided": Rows(Undecided, judged.undecided),
            "failed": judged.unfinished,
            "accepts_gold": settings.accept_gold,
            "specifications": specifications_of(database, current),
        }
    )
    return with_stored_answers(
        database, benchmark, collection, judged.supporting_annotations, settings.generated
    )


def _labels_of_people(
    database: Database, collection: str, criterion: Criterion, agents: pa.Table | None = None
) -> tuple[list[Label], int]:
    """Return the labels by people's majority of a collection's pairs, each of its largest sample.

    The note of each says how many people decided, and what the agents said if any were asked. The
    number is of labels that are left out, as the collection has lost their query or code.
    """
    found: dict[PairKey, FinalLabel] = {}
    for item in final_labels(database):
        is_fit = (item.collection, item.scale, item.criterion) == (collection, "binary", criterion)
        before = found.get(item.key)
        if is_fit and item.relevance is not None and (not before or before.people < item.people):
            found[item.key] = item
    left_out = [found.pop(key) for key, item in [*found.items()] if not item.is_collected]
    notes = {key: counted(item.people, "people") for key, item in found.items()}
    if agents is not None:
        columns = (agents[name].to_pylist() for name in ("query_id", "code_id", "relevance"))
        said = {
            PairKey(query, code): f"{relevance:g}"
            for query, code, relevance in zip(*columns, strict=True)
            if (query, code) in found
        }
        notes = {key: f"{note}; agents: {said.get(key, 'no label')}" for key, note in notes.items()}
    labels = [
        Label(
            query_id=item.query_id,
            code_id=item.code_id,
            relevance=item.relevance or 0.0,
            origin=f"{PEOPLE}{item.sample_id}",
            note=notes[key],
        )
        for key, item in found.items()
    ]
    return labels, len(left_out)


def _with_people(judged: Decided, people: Sequence[Label], *, alone: bool) -> Decided:
    """Return decided labels with people's in place of the agents', or people's alone."""
    keys = pa.array(sorted(" ".join(label.key) for label in people), pa.string())

    def without(table: pa.Table) -> pa.Table:
        pairs = pc.binary_join_element_wise(table["query_id"], table["code_id"], " ")
        return table.slice(0, 0) if alone else table.filter(pc.invert(pc.is_in(pairs, keys)))

    rows = [label.model_dump() | {"fresh": True} for label in people]
    own = pa.Table.from_pylist(rows, schema=judged.labels.schema)
    agents = [] if alone else judged.queries.to_pylist()
    return judged._replace(
        labels=pa.concat_tables([without(judged.labels), own]),
        undecided=without(judged.undecided),
        unfinished=0 if alone else judged.unfinished,
        queries=pa.array({*agents, *own["query_id"].to_pylist()}, pa.string()),
    )


def label_recipes(
    database: Database, labels: CurrentLabels, origins: pa.ChunkedArray
) -> tuple[LabelRecipe, ...]:
    """Return the recipes of labels of these origins, ascending by origin."""
    giver = labels.origins
    return tuple(
        LabelRecipe(
            origin=origin,
            recipe_id=giver[origin],
            body=annotations.load_recipe(database, giver[origin]),
            gold=stored_gold_counts(database, _rounds_of(labels, giver[origin])),
        )
        for origin in sorted(pc.unique(origins).to_pylist())
        if origin in giver
    )


def _benchmark(
    database: Database,
    labels: LabelSet,
    selected: Rows[Label],
    judged: pa.Array,
    left_out: int = 0,
) -> Benchmark:
    """Return the benchmark of a collection's codes and judged queries.

    Labels of people that are left out are counted.
    """
    collection = labels.collection.name
    _, dropped = corpus.load_source(database, collection)
    queries = Rows(Query, corpus.query_columns(database, collection))
    return Benchmark(
        name=labels.name,
        label_origin=labels.origin,
        queries=queries.where(pc.is_in(queries.column("query_id"), value_set=judged)),
        codes=Rows(Code, corpus.code_columns(database, collection)),
        labels=selected,
        sources=tuple(corpus.load_parts(database, collection)),
        dropped={**dropped, UNCOLLECTED: left_out} if left_out else dropped,
    )


class StoredAnnotations(AnnotationStream):
    """Annotations of the store, each time read from there.

    Args:
        database: The store.
        selection: Which annotations.
        codes: Ids of the only codes whose annotations are wanted; all if not given.
    """

    def __init__(
        self, database: Database, selection: EvidenceSelection, codes: pa.Array | None = None
    ) -> None:
        self._database = database
        self.selection = selection
        self._codes = codes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations, which are read in parts; other processes write in between."""
        for batch in read_evidence(self._database, self.selection, self._codes):
            yield batch.select(EVIDENCE.names).cast(EVIDENCE)

    def filter_codes(self, codes: pa.Array) -> "StoredAnnotations":
        """Return the annotations of some codes alone; others are not read."""
        if self._codes is not None:
            codes = codes.filter(pc.is_in(codes, value_set=self._codes))
        return StoredAnnotations(self._database, self.selection, codes)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return count_evidence(self._database, self.selection, self._codes)


def with_stored_answers(
    database: Database,
    benchmark: Benchmark,
    collection: str,
    supporting_annotations: pa.Table,
    which: Which,
) -> Benchmark:
    """Return a benchmark with written answers to its queries, and with all evidence.

    Each answer is a code and a pair of label 1. One that a person refused takes no part, nor does a
    pair that is judged without it. An answer stays when its query gets a match later: a published
    pair is not taken back. Taken are none, those that people confirmed, or all that the agents
    verified (``which``).
    """
    columns = columns_of(benchmark)
    queries = set(columns.queries.column("query_id").to_pylist())
    judged = {
        PairKey(*pair)
        for rows in (columns.labels, columns.undecided)
        for pair in zip(
            rows.column("query_id").to_pylist(), rows.column("code_id").to_pylist(), strict=True
        )
    }
    answers = [
        item
        for item in generated.load_answers(database, collection)
        if item.query_id in queries
        and not item.is_refused
        and (which == "verified" or (which == "confirmed" and item.confirmed))
        and PairKey(item.query_id, item.code_id) not in judged
    ]
    known = set(columns.codes.column("code_id").to_pylist())
    codes = {
        item.code_id: Code(code_id=item.code_id, text=item.code, origin=item.origin)
        for item in answers
        if item.code_id not in known
    }
    pairs = {
        PairKey(item.query_id, item.code_id): Label(
            query_id=item.query_id, code_id=item.code_id, origin=item.origin, relevance=1.0
        )
        for item in answers
    }
    keys = ((item.query_id, item.code_id, item.recipe_id) for item in answers)
    verified = tuple(dict.fromkeys(keys))
    return benchmark.model_copy(
        update={
            "codes": columns.codes.joined(codes.values()),
            "labels": columns.labels.joined(pairs.values()),
            "evidence": StoredAnnotations(
                database, EvidenceSelection(supporting_annotations, verified)
            ),
        }
    )
