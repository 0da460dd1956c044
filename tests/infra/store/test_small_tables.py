"""Laws of the small tables of the store, of ids and of texts.

Covers `estimations`, `ids`, `infra.ids`, `plans`, `stage_state`, `texts`.
"""

import importlib
import inspect
import os
import pkgutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from infra import store
from infra.errors import SettingsError, StoreError
from infra.ids import BenchmarkId, CodeId, QueryId, RecipeId, SearchId
from infra.records import Code, Query, Record
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.benchmarks import (
    Published,
    StoredEstimation,
    load_as,
    only_benchmark,
    record_benchmark,
    save,
)
from infra.store.corpus import insert_texts
from infra.store.runs import (
    JudgingState,
    StageState,
    last_plan,
    load_plan,
    read_state,
    record_plan,
    write_state,
    writer_lease,
)
from tests.fakes.modules import with_others

FIRST = StoredEstimation(
    estimation_id="e1", kind="estimate", train="docs", test="web", method="minilm",
    method_key="k", body={"MRR": 0.5, "größe": [1, None]},
)  # fmt: skip


class Means(Record):
    mean: float
    note: str = ""


def test_the_only_export_that_is_there_is_meant_where_none_is_named(tmp_path: Path) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    with pytest.raises(StoreError, match="there is no store at"):
        only_benchmark(settings)
    database = open_database(settings)
    for name in "abc":
        place = {"collection": "c", "label_origin": "o", "folder": str(tmp_path / name)}
        export = Published(benchmark_id=BenchmarkId(name), name=name, **place)
        record_benchmark(database, export)
    with pytest.raises(SettingsError, match=r"--benchmark FOLDER says which .*store has none"):
        only_benchmark(settings)
    (tmp_path / "b").mkdir()
    assert only_benchmark(settings) == tmp_path / "b"
    (tmp_path / "c").mkdir()
    with pytest.raises(SettingsError, match=r"has .*/b, .*/c"):
        only_benchmark(settings)


def test_figures_come_back_as_they_went_in_and_newer_ones_replace_them(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    assert load_as(database, "e1", Means) is None
    save(database, FIRST)
    assert load_as(database, "e1", Means) is None, "they have another form"
    for mean in (0.25, 0.5):
        save(database, FIRST.model_copy(update={"body": {"mean": mean, "note": "größe"}}))
        assert load_as(database, "e1", Means) == Means(mean=mean, note="größe")


KINDS = {
    "query_id": QueryId, "code_id": CodeId, "search_id": SearchId, "recipe_id": RecipeId,
    "benchmark_id": BenchmarkId,
}  # fmt: skip


def functions() -> Iterator[Any]:
    for info in pkgutil.iter_modules(store.__path__, f"{store.__name__}."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if inspect.isfunction(value) and value.__module__ == info.name:
                yield value


def test_an_id_is_no_plain_string() -> None:
    for function in tuple(functions()):
        for name, hint in get_type_hints(function).items():
            if name in KINDS:
                assert hint is KINDS[name], name
            if name.removesuffix("s") in KINDS and name.endswith("s"):
                assert hint == Sequence[KINDS[name.removesuffix("s")]], name  # type: ignore[misc]


def test_plans_come_back_newest_first(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    first = record_plan(database, "c", RecipeId("r"), {"pairs": 3})
    second = record_plan(database, "c", RecipeId("r"), {"pairs": 4})
    assert load_plan(database, first) == {"pairs": 3, "plan_id": first}
    found = last_plan(database)
    assert found
    assert (found.plan_id, found.body) == (second, load_plan(database, second))


START = datetime(2026, 1, 1, tzinfo=UTC)
STATE = StageState(
    stage="annotation",
    what="pairs judged",
    done=30,
    total=90,
    started_at=START,
    updated_at=START + timedelta(minutes=2),
    judging=JudgingState(collection="c", model="m", labels={1: 3}, budget_usd=2.5),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    assert read_state(store) is None
    write_state(store, STATE)
    assert read_state(store) == STATE
    assert [path.name for path in tmp_path.iterdir()] == ["stage.json"]


@pytest.mark.parametrize("content", ["", "{", '{"stage": 3}', '{"of": "a later release"}'])
def test_what_cannot_be_read_is_no_state(tmp_path: Path, content: str) -> None:
    (tmp_path / "stage.json").write_text(content)
    assert read_state(StoreSettings(folder=tmp_path)) is None


def test_a_folder_that_takes_no_state_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_state(StoreSettings(folder=tmp_path / "file"), STATE)


def test_the_state_is_that_of_the_process_that_holds_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreSettings(folder=tmp_path)
    other = STATE.model_copy(update={"stage": "evaluation"})
    with writer_lease(store, "annotate"):
        write_state(store, STATE)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("infra.store.runs.os", with_others(os, getpid=lambda: 0))
            write_state(store, other)
        assert read_state(store) == STATE
    write_state(store, other)
    assert read_state(store) == other, "nobody holds it any more"


QUERY, CODE = Query.of("reverse a list"), Code.of("x = 1")


@pytest.mark.parametrize(
    ("queries", "codes"),
    [
        ([QUERY.model_copy(update={"text": "sort a list"})], []),
        ([], [CODE.model_copy(update={"text": "x = 2"})]),
        ([QUERY], [CODE, CODE.model_copy(update={"text": "x = 2"})]),
    ],
)
def test_an_id_with_another_text_is_refused_and_nothing_stored(
    tmp_path: Path, queries: list[Query], codes: list[Code]
) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    with database.transaction() as tx:
        insert_texts(tx, [QUERY], [CODE])
    new = Code.of("y = 3")
    with pytest.raises(StoreError, match="two texts have the id"), database.transaction() as tx:
        insert_texts(tx, queries, [new, *codes])
    with database.transaction() as tx:
        insert_texts(tx, [QUERY], [CODE])
        assert tx.rows("SELECT text FROM queries UNION ALL SELECT text FROM codes") == [
            (QUERY.text,),
            (CODE.text,),
        ]
