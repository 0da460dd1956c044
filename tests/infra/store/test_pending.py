"""Laws of reading pending pairs: in order, each once, with texts, whatever happens meanwhile."""

from pathlib import Path

import pytest

from infra.collected import Collected
from infra.ids import CodeId, PairKey, RecipeId, SearchId
from infra.records import Annotation, Candidate, Code, Query, SourceInfo
from infra.settings import StoreSettings
from infra.store import Database, annotations, candidates, corpus, open_database
from infra.store import pending as pending_store
from infra.store.pending import Selection, count_pairs, pending_pairs

SEARCH, RECIPE = SearchId("s"), RecipeId("r")
QUERIES = tuple(Query.of(f"query {number}", f"file:{number}") for number in range(4))
CODES = tuple(
    Code.of(f"def f(x):\n    return x + {number}", name="f", module="m", parameters=("x",))
    for number in range(3)
)
MISSING = CodeId("code that no collection holds")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = open_database(StoreSettings(folder=tmp_path))
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    content = Collected(info=info, queries=QUERIES, codes=CODES)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    return database


def search(
    database: Database, search_id: SearchId = SEARCH, ranks: tuple[int, ...] = (2, 1, 3)
) -> None:
    rows = [
        Candidate(
            query_id=query.query_id, code_id=code.code_id, rank=rank, similarity=1, by_encoder={}
        )
        for query in QUERIES
        for code, rank in zip(CODES, ranks, strict=True)
    ]
    candidates.add_candidates(database, search_id, rows)


def annotate(database: Database, key: PairKey, status: str, recipe: str = RECIPE) -> None:
    row = {
        "query_id": key.query_id, "code_id": key.code_id, "recipe_id": recipe, "status": status,
        "label": 1 if status == "labelled" else None, "path": "read_alone",
    }  # fmt: skip
    annotations.add_annotations(database, [Annotation.model_validate(row)])


def selection(limit: int | None = None) -> Selection:
    return Selection(search_id=SEARCH, collection="c", recipe_id=RECIPE, limit=limit)


def read(database: Database, limit: int | None = None, at_once: int = 2) -> list[PairKey]:
    return [pair.key for pair in pending_pairs(database, selection(limit), at_once)]


@pytest.fixture(params=[1, 2, 5, 100])
def keys_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Pairs whose keys are found in one search of the store."""
    monkeypatch.setattr(pending_store, "_KEYS_AT_ONCE", request.param)
    return int(request.param)


IN_ORDER = [
    PairKey(query.query_id, CODES[place].code_id) for query in QUERIES for place in (1, 0, 2)
]


@pytest.mark.usefixtures("keys_at_once")
@pytest.mark.parametrize("ranks", [(2, 1, 3), (1, 1, 1)])
def test_pairs_come_in_the_order_of_queries_and_ranks_each_once(
    database: Database, ranks: tuple[int, ...]
) -> None:
    search(database, ranks=ranks)
    keys = read(database)
    assert sorted(keys) == sorted(IN_ORDER), "equal ranks lose no pair"
    assert keys == IN_ORDER or len(set(ranks)) == 1


def test_a_pair_comes_with_all_that_the_collection_says_of_its_code(database: Database) -> None:
    search(database)
    pair = next(pending_pairs(database, selection()))
    assert pair.code == CODES[1]
    assert pair.query.text == QUERIES[0].text


def test_limit_means_the_first_queries(database: Database) -> None:
    search(database)
    assert read(database, limit=2) == IN_ORDER[:6]
    counts = count_pairs(database, selection(limit=2))
    assert (counts.candidates, counts.pending, counts.without_code) == (6, 6, 0)


def test_finished_pairs_are_not_pending_and_failed_ones_are(database: Database) -> None:
    search(database)
    search(database, SearchId("another search"))
    annotate(database, IN_ORDER[0], "labelled")
    annotate(database, IN_ORDER[1], "undecided")
    annotate(database, IN_ORDER[2], "failed")
    annotate(database, IN_ORDER[3], "labelled", recipe="another recipe")
    assert read(database) == IN_ORDER[2:]
    assert count_pairs(database, selection()).pending == 10


@pytest.mark.usefixtures("keys_at_once")
@pytest.mark.parametrize("status", ["labelled", "failed"])
def test_what_is_judged_while_reading_goes_on_is_not_read_again(
    database: Database, status: str
) -> None:
    search(database)
    reading = pending_pairs(database, selection(), at_once=2)
    keys = [next(reading).key for _ in range(5)]
    for key in keys:
        annotate(database, key, status)
    assert keys + [pair.key for pair in reading] == IN_ORDER


def test_a_candidate_without_its_code_is_counted_apart_and_not_read(database: Database) -> None:
    search(database)
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO candidates BY NAME SELECT * REPLACE (? AS code_id) FROM candidates "
            "WHERE query_id = ? AND rank = 1",
            [MISSING, QUERIES[0].query_id],
        )
    counts = count_pairs(database, selection())
    assert (counts.candidates, counts.pending, counts.without_code) == (13, 12, 1)
    assert read(database) == IN_ORDER
