"""BM25's scores against the library bm25s, to the last bit."""

import logging
import os
import random
import time
from collections.abc import Iterator

import bm25s
import numpy as np
import pyarrow as pa
import pytest

from infra.records import Code, Query
from infra.text import words
from tasks.benchmarks.runs import NOTHING
from tasks.retrievers.bm25 import BM25

DRAWN = random.Random(5)
WORDS = [*"abcdefghij", "readFile", "READ", "Größe_2", "größe"]
TEXTS = [" ".join(DRAWN.choices(WORDS, k=DRAWN.randint(1, 90))) for _ in range(300)]
QUESTIONS = ["a a b a", "read the größe", "j readfile file 2 i", "nothing known", "2"]


def test_scores_and_ranks_are_those_of_bm25s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.retrievers._words._TEXTS_AT_ONCE", 70)
    codes = sorted((Code.of(text) for text in {*TEXTS}), key=lambda code: code.code_id)
    found = BM25().rank([Query.of(text) for text in QUESTIONS], codes, 40)
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index.index([words(code.text) for code in codes], show_progress=False)
    for row, text in enumerate(QUESTIONS):
        known = [word for word in words(text) if word in index.vocab_dict]
        scores = index.get_scores(known) if known else np.zeros(len(codes), np.float32)
        order = np.argsort(-scores, kind="stable")[:40]
        ranked = np.where(scores[order] > 0, order, NOTHING)
        assert found.codes[row].tolist() == ranked.tolist(), text
        assert found.scores[row].tolist() == scores[order].tolist(), text


def test_a_system_that_does_not_tell_a_processes_cores_ranks_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS
    found = BM25().rank([Query.of("a")], [Code.of("a b")], 1)
    assert found.codes.tolist() == [[0]]


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_error_ends_the_ranking_before_the_other_queries(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    asked: list[int] = []

    def fail(*_: object) -> None:
        asked.append(1)
        time.sleep(0.01)
        raise error

    monkeypatch.setattr("tasks.retrievers._words.best", fail)
    with pytest.raises(error):
        BM25().rank([Query.of(f"a {n}") for n in range(500)], [Code.of("a b")], 1)
    assert len(asked) < 250


class Columns(list[Code]):
    """Codes of which nothing is to be read but two columns."""

    def ordered(self) -> "Columns":
        return Columns(sorted(list.__iter__(self), key=lambda code: code.code_id))

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array([[getattr(code, name)] for code in list.__iter__(self)])

    def __iter__(self) -> Iterator[Code]:
        raise AssertionError("a record is made")


def test_codes_in_columns_are_read_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.retrievers._words._TEXTS_AT_ONCE", 2)
    codes = [Code.of(text) for text in TEXTS[:7]]
    queries = [Query.of(text) for text in QUESTIONS]
    found = list(BM25().rank(queries, Columns(codes), 5).rows())
    assert found == list(BM25().rank(queries, codes, 5).rows())
