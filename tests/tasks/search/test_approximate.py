"""Laws of approximate search.

Covers `approximate`.
"""

import numpy as np
import pytest

from infra.errors import SettingsError
from tasks.search.approximate import ApproximateSearch
from tasks.search.exact import search
from tests.tasks.search.test_exact import in_blocks, unit


def vectors() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    generator = np.random.default_rng(1)
    queries = {name: unit(generator, 20, d) for name, d in (("a", 12), ("b", 4))}
    codes = {name: unit(generator, 500, rows.shape[1]) for name, rows in queries.items()}
    return queries, codes


def test_an_index_that_looks_everywhere_finds_what_exact_search_does() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 77)
    index = ApproximateSearch(codes, 500, ("a", "b"), probes=12)
    found, exact = index.search(queries, 9), search(queries, codes, 9)
    assert np.array_equal(found.positions, exact.positions)
    assert np.array_equal(found.scores, exact.scores)
    assert np.array_equal(found.similarities, exact.similarities)
    assert index.recall(queries, 9) == 1


def test_recall_is_the_share_of_the_exact_best_and_too_few_codes_are_refused() -> None:
    queries, vectors_of = vectors()
    codes = in_blocks(vectors_of, 200)
    index = ApproximateSearch(codes, 500, ("a", "b"), probes=1)
    found, exact = index.search(queries, 9).positions, search(queries, codes, 9).positions
    shares = [len(set(one) & set(other)) / 9 for one, other in zip(found, exact, strict=True)]
    recall = index.recall(queries, 9)
    assert recall == pytest.approx(np.mean(shares))
    assert 0.1 < recall < 0.9
    with pytest.raises(SettingsError, match=r"fewer than 300 .* raise search.ivf_probes \(1\)"):
        index.search(queries, 300)
