"""Scores of the lexical methods against plain computations, and bm25's against the library bm25s.

Covers `tasks.retrievers._words` and the methods, but bag-of-words.
"""

import logging
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from math import log, sqrt

import bm25s
import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from infra.records import Code, Query
from infra.text import words
from tasks.benchmarks.runs import NOTHING
from tasks.retrievers import Retriever
from tasks.retrievers._words import Pieces, stored_length
from tasks.retrievers.bm25 import BM25
from tasks.retrievers.bow_sklearn import BowSklearn
from tasks.retrievers.elasticsearch import Elasticsearch
from tasks.retrievers.lucene import Lucene
from tasks.retrievers.tf_idf import TfIdf

TEXTS = [
    "def read_json(path):\n    # Read a JSON file, read it whole\n    return json.load(path)",
    "sort the list: sort, sort and sort the list again " * 9,
    "def f(x): return x",
    "json json file",
    "### !!!",
]
QUESTIONS = ["read a json file", "sort sort the list", "json.load", "nothing known", ""]


def standard_words(text: str) -> list[str]:
    return list(Pieces().words(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("json.load(my_file)", ["json.load", "my_file"]),
        ("Don't panic", ["don't", "panic"]),
        ("x = 3.14e-2 + y1", ["x", "3.14e", "2", "y1"]),
        ("a,b 1,000 a:b a.1 1.a", ["a", "b", "1,000", "a:b", "a", "1", "1", "a"]),
        ("__init__ _ ___", ["__init__"]),
        ("self.x_1.y", ["self.x_1", "y"]),
        ("größe ЯБЛОКО", ["größe", "яблоко"]),
        ("中文", ["中", "文"]),
        ("z" * 300, ["z" * 255, "z" * 45]),
        ("-- ++ \n\t", []),
    ],
)
def test_words_are_those_of_the_standard_analyser(text: str, words: list[str]) -> None:
    assert standard_words(text) == words


def test_lengths_are_kept_as_small_floats() -> None:
    assert [stored_length(n) for n in (0, 23, 24, 39, 40, 41, 42, 56, 57, 60)] == [
        0, 23, 24, 39, 40, 40, 42, 56, 56, 60
    ]  # fmt: skip
    lengths = {stored_length(n) for n in range(100_000)}
    assert lengths == {stored_length(n) for n in lengths}, "a stored length stays"
    assert len({stored_length(n) for n in range(2**20)}) <= 255


def plain_bm25(question: str, text: str) -> float:
    documents = [standard_words(each) for each in TEXTS]
    mean = sum(map(len, documents)) / len(documents)
    said = standard_words(text)
    score = 0.0
    for word in standard_words(question):
        has = sum(word in each for each in documents)
        if has:
            idf = log(1 + (len(TEXTS) - has + 0.5) / (has + 0.5))
            tf = said.count(word)
            score += idf * tf / (tf + 1.2 * (0.25 + 0.75 * stored_length(len(said)) / mean))
    return score


def plain_bow(question: str, text: str) -> float:
    vocabulary = set(CountVectorizer(max_features=2000).fit(TEXTS).vocabulary_)
    analyse = CountVectorizer().build_analyzer()
    asked, said = (
        Counter(word for word in analyse(each) if word in vocabulary) for each in (question, text)
    )
    length = sqrt(sum(n * n for n in asked.values()) * sum(n * n for n in said.values()))
    return sum(asked[word] * said[word] for word in asked) / length if length else 0.0


def plain_tf_idf(question: str, text: str) -> float:
    documents = [set(words(each)) for each in TEXTS]

    def weigh(some: str) -> dict[str, float]:
        weights = {
            word: (1 + log(number)) * log(len(TEXTS) / sum(word in each for each in documents))
            for word, number in Counter(words(some)).items()
            if any(word in each for each in documents)
        }
        length = sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {word: weight / length for word, weight in weights.items()}

    asked, said = weigh(question), weigh(text)
    return sum(asked.get(word, 0.0) * weight for word, weight in said.items())


@pytest.mark.parametrize(
    ("method", "plain"),
    [(Lucene, plain_bm25), (BowSklearn, plain_bow), (TfIdf, plain_tf_idf)],
)
def test_scores_are_those_of_a_plain_computation(
    method: type[Retriever], plain: Callable[[str, str], float]
) -> None:
    codes = [Code.of(text) for text in TEXTS]
    for question in filter(None, QUESTIONS):
        rankings = method().rank([Query.of(question)], codes, len(codes))
        found = {code: score for _, code, score in rankings.rows()}
        for code, text in zip(codes, TEXTS, strict=True):
            expected = plain(question, text)
            if expected or plain is plain_bow:  # the others return no other documents
                assert found.pop(code.code_id) == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert not found


NAMES = ["readJson", "", "sort_list.f", "Json.json", ""]


