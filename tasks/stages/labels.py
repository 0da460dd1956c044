"""Label sets: the stored labels of one origin, and the benchmark made of them."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from infra.ids import PairKey, RecipeId, SearchId
from infra.records import Annotation, Label, Record, Support
from infra.settings import PublishSettings
from infra.store import Database, annotations, candidates, corpus, recipes
from infra.store.corpus import StoredCollection
from infra.store.recipes import StoredRecipe
from tasks.benchmarks import Benchmark, Undecided
from tasks.benchmarks.splits import count_matches, split_queries
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.stages.answers import with_stored_answers
from tasks.stages.candidates import judged_searches
from tasks.statistics.rounds import RoundsAgreement, majority, rounds_agreement


class LabelSet(Record):
    """Reference to the labels of a collection's pairs by one origin.

    Attributes:
        name: Name of the benchmark made of them.
        recipe_id: The agents' recipe; empty for labels that came with the source.
        rounds: The recipes of all labelling rounds, of which ``recipe_id`` is the first.
        searches: The searches of the collection whose candidates the agents annotate.
    """

    collection: StoredCollection
    origin: str
    name: str
    recipe_id: RecipeId = RecipeId("")
    rounds: tuple[RecipeId, ...] = ()
    searches: tuple[SearchId, ...] = ()


def label_sets(
    database: Database, source: CollectedSource, recipe: StoredRecipe | None
) -> list[LabelSet]:
    """Return the label sets of a source's collections that may be exported.

    Args:
        database: The store.
        source: The collections.
        recipe: The recipe whose labels to include; None leaves out all labels by agents.
    """
    sets = []
    for collection in source.collections:
        origins = corpus.label_origins(database, collection.name)
        for origin in origins:
            suffix = "" if len(origins) == 1 else "-" + origin.replace(":", "-")
            name = f"{collection.name}{suffix}"
            searches = judged_searches(database, source.search) if collection == source.main else []
            labels = LabelSet(
                collection=collection, origin=origin, name=name, searches=tuple(searches)
            )
            sets.append(labels)
        if recipe and collection == source.main:
            sets.append(labels_of_agents(database, source, recipe))
    return sets


def labels_of_agents(database: Database, source: CollectedSource, recipe: StoredRecipe) -> LabelSet:
    """Return the labels of a source's main collection by a recipe of the agents."""
    return LabelSet(
        collection=source.main,
        origin=annotations.label_origin(recipe.recipe_id, len(recipe.rounds)),
        name=f"{source.main.name}-agents",
        recipe_id=recipe.recipe_id,
        rounds=recipe.rounds,
        searches=tuple(judged_searches(database, source.search)),
    )


def exported_recipe(
    database: Database, search: SearchReference, settings: PublishSettings
) -> StoredRecipe | None:
    """Return the recipe whose labels may be exported; that of the demo model only if allowed."""
    recipe = judging_recipe(database, search)
    return None if recipe and recipe.demo and not settings.allow_demo else recipe


def judging_recipe(database: Database, search: SearchReference) -> StoredRecipe | None:
    """Return the recipe last used on a search's candidates, or None without annotations.

    Recipes of pools count only if the search itself has no annotations: a benchmark must not shrink
    to the few pairs of its pool when another model judged those.
    """
    own, *pools = judged_searches(database, search)
    return recipes.latest_recipe(database, [own]) or recipes.latest_recipe(database, pools)


def agreement_of_rounds(database: Database, rounds: Sequence[RecipeId]) -> RoundsAgreement:
    """Return how far labelling rounds agree on the candidates that they judged."""
    votes = annotations.labels_of_rounds(database, rounds)
    return rounds_agreement(votes.values(), len(rounds))


class StoredRounds(Record):
    """A recipe that judged in several labelling rounds, and how far these agree."""

    recipe: StoredRecipe
    agreement: RoundsAgreement


def rounds_in_store(database: Database) -> list[StoredRounds]:
    """Return all recipes that were last in use for several rounds, oldest first."""
    return [
        StoredRounds(recipe=recipe, agreement=agreement_of_rounds(database, recipe.rounds))
        for recipe in recipes.recipes_in_rounds(database)
    ]


def labelled_benchmark(
    database: Database, labels: LabelSet, settings: PublishSettings
) -> Benchmark:
    """Return the benchmark of a collection with the labels of one origin.

    Labels of the agents come with the answers that were written to queries without a match.

    Args:
        database: The store.
        labels: The collection and the origin.
        settings: What labels of the agents must rest on, which written answers, the code base, and
            the split.
    """
    benchmark = _labelled(database, labels, settings)
    if settings.code_base == "candidates":
        benchmark = _with_candidates_only(database, labels, benchmark)
    if settings.split is None:
        return benchmark
    matches = count_matches((query.query_id for query in benchmark.queries), benchmark.labels)
    parts = split_queries(matches, settings.split, settings.split_seed)
    return benchmark.model_copy(update={"splits": parts})


