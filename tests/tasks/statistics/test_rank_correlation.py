"""Laws of the agreement of two orders."""

from collections.abc import Sequence

import pytest

from tasks.statistics.agreement import kendall_tau


@pytest.mark.parametrize(
    ("first", "second", "tau"),
    [
        ([0.1, 0.2, 0.3], [5, 6, 7], 1.0),
        ([0.1, 0.2, 0.3], [7, 6, 5], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),  # 5 pairs agree, 1 does not
        ([1, 1, 2], [1, 2, 3], 2 / 6**0.5),  # tau-b: a tie of one list
        ([1, 1], [1, 2], None),
        ([1], [2], None),
        ([], [], None),
    ],
)
def test_it_is_kendalls_tau_b(
    first: Sequence[float], second: Sequence[float], tau: float | None
) -> None:
    found = kendall_tau(first, second)
    assert found == (None if tau is None else pytest.approx(tau))
