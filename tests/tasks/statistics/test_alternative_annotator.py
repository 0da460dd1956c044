"""Laws of the alternative annotator test."""

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.alternative_annotator import alternative_annotator_test

ITEMS = 200


def people_who_err(*rates: float) -> tuple[Values, dict[str, Values]]:
    """Return (items,) true labels, and those of people who err at these rates."""
    generator = np.random.default_rng(3)
    true = (generator.random(ITEMS) < 0.4).astype(np.float64)
    errs = [generator.random(ITEMS) < rate for rate in rates]
    return true, {f"p{place}": np.where(err, 1 - true, true) for place, err in enumerate(errs)}


def test_a_model_that_is_as_right_as_people_may_stand_in_for_them() -> None:
    true, people = people_who_err(0.1, 0.1, 0.1)
    found = alternative_annotator_test(people, true)
    assert found.is_alternative
    assert found.winning_rate == 1
    assert found.advantage > 0.9


def test_a_model_that_guesses_may_not() -> None:
    _, people = people_who_err(0.05, 0.05, 0.05)
    guessed = np.random.default_rng(0).integers(0, 2, ITEMS).astype(np.float64)
    found = alternative_annotator_test(people, guessed)
    assert not found.is_alternative
    assert found.winning_rate == 0


def test_a_model_without_labels_agrees_with_nobody() -> None:
    _, people = people_who_err(0.1, 0.1, 0.1)
    found = alternative_annotator_test(people, np.full(ITEMS, np.nan))
    assert not found.is_alternative
    assert all(one.person == 1 for one in found.people.values())


def test_shares_by_hand() -> None:
    """The person left out is right where the model is not, on 10 of 40 items, and otherwise alike.

    There the two others agree with the person, and the model with nobody.
    """
    same = np.tile([0.0, 1.0], 20)
    model = same.copy()
    model[:10] = 1 - model[:10]
    found = alternative_annotator_test({"a": same, "b": same, "c": same}, model)
    one = found.people["a"]
    assert (one.items, one.model, one.person) == (40, 0.75, 1.0)
    # mean advantage .25, sd .4385 over 40: t = (.25 - .2) / (.4385 / 6.3246) = .721, p = .763
    assert one.p_value == pytest.approx(0.763, abs=0.001)
    assert not one.is_beaten
    kinder = alternative_annotator_test({"a": same, "b": same, "c": same}, model, epsilon=0.6)
    assert kinder.is_alternative


def test_p_values_are_corrected_for_tests_that_depend_on_one_another() -> None:
    """Of three equal p-values each counts 1 + 1/2 + 1/3 times (Benjamini and Yekutieli)."""
    same = np.tile([0.0, 1.0], 20)
    model = same.copy()
    model[:2] = 1 - model[:2]
    people = {"a": same, "b": same, "c": same}
    found = alternative_annotator_test(people, model, epsilon=0.115)
    assert 0.05 / (1 + 1 / 2 + 1 / 3) < found.people["a"].p_value < 0.05
    assert not found.people["a"].is_beaten


def test_items_that_a_person_left_out_do_not_count_for_that_person() -> None:
    true, people = people_who_err(0.1, 0.1, 0.1)
    people["p0"][:100] = np.nan
    found = alternative_annotator_test(people, true)
    assert found.people["p0"].items == 100
    assert found.people["p1"].items == ITEMS


@pytest.mark.parametrize(("number", "items", "fault"), [(2, 200, "there are 2"), (3, 29, "has 29")])
def test_too_few_people_or_items_are_refused(number: int, items: int, fault: str) -> None:
    people = {str(one): np.zeros(items) for one in range(number)}
    with pytest.raises(EstimationError, match=fault):
        alternative_annotator_test(people, np.zeros(items))
