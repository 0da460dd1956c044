"""The lexical baselines as published, against plain computations.

Covers `tasks.retrievers.lucene`, `tasks.retrievers._words`, `tasks.retrievers.elasticsearch` and
`tasks.retrievers.bow_sklearn`.
"""

from collections import Counter
from math import log, sqrt

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from infra.records import Code, Query
from infra.words import words
from tasks.retrievers._words import Pieces, stored_length
from tasks.retrievers.bow_sklearn import BowSklearn
from tasks.retrievers.elasticsearch import Elasticsearch
from tasks.retrievers.lucene import Lucene

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
    words = standard_words(text)
    score = 0.0
    for word in standard_words(question):
        has = sum(word in each for each in documents)
        if has:
            idf = log(1 + (len(TEXTS) - has + 0.5) / (has + 0.5))
            tf = words.count(word)
            score += idf * tf / (tf + 1.2 * (0.25 + 0.75 * stored_length(len(words)) / mean))
    return score


def plain_bow(question: str, text: str) -> float:
    vocabulary = set(CountVectorizer(max_features=2000).fit(TEXTS).vocabulary_)
    analyse = CountVectorizer().build_analyzer()
    asked, said = (
        Counter(word for word in analyse(each) if word in vocabulary) for each in (question, text)
    )
    length = sqrt(sum(n * n for n in asked.values()) * sum(n * n for n in said.values()))
    return sum(asked[word] * said[word] for word in asked) / length if length else 0.0


@pytest.mark.parametrize(("method", "plain"), [(Lucene, plain_bm25), (BowSklearn, plain_bow)])
def test_scores_are_those_of_a_plain_computation(method: type[Lucene], plain: object) -> None:
    codes = [Code.of(text) for text in TEXTS]
    assert callable(plain)
    for question in filter(None, QUESTIONS):
        rankings = method().rank([Query.of(question)], codes, len(codes))
        found = {code: score for _, code, score in rankings.rows()}
        for code, text in zip(codes, TEXTS, strict=True):
            expected = plain(question, text)
            if expected or plain is plain_bow:  # Lucene returns no other documents
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