def _labelled(database: Database, labels: LabelSet, settings: PublishSettings) -> Benchmark:
    if labels.recipe_id:
        judged = _labelled_by_agents(database, labels, settings.support)
        return with_stored_answers(database, judged, labels.collection.name, settings.generated)
    selected = [
        label
        for label in corpus.load_source_labels(database, labels.collection.name)
        if label.origin == labels.origin
    ]
    return _benchmark(database, labels, selected, {label.query_id for label in selected})


def _labelled_by_agents(
    database: Database, labels: LabelSet, support: Sequence[Support]
) -> Benchmark:
    pairs = candidates.pairs_of(database, labels.searches, labels.collection.name)
    judged = [
        annotations.load_annotations(database, recipe_id, pairs) for recipe_id in labels.rounds
    ]
    exported, undecided, failed = _decided(labels, judged, support)
    everything = [item for of_round in judged for item in of_round]
    benchmark = _benchmark(database, labels, exported, {item.query_id for item in everything})
    return benchmark.model_copy(
        update={
            "recipe": recipes.load_recipe(database, labels.recipe_id),
            "rounds": labels.rounds if len(labels.rounds) > 1 else (),
            "undecided": tuple(undecided),
            "failed": failed,
            "evidence": tuple(item for item in everything if item.status != "failed"),
        }
    )


def _with_candidates_only(database: Database, labels: LabelSet, benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with the union of candidates and labelled codes as its codes.

    A collection without candidates stays whole: all its codes are what the relevant ones are to be
    told from.
    """
    found = candidates.candidate_codes(database, labels.searches, labels.collection.name)
    if not found:
        return benchmark
    kept: set[str] = {*found, *(label.code_id for label in benchmark.labels)}
    kept.update(item.code_id for item in benchmark.undecided)
    codes = tuple(code for code in benchmark.codes if code.code_id in kept)
    return benchmark.model_copy(update={"codes": codes, "code_base": "candidates"})


def _decided(
    labels: LabelSet, judged: Sequence[Sequence[Annotation]], support: Sequence[Support]
) -> tuple[list[Label], list[Undecided], int]:
    """Return the labels to export, the undecided pairs, and the number of unfinished ones.

    A pair's label is that of more than half of all rounds (`majority`); of one round, its own. A
    label whose support is not to be exported is no vote. A pair without a majority is undecided
    once every round has finished it; until then a later run may decide it.
    """
    by_pair: dict[PairKey, list[Annotation]] = {}
    for item in (item for of_round in judged for item in of_round):
        by_pair.setdefault(item.key, []).append(item)
    exported, undecided, unfinished = [], [], 0
    for items in by_pair.values():
        missing = [None] * (len(judged) - len(items))
        said = [*(item.label for item in items), *missing]
        counted = [item.label if item.support in support else None for item in items]
        label = majority([*counted, *missing])
        if label is not None:
            exported.append(_label(labels, items, label))
        elif missing or any(item.status == "failed" for item in items):
            unfinished += 1
        elif majority(said) is None:
            undecided.append(_undecided(items))
    return exported, undecided, unfinished


def _label(labels: LabelSet, items: Sequence[Annotation], label: int) -> Label:
    return Label(
        query_id=items[0].query_id,
        code_id=items[0].code_id,
        origin=labels.origin,
        relevance=float(label),
        demo=any(item.demo for item in items),
    )


def _undecided(items: Sequence[Annotation]) -> Undecided:
    said = [item.label for item in items]
    ones, zeros, none = said.count(1), said.count(0), said.count(None)
    reason = (
        f"no label has more than half of {len(said)} rounds: "
        f"{ones} say 1, {zeros} say 0, {none} say neither"
    )
    first = items[0]
    return Undecided(
        query_id=first.query_id,
        code_id=first.code_id,
        reason=reason if len(items) > 1 else first.reason,
    )


def _benchmark(
    database: Database, labels: LabelSet, selected: Sequence[Label], queries: AbstractSet[str]
) -> Benchmark:
    collection = labels.collection.name
    _, dropped = corpus.load_source(database, collection)
    return Benchmark(
        name=labels.name,
        label_origin=labels.origin,
        queries=tuple(
            query
            for query in corpus.load_queries(database, collection)
            if query.query_id in queries
        ),
        codes=tuple(corpus.load_codes(database, collection)),
        labels=tuple(selected),
        sources=tuple(corpus.load_parts(database, collection)),
        dropped=dropped,
    )
