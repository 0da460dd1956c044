"""Laws of the coverage of pairs by recipes.

Covers `tasks.stages.coverage`.
"""

from pathlib import Path

import pytest

from agents import recipe_of
from infra.identity import RecipeId, SearchId, mark_of
from infra.records import LanguageModelCall, Query
from infra.settings import AnnotationSettings, LanguageModelSettings, Settings
from infra.store import Database, annotations
from infra.store.annotations import RecipeBody
from infra.store.figures import votes_of_rounds
from infra.store.labels import CurrentLabels, JudgedBy, judged_by
from tasks.stages.coverage import labels_by, last_recipe
from tests.tasks.stages.generate.world import (
    CODES,
    QUERIES,
    SEARCH,
    also_collected,
    judged_store,
    judgement,
)

PROMPTS = ("screener", "writer", "arbiter")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return judged_store(tmp_path, rounds=0)[0]


def body(
    model: str = "m", configuration: str = "writer", number: int = 1, **prompts: str
) -> RecipeBody:
    """Return a recipe with other prompts than the program's."""
    settings = Settings(
        llm=LanguageModelSettings(model=f"openai/{model}"),
        annotation=AnnotationSettings.model_validate({"configuration": configuration}),
    )
    recipe = recipe_of(settings.committee, "", number)
    own = recipe["prompts"]
    assert isinstance(own, dict)
    return recipe | {"prompts": own | {"python": own["python"] | prompts}}


def identity(recipe: RecipeBody) -> RecipeId:
    return RecipeId(mark_of(recipe))


def use(database: Database, *bodies: RecipeBody, on: str | None = "c") -> None:
    known = {identity(item): item for item in bodies}
    annotations.record_recipes(database, known, used_on=on)


def judge(
    database: Database,
    recipe: RecipeBody,
    query: int,
    *roles_asked: str,
    status: str = "labelled",
    label: int = 0,
) -> JudgedBy:
    """Store the annotation of a pair that met these agents; return what to find in the coverage."""
    calls = tuple(
        LanguageModelCall(role=role, attempt=1, model="m", prompt_digest="d", status="ok", reply="")
        for role in roles_asked
    )
    item = judgement(
        QUERIES[query].query_id, CODES[0].code_id, recipe_id=identity(recipe), calls=calls,
        status=status, label=label if status == "labelled" else None,
    )  # fmt: skip
    annotations.add_annotations(database, [item])
    return JudgedBy(identity(recipe), item.roles_asked)


def coverage_of(
    database: Database, collection: str, searches: list[SearchId], current: RecipeBody
) -> CurrentLabels:
    """Return the labels by a recipe that need not be stored."""
    own = identity(current)
    return labels_by(database, collection, searches, [own], {own: current})


def sides(labels: CurrentLabels) -> tuple[set[JudgedBy], set[JudgedBy]]:
    """Return what counts for the recipe in use, and what for those before alone."""
    fresh = {
        JudgedBy(item.recipe_id, item.roles_asked) for item in labels.covered if not item.number
    }
    return fresh, {JudgedBy(item.recipe_id, item.roles_asked) for item in labels.covered} - fresh


def test_labels_are_fresh_where_what_they_met_is_as_it_was(database: Database) -> None:
    before, after = body(), body(arbiter="changed")
    use(database, before)
    screened = judge(database, before, 0, "screener")
    tested = judge(database, before, 1, *PROMPTS)
    coverage = coverage_of(database, "c", [SEARCH], after)
    assert sides(coverage) == ({screened}, {tested})
    again = coverage_of(database, "c", [SEARCH], before)
    assert sides(again) == ({screened, tested}, set())
    others = coverage_of(database, "c", [SEARCH], body("other"))
    assert sides(others)[1] == {screened, tested}


def test_what_failed_or_belongs_to_another_search_counts_for_nothing(database: Database) -> None:
    use(database, body())
    judge(database, body(), 0, "screener", status="failed")
    assert not coverage_of(database, "c", [SEARCH], body()).covered
    assert last_recipe(database, "c", [SEARCH]) is None


