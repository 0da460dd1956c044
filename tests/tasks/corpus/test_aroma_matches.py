"""Laws of matches in a corpus, beside the similarity of each two codes."""

from itertools import product

import pytest

from tasks.corpus import aroma
from tasks.corpus.aroma import features_of, have_matches, similarity

ANSWERS = [
    "String line = reader.readLine(); while (line != null) { line = reader.readLine(); }",
    "view.setText(name);",
    "int[] xs = new int[3]; for (int x : xs) { sum += x; sum += x; }",
    "}{ no java",
    "",
]
METHODS = [
    "void read(Reader in) { String l = in.readLine(); while (l != null) { l = in.readLine(); } }",
    "void show(View view) { view.setText(title); }",
    "int add(int[] xs) { int sum = 0; for (int x : xs) { sum += x; } return sum; }",
    "boolean isEmpty() { return size == 0; }",
]


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.25, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("block", [1, 3, 256])
def test_a_match_is_a_method_whose_similarity_is_above_the_threshold(
    threshold: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aroma, "_BLOCK", block)
    found: dict[str, bool] = dict.fromkeys(ANSWERS, False)
    for answer, method in product(ANSWERS, METHODS):
        found[answer] |= similarity(features_of(answer), features_of(method)) > threshold
    assert have_matches(ANSWERS, METHODS, threshold) == list(found.values())
    assert 0 < sum(found.values()) < len(ANSWERS) or threshold in (0.0, 0.9)


def test_without_methods_or_answers_nothing_matches() -> None:
    assert have_matches(ANSWERS, []) == [False] * len(ANSWERS)
    assert have_matches([], METHODS) == []
