"""Laws of the overlap of encoders: own exact searches against the stored candidates."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infra.collected import Collected
from infra.identity import SearchId
from infra.records import Code, Query, SourceInfo
from infra.store import Database, candidates, corpus
from infra.store.vectors import Kind
from tasks.search.exact import search
from tasks.search.scores import in_memory
from tasks.stages.candidates import _columns
from tasks.stages.study.overlap import overlap
from tasks.stages.vectors import encoder_key
from tests.fakes.stores import add_file, empty_store

SEARCH = SearchId("s")
INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
QUERIES = tuple(Query.of(f"query {number}") for number in range(2))
CODES = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(4))

# Unit vectors by their angle in degrees: of each query, then of each code.
ANGLES = {
    "minilm": ((0, 90), (1, 2, 30, 90)),
    "codebert-base": ((0, 90), (60, 2, 1, 89)),
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = empty_store(tmp_path)
    content = Collected(info=INFO, queries=QUERIES, codes=CODES)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    for encoder, (queries, codes) in ANGLES.items():
        store(database, encoder, "query", [query.query_id for query in QUERIES], queries)
        store(database, encoder, "code", [code.code_id for code in CODES], codes)
    ids = [query.query_id for query in QUERIES]
    ours = {encoder: unit(queries) for encoder, (queries, _) in ANGLES.items()}
    theirs = {encoder: unit(codes) for encoder, (_, codes) in ANGLES.items()}
    hits = search(ours, in_memory(theirs), 2)
    code_ids = pa.array([code.code_id for code in CODES])
    candidates.record_search(database, SEARCH, "c", list(ANGLES), 2)
    rows = _columns(pa.array(ids), code_ids, list(ANGLES), hits)
    candidates.add_candidate_columns(database, SEARCH, rows)
    return database


def unit(angles: tuple[int, ...]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def store(
    database: Database, encoder: str, kind: Kind, ids: list[str], angles: tuple[int, ...]
) -> None:
    file = f"{encoder}-{kind}.arrow"
    add_file(database, encoder_key(encoder), kind, file, ids, unit(angles))


def test_the_overlap_is_the_share_of_the_ensembles_candidates_that_one_finds_alone(
    database: Database,
) -> None:
    ids = [query.query_id for query in QUERIES]
    together = candidates.candidates_of(database, SEARCH, ids)
    # Mean cosines of the query at 0 degrees: codes 1 (2, 2) and 2 (30, 1); at 90: 3 and 0 (1, 60)
    # or 2 (30, 1), of which the mean for 0 is (.017 + .866) / 2 and for 2 (.5 + .017) / 2.
    names = {code.code_id: number for number, code in enumerate(CODES)}
    assert {names[code] for code in together[ids[0]]} == {1, 2}
    assert {names[code] for code in together[ids[1]]} == {0, 3}
    # Alone, minilm finds {0, 1} and {2, 3}: half of each; codebert-base {1, 2} and {0, 3}: all.
    shares = {name: overlap(database, "c", name, together) for name in ANGLES}
    assert shares == pytest.approx({"minilm": 0.5, "codebert-base": 1.0})
