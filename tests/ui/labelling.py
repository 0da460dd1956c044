"""A store with twenty pairs to label, and the people who label them."""

from pathlib import Path

from infra.identity import RecipeId
from infra.records import Code, Pair, Query
from infra.settings import StoreSettings
from infra.store import Database, annotations, open_database, recipes, samples
from infra.store.samples import Sample, SampleItem
from tests.fakes.browsing import judged

# What is asked for, the expression that answers it, and one that does not.
_ASKED = (
    ("reverse the characters of a string", "text[::-1]", "text[1:]"),
    ("count the vowels in a word", "sum(c in 'aeiou' for c in text)", "len(text)"),
    ("remove spaces from a string", "text.replace(' ', '')", "text.strip()"),
    ("check whether a word is a palindrome", "text == text[::-1]", "text == text.lower()"),
    ("first word of a sentence", "text.split()[0]", "text[0]"),
    ("last word of a sentence", "text.split()[-1]", "text[-1]"),
    ("capitalise each word", "text.title()", "text.capitalize()"),
    ("number of words in a text", "len(text.split())", "text.count(' ')"),
    ("letters of a word in order", "''.join(sorted(text))", "sorted(text)[0]"),
    ("text without its first character", "text[1:]", "text[:-1]"),
)


def pairs_to_label() -> list[Pair]:
    """Return twenty pairs: each query with a code that answers it, and one that does not."""
    return [
        Pair(
            query=Query.of(query),
            code=Code.of(f'def answer(text):\n    """{kind}."""\n    return {expression}'),
        )
        for query, right, wrong in _ASKED
        for kind, expression in (("One way", right), ("Another way", wrong))
    ]


def labelled_store(folder: Path) -> tuple[Database, Sample]:
    """Return a store whose agents have judged the pairs, and a sample of all of them."""
    database = open_database(StoreSettings(folder=folder, lock_timeout_s=60))
    pairs = pairs_to_label()
    annotations.record_pairs(database, pairs)
    recipe = RecipeId("a1b2c3d4e5f6a7b8c9d0")
    recipes.record_recipes(database, {recipe: {"model": {"model": "openai/scripted"}}})
    annotations.add_annotations(
        database,
        [
            judged(pair, recipe, f"made up for {pair.query.text}", label=1 - place % 2)
            for place, pair in enumerate(pairs)
        ],
    )
    items = tuple(
        SampleItem(query_id=pair.query.query_id, code_id=pair.code.code_id, position=place)
        for place, pair in enumerate(pairs, start=1)
    )  # fmt: skip
    sample = Sample(collection="", items=items, body={"drawn": "pairs"})
    samples.add_sample(database, sample)
    return database, sample