def test_another_question_and_unused_recipes_are_not_comparable(
    database: Database,
) -> None:
    half, exact = body(configuration="v1-half"), body(configuration="v1-exact")
    use(database, half)
    use(database, exact)
    other = judge(database, half, 0, "half_judge")
    own = judge(database, exact, 1, "exact_judge")
    compared = body("compared")
    use(database, compared, on=None)
    judge(database, compared, 2, "screener")
    coverage = coverage_of(database, "c", [SEARCH], body())
    assert sides(coverage) == (set(), {own})
    assert sides(coverage_of(database, "c", [SEARCH], half))[0] == {other}


def test_a_recipe_is_the_last_although_nothing_was_left_for_it_to_judge(database: Database) -> None:
    former, other, returned = body(), body("other"), body(arbiter="changed")
    for recipe in (former, other):
        use(database, recipe)
        judge(database, recipe, 0, "screener")
    use(database, returned)
    use(database, body("idle"))
    found = last_recipe(database, "c", [SEARCH])
    assert found is not None
    assert found.recipe_id == identity(returned)
    coverage = labels_by(database, "c", [SEARCH], found.rounds)
    assert sides(coverage)[0] == {JudgedBy(identity(former), "screener")}
    assert coverage.sets[0] == found.rounds
    assert len(coverage.sets) == 4


def test_each_round_is_covered_by_its_own_labels(database: Database) -> None:
    rounds = [body(number=number) for number in (1, 2)]
    use(database, *rounds)
    judged = [judge(database, recipe, 0, "screener") for recipe in rounds]
    found = last_recipe(database, "c", [SEARCH])
    assert found is not None
    covered = labels_by(database, "c", [SEARCH], found.rounds).covered
    assert {(JudgedBy(*item[:2]), item.number, item.round) for item in covered} == {
        (judged[0], 0, 0),
        (judged[1], 0, 1),
    }


def test_what_judged_the_pairs_of_another_collection_counts_for_none_of_these(
    database: Database,
) -> None:
    half, exact = body(configuration="v1-half"), body(configuration="v1-exact")
    use(database, exact)
    own = judge(database, exact, 0, "exact_judge")
    others = Query.of("another question")
    also_collected(database, "d", [others])  # over the same codes, by the same search
    use(database, half, on="d")
    item = judgement(others.query_id, CODES[0].code_id, recipe_id=identity(half))
    annotations.add_annotations(database, [item])
    assert judged_by(database, "c", [SEARCH]) == [own]
    found = [last_recipe(database, name, [SEARCH]) for name in ("c", "d")]
    assert [recipe and recipe.recipe_id for recipe in found] == [identity(exact), identity(half)]


def test_rounds_agree_on_all_that_counts_for_them_in_their_collection(database: Database) -> None:
    """The arbiter's prompt changed, which two of the three pairs had not met."""
    before = [body(number=number) for number in (1, 2, 3)]
    after = [body(number=number, arbiter="changed") for number in (1, 2, 3)]
    use(database, *before)
    for recipe, label in zip(before, (1, 0, 1), strict=True):
        judge(database, recipe, 0, "screener", label=0)
        judge(database, recipe, 1, "screener", label=1)
        judge(database, recipe, 2, *PROMPTS, label=label)
    use(database, *after)
    for recipe in after:
        judge(database, recipe, 2, *PROMPTS, label=0)
    theirs = Query.of("another question")
    also_collected(database, "d", [theirs])
    use(database, *after, on="d")
    for recipe in after:
        item = judgement(theirs.query_id, CODES[0].code_id, recipe_id=identity(recipe))
        annotations.add_annotations(database, [item])
    for collection, rounds, counts in (("c", before, (3, 2)), ("c", after, (3, 3)),
                                       ("d", after, (1, 1))):  # fmt: skip
        labels = labels_by(database, collection, [SEARCH], [identity(each) for each in rounds])
        votes = votes_of_rounds(database, labels)
        unanimous = sum(len(set(of_pair)) == 1 for of_pair in votes)
        assert (len(votes), unanimous) == counts, (collection, rounds)
