"""Laws of exact search over unit vectors."""

import numpy as np
import numpy.typing as npt
import pytest

from tasks.ranking.dense import inverse_peaks, rank_vectors, top_candidates

Vectors = npt.NDArray[np.float32]


def unit(generator: np.random.Generator, rows: int, dimension: int) -> Vectors:
    drawn = generator.normal(size=(rows, dimension))
    vectors: Vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return vectors


@pytest.mark.parametrize("block", [7, 50, 1000])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_candidates_are_those_of_the_average_cosine_by_brute_force(block: int, k: int) -> None:
    generator = np.random.default_rng(k)
    queries = {name: unit(generator, 9, d) for name, d in (("a", 16), ("b", 5), ("c", 8))}
    codes = {name: unit(generator, 120, rows.shape[1]) for name, rows in queries.items()}
    for vectors in codes.values():  # equal vectors, across the borders of blocks too
        vectors[[3, 60, 61, 119]] = vectors[2]
    ids = [f"c{n:03}" for n in range(120)]
    blocks = (
        (ids[at : at + block], {name: rows[at : at + block] for name, rows in codes.items()})
        for at in range(0, 120, block)
    )
    found = top_candidates(queries, blocks, [f"q{n}" for n in range(9)], k)
    average = sum(
        (queries[name].astype(float)[:, None] * codes[name].astype(float)[None]).sum(axis=2)
        for name in queries
    ) / len(queries)  # fmt: skip
    for number in range(9):
        expected = sorted(range(120), key=lambda n: (-average[number, n], ids[n]))[:k]
        mine = [item for item in found if item.query_id == f"q{number}"]
        assert [item.code_id for item in mine] == [ids[n] for n in expected]
        assert [item.rank for item in mine] == list(range(1, k + 1))
        for item, n in zip(mine, expected, strict=True):
            assert item.similarity == pytest.approx(average[number, n], abs=1e-9)
            assert item.by_encoder["b"] == pytest.approx(
                float(queries["b"][number].astype(float) @ codes["b"][n].astype(float)), abs=1e-9
            )


def test_ties_at_the_last_rank_fall_by_id_however_many_there_are() -> None:
    codes = np.repeat(unit(np.random.default_rng(0), 1, 8), 500, axis=0)
    ids = [f"c{n:03}" for n in range(500)]
    query = unit(np.random.default_rng(1), 1, 8)
    rankings = rank_vectors(query, [(ids[250:], codes[250:]), (ids[:250], codes[:250])], ["q"], 3)
    assert [code for _, code, _ in rankings.rows()] == ["c000", "c001", "c002"]


def test_fewer_codes_than_asked_for_are_all_returned() -> None:
    vectors = unit(np.random.default_rng(0), 2, 4)
    rankings = rank_vectors(vectors[:1], [(["b", "a"], vectors)], ["q"], 10)
    assert [code for _, code, _ in rankings.rows()] == ["b", "a"]


def test_scaled_scores_are_divided_by_each_encoders_largest_absolute_cosine() -> None:
    generator = np.random.default_rng(5)
    queries = {name: unit(generator, 6, 8) for name in ("one", "other")}
    codes = {name: unit(generator, 40, 8) for name in ("one", "other")}
    codes["other"] -= 0.3  # one encoder's cosines are mostly negative, as an absolute value shows
    ids = [f"c{n:02}" for n in range(40)]
    blocks = [
        (ids[start : start + 13], {name: rows[start : start + 13] for name, rows in codes.items()})
        for start in range(0, 40, 13)
    ]
    names = [f"q{n}" for n in range(6)]
    hits = top_candidates(queries, blocks, names, 5, inverse_peaks(queries, blocks))
    cosines = {name: queries[name].astype(float) @ codes[name].astype(float).T for name in queries}
    scaled = sum(rows / np.abs(rows).max(axis=1, keepdims=True) for rows in cosines.values()) / 2
    for row in range(6):
        found = [hit for hit in hits if hit.query_id == names[row]]
        best = np.argsort(-scaled[row])[:5]
        assert [hit.code_id for hit in found] == [ids[code] for code in best]
        assert [hit.similarity for hit in found] == pytest.approx(scaled[row][best].tolist())
        assert found[0].by_encoder["one"] == pytest.approx(cosines["one"][row, best[0]])
