"""Laws of rankings by the cosine of vectors."""

import numpy as np

from tasks.ranking.methods import rank_vectors
from tasks.search.scores import in_memory
from tests.tasks.search.test_exact import cosines, sorted_by, unit


def test_rankings_are_the_best_codes() -> None:
    generator = np.random.default_rng(0)
    queries, codes = unit(generator, 5, 8), unit(generator, 30, 8)
    ids, code_ids = [f"q{n}" for n in range(5)], [f"c{n:02}" for n in range(30)]
    found = rank_vectors({"": queries}, in_memory({"": codes}), ids, code_ids, 7)
    scores = cosines(queries, codes)
    assert found.codes.tolist() == sorted_by(scores, 7)
    assert np.array_equal(found.scores, np.take_along_axis(scores, found.codes, axis=1))
    assert found.codes.dtype == np.int32


def test_ties_at_the_last_rank_fall_by_id_however_many_there_are() -> None:
    codes = np.repeat(unit(np.random.default_rng(0), 1, 8), 500, axis=0)
    query = unit(np.random.default_rng(1), 1, 8)
    ids = [f"c{n:03}" for n in range(500)]
    rankings = rank_vectors({"": query}, in_memory({"": codes}), ["q"], ids, 3)
    assert [code for _, code, _ in rankings.rows()] == ["c000", "c001", "c002"]


def test_fewer_codes_than_asked_for_are_all_returned() -> None:
    vectors = unit(np.random.default_rng(0), 2, 4)
    rankings = rank_vectors({"": vectors[:1]}, in_memory({"": vectors}), ["q"], ["a", "b"], 10)
    assert [code for _, code, _ in rankings.rows()] == ["a", "b"]
