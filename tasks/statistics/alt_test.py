"""The alternative annotator test: may a judge stand in for people?

Source: Calderon, Reichart and Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge"
(arXiv 2501.10970). Each person in turn is left out. On each of their items it is asked whether the
judge agrees with the others at least as often as the person does. The judge wins against a person
where the hypothesis that it is worse by ``epsilon`` or more is rejected; all hypotheses together
keep a false discovery rate of 5% (Benjamini and Yekutieli 2001), and the judge passes where it wins
against half of the people.
"""

from collections.abc import Mapping

import numpy as np
from scipy.stats import false_discovery_control, ttest_1samp, wilcoxon

from infra.records import Record
from tasks.statistics import Values
from tasks.statistics.agreement import Grades

EPSILON = 0.2  # the authors' for experts: what a judge saves in effort
FEWEST_PEOPLE = 3
_RATE = 0.05  # of false discoveries
_ENOUGH = 30  # items for Student's test; below it is Wilcoxon's


class AgainstPerson(Record):
    """The judge against one person.

    Attributes:
        annotator: The person who is left out.
        items: Items that the person, the judge and at least one other labelled.
        judge: Share of the items on which the judge agrees with the others no less than the person:
            its advantage probability.
        person: Share on which the person agrees with them no less than the judge.
        p: Of the hypothesis that the judge is worse by epsilon or more.
        is_won: Whether it is rejected, among all people's.
    """

    annotator: str
    items: int
    judge: float
    person: float
    p: float
    is_won: bool


class AltTest(Record):
    """Result of the test.

    Attributes:
        epsilon: What the judge may be worse by.
        people: The judge against each person.
        winning_rate: Share of the people against whom the judge wins.
        advantage: Mean of the judge's advantage probabilities.
    """

    epsilon: float
    people: tuple[AgainstPerson, ...]
    winning_rate: float
    advantage: float

    @property
    def is_passed(self) -> bool:
        """Return True if the judge wins against half of the people or more."""
        return self.winning_rate >= 0.5


def alt_test(
    grades: Grades, judged: Mapping[tuple[str, str], int], epsilon: float = EPSILON
) -> AltTest | None:
    """Return True if a judge may stand in for people, None with fewer than three of them.

    Args:
        grades: Of each person.
        judged: Pair → the judge's grade.
        epsilon: What the judge may be worse by.
    """
    compared = {}  # (items, 2): 1 where the judge, and the person, agrees no less with the others
    for name in sorted(grades):
        others = [given for other, given in grades.items() if other != name]
        rows = []
        for pair, own in grades[name].items():
            said = [given[pair] for given in others if pair in given]
            if said and pair in judged:
                judge, person = said.count(judged[pair]), said.count(own)
                rows.append((judge >= person, person >= judge))
        if rows:
            compared[name] = np.array(rows, np.float64)
    if len(compared) < FEWEST_PEOPLE:
        return None
    values = [_p(both[:, 1] - both[:, 0], epsilon) for both in compared.values()]
    rejected = false_discovery_control(values, method="by") < _RATE
    people = tuple(
        AgainstPerson(
            annotator=name,
            items=len(both),
            judge=float(both[:, 0].mean()),
            person=float(both[:, 1].mean()),
            p=p,
            is_won=bool(is_won),
        )
        for (name, both), p, is_won in zip(compared.items(), values, rejected, strict=True)
    )
    return AltTest(
        epsilon=epsilon,
        people=people,
        winning_rate=float(rejected.mean()),
        advantage=float(np.mean([each.judge for each in people])),
    )


def _p(differences: Values, epsilon: float) -> float:
    """Return the p of the hypothesis that the differences' mean is epsilon or more."""
    if np.ptp(differences) == 0:  # neither test has a spread to go by
        return 0.0 if differences[0] < epsilon else 1.0
    if len(differences) < _ENOUGH:
        return float(wilcoxon(differences - epsilon, alternative="less").pvalue)
    return float(ttest_1samp(differences, epsilon, alternative="less").pvalue)
