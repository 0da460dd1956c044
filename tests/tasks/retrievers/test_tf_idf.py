"""TF-IDF's scores against the formula, word by word."""

from collections import Counter
from math import log, sqrt

import pytest

from infra.records import Code, Query
from infra.text import words
from tasks.retrievers.tf_idf import TfIdf

TEXTS = ["read json file", "read file file file", "sortList(items)", "read_items"]


def weights(text: str) -> dict[str, float]:
    documents = [set(words(each)) for each in TEXTS]
    weighed = {
        word: (1 + log(number)) * log(len(TEXTS) / sum(word in each for each in documents))
        for word, number in Counter(words(text)).items()
        if any(word in each for each in documents)
    }
    length = sqrt(sum(weight**2 for weight in weighed.values())) or 1.0
    return {word: weight / length for word, weight in weighed.items()}


@pytest.mark.parametrize("asked", ["read the file", "items items sort", "json", "unknown"])
def test_scores_are_those_of_the_formula(asked: str) -> None:
    codes = [Code.of(text) for text in TEXTS]
    found = {code: score for _, code, score in TfIdf().rank([Query.of(asked)], codes, 4).rows()}
    query = weights(asked)
    for code in codes:
        expected = sum(query.get(word, 0.0) * w for word, w in weights(code.text).items())
        assert found.get(code.code_id, 0.0) == pytest.approx(expected)
        assert (code.code_id in found) == (expected > 0)


def test_a_word_that_all_codes_have_ranks_none_of_them() -> None:
    codes = [Code.of(f"def {text}") for text in TEXTS]
    rows = TfIdf().rank([Query.of("def sort"), Query.of("def")], codes, 4).rows()
    assert [code for _, code, _ in rows] == [codes[2].code_id]
