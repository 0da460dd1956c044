import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    cohen_kappa_score,
    precision_score,
    recall_score,
)

from tasks.statistics.annotator_scores import agreement

LABELS = st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1])), min_size=1)


def test_labels_that_are_all_right_agree_wholly() -> None:
    found = agreement([1, 0, 1, 0], [1, 0, 1, 0])
    assert (found.accuracy, found.precision, found.recall, found.kappa, found.alpha) == (1,) * 5
    assert found.accuracy_high == 1
    assert found.accuracy_low == pytest.approx(0.5101, abs=1e-4), "four pairs prove little"


def test_labels_at_chance_have_no_agreement() -> None:
    found = agreement([1, 1, 0, 0], [1, 0, 1, 0])
    assert (found.accuracy, found.kappa) == (0.5, 0)
    assert found.alpha == pytest.approx(1 - 0.5 / (2 * 4 * 4 / (8 * 7)))


def test_an_undecided_pair_is_not_right_and_counts_for_nothing_else() -> None:
    found = agreement([1, None, 0, None], [1, 1, 0, 0])
    assert (found.pairs, found.decided, found.accuracy) == (4, 2, 0.5)
    assert (found.precision, found.recall, found.kappa) == (1, 1, 1)


@pytest.mark.parametrize(
    ("given", "truth", "undefined"),
    [
        ([], [], {"accuracy", "accuracy_low", "precision", "recall", "kappa", "alpha"}),
        ([None], [1], {"precision", "recall", "kappa", "alpha"}),
        ([0, 0], [0, 0], {"precision", "recall", "kappa", "alpha"}),
        ([1, 1], [1, 1], {"kappa", "alpha"}),
    ],
)
def test_what_is_not_defined_is_none_and_not_zero(
    given: list[int | None], truth: list[int], undefined: set[str]
) -> None:
    found = agreement(given, truth).model_dump()
    assert {name for name in found if found[name] is None} - {"accuracy_high"} == undefined


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is"):
        agreement([1], [1, 0])


@given(LABELS)
def test_the_figures_are_those_of_an_independent_library(pairs: list[tuple[int, int]]) -> None:
    given_labels, truth = [ours for ours, _ in pairs], [true for _, true in pairs]
    found = agreement(given_labels, truth)
    options: dict[str, Any] = {"zero_division": math.nan}
    expected = {
        "precision": precision_score(truth, given_labels, **options),
        "recall": recall_score(truth, given_labels, **options),
    }
    if {*truth, *given_labels} == {0, 1}:
        expected["kappa"] = cohen_kappa_score(truth, given_labels)
    for name, value in expected.items():
        ours = getattr(found, name)
        assert ours == pytest.approx(value, nan_ok=True) or (ours is None and math.isnan(value))
    assert found.accuracy_low is not None
    assert found.accuracy is not None
    assert found.accuracy_high is not None
    assert 0 <= found.accuracy_low <= found.accuracy + 1e-12
    assert found.accuracy - 1e-12 <= found.accuracy_high <= 1
