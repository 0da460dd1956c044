"""Laws of the search for candidates: what is stored, in groups of queries or by an index.

And of the overlap: own exact searches against the stored candidates.
"""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from prefect.logging import disable_run_logger

from infra.collected import Collected
from infra.identity import SearchId
from infra.records import Code, Query, SourceInfo
from infra.settings import SearchSettings
from infra.store import Database, candidates, corpus
from infra.store.vectors import Kind
from tasks.runtime.progress import Progress
from tasks.runtime.references import SearchReference
from tasks.search.exact import search
from tasks.search.scores import in_memory
from tasks.stages.candidates import (
    _columns,
    _search,
    _unsearched_queries,
    find_candidates,
    overlap,
    search_identity,
)
from tasks.stages.vectors import encoder_key
from tests.fakes.stores import add_file, empty_store, load_candidates, store_like
from tests.tasks.search.test_exact import cosines, sorted_by, unit

ENCODERS = ("minilm", "codebert-base")
INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
QUERIES = sorted(Query.of(f"query {number}").query_id for number in range(30))
CODES = sorted(Code.of(f"def f{number}(x):\n    return x").code_id for number in range(90))
SEARCH = SearchSettings(encoders=ENCODERS, top_k=5)
GENERATOR = np.random.default_rng(0)
OF_QUERIES = {name: unit(GENERATOR, 30, size) for name, size in zip(ENCODERS, (6, 4), strict=True)}
OF_CODES = {name: unit(GENERATOR, 90, size) for name, size in zip(ENCODERS, (6, 4), strict=True)}
MEAN = sum(cosines(OF_QUERIES[name], OF_CODES[name]) for name in ENCODERS) / 2
ANGLED = SearchId("s")
FEW_QUERIES = tuple(Query.of(f"query {number}") for number in range(2))
FEW_CODES = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(4))
# Unit vectors by their angle in degrees: of each query, then of each code.
ANGLES = {
    "minilm": ((0, 90), (1, 2, 30, 90)),
    "codebert-base": ((0, 90), (60, 2, 1, 89)),
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return store_like(_fill, tmp_path)


def _fill(database: Database) -> None:
    queries = tuple(Query.of(f"query {number}") for number in range(30))
    codes = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(90))
    content = Collected(info=INFO, queries=queries, codes=codes)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    for name in ENCODERS:
        key = encoder_key(name)
        add_file(database, key, "query", f"{name}/q.arrow", QUERIES, OF_QUERIES[name])
        for start in range(0, 90, 40):  # in another order than the ids', as after new functions
            ids, rows = CODES[start : start + 40], OF_CODES[name][start : start + 40]
            add_file(database, key, "code", f"{name}/{90 - start}.arrow", ids, rows)


def reference(database: Database, settings: SearchSettings) -> SearchReference:
    search_id = search_identity(database, "c", settings)
    candidates.record_search(database, search_id, "c", ENCODERS, settings.top_k)
    return SearchReference(search_id=search_id, collection="c", queries=30, candidates=150)


def test_the_best_codes_of_each_query_are_stored_with_their_scores(database: Database) -> None:
    search = reference(database, SEARCH)
    bar = Progress("codes searched", 90)
    _search(database, search, QUERIES, SEARCH, bar)
    assert bar.done == bar.total
    stored = load_candidates(database, search.search_id, "c")
    assert not _unsearched_queries(database, search)
    expected = dict(zip(QUERIES, sorted_by(np.asarray(MEAN), 5), strict=True))
    for query, best in expected.items():
        mine = [item for item in stored if item.query_id == query]
        assert [item.code_id for item in mine] == [CODES[code] for code in best]
        assert [item.rank for item in mine] == [1, 2, 3, 4, 5]
        row = QUERIES.index(query)
        assert [item.similarity for item in mine] == np.asarray(MEAN)[row, best].tolist()
        each = {name: cosines(OF_QUERIES[name], OF_CODES[name])[row, best] for name in ENCODERS}
        for name in ENCODERS:
            assert [item.by_encoder[name] for item in mine] == each[name].tolist()


