"""Laws of the small tables of the store, of recipes and their uses, of ids and of texts.

And of rows on their way into a table, and of the memory that many of them take. Covers
`infra.identity`, `annotations` and, for temporary tables, `database`.
"""

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pytest

from infra import store
from infra.collected import Item, Streamed
from infra.errors import SettingsError, SourceError, StoreError
from infra.identity import BenchmarkId, CodeId, QueryId, RecipeId, SearchId
from infra.records import Code, Query, SourceInfo
from infra.settings import StoreSettings
from infra.store import Database, annotations, candidates, corpus, open_database
from infra.store.benchmarks import Published, only_benchmark, record_benchmark
from infra.store.corpus import insert_texts
from infra.store.database import TempTable
from tests.fakes.stores import empty_store


def test_the_only_export_that_is_there_is_meant_where_none_is_named(tmp_path: Path) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    with pytest.raises(StoreError, match="there is no store at"):
        only_benchmark(settings)
    database = open_database(settings)
    for name in "abc":
        place = {"collection": "c", "label_origin": "o", "folder": str(tmp_path / name)}
        export = Published(benchmark_id=BenchmarkId(name), name=name, **place)
        record_benchmark(database, export)
    none = r"--benchmark FOLDER says which .*store has none, since nothing .*: run `cosqa collect`"
    with pytest.raises(SettingsError, match=none):
        only_benchmark(settings)
    (tmp_path / "b").mkdir()
    assert only_benchmark(settings) == tmp_path / "b"
    (tmp_path / "c").mkdir()
    with pytest.raises(SettingsError, match=r"has .*/b, .*/c"):
        only_benchmark(settings)


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
    database = empty_store(tmp_path)
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


SEARCH, OTHER = SearchId("s"), SearchId("t")
BODY: dict[str, object] = {"model": {"model": "m"}, "gates": None, "limits": {"a": 1.5}}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "store")


def use(database: Database, *names: str, on: str | None = "c") -> None:
    bodies = {
        RecipeId(name): {**BODY, **({"round": number} if number > 1 else {})}
        for number, name in enumerate(names, 1)
    }
    annotations.record_recipes(database, bodies, used_on=on)


def used(database: Database, collection: str = "c") -> list[tuple[str, ...]]:
    return [item.rounds for item in annotations.used_recipes(database, collection)]


def test_recipes_are_used_on_a_collection_the_last_first_each_once(database: Database) -> None:
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    candidates.record_search(database, OTHER, "d", ["minilm"], 5)
    for name in ("first", "second", "first"):
        use(database, name)
    use(database, "elsewhere", on="d")
    use(database, "compared", on=None)
    assert used(database) == [("first",), ("second",)]
    assert used(database, "d") == [("elsewhere",)]


def test_rounds_that_were_in_use_together_stay_together(database: Database) -> None:
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    use(database, "one", "two", "three")
    use(database, "one")
    assert used(database) == [("one",), ("one", "two", "three")]
    _, several = annotations.used_recipes(database, "c")
    assert several.recipe_id == "one"


def test_the_last_use_is_the_last_though_the_clock_was_set_back(database: Database) -> None:
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    use(database, "before")
    with database.transaction() as tx:
        tx.execute("UPDATE recipe_uses SET used_at = used_at + INTERVAL 1 year")
    for name in ("after", "before", "after"):
        use(database, name)
        assert used(database)[0] == (name,)
    assert len(used(database)) == 2


def test_a_search_is_as_old_as_its_last_use(database: Database) -> None:
    def is_new() -> object:
        [new] = database.column("SELECT created_at > TIMESTAMPTZ '2001-01-01' FROM searches")
        return new

    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    with database.transaction() as tx:
        tx.execute("UPDATE searches SET created_at = TIMESTAMPTZ '2000-01-01'")
    assert not is_new()
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    assert is_new()


INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
_READ = """
import json, sys
from pathlib import Path
from infra.settings import SourceSettings, StoreSettings
from infra.store import corpus, open_database
from tasks.sources import open_source

folder = Path(sys.argv[1])
database = open_database(StoreSettings(folder=folder / "store"))
source = open_source(SourceSettings.model_validate(json.loads(sys.argv[2])))
print_ = source.fingerprint()
corpus.replace_collections(database, print_, source.read(), sys.argv[3])
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
print(json.dumps([corpus.collections_of(database, print_)[0].codes, peak / 1024]))
"""


def read_apart(folder: Path, name: str, **options: object) -> tuple[int, float]:
    """Read a source into a new store in a process of its own; return codes and peak MB."""
    settings = json.dumps({"name": name, **options})
    words = [sys.executable, "-c", _READ, str(folder), settings, name]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes, peak = json.loads(done.stdout)
    return codes, peak


def lines(folder: Path, number: int) -> Path:
    (folder / "queries.jsonl").write_text('{"query": "find it"}\n')
    with (folder / "codes.jsonl").open("w") as file:
        for n in range(number):
            body = f"    # Each of the items is taken as it is, and {n} is added to it.\n" * 5
            code = f"def function_{n}(items):\n{body}    return [item + {n} for item in items]\n"
            file.write(json.dumps({"code": code, "id": f"c{n}"}) + "\n")
    return folder


def test_rows_come_back_in_their_order_and_leave_no_file(tmp_path: Path) -> None:
    rows = [{"number": n, "words": ["a"] * (n % 3)} for n in range(5_000)]
    with TempTable({"number": pa.int32(), "words": pa.list_(pa.string())}, tmp_path) as spool:
        for row in rows:
            spool.add(row)
        assert spool.rows == len(rows)
        assert list(tmp_path.iterdir()) == []
        assert spool.read().read_all().to_pylist() == rows
        assert spool.read().read_all().to_pylist() == rows


def broken() -> Iterator[Item]:
    yield Query.of("find it")
    yield from (Code.of(f"x = {n}") for n in range(3_000))
    raise SourceError("codes.jsonl:3001: broken")


def test_a_source_that_breaks_off_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    before = sorted(path.name for path in (tmp_path / "store").iterdir())
    with pytest.raises(SourceError, match=r"codes\.jsonl:3001"):
        corpus.replace_collections(database, "p", {"c": Streamed(INFO, broken(), {})}, "c")
    assert corpus.collections_of(database, "p") == []
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == before
    with database.transaction() as tx:
        assert tx.count("SELECT count(*) FROM codes") == 0


def test_progress_counts_every_item(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    items: list[Item] = [Query.of("find it"), *(Code.of(f"x = {n}") for n in range(5_000))]
    told: list[int] = []
    content = {"c": Streamed(INFO, items, {})}
    corpus.replace_collections(database, "p", content, "c", told.append)
    assert sum(told) == len(items)
    assert len(told) > 1


@pytest.mark.nightly
@pytest.mark.slow(50)
def test_200_000_lines_are_stored_in_under_400_mb(tmp_path: Path) -> None:
    codes, peak = read_apart(tmp_path, "jsonl", path=str(lines(tmp_path, 200_000)))
    print(f"{codes:,} functions, peak {peak:,.0f} MB")
    assert codes == 200_000
    assert peak < 400


def test_memory_hardly_grows_with_the_input(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    few, least = read_apart(tmp_path / "small", "jsonl", path=str(lines(tmp_path / "small", 200)))
    many, peak = read_apart(tmp_path / "large", "jsonl", path=str(lines(tmp_path / "large", 4_000)))
    assert (few, many) == (200, 4_000)
    assert peak - least < 60
