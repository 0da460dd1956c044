"""Laws of `agreement`: what is the same, and what is not.

Covers `tasks.search.agreement`.
"""

import numpy as np
import pytest

from tasks.encoders import Vectors
from tasks.search.agreement import agreement


def unit(rows: int, seed: int) -> Vectors:
    drawn = np.random.default_rng(seed).normal(size=(rows, 8)).astype(np.float32)
    vectors: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return vectors


def test_an_encoder_agrees_with_itself_and_fewer_codes_than_k_are_all_of_them() -> None:
    queries, codes = unit(5, 0), unit(12, 1)
    found = agreement((queries, codes), (queries, codes))
    assert (found.overlap, found.k, found.codes, found.queries) == (1.0, 12, 12, 5)
    assert found.lowest_cosine == pytest.approx(1.0, abs=1e-6)


def test_the_overlap_is_the_share_of_the_nearest_codes_and_cosines_are_those_of_codes() -> None:
    axes = np.eye(4, dtype=np.float32)
    query = np.array([[0.8, 0.6, 0.0, 0.0]], np.float32)
    other = axes[[0, 2, 1, 3]]  # the second code is far from the query, the third near
    found = agreement((query, axes), (query, other), k=2)
    assert found.overlap == 0.5
    assert (found.lowest_cosine, found.mean_cosine) == (0.0, 0.5)
    assert "50.0% the same" in str(found)


def test_cosines_are_those_of_vectors_of_any_length() -> None:
    codes = 3 * unit(4, 1)
    found = agreement((codes, codes), (codes, 9 * codes))
    assert found.mean_cosine == pytest.approx(1)


def test_widths_may_differ_where_there_is_no_cosine() -> None:
    codes = unit(30, 2)
    wide = np.pad(codes, ((0, 0), (0, 3)))
    found = agreement((codes[:3], codes), (wide[:3], wide))
    assert found.overlap == 1.0
    assert np.isnan(found.mean_cosine)
