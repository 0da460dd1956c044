"""What `cosqa pair` does: print how a pair was judged, with all evidence."""

from collections.abc import Sequence
from itertools import zip_longest

from flows.cli.console import say
from flows.cli.steering_options import PairOptions
from flows.cli.tables import print_blocks
from infra.errors import StoreError
from infra.ids import PairKey, RecipeId
from infra.records import Annotation
from infra.store import Database, annotations, open_database, recipes
from infra.store.behaviours import CodeBehaviour, behaviours_of
from infra.store.database import require_store
from infra.store.judged_pairs import find_judged
from tasks.reports.judging import judgement_blocks
from tasks.stages.specifications import specified_part

_MOST_NAMED = 10


def show(options: PairOptions) -> None:
    """Print a pair's texts and, for each recipe that judged it, the label and how it came about.

    Raises:
        StoreError: No pair is named so, or several are.
    """
    require_store(options.settings.store)
    database = open_database(options.settings.store)
    judged = find_judged(database, options.query, options.code)
    key = _only_key([key for key, _ in judged], options)
    for pair in annotations.load_pairs(database, [key]):
        say(f"query {key.query_id}: {pair.query.text}\n\ncode {key.code_id}:\n{pair.code.text}")
    for _, recipe_id in judged:
        for annotation in annotations.load_annotations(database, recipe_id, [key]):
            say(_head(database, recipe_id, annotation))
            print_blocks(judgement_blocks(annotation, specified_part(annotation)))
            for found in behaviours_of(database, key, recipe_id):
                say(_comparison(*found))


def _only_key(keys: list[PairKey], options: PairOptions) -> PairKey:
    distinct = list(dict.fromkeys(keys))
    if len(distinct) == 1:
        return distinct[0]
    asked = f"query {options.query}, code {options.code}"
    if not distinct:
        raise StoreError(
            f"no judged pair is named so: {asked}; the artifact of slowest and failed "
            "pairs and the exported evidence have the ids"
        )
    named = "\n".join(f"  {key.query_id} {key.code_id}" for key in distinct[:_MOST_NAMED])
    raise StoreError(f"{len(distinct)} judged pairs are named so: {asked}\n{named}")


def _head(database: Database, recipe_id: RecipeId, annotation: Annotation) -> str:
    model = recipes.load_recipe(database, recipe_id).get("model", "an unknown model")
    label = "" if annotation.label is None else f" {annotation.label}"
    return (
        f"\n== {annotation.status}{label} by {model}, recipe {recipe_id}: {annotation.path}, "
        f"{annotation.support}, {annotation.seconds:.1f} s"
    )


def _comparison(collection: str, claims: Sequence[str], behaviour: CodeBehaviour) -> str:
    label = "no label" if behaviour.agreed is None else f"label {behaviour.agreed}"
    head = f"\n-- compared with the other codes of the query in {collection}: {label}"
    told = zip_longest(claims, behaviour.outcomes, fillvalue="")
    lines = [f"{claim}: {outcome or 'could not be run'}" for claim, outcome in told]
    return "\n".join([head, *filter(None, [behaviour.reason]), *lines])
