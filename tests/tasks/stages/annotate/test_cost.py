"""Laws of what pairs are expected to cost: pairs times the mean of those judged alike.

Covers `tasks.stages.annotate.cost` and `infra.store.figures.pair_means`.
"""

from pathlib import Path

import pytest

from infra.identity import CodeId, QueryId, RecipeId
from infra.journal import Journal
from infra.records import Annotation, LanguageModelCall
from infra.settings import AnnotationSettings, LanguageModelSettings, Settings
from infra.store import Database, annotations, recipes
from tasks.reports.plan import Amount, Expected
from tasks.stages.annotate.cost import expected_of
from tests.fakes.journals import keep
from tests.fakes.stores import empty_store

MINI = "openai/gpt-4o-mini"  # $0.15 a million tokens sent, $0.60 a million received


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path)


def settings(model: str = MINI) -> Settings:
    llm = LanguageModelSettings(model=model)
    return Settings(llm=llm, annotation=AnnotationSettings(configuration="single", in_flight=4))


def store(
    database: Database, number: int, *tokens: int | None, model: str = MINI, shared: bool = False
) -> None:
    """Store a pair whose calls sent so many tokens and received 10, in 2 seconds each."""
    recipe = RecipeId(f"of {model}")
    body = {"configuration": "single", "model": {"model": model}}
    recipes.record_recipes(database, {recipe: body})
    calls = [
        LanguageModelCall(
            role=f"r{place}", attempt=1, model=model, status="ok", seconds=2.0,
            prompt_digest="ff" if shared and not place else f"{number:020x}", cached=shared,
            prompt_tokens=sent, completion_tokens=10,
        )
        for place, sent in enumerate(tokens)
    ]  # fmt: skip
    pair = Annotation(
        query_id=QueryId(f"q{number}"), code_id=CodeId("c"), recipe_id=recipe, status="labelled",
        label=1, path="p", calls=calls,
    )  # fmt: skip
    annotations.add_annotations(database, [pair])


def expected(database: Database, pairs: int, asked: Settings) -> Expected:
    return expected_of(pairs, asked.committee, database)


def test_pairs_cost_the_mean_of_those_that_the_model_judged_here_with_its_interval(
    database: Database,
) -> None:
    for number in range(20):
        store(database, number, 90 if number % 2 else 190)
    for number in range(30):
        store(database, number, 9_000, model="openai/gpt-4o")
    found = expected(database, 100, settings())
    half = 1.96 * 100 * (50 * (20 / 19) ** 0.5) / 20**0.5
    assert found.tokens.expected == 15_000
    assert found.tokens.interval
    ends = found.tokens.interval.low, found.tokens.interval.high
    assert ends == pytest.approx((15_000 - half, 15_000 + half))
    assert found.usd
    assert found.usd.expected == pytest.approx(100 * (140 * 0.15e-6 + 10 * 0.6e-6))
    assert found.minutes
    assert found.minutes.expected == pytest.approx(100 * 2 / 4 / 60)
    assert "20 pairs" in found.basis
    one = expected(database, 1, settings()).minutes
    assert one
    assert one.expected == pytest.approx(2 / 60)


def test_the_time_is_that_of_replies_one_after_the_other_however_many_pairs_are_at_once(
    database: Database,
) -> None:
    """A server of one slot takes as long for sixty-four pairs at once as for one by one."""
    journal = Journal(database.settings.journal)
    for number in range(10):
        store(database, number, 90)
        keep(journal, f"{number:020x}", b"x").result()
    journal.write(lambda tx: tx.execute("UPDATE replies SET kept_at = number * 4").close()).result()
    journal.close()
    found = expected(database, 100, settings())
    assert found.minutes == Amount(expected=100 * 4 / 60)
    assert "by the server's pace, 15 a minute of its last replies" in found.basis


def test_few_pairs_and_pairs_of_unknown_tokens_say_nothing(database: Database) -> None:
    built_in = expected(database, 10, settings())
    assert built_in.minutes is None
    assert built_in.tokens == Amount(expected=10 * 1_520)
    assert built_in.usd
    assert built_in.usd.expected == pytest.approx(10 * (1_300 * 0.15e-6 + 220 * 0.6e-6))
    assert built_in.usd.interval is None
    for number in range(19):
        store(database, number, 90)
    for number in range(20, 40):
        store(database, number, None)
    assert expected(database, 10, settings()) == built_in


def test_a_price_that_nobody_knows_is_unknown_and_recorded_replies_cost_nothing(
    database: Database,
) -> None:
    for number in range(20):
        store(database, number, 90, model="openai/of-nobody")
    assert expected(database, 1, settings("openai/of-nobody")).tokens.expected == 100
    assert expected(database, 10, settings("openai/of-nobody")).usd is None
    free = expected(database, 10, settings("recorded/stdlib-sample"))
    assert free.usd == Amount(expected=0.0)


def test_a_reply_that_pairs_share_counts_in_parts_also_from_the_journal(
    database: Database,
) -> None:
    for number in range(20):
        store(database, number, 990, 90, shared=True)
    assert expected(database, 1, settings()).tokens.expected == pytest.approx(1_000 / 20 + 100)
