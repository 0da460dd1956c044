"""Which labels of the store make a benchmark."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from infra.records import Annotation, Label
from infra.settings import SearchSettings, Settings
from infra.store import Database, annotations, candidates, corpus, open_database
from infra.store.annotations import StoredRecipe
from infra.store.benchmarks import Published
from infra.store.corpus import StoredCollection
from tasks.benchmarks import Benchmark, Undecided, benchmark_fingerprint
from tasks.stages.candidates import judged_searches

AGENTS = "agents:"


def label_origins(collection: StoredCollection, settings: Settings) -> list[str]:
    """Return whose labels of a collection may be exported: its source, the agents that came last.

    Labels of the demo model count only where the settings allow them.
    """
    database = open_database(settings.store)
    labels = corpus.load_source_labels(database, collection.name)
    origins = sorted({label.origin for label in labels})
    recipe = current_recipe(database, collection, settings.search)
    if recipe and (settings.publish.allow_demo or not recipe.demo):
        origins.append(f"{AGENTS}{recipe.recipe_id}")
    return origins


def withholds_demo(collection: StoredCollection, settings: Settings) -> bool:
    """Tell whether labels of the demo model are there and are not to be exported."""
    recipe = current_recipe(open_database(settings.store), collection, settings.search)
    return recipe is not None and recipe.demo and not settings.publish.allow_demo


def current_recipe(
    database: Database, collection: StoredCollection, search: SearchSettings
) -> StoredRecipe | None:
    """Return the recipe last in use on a collection's candidates, None where nobody judged any.

    The judges of a deepened pool count only where nobody judged the candidates themselves: a
    benchmark must not shrink to the few pairs of its pool when another model judged those.
    """
    if not collection.for_agents:
        return None
    own, *pools = judged_searches(database, collection.name, search)
    return annotations.latest_recipe(database, [own]) or annotations.latest_recipe(database, pools)


def published_as(benchmark: Benchmark, collection: StoredCollection, folder: Path) -> Published:
    """Return the reference under which a benchmark is, or would be, published."""
    return Published(
        benchmark_id=benchmark_fingerprint(benchmark),
        name=benchmark.name,
        collection=collection.name,
        label_origin=benchmark.label_origin,
        demo=benchmark.demo,
        folder=str((folder / benchmark.name).resolve()),
    )


def labelled_benchmark(
    database: Database, collection: StoredCollection, origin: str, settings: Settings
) -> Benchmark:
    """Return what the store holds of a collection as labelled by one origin."""
    if origin.startswith(AGENTS):
        return _labelled_by_agents(database, collection, origin, settings)
    everything = corpus.load_source_labels(database, collection.name)
    origins = {label.origin for label in everything}
    suffix = "" if len(origins) == 1 else "-" + origin.replace(":", "-")
    return _benchmark(
        database,
        collection,
        name=f"{collection.name}{suffix}",
        origin=origin,
        labels=[label for label in everything if label.origin == origin],
        asked={label.query_id for label in everything if label.origin == origin},
    )


def _labelled_by_agents(
    database: Database, collection: StoredCollection, origin: str, settings: Settings
) -> Benchmark:
    recipe_id = origin.removeprefix(AGENTS)
    searches = judged_searches(database, collection.name, settings.search)
    pairs = candidates.pairs_of(database, searches, collection.name)
    judged = annotations.load_annotations(database, recipe_id, pairs)
    benchmark = _benchmark(
        database,
        collection,
        name=f"{collection.name}-agents",
        origin=origin,
        labels=annotations.agent_labels(database, recipe_id, pairs, settings.publish.support),
        asked={item.query_id for item in judged},
    )
    return benchmark.model_copy(
        update={
            "recipe": annotations.load_recipe(database, recipe_id),
            "undecided": tuple(
                Undecided(query_id=item.query_id, code_id=item.code_id, reason=item.reason)
                for item in judged
                if item.status == "undecided"
            ),
            "failed": sum(item.status == "failed" for item in judged),
            "evidence": _without_failed(judged),
        }
    )


def _without_failed(judged: Sequence[Annotation]) -> tuple[Annotation, ...]:
    return tuple(item for item in judged if item.status != "failed")


def _benchmark(
    database: Database,
    collection: StoredCollection,
    *,
    name: str,
    origin: str,
    labels: Sequence[Label],
    asked: AbstractSet[str],
) -> Benchmark:
    info, dropped = corpus.load_source(database, collection.name)
    return Benchmark(
        name=name,
        label_origin=origin,
        queries=tuple(
            query
            for query in corpus.load_queries(database, collection.name)
            if query.query_id in asked
        ),
        codes=tuple(corpus.load_codes(database, collection.name)),
        labels=tuple(labels),
        sources=(info,),
        dropped=dropped,
    )