def test_an_index_is_measured_on_all_queries_when_one_alone_is_left(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    bar = Progress("codes searched", 2 * 90)
    poor = SEARCH.model_copy(update={"index": "ivf", "ivf_probes": 1})
    search = reference(database, poor)
    _search(database, search, QUERIES, poor, bar)
    found = {query: set[str]() for query in QUERIES}
    for item in load_candidates(database, search.search_id, "c"):
        found[item.query_id].add(item.code_id)
    exact = zip(QUERIES, sorted_by(np.asarray(MEAN), 5), strict=True)
    shares = {
        query: len(found[query] & {CODES[code] for code in best}) / 5 for query, best in exact
    }
    worst = min(QUERIES, key=lambda query: shares[query])
    with database.transaction() as tx:
        tx.execute("DELETE FROM candidates WHERE query_id = ?", [worst])
    with caplog.at_level("INFO"):
        _search(database, search, [worst], poor, bar)
    recall = 100 * sum(shares.values()) / len(shares)
    assert f"finds {recall:.2f} % of the exact top 5 of 30 queries" in caplog.text
    assert not _unsearched_queries(database, search)


def test_a_searchs_identity_holds_what_decides_its_candidates_and_nothing_else(
    database: Database,
) -> None:
    exact = search_identity(database, "c", SEARCH)
    same = {"ivf_probes": 3}
    assert search_identity(database, "c", SEARCH.model_copy(update=same)) == exact
    others: list[dict[str, object]] = [
        {"index": "ivf"}, {"index": "ivf", "ivf_probes": 3}, {"fusion": "scaled"},
        {"top_k": 6},
    ]  # fmt: skip
    ids = [search_identity(database, "c", SEARCH.model_copy(update=some)) for some in others]
    assert len({exact, *ids}) == 5


def test_an_index_and_scaled_fusion_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="index must be 'exact', not 'ivf'"):
        SearchSettings(index="ivf", fusion="scaled")


@pytest.mark.parametrize("index", ["exact", "ivf"])
def test_every_query_gets_candidates(
    database: Database, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    bar = nullcontext(Progress("codes searched", 90))
    monkeypatch.setattr("tasks.stages.candidates.progress", lambda *_: bar)
    settings = SEARCH.model_copy(update={"index": index})
    (collection,) = corpus.collections_of(database, "print")
    with disable_run_logger():
        find_candidates.fn(database, collection, reference(database, settings), settings)
    found = database.count("SELECT count(DISTINCT query_id) FROM candidates")
    assert found == collection.queries == 30


@pytest.fixture
def angled(tmp_path: Path) -> Database:
    """Return a store of two queries and four codes whose vectors have these angles."""
    database = empty_store(tmp_path)
    content = Collected(info=INFO, queries=FEW_QUERIES, codes=FEW_CODES)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    for encoder, (queries, codes) in ANGLES.items():
        store(database, encoder, "query", [query.query_id for query in FEW_QUERIES], queries)
        store(database, encoder, "code", [code.code_id for code in FEW_CODES], codes)
    ids = [query.query_id for query in FEW_QUERIES]
    ours = {encoder: at_angles(queries) for encoder, (queries, _) in ANGLES.items()}
    theirs = {encoder: at_angles(codes) for encoder, (_, codes) in ANGLES.items()}
    hits = search(ours, in_memory(theirs), 2)
    code_ids = pa.array([code.code_id for code in FEW_CODES])
    candidates.record_search(database, ANGLED, "c", list(ANGLES), 2)
    rows = _columns(pa.array(ids), code_ids, list(ANGLES), hits)
    candidates.add_candidate_columns(database, ANGLED, rows)
    return database


def at_angles(angles: tuple[int, ...]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def store(
    database: Database, encoder: str, kind: Kind, ids: list[str], angles: tuple[int, ...]
) -> None:
    file = f"{encoder}-{kind}.arrow"
    add_file(database, encoder_key(encoder), kind, file, ids, at_angles(angles))


def test_the_overlap_is_the_share_of_the_ensembles_candidates_that_one_finds_alone(
    angled: Database,
) -> None:
    ids = [query.query_id for query in FEW_QUERIES]
    together = candidates.candidates_of(angled, ANGLED, ids)
    # Mean cosines of the query at 0 degrees: codes 1 (2, 2) and 2 (30, 1); at 90: 3 and 0 (1, 60)
    # or 2 (30, 1), of which the mean for 0 is (.017 + .866) / 2 and for 2 (.5 + .017) / 2.
    names = {code.code_id: number for number, code in enumerate(FEW_CODES)}
    assert {names[code] for code in together[ids[0]]} == {1, 2}
    assert {names[code] for code in together[ids[1]]} == {0, 3}
    # Alone, minilm finds {0, 1} and {2, 3}: half of each; codebert-base {1, 2} and {0, 3}: all.
    shares = {name: overlap(angled, "c", name, together) for name in ANGLES}
    assert shares == pytest.approx({"minilm": 0.5, "codebert-base": 1.0})