def plain_field(question: list[str], documents: list[list[str]], which: int) -> float:
    """Return Lucene's BM25 of one document in a field; documents without words do not count."""
    holding = [each for each in documents if each]
    mean = sum(map(len, holding)) / len(holding)
    score = 0.0
    for word in question:
        has = sum(word in each for each in holding)
        idf = log(1 + (len(holding) - has + 0.5) / (has + 0.5))
        tf, size = documents[which].count(word), stored_length(len(documents[which]))
        score += idf * tf / (tf + 1.2 * (0.25 + 0.75 * size / mean)) if tf else 0
    return score


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_elasticsearch_has_the_score_of_the_better_of_name_and_text(depth: int) -> None:
    codes = [Code.of(text, name=name) for text, name in zip(TEXTS, NAMES, strict=True)]
    names = [standard_words(" ".join(words(name))) for name in NAMES]
    texts = [standard_words(text) for text in TEXTS]
    for question in [*filter(None, QUESTIONS), "list", "readJson"]:
        asked = standard_words(question)
        scores = {
            code.code_id: max(plain_field(asked, names, row), plain_field(asked, texts, row))
            for row, code in enumerate(codes)
        }
        expected = sorted(
            ((-score, code) for code, score in scores.items() if score), key=lambda it: it
        )[:depth]
        rankings = Elasticsearch().rank([Query.of(question)], codes, depth)
        found = [(code, score) for _, code, score in rankings.rows()]
        assert [code for code, _ in found] == [code for _, code in expected]
        assert [score for _, score in found] == pytest.approx([-score for score, _ in expected])
    assert not list(Elasticsearch().rank([Query.of("nothing")], codes, depth).rows())


def test_only_the_most_frequent_words_of_the_codes_count() -> None:
    rare = [f"word{n:05} word{n:05}" for n in range(2000)]
    codes = [Code.of(text) for text in [*rare, "single thing"]]
    rankings = BowSklearn().rank([Query.of("single thing")], codes, 1)
    assert rankings.scores.max() == 0


def test_the_words_that_count_are_those_that_scikit_learn_keeps() -> None:
    texts = [f"word{n:05} " * (1 + n % 2) for n in range(4000)]
    assert kept_words(texts) == set(CountVectorizer(max_features=2000).fit(texts).vocabulary_)


def test_of_equally_frequent_words_the_alphabetically_first_count() -> None:
    texts = [f"word{n:05} shared{n % 7}" for n in reversed(range(2600))]
    shared = {f"shared{n}" for n in range(7)}
    assert kept_words(texts) == shared | {f"word{n:05}" for n in range(2000 - len(shared))}


def kept_words(texts: list[str]) -> set[str]:
    """Return the words of the texts that BowSklearn counts."""
    words = sorted(CountVectorizer().fit(texts).vocabulary_)
    codes = [Code.of(text) for text in texts]
    rankings = BowSklearn().rank([Query.of(word) for word in words], codes, 1)
    counted = {str(query) for query, _, score in rankings.rows() if score > 0}
    return {word for word in words if Query.of(word).query_id in counted}


@pytest.mark.parametrize(("method", "ranked"), [(Lucene, 0), (BowSklearn, 3)])
def test_codes_without_a_word_tie(method: type[Lucene], ranked: int) -> None:
    codes = [Code.of(text) for text in ("###", "+++", "---")]
    rankings = method().rank([Query.of("sort a list")], codes, 3)
    assert rankings.scores.ravel().tolist() == [0, 0, 0]
    assert len(list(rankings.rows())) == ranked


def test_a_word_that_all_codes_have_ranks_none_of_them() -> None:
    codes = [Code.of(f"def {text}") for text in ("read json file", "sortList(items)", "read_items")]
    rows = TfIdf().rank([Query.of("def sort"), Query.of("def")], codes, 4).rows()
    assert [code for _, code, _ in rows] == [codes[1].code_id]


DRAWN = random.Random(5)
WORDS = [*"abcdefghij", "readFile", "READ", "Größe_2", "größe"]
MANY = [" ".join(DRAWN.choices(WORDS, k=DRAWN.randint(1, 90))) for _ in range(300)]
ASKED = ["a a b a", "read the größe", "j readfile file 2 i", "nothing known", "2"]


def test_scores_and_ranks_are_those_of_bm25s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.retrievers._words._TEXTS_AT_ONCE", 70)
    codes = sorted((Code.of(text) for text in {*MANY}), key=lambda code: code.code_id)
    found = BM25().rank([Query.of(text) for text in ASKED], codes, 40)
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index.index([words(code.text) for code in codes], show_progress=False)
    for row, text in enumerate(ASKED):
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
    codes = [Code.of(text) for text in MANY[:7]]
    queries = [Query.of(text) for text in ASKED]
    found = list(BM25().rank(queries, Columns(codes), 5).rows())
    assert found == list(BM25().rank(queries, codes, 5).rows())
