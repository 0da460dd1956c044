"""Label sets: the stored labels of one origin, and the benchmark made of them."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from infra.ids import RecipeId, SearchId
from infra.records import Label, Record, Support
from infra.settings import PublishSettings
from infra.store import Database, annotations, candidates, corpus, recipes
from infra.store.corpus import StoredCollection
from infra.store.recipes import StoredRecipe
from tasks.benchmarks import Benchmark, Undecided
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.stages.candidates import judged_searches


class LabelSet(Record):
    """Reference to the labels of a collection's pairs by one origin.

    Attributes:
        name: Name of the benchmark made of them.
        recipe_id: The agents' recipe; empty for labels that came with the source.
        searches: The searches whose candidates the agents annotate.
    """

    collection: StoredCollection
    origin: str
    name: str
    recipe_id: RecipeId = RecipeId("")
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
            sets.append(LabelSet(collection=collection, origin=origin, name=name))
        if recipe and collection == source.main:
            sets.append(_labels_of_agents(database, source, recipe))
    return sets


def _labels_of_agents(
    database: Database, source: CollectedSource, recipe: StoredRecipe
) -> LabelSet:
    return LabelSet(
        collection=source.main,
        origin=annotations.label_origin(recipe.recipe_id),
        name=f"{source.main.name}-agents",
        recipe_id=recipe.recipe_id,
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


def labelled_benchmark(
    database: Database, labels: LabelSet, support: Sequence[Support]
) -> Benchmark:
    """Return the benchmark of a collection with the labels of one origin.

    Args:
        database: The store.
        labels: The collection and the origin.
        support: Kinds of evidence that labels of the agents must have.
    """
    if labels.recipe_id:
        return _labelled_by_agents(database, labels, support)
    selected = [
        label
        for label in corpus.load_source_labels(database, labels.collection.name)
        if label.origin == labels.origin
    ]
    return _benchmark(database, labels, selected, {label.query_id for label in selected})


def _labelled_by_agents(
    database: Database, labels: LabelSet, support: Sequence[Support]
) -> Benchmark:
    recipe_id = labels.recipe_id
    pairs = candidates.pairs_of(database, labels.searches, labels.collection.name)
    judged = annotations.load_annotations(database, recipe_id, pairs)
    exported = annotations.agent_labels(database, recipe_id, pairs, support)
    benchmark = _benchmark(database, labels, exported, {item.query_id for item in judged})
    return benchmark.model_copy(
        update={
            "recipe": recipes.load_recipe(database, recipe_id),
            "undecided": tuple(
                Undecided(query_id=item.query_id, code_id=item.code_id, reason=item.reason)
                for item in judged
                if item.status == "undecided"
            ),
            "failed": sum(item.status == "failed" for item in judged),
            "evidence": tuple(item for item in judged if item.status != "failed"),
        }
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
