"""The nearest items against a plain computation, ties and large inputs included."""

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.estimators import Floats, nearest
from tasks.statistics import Values


def plainly(queries: Floats, items: Floats) -> Values:
    """(n, m) cosines, rounded so that equal vectors tie whatever the order of summation."""
    left, right = queries.astype(float), items.astype(float)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    return np.round(left @ right.T, 12)  # type: ignore[no-any-return]


def drawn(queries: int, items: int, dimension: int) -> tuple[Floats, Floats]:
    """Queries and items, a quarter of which stand twice; some queries are items."""
    generator = np.random.default_rng(queries + items)
    rows = generator.standard_normal((items, dimension)).astype(np.float32)
    rows[items // 2 : items // 2 + items // 4] = rows[: items // 4]
    asked = generator.standard_normal((queries, dimension)).astype(np.float32)
    asked[: min(queries, items) // 3] = rows[: min(queries, items) // 3]
    return asked, rows


@pytest.mark.parametrize(
    ("queries", "items", "dimension", "k"),
    [(3, 7, 2, 3), (3, 7, 2, 7), (3, 7, 2, 50), (300, 500, 8, 10), (2_100, 9_000, 4, 5)],
)
def test_they_are_those_of_a_full_sort(queries: int, items: int, dimension: int, k: int) -> None:
    asked, rows = drawn(queries, items, dimension)
    cosines = plainly(asked, rows)
    places = np.broadcast_to(np.arange(items), cosines.shape)
    expected = np.lexsort((places, -cosines), axis=1)[:, :k]
    found = nearest(asked, rows, k)
    assert np.array_equal(found.rows, expected)
    assert found.similarities == pytest.approx(np.take_along_axis(cosines, expected, 1), abs=1e-11)


def test_thousands_of_equal_items_are_taken_in_their_order() -> None:
    rows = np.tile(np.array([[0.6, 0.8]], np.float32), (20_000, 1))
    rows[17_000] = (1, 0)
    found = nearest(np.array([[1, 0], [0, 1]], np.float32), rows, 3)
    assert found.rows.tolist() == [[17_000, 0, 1], [0, 1, 2]]


def test_lengths_do_not_matter_and_double_precision_is_kept() -> None:
    asked = np.array([[3.0, 4.0]])
    found = nearest(asked, np.array([[10.0, 0.0], [0.0, 0.1]]), 2)
    assert found.similarities == pytest.approx(np.array([[0.8, 0.6]]), abs=1e-15)
    assert found.rows.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("items", "k", "message"),
    [
        (np.ones((3, 2), np.float32), 0, "at least 1"),
        (np.ones((0, 2), np.float32), 1, "nothing to find neighbours among"),
        (np.ones((3, 5), np.float32), 1, "2 and of 5 dimensions"),
    ],
)
def test_what_has_no_neighbours_is_refused(items: Floats, k: int, message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        nearest(np.ones((1, 2), np.float32), items, k)
