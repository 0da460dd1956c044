"""Laws of the effort of stored judgements, by the agents that they met."""

from pathlib import Path

import pytest

from infra.ids import CodeId, QueryId, RecipeId
from infra.records import Annotation, Execution, ExecutionResult, LanguageModelCall
from infra.settings import StoreSettings
from infra.store import Database, annotations, open_database
from infra.store.figures import PathFigures, Prices, path_figures

PRICES = Prices(prompt_usd=0.001, completion_usd=0.002)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(StoreSettings(folder=tmp_path))


def call(role: str, tokens: int, usd: float | None, **more: object) -> LanguageModelCall:
    row = {
        "role": role, "attempt": 1, "model": "m", "prompt_digest": "d", "status": "ok",
        "prompt_tokens": tokens, "completion_tokens": 10, "cost_usd": usd, "seconds": 2.0,
    }  # fmt: skip
    return LanguageModelCall.model_validate(row | more)


def store(
    database: Database, number: int, *calls: LanguageModelCall, seconds: float = 0.0, runs: int = 0
) -> None:
    run = Execution(round=1, program="p", result=ExecutionResult(outcome="passed", seconds=3.0))
    annotation = Annotation(
        query_id=QueryId(f"q{number}"), code_id=CodeId("c"), recipe_id=RecipeId("r"),
        status="labelled", label=1, path="p", calls=calls, seconds=seconds,
        executions=(run,) * runs,
    )  # fmt: skip
    annotations.add_annotations(database, [annotation])


def figures(
    database: Database, model: str | None = "m", prices: Prices = PRICES
) -> dict[str, PathFigures]:
    return {item.met: item for item in path_figures(database, model, prices)}


def test_nothing_is_known_of_a_store_without_judgements(database: Database) -> None:
    assert path_figures(database, "m", PRICES) == []
    assert path_figures(database, None, PRICES) == []


def test_figures_are_the_means_and_variances_of_each_path_and_of_all_pairs(
    database: Database,
) -> None:
    store(database, 1, call("screener", 100, 0.5))
    store(database, 2, call("screener", 300, 1.5), seconds=9.0)
    store(database, 3, call("screener", 100, 1.0), call("arbiter", 200, 3.0), runs=2)
    found = figures(database)
    assert set(found) == {"", "screener", "arbiter,box,screener"}
    assert found["screener"].pairs == 2
    assert found["screener"].figures == {
        "requests": (1.0, 0.0),
        "tokens": (210.0, 20_000.0),
        "seconds": (5.5, 24.5),
        "box_seconds": (0.0, 0.0),
        "usd": (1.0, 0.5),
    }
    assert found["arbiter,box,screener"].figures["box_seconds"] == (6.0, 0.0)
    assert found["arbiter,box,screener"].figures["usd"] == (4.0, 0.0)
    assert found[""].pairs == 3


def test_where_the_provider_names_no_cost_tokens_are_priced(database: Database) -> None:
    store(database, 1, call("screener", 100, None))
    (usd, _) = figures(database)[""].figures["usd"] or (0.0, 0.0)
    assert usd == pytest.approx(0.1 + 0.02)
    assert figures(database, prices=Prices())[""].figures["usd"] is None


def test_other_models_pairs_count_where_none_is_named_at_the_price_given(
    database: Database,
) -> None:
    store(database, 1, call("screener", 100, 7.0))
    assert figures(database, "another") == {}
    of_tokens = PRICES.model_copy(update={"of_tokens": True})
    usd = figures(database, None, of_tokens)[""].figures["usd"]
    assert usd
    assert usd[0] == pytest.approx(0.12)


def test_a_kept_reply_counts_as_if_it_were_paid_and_one_of_a_batch_at_the_usual_price(
    database: Database,
) -> None:
    store(database, 1, call("screener", 100, 0.5, cached=True))
    store(database, 2, call("arbiter", 100, 0.5, seconds=0.0))
    found = figures(database, prices=PRICES.model_copy(update={"batch_share": 0.5}))
    assert found["screener"].figures["usd"] == (0.5, 0.0)
    assert found["arbiter"].figures["usd"] == (1.0, 0.0)


def test_a_reply_that_candidates_of_a_query_share_counts_in_parts(database: Database) -> None:
    store(database, 1, call("specifier", 110, 3.0, prompt_digest="s"), call("screener", 100, 1.0))
    for number in (2, 3):
        kept = call("specifier", 110, 3.0, prompt_digest="s", cached=True)
        store(database, number, kept, call("screener", 100, 1.0))
    paths = {item.met: item for item in path_figures(database, "m", PRICES, ["specifier"])}
    shown = {name: figure and figure[0] for name, figure in paths[""].figures.items()}
    expected = {"requests": 4 / 3, "tokens": 110 + 120 / 3, "seconds": 2 + 2 / 3, "usd": 2.0}
    assert shown == pytest.approx({**expected, "box_seconds": 0.0})
    whole = figures(database)[""].figures["requests"]
    assert whole == (2.0, 0.0)


def test_recorded_replies_say_nothing_of_what_other_models_take(database: Database) -> None:
    packaged = {"model": "recorded/stdlib-sample", "prompt_tokens": None, "seconds": 0.0}
    store(database, 1, call("screener", 0, 0.0, **packaged))
    assert path_figures(database, None, PRICES) == []
    assert figures(database, "recorded/stdlib-sample")[""].pairs == 1
    store(database, 2, call("screener", 100, 0.5))
    assert [item.pairs for item in path_figures(database, None, PRICES)] == [1, 1]
