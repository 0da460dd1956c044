"""Laws of the table of estimates."""

from pathlib import Path

from infra.records import Record
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.benchmarks import StoredEstimation, load, load_as, save

FIRST = StoredEstimation(
    estimation_id="e1", kind="estimate", train="docs", test="web", method="minilm",
    method_key="k", body={"MRR": 0.5, "größe": [1, None]},
)  # fmt: skip


def test_figures_come_back_as_they_went_in_and_newer_ones_replace_them(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    assert load(database, "e1") is None
    save(database, FIRST)
    assert load(database, "e1") == FIRST
    newer = FIRST.model_copy(update={"body": {"MRR": 0.25}})
    save(database, newer)
    assert load(database, "e1") == newer


def test_figures_are_a_record_unless_they_are_missing_or_in_another_form(tmp_path: Path) -> None:
    class Means(Record):
        mean: float

    database = open_database(StoreSettings(folder=tmp_path))
    assert load_as(database, "e1", Means) is None
    save(database, FIRST)
    assert load_as(database, "e1", Means) is None
    save(database, FIRST.model_copy(update={"body": {"mean": 0.25}}))
    assert load_as(database, "e1", Means) == Means(mean=0.25)
