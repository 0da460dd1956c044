"""The agents beside people on a sample: how right their labels are, and the people's majority.

Source: research question 2 of both CoSQA+ papers, which ask how often labels agree with experts'.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from infra.errors import SettingsError
from infra.files import OTHER_OUTPUT, atomic_write, space_on
from infra.identity import PairKey
from infra.records import Record, Support
from infra.store import Database, candidates, samples
from infra.store.samples import Sample
from tasks.reports.text import format_words
from tasks.stages.coverage import current_labels_of
from tasks.stages.label.results import EVERYBODY, last_votes, majority_labels
from tasks.statistics.agreement import (
    EPSILON,
    Agreement,
    AltTest,
    Grades,
    agreement,
    alt_test,
    blind_grades,
)
from tasks.statistics.intervals import Interval, wilson_interval

AGENTS = "agents"
# Supports that are one ground, which has the words of the first.
_GROUNDS: tuple[tuple[Support, ...], ...] = (
    ("valid_oracle",), ("overruled",), ("screened", "void_oracle", "ungated"),
)  # fmt: skip
_ALL = "all"


class AgentScores(Record):
    """Accuracy of the agents' labels by the majority of people.

    Attributes:
        ground: What the labels rest on, or all of them.
        pairs: Pairs that have both labels.
        accuracy: Share of these with the same label, with its 95% interval (Wilson), as all.
        precision: Share of right ones among the agents' matches.
        recall: Share of the people's matches that are the agents' too.
    """

    ground: str
    pairs: int
    accuracy: Interval
    precision: Interval
    recall: Interval


class AgentsBesidePeople(Record):
    """The agents' labels of a sample beside people's.

    Attributes:
        scores: Of all labels, then by what they rest on.
        agreement: Of the agents with the majority: Krippendorff's alpha and Cohen's kappa.
        alt_test: Whether the agents may stand in for a person; None with fewer than three people.
    """

    scores: tuple[AgentScores, ...]
    agreement: Agreement
    alt_test: AltTest | None


def agents_beside_people(
    database: Database, sample: Sample, epsilon: float = EPSILON
) -> AgentsBesidePeople | None:
    """Return the agents' accuracy on a sample; None if no pair has both labels.

    Args:
        database: The store.
        sample: Pairs with labels 0 and 1; of another kind the agents give none.
        epsilon: What the agents may be worse by than a person (`tasks.statistics.agreement`).
    """
    searches = candidates.searches_by_collection(database)
    if sample.kind != "pairs" or sample.scale != "binary" or sample.collection not in searches:
        return None
    votes = samples.readable_votes(database, sample)
    people = {key: int(label) for key, label in majority_labels(last_votes(votes)).items()}
    current = current_labels_of(
        database, sample.collection, searches[sample.collection], sample.criterion
    )
    judged = samples.judged_items(database, sample, current)
    both = {key: (judged[key][0], people[key]) for key in sorted(people.keys() & judged.keys())}
    if not both:
        return None
    grounds = {
        format_words(supports[0]): [it for key, it in both.items() if judged[key][1] in supports]
        for supports in _GROUNDS
    }
    rows = {_ALL: list(both.values())} | grounds
    scores = [_scores(ground, labels) for ground, labels in rows.items() if labels]
    grades: Grades = {
        AGENTS: {key: label for key, (label, _) in both.items()},
        EVERYBODY: {key: label for key, (_, label) in both.items()},
    }
    return AgentsBesidePeople(
        scores=tuple(scores),
        agreement=agreement(grades),
        alt_test=alt_test(
            blind_grades(votes), {key: label for key, (label, _) in judged.items()}, epsilon
        ),
    )


def write_truth(database: Database, sample: Sample, file: Path) -> int:
    """Write the majority's labels of a sample, each person's beside; return how many.

    As `tasks.inputs.pairs` reads them, which `cosqa compare-annotators` does.

    Raises:
        SettingsError: The sample's grades are no labels 0 and 1 of pairs.
    """
    if sample.kind == "preference" or sample.scale != "binary":
        asked = "a preference" if sample.kind == "preference" else "grades of 0 to 3"
        raise SettingsError(
            f"--truth writes labels 0 and 1, and sample {sample.sample_id} asks for {asked}"
        )
    last = last_votes(samples.readable_votes(database, sample))
    labels = majority_labels(last)
    given: dict[PairKey, dict[str, int | None]] = {}
    for vote in last:
        label = None if vote.relevance is None else int(vote.relevance)
        given.setdefault(vote.key, {})[vote.annotator] = label
    items = [item for item in sample.items if item.key in labels]
    lines = [
        {
            "query": shown.query.text,
            "code": shown.codes[0].text,
            "language": sample.languages.get(item.code_id) or shown.codes[0].language,
            "label": int(labels[item.key]),
            "labels": given[item.key],
        }
        for item, shown in zip(items, samples.show(database, items), strict=True)
    ]
    with space_on(file.absolute().parent, OTHER_OUTPUT), atomic_write(file) as partial:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        partial.write_text(text, "utf-8")
    return len(lines)


def _scores(ground: str, rows: Sequence[tuple[int, int]]) -> AgentScores:
    """Return the scores of (the agents', the people's) labels."""
    matches = [people for agents, people in rows if agents]
    found = [agents for agents, people in rows if people]
    return AgentScores(
        ground=ground,
        pairs=len(rows),
        accuracy=wilson_interval(sum(agents == people for agents, people in rows), len(rows)),
        precision=wilson_interval(sum(matches), len(matches)),
        recall=wilson_interval(sum(found), len(found)),
    )
