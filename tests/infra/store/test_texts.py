"""Laws of texts by their ids: two texts with one id are never taken for one another."""

from pathlib import Path

import pytest

from infra.errors import StoreError
from infra.records import Code, Query
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.corpus import insert_texts

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
