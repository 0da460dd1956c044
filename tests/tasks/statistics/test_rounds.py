"""Laws of labelling rounds: the majority, and agreement that is known beforehand."""

import pytest

from tasks.statistics.rounds import majority, rounds_agreement


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ((1,), 1),
        ((None,), None),
        ((1, 0), None),
        ((1, 1), 1),
        ((1, 0, 1), 1),
        ((0, None, 0), 0),
        ((1, None, None), None),
        ((1, 0, None), None),
        ((1, 1, 0, 0), None),
        ((), None),
    ],
)
def test_a_label_needs_more_than_half_of_all_rounds(
    votes: tuple[int | None, ...], label: int | None
) -> None:
    assert majority(votes) == label


def test_agreement_is_what_the_formula_gives_by_hand() -> None:
    """Ten pairs, five of each label; the second round turns one label, the third none.

    All rounds: 14 ones and 16 zeros in 30 labels, one pair in which 4 of 6 ordered couples of
    labels differ: observed (4 / 2) / 30, expected 2 * 14 * 16 / (30 * 29), alpha 195/224. Of the
    first two: observed 2 / 20, expected 2 * 9 * 11 / (20 * 19), alpha 160/198.
    """
    votes = [(1, int(pair > 0), 1) for pair in range(5)] + [(0, 0, 0)] * 5
    found = rounds_agreement(votes, 3)
    assert found.alpha == pytest.approx(195 / 224)
    assert [(two.first, two.second) for two in found.each_two] == [(1, 2), (1, 3), (2, 3)]
    alphas = [two.alpha for two in found.each_two]
    assert alphas == pytest.approx([160 / 198, 1, 160 / 198])
    assert (found.pairs, found.shared, found.unanimous, found.by_majority) == (10, 10, 9, 10)


def test_a_round_that_gave_no_label_is_left_out_of_alpha_but_not_of_the_majority() -> None:
    found = rounds_agreement([(1, None, 1), (0, 0, 0), (1, None, None), (None, None, None)], 3)
    assert (found.pairs, found.shared, found.unanimous, found.by_majority) == (3, 2, 1, 2)
    assert found.alpha == pytest.approx(1)


@pytest.mark.parametrize("votes", [[], [(1, 1)], [(1, None), (0, None)]])
def test_without_two_labels_that_differ_alpha_is_undefined(
    votes: list[tuple[int | None, ...]],
) -> None:
    assert rounds_agreement(votes, 2).alpha is None
