"""The alternative annotator test: may a model stand in for a person?

Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL,
arXiv 2501.10970.
"""

from collections.abc import Mapping

import numpy as np

from infra.errors import EstimationError
from infra.records import Record
from tasks.statistics import Values

EPSILON = 0.2  # the paper's for experts; .15 for skilled annotators, .1 for crowds (section 4.2)
MIN_PEOPLE = 3
MIN_ITEMS = 30  # below, the paper asks for another test than that of t
_FALSE_DISCOVERIES = 0.05


class PersonLeftOut(Record):
    """A model against one person, both measured by all others.

    Attributes:
        items: Items that the person, another one and the model have labelled.
        model: Share of them on which the model agrees with the others at least as well as the
            person does: the advantage probability rho^f.
        person: Share on which the person does at least as well: rho^h.
        p_value: Of the hypothesis that the model's share is below the person's by epsilon or more.
        is_beaten: Whether that is rejected, corrected for the number of people.
    """

    items: int
    model: float
    person: float
    p_value: float
    is_beaten: bool


class AlternativeAnnotator(Record):
    """What the test says of a model.

    Attributes:
        people: Person → the model against that one.
        winning_rate: omega, the share of the people whom it beats.
        advantage: rho, the mean of its advantage probabilities.
        epsilon: What a person's labels cost more than the model's, as an advantage.
        is_alternative: Whether it may stand in for a person: omega is at least one half.
    """

    people: dict[str, PersonLeftOut]
    winning_rate: float
    advantage: float
    epsilon: float
    is_alternative: bool


def alternative_annotator_test(
    people: Mapping[str, Values], model: Values, *, epsilon: float = EPSILON
) -> AlternativeAnnotator:
    """Return whether a model's labels may stand in for a person's (Algorithm 1 of the paper).

    Each person is left out in turn. On every item the score of the model, and of that person, is
    the share of the other people who gave the same label. A one-sided t test over the items asks
    whether the person's advantage is below epsilon; its p-values are corrected by Benjamini and
    Yekutieli (2001), since the tests share people.

    Args:
        people: Person → (items,) labels, NaN where there is none.
        model: (items,) the model's labels; NaN where it has none, which agrees with nobody.
        epsilon: From 0 to 1.

    Raises:
        EstimationError: There are fewer than 3 people, or one shares fewer than 30 items with
            others.
    """
    from scipy.stats import false_discovery_control, ttest_1samp  # noqa: PLC0415 - takes a second

    if len(people) < MIN_PEOPLE:
        raise EstimationError(
            f"the alternative annotator test needs at least {MIN_PEOPLE} people's labels: "
            f"there are {len(people)}"
        )
    shares, p_values = {}, []
    for name, own in people.items():
        others = np.array([labels for other, labels in people.items() if other != name])
        labelled = ~np.isnan(others)
        chosen = ~np.isnan(own) & labelled.any(axis=0)
        if chosen.sum() < MIN_ITEMS:
            raise EstimationError(
                f"the alternative annotator test needs at least {MIN_ITEMS} items that a person "
                f"and another one labelled: {name} has {chosen.sum()}"
            )
        counted = labelled.sum(axis=0)[chosen]
        by_model, by_person = (
            (others == labels).sum(axis=0)[chosen] / counted for labels in (model, own)
        )
        model_wins, person_wins = by_model >= by_person, by_person >= by_model
        advantage = person_wins.astype(np.float64) - model_wins
        if np.ptp(advantage):
            p_value = float(ttest_1samp(advantage, epsilon, alternative="less").pvalue)
        else:  # no spread: the mean is known
            p_value = float(advantage[0] >= epsilon)
        shares[name] = (int(chosen.sum()), float(model_wins.mean()), float(person_wins.mean()))
        p_values.append(p_value)
    corrected = false_discovery_control(p_values, method="by")
    found = {
        name: PersonLeftOut(
            items=items, model=of_model, person=of_person, p_value=p_value,
            is_beaten=bool(corrected_value < _FALSE_DISCOVERIES),
        )
        for (name, (items, of_model, of_person)), p_value, corrected_value in zip(
            shares.items(), p_values, corrected, strict=True
        )
    }  # fmt: skip
    winning_rate = sum(person.is_beaten for person in found.values()) / len(found)
    return AlternativeAnnotator(
        people=found,
        winning_rate=winning_rate,
        advantage=sum(person.model for person in found.values()) / len(found),
        epsilon=epsilon,
        is_alternative=winning_rate >= 0.5,
    )
