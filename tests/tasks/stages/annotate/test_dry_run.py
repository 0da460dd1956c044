"""Laws of the dry run: it counts stored pairs and averages their cost."""

import json
from pathlib import Path

import pytest

from agents import recipe_of
from infra.errors import SettingsError
from infra.ids import PairKey
from infra.records import Annotation, Candidate, LanguageModelCall
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    SearchSettings,
    Settings,
    SourceSettings,
    StoreSettings,
)
from infra.store import annotations, candidates, corpus, open_database, recipes
from tasks.encoders import EncoderRegistry, encoders
from tasks.forecast.measurements import PAPER_COST_PER_PAIR_USD
from tasks.sources import open_source
from tasks.stages.annotate.dry_run import count_pairs_left
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.candidates import search_identity
from tests.fakes.checkpoints import make_checkpoint

NUMBERS = range(4)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings over a store with a finished search: four queries, two candidates for each."""
    rows = {
        "queries": [{"id": f"n{number}", "query": f"add {number}"} for number in NUMBERS],
        "codes": [
            {
                "id": f"n{number}",
                "code": f'def plus(x):\n    """Add {number} to x."""\n    return x + {number}',
            }
            for number in NUMBERS
        ],
    }
    for name, items in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    prepared = Settings(
        store=StoreSettings(folder=tmp_path / "store"),
        source=SourceSettings(name="jsonl", path=tmp_path),
        search=SearchSettings(top_k=2),
        llm=LanguageModelSettings(model="openai/scripted"),
        annotation=AnnotationSettings(configuration="single"),
    )
    source, database = open_source(prepared.source), open_database(prepared.store)
    corpus.replace_collections(database, source.fingerprint(), source.read(), "jsonl")
    codes = corpus.load_codes(database, "jsonl")[:2]
    candidates.add_candidates(
        database,
        search_identity(database, "jsonl", prepared.search),
        [
            Candidate(
                query_id=query.query_id, code_id=code.code_id, rank=rank, similarity=1,
                by_encoder={},
            )
            for query in corpus.load_queries(database, "jsonl")
            for rank, code in enumerate(codes, 1)
        ],
    )  # fmt: skip
    return prepared


def keys(settings: Settings) -> list[PairKey]:
    database = open_database(settings.store)
    search_id = search_identity(database, "jsonl", settings.search)
    return [item.key for item in candidates.load_candidates(database, search_id, "jsonl")]


def judge(
    settings: Settings,
    key: PairKey,
    cost: float | None,
    status: str = "labelled",
    cached: bool = False,
    seconds: float = 1.0,
) -> None:
    call = LanguageModelCall(
        role="judge", attempt=1, model="m", prompt_digest="d", status="ok", cost_usd=cost,
        cached=cached, seconds=seconds,
    )  # fmt: skip
    recipe, database = current_recipe(settings), open_database(settings.store)
    bodies = {recipe.recipe_id: recipe_of(settings, recipe.sandbox)}
    recipes.record_recipes(database, bodies, demo=recipe.demo, used_on="jsonl")
    row = {
        "query_id": key.query_id, "code_id": key.code_id, "status": status,
        "recipe_id": recipe.recipe_id, "path": "read_alone", "calls": (call,),
        "label": 1 if status == "labelled" else None,
    }  # fmt: skip
    annotations.add_annotations(database, [Annotation.model_validate(row)])


def test_without_history_the_papers_mean_is_taken(settings: Settings) -> None:
    left = count_pairs_left(settings)
    assert (left.queries, left.pairs, left.finished) == (4, 8, 0)
    assert left.cost_per_pair_usd == PAPER_COST_PER_PAIR_USD


def test_without_history_a_model_that_has_a_price_costs_its_tokens(settings: Settings) -> None:
    priced = settings.model_copy(update={"llm": LanguageModelSettings(model="openai/gpt-4o")})
    left = count_pairs_left(priced)
    assert left.cost_per_pair_usd is not None
    assert left.cost_per_pair_usd > 10 * PAPER_COST_PER_PAIR_USD  # it is some 17 times dearer
    assert "litellm's price of openai/gpt-4o" in left.basis


def test_by_batches_the_cost_is_halved_and_the_words_say_how_that_is_known(
    settings: Settings,
) -> None:
    for model, words in (("openai/gpt-4o-mini", "litellm's list"), ("openai/x", "as OpenAI's")):
        at_once = settings.model_copy(update={"llm": LanguageModelSettings(model=model)})
        annotation = settings.annotation.model_copy(update={"batch": True})
        usual = count_pairs_left(at_once).cost_per_pair_usd
        left = count_pairs_left(at_once.model_copy(update={"annotation": annotation}))
        assert usual
        assert left.cost_per_pair_usd == pytest.approx(usual / 2)
        assert "times 0.5 for batches" in left.basis
        assert words in left.basis


def test_batches_of_a_model_that_takes_none_are_not_forecast(settings: Settings) -> None:
    batch = settings.annotation.model_copy(update={"batch": True})
    llm = LanguageModelSettings(model="deepseek/deepseek-chat")
    refused = settings.model_copy(update={"llm": llm, "annotation": batch})
    with pytest.raises(SettingsError, match=r"deepseek-chat is of none of openai.* leave out"):
        count_pairs_left(refused)


def test_every_round_counts(settings: Settings) -> None:
    rounds = AnnotationSettings(configuration="single", rounds=3)
    for key in keys(settings)[:2]:
        judge(settings, key, 0.5)
    found = count_pairs_left(settings.model_copy(update={"annotation": rounds}))
    assert (found.pairs, found.finished, found.pending) == (8, 2, 22)
    assert found.cost_usd == pytest.approx(11.0)


@pytest.mark.parametrize(("judged", "demo_pairs", "left"), [(0, 3, 3), (2, 3, 1), (3, 2, 0)])
def test_the_demo_model_judges_a_few_pairs_of_all(
    settings: Settings, judged: int, demo_pairs: int, left: int
) -> None:
    demo = settings.model_copy(
        update={
            "llm": LanguageModelSettings(),
            "annotation": AnnotationSettings(configuration="single", demo_pairs=demo_pairs),
        }
    )
    for key in keys(demo)[:judged]:
        judge(demo, key, 0.0)
    found = count_pairs_left(demo)
    assert (found.pairs, found.pending, found.to_judge) == (8, 8 - judged, left)


def test_a_forecast_makes_no_store(settings: Settings, tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path / "none")
    found = count_pairs_left(settings.model_copy(update={"store": store}))
    assert (found.queries, found.pairs, found.finished) == (4, 8, 0)
    assert not store.folder.exists()


def test_pairs_are_those_of_the_folder_that_stands_in_for_an_encoder(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_entries", dict(encoders._entries))  # nothing of it stays
    monkeypatch.setattr(EncoderRegistry, "_pinned", {})
    judge(settings, keys(settings)[0], 0.5)
    assert count_pairs_left(settings).finished == 1
    folder = make_checkpoint("minilm", tmp_path / "minilm", 384)
    encoder = settings.encoder.model_copy(update={"checkpoints": {"minilm": folder}})
    assert count_pairs_left(settings.model_copy(update={"encoder": encoder})).finished == 0


@pytest.mark.parametrize("costs", [(0.5,), (0.5, 1.5), (0.1, 0.2, 0.3)])
def test_with_history_the_mean_of_the_stores_costs_is_taken(
    settings: Settings, costs: tuple[float, ...]
) -> None:
    for key, cost in zip(keys(settings), costs, strict=False):
        judge(settings, key, cost)
    left = count_pairs_left(settings)
    assert (left.finished, left.pending) == (len(costs), 8 - len(costs))
    assert left.cost_per_pair_usd == pytest.approx(sum(costs) / len(costs))
    assert left.basis == "mean over the pairs judged so far by this recipe"


@pytest.mark.parametrize(
    ("seconds", "batch", "expected"),
    [(1.0, False, 0.5), (1.0, True, 0.25), (0.0, False, 1.0), (0.0, True, 0.5)],
)
def test_what_was_paid_singly_is_asked_by_batches_for_their_share_and_the_other_way_round(
    settings: Settings, seconds: float, batch: bool, expected: float
) -> None:
    judge(settings, keys(settings)[0], 0.5, seconds=seconds)  # no time: by a batch
    annotation = settings.annotation.model_copy(update={"batch": batch})
    left = count_pairs_left(settings.model_copy(update={"annotation": annotation}))
    assert left.cost_per_pair_usd == pytest.approx(expected)
    assert "judged so far by this recipe" in left.basis
    assert ("times 0.5 for batches" in left.basis) == batch


def test_the_mean_is_over_all_that_was_judged_also_where_the_run_is_limited(
    settings: Settings,
) -> None:
    for key in keys(settings):
        judge(settings, key, 0.25)
    limit = AnnotationSettings(configuration="single", limit=1)
    left = count_pairs_left(settings.model_copy(update={"annotation": limit}))
    assert (left.pairs, left.finished, left.cost_per_pair_usd) == (2, 2, 0.25)


@pytest.mark.parametrize(
    ("cost", "status", "cached"),
    [(None, "labelled", False), (0.5, "failed", False), (0.5, "labelled", True)],
)
def test_a_history_that_says_nothing_of_the_cost_is_not_taken(
    settings: Settings, cost: float | None, status: str, cached: bool
) -> None:
    judge(settings, keys(settings)[0], cost, status, cached)
    assert count_pairs_left(settings).cost_per_pair_usd == PAPER_COST_PER_PAIR_USD
