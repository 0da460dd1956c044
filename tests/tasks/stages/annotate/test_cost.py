"""Laws of the expected cost, pairs times the mean of those judged alike, and of a run's budget.

Covers `tasks.stages.annotate.cost`, `infra.store.figures.pair_means` and `infra.budget`.
"""

import pickle
from math import inf
from pathlib import Path

import pytest

from agents.llm.ledger import JournalLedger, journal_ledger
from infra.budget import Budget, run_budget
from infra.errors import BudgetExhaustedError
from infra.identity import CodeId, QueryId, RecipeId
from infra.journal import Journal
from infra.records import Annotation, LanguageModelCall
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from infra.store import Database, annotations
from tasks.reports.plan import Amount, Expected
from tasks.stages.annotate.cost import expected_of
from tests.fakes.journals import keep, spend

MINI = "openai/gpt-4o-mini"  # $0.15 a million tokens sent, $0.60 a million received


def settings(model: str = MINI) -> Settings:
    llm = LanguageModelSettings(model=model)
    return Settings(llm=llm, annotation=AnnotationSettings(configuration="single", in_flight=4))


def store(
    database: Database, number: int, *tokens: int | None, model: str = MINI, shared: bool = False
) -> None:
    """Store a pair whose calls sent so many tokens and received 10, in 2 seconds each."""
    recipe = RecipeId(f"of {model}")
    body = {"configuration": "single", "model": {"model": model}}
    annotations.record_recipes(database, {recipe: body})
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


def bounded(folder: Path, of_run: float | None, shared: float | None, model: str) -> Settings:
    return Settings(
        store=StoreSettings(folder=folder),
        llm=LanguageModelSettings(model=model, budget_usd=shared),
        reannotation=ReannotationSettings(budget_usd=of_run),
    )


def budget_of(given: Settings) -> Budget:
    return run_budget(given.store, given.llm, given.reannotation.budget_usd)


def ledger_of(given: Settings, budget: Budget) -> JournalLedger:
    """Return the ledger with a budget as shards get it."""
    return journal_ledger(given.store, given.llm, pickle.loads(pickle.dumps(budget)))


@pytest.mark.parametrize(
    ("of_run", "shared", "expected"),
    [(2.0, None, 2.0), (2.0, 10.0, 2.0), (2.0, 1.0, 0.25), (None, 3.0, 2.25), (None, None, inf)],
)
def test_a_run_may_spend_its_budget_beyond_what_is_spent_within_that_of_all_runs(
    tmp_path: Path, of_run: float | None, shared: float | None, expected: float
) -> None:
    given = bounded(tmp_path, of_run, shared, "openai/m")
    spend(journal_ledger(given.store, LanguageModelSettings(model="openai/m")), 100, 0.75)
    assert ledger_of(given, budget_of(given)).left()[1] == expected


def test_the_end_of_a_run_s_own_budget_is_told_from_that_of_all_runs(tmp_path: Path) -> None:
    given = bounded(tmp_path, 2.0, 10.0, "openai/m")
    ledger = journal_ledger(given.store, given.llm, budget_of(given))
    spend(ledger, 100, 1.75)
    with pytest.raises(
        BudgetExhaustedError, match=r"this run has 0\.25 US dollars left.*take 1 beside"
    ):
        spend(ledger, 100, 1.0)
    spend(ledger, 100, 0.24999)
    with pytest.raises(BudgetExhaustedError, match=r"this run has 0\.00001 US dollars left"):
        spend(ledger, 100, 1.0)
    less = given.llm.model_copy(update={"budget_usd": 1.0})
    with pytest.raises(BudgetExhaustedError, match=r"BUDGET_USD=1 are"):
        spend(journal_ledger(given.store, less, budget_of(given)), 100, 1.0)


@pytest.mark.parametrize("of_run", [None, 2.0])
def test_a_run_s_own_cost_is_counted_from_its_beginning_over_all_its_rounds(
    tmp_path: Path, of_run: float | None
) -> None:
    given = bounded(tmp_path, of_run, None, "openai/m")

    ledger = journal_ledger(given.store, given.llm)

    def own() -> tuple[int, float]:
        return ledger_of(given, budget).spent()

    spend(ledger, 100, 4.0)
    budget = budget_of(given)
    assert own() == (0, 0.0)
    spend(ledger, 100, 0.5)
    assert own() == (100, 0.5), "a later round"
    spend(ledger, 100, 0.25)
    assert own() == (200, 0.75)


def test_recorded_replies_have_no_budget(tmp_path: Path) -> None:
    given = bounded(tmp_path, 2.0, None, "recorded/stdlib-sample")
    assert budget_of(given).limit_usd is None


def test_the_page_says_what_is_planned_before_any_pair_was_judged(database: Database) -> None:
    page = (Path(__file__).parents[4] / "agents/README.md").read_text("utf-8")
    for row, (size, unit, places) in {
        "40 queries": (200, 1, ",.0f"),
        "500 ": (10_000, 10**6, ".0f"),
        "CoSQA+:": (412_080, 10**6, ".0f"),
    }.items():
        cells = next(line for line in page.splitlines() if line.startswith(f"| {row}")).split(" | ")
        for cell, configuration in zip(cells[2:], ("single", "spec"), strict=True):
            annotation = AnnotationSettings.model_validate({"configuration": configuration})
            chosen = Settings(llm=LanguageModelSettings(model=MINI), annotation=annotation)
            planned = expected_of(size, chosen.committee, database).tokens.expected / unit
            assert cell.split("; ")[1].startswith(format(planned, places)), (row, configuration)
